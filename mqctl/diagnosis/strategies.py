"""MQ2 and MQ6 as far as allocation strategies go: members that use different ones, and fixed lists that are stale."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.group_view import named
from mqctl.diagnosis.parallelism import queue_names, restarting, shared_topics
from mqctl.diagnosis.registry import ClusterCase, Unknown, Verdict, cluster_rule
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part

_RUNNING = (Part.MEMBERS, Part.RUNNING_INFO)
_CONFIG = "CONFIG"


@cluster_rule("MQ212", Severity.FATAL, source="S6", needs=_RUNNING, playbook="unconsumed-queue")
def different_strategies(case: ClusterCase) -> Iterator[Verdict]:
    """Members that say they allocate by different strategies: some queues get two owners and some none."""
    for view in case.views:
        by_name: dict[str, list[str]] = {}
        for client, info in view.running.items():
            if info.strategy is not None:
                by_name.setdefault(info.strategy, []).append(client)
        if view.shares and len(by_name) > 1:
            ordered = sorted(by_name.items(), key=lambda item: (-len(item[1]), item[0]))
            yield Verdict(
                subject=view.subject,
                params={
                    "group": view.group,
                    "sides": "; ".join(f"{named(clients)}: {name}" for name, clients in ordered),
                },
                evidence={"member_count": len(view.client_ids), "strategy_count": len(by_name)},
            )


@cluster_rule("MQ616", Severity.FATAL, source="R14", needs=(*_RUNNING, Part.ROUTES), playbook="unconsumed-queue")
def stale_lists(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Members with fixed lists of queues (CONFIG) that are not the topic's queues any more."""
    for view in case.views:
        fixed = [client for client, info in view.running.items() if info.strategy == _CONFIG]
        if not fixed or len(fixed) < len(view.client_ids):
            continue
        held = {item.queue for info in view.running.values() for item in info.queues if not item.dropped}
        for topic, queues in shared_topics(case, view):
            missing = [queue for queue in queues if queue not in held]
            gone = [queue for queue in held if queue.topic == topic and queue not in set(queues)]
            if not missing and not gone:
                continue
            subject = Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic)
            if case.settling(view):
                yield restarting(subject, f"{len(missing)} queues are in no list that is in use")
                continue
            yield Verdict(
                subject=subject,
                params={
                    "group": view.group,
                    "topic": topic,
                    "missing": queue_names(missing) if missing else None,
                    "gone": queue_names(gone) if gone else None,
                },
                evidence={"missing_count": len(missing), "gone_count": len(gone), "queue_count": len(queues)},
                variant="missing" if missing else "gone",
            )
