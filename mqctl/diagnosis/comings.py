"""What comes, goes and grows between two looks beside offsets: producers, ordered topics.

And what one look shows of groups that begin at the end, and of timers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from mqctl.diagnosis.parallelism import queue_names, shared_topics
from mqctl.diagnosis.registry import Case, ClusterCase, Verdict, cluster_rule, rule
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.route import TopicRoute
from mqctl.model.snapshot import ClusterSnapshot

_LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
_TIMER_BEHIND_S = 10
_BEGINNINGS = (Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.QUEUES, Part.ROUTES)


def _window_ms(case: ClusterCase) -> int:
    earlier = case.snapshot.earlier
    return case.now_ms - earlier.origin.observed_at_ms if earlier is not None else 0


@cluster_rule(
    "MQ415",
    Severity.INFO,
    source="B5",
    needs=(Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.QUEUES, Part.ROUTES),
    playbook="skip-and-replay",
)
def skipping_history(case: ClusterCase) -> Iterator[Verdict]:
    """A group without an offset in queues that have lost their first messages: its consumers begin at the end."""
    told = {broker.name for broker in case.snapshot.brokers if broker.lacks(Part.CONSUMER_OFFSETS) is None}
    for view in case.views:
        if not any(held.consume_from_where == _LAST_OFFSET for held in view.memberships.values()):
            continue
        for topic, queues in shared_topics(case, view):
            begins = {
                queue: state.message_count
                for queue in queues
                if (state := case.queue_states.get(queue)) is not None
                and queue.broker_name in told
                and state.min_offset > 0
                and state.message_count
                and (view.group, queue) not in case.committed
            }
            if begins:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic, "queues": queue_names(list(begins))},
                    evidence={"skipped_count": sum(begins.values()), "queue_count": len(begins)},
                )


@cluster_rule("MQ507", Severity.ERROR, source="O5", needs=(Part.ROUTES, Part.TOPICS), playbook="hot-key")
def ordered_topic_resized(case: ClusterCase) -> Iterator[Verdict]:
    """An ordered topic whose number of queues changed: keys have gone to other queues than their last messages."""
    if case.snapshot.earlier is None:
        return
    before = case.snapshot.earlier.routes()
    ordered = {config.name for broker in case.snapshot.brokers for config in broker.topics if config.order}
    ordered |= {topic for topic, route in case.routes.items() if route.order_conf}
    for topic in sorted(ordered & before.keys() & case.routes.keys()):
        old, new = _write_queues(before[topic]), _write_queues(case.routes[topic])
        brokers = [{queues.broker_name for queues in route.queues} for route in (before[topic], case.routes[topic])]
        if old and new and old != new and brokers[0] <= brokers[1]:
            yield Verdict(
                subject=Subject(kind=SubjectKind.TOPIC, topic=topic),
                params={"topic": topic},
                evidence={
                    "earlier_queue_count": old,
                    "queue_count": new,
                    "moved_share": 1 - min(old, new) / math.lcm(old, new),
                },
            )


def _write_queues(route: TopicRoute) -> int:
    return sum(queues.write_queue_count for queues in route.queues)


@cluster_rule("MQ615", Severity.WARNING, source="R10", needs=(Part.MEMBERS,), playbook="broker-down")
def producers_gone(case: ClusterCase) -> Iterator[Verdict]:
    """A producer group that was connected at the earlier look, long enough ago, and is nowhere now."""
    earlier = case.snapshot.earlier
    if earlier is None or _window_ms(case) < case.settings.scaled(case.settings.settle_ms):
        return
    if any(gap.part is Part.MEMBERS for broker in case.snapshot.brokers for gap in broker.unavailable):
        return
    before, now = _producers(earlier), _producers(case.snapshot)
    for group, clients in sorted(before.items()):
        if clients and not now.get(group):
            yield Verdict(
                subject=Subject(kind=SubjectKind.PRODUCER_GROUP, group=group),
                params={"group": group},
                evidence={"earlier_count": len(clients), "window_ms": _window_ms(case)},
                confidence=Confidence.MEDIUM,
            )


def _producers(snapshot: ClusterSnapshot) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for broker in snapshot.brokers:
        for producers in broker.producers:
            found.setdefault(producers.group, set()).update(member.client_id for member in producers.members)
    return found


@rule("MQ716", Severity.ERROR, source="T5", needs=(Part.RUNTIME,), playbook="delay-late")
def timer_behind(case: Case) -> Iterator[Verdict]:
    """A 5.x broker whose timer reads its wheel late: timer messages are delivered late."""
    text = case.broker.runtime.get("timerReadBehind", "")
    waiting = case.broker.runtime.get("timerOffsetBehind", "")
    if text.isdecimal() and int(text) > _TIMER_BEHIND_S:
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
            params={"broker": case.broker.name},
            evidence={
                "behind_ms": int(text) * 1000,
                "waiting_count": int(waiting) if waiting.isdecimal() else None,
            },
        )
