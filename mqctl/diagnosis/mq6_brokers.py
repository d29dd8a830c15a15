"""MQ615 and MQ617: producers and brokers that were there and are gone, though somebody still counts on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mqctl.diagnosis.rule import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.queue import MessageQueue
from mqctl.model.route import SeenBroker
from mqctl.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class _Traces:
    """What still names a broker, by broker name."""

    seen: dict[str, SeenBroker]
    ordered: dict[str, list[str]]
    held: dict[str, set[MessageQueue]]

    def names(self) -> set[str]:
        return {*self.seen, *self.ordered, *self.held}


# RouteInfoManager.onChannelDestroy (4.9.8) takes a broker out of all routes when its connection breaks: what is left of
# a killed one is in the memory of others only.
@cluster_rule(
    "MQ617", Severity.ERROR, source="RouteInfoManager.scanNotActiveBroker", needs=(Part.ROUTES,), playbook="broker-down"
)
def broker_gone(case: ClusterCase) -> Iterator[Verdict]:
    """A broker that no name server knows any more, although members hold its queues, an order configuration names it,
    or it was registered when the cluster was last looked at from here."""
    registered = _registered(case.snapshot)
    if not case.snapshot.name_servers:
        return
    traces = _traces(case.snapshot)
    for name in sorted(traces.names() - registered):
        seen = traces.seen.get(name)
        queues, topics = traces.held.get(name, set()), traces.ordered.get(name, [])
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=name),
            params={"broker": name, "topic": min([*topics, *(queue.topic for queue in queues)], default=None)},
            evidence={
                "held_count": len(queues),
                "ordered_count": len(topics),
                "last_seen_time_ms": seen.last_seen_time_ms if seen else None,
                "last_address": seen.address if seen else None,
            },
            variant="held" if queues else "ordered" if topics else "seen",
            severity=None if queues or topics else Severity.WARNING,
            confidence=Confidence.HIGH if queues or topics else Confidence.MEDIUM,
        )


def _registered(snapshot: ClusterSnapshot) -> set[str]:
    return {endpoint.name for view in snapshot.name_servers for endpoint in view.endpoints if endpoint.addresses}


def _traces(snapshot: ClusterSnapshot) -> _Traces:
    seen = {item.name: item for item in snapshot.seen_brokers}
    if snapshot.earlier is not None:
        moment_ms = snapshot.earlier.origin.observed_at_ms
        for view in snapshot.earlier.name_servers:
            for item in view.endpoints:
                seen[item.name] = SeenBroker(
                    cluster=item.cluster, name=item.name, address=item.any_address(), last_seen_time_ms=moment_ms
                )
    ordered: dict[str, list[str]] = {}
    for topic, route in snapshot.routes().items():
        for part in (route.order_conf or "").split(";"):
            name, _, count = part.partition(":")
            if decimal(count) is not None:  # what is written otherwise names no broker, and is MQ508's
                ordered.setdefault(name, []).append(topic)
    held: dict[str, set[MessageQueue]] = {}
    for info in snapshot.running:
        for queue in (item.queue for item in info.queues):
            held.setdefault(queue.broker_name, set()).add(queue)
    return _Traces(seen, ordered, held)


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
