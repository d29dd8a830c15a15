"""MQ615 and MQ617: producers and brokers that were there and are gone, though somebody still counts on them."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.gone_brokers import GoneBroker, gone_brokers
from mqctl.diagnosis.rule import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.snapshot import ClusterSnapshot


@cluster_rule(
    "MQ617", Severity.ERROR, source="RouteInfoManager.scanNotActiveBroker", needs=(Part.ROUTES,), playbook="broker-down"
)
def broker_gone(case: ClusterCase) -> Iterator[Verdict]:
    """A broker that no name server knows any more, although members hold its queues, an order configuration names it,
    it belongs to the cluster by its profile, or it was registered when the cluster was last looked at from here."""
    for gone in gone_brokers(case.snapshot):
        seen = gone.seen
        queues, topics = gone.held, gone.ordered
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=gone.name),
            params={
                "broker": gone.name,
                "expected_by": gone.expected_by,
                "topic": min([*topics, *(queue.topic for queue in queues)], default=None),
            },
            evidence={
                "held_count": len(queues),
                "holder_count": len(gone.holders),
                "ordered_count": len(topics),
                "last_seen_time_ms": seen.last_seen_time_ms if seen else None,
                "last_address": seen.address if seen else None,
                "queue_count": seen.queue_count if seen else None,
                "group_count": seen.group_count if seen else None,
            },
            variant=_variant(gone),
            severity=None if gone.belongs or gone.recent else Severity.WARNING,
            confidence=Confidence.HIGH if gone.belongs else Confidence.MEDIUM,
        )


def _variant(gone: GoneBroker) -> str:
    if gone.held:
        return "held"
    if gone.ordered and gone.expected_by is None:
        return "ordered"
    size = ""
    if gone.seen is not None and gone.seen.queue_count:
        size = "-counted" if gone.seen.group_count else "-queues"  # whose consumers are not known may have some
    return ("expected" if gone.expected_by else "seen") + size


@cluster_rule(
    "MQ615",
    Severity.WARNING,
    source="ProducerManager",
    needs=(Part.PRODUCERS,),
    playbook="broker-down",
    least_window=lambda settings: settings.settle_ms,
)
def producers_gone(case: ClusterCase) -> Iterator[Verdict]:
    """A producer group that was connected at the earlier look, long enough ago, and is nowhere now."""
    earlier = case.snapshot.earlier
    if earlier is None:
        return
    if any(gap.part is Part.PRODUCERS for broker in case.snapshot.brokers for gap in broker.unavailable):
        return
    before, now = _producers(earlier), _producers(case.snapshot)
    for group, clients in sorted(before.items()):
        if clients and not now.get(group):
            yield Verdict(
                subject=Subject(kind=SubjectKind.PRODUCER_GROUP, group=group),
                params={"group": group},
                evidence={"earlier_count": len(clients), "window_ms": case.window_ms},
                confidence=Confidence.MEDIUM,
            )


def _producers(snapshot: ClusterSnapshot) -> dict[str, set[str]]:
    by_group: dict[str, set[str]] = {}
    for broker in snapshot.brokers:
        for producers in broker.producers:
            by_group.setdefault(producers.group, set()).update(member.client_id for member in producers.members)
    return by_group
