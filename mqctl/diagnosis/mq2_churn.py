"""MQ219: members whose connections are made anew between two looks."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.audience import ONLINE
from mqctl.diagnosis.group_view import group_views, named_clients
from mqctl.diagnosis.rule import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.snapshot import ClusterSnapshot

_Connections = dict[tuple[str, str], set[str]]


@cluster_rule(
    "MQ219",
    Severity.WARNING,
    source="ClientHousekeepingService, ConsumerManager.doChannelCloseEvent",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=ONLINE,
)
def connections_remade(case: ClusterCase) -> Iterator[Verdict]:
    """Members that stayed and whose connections did not: each new one lets the group share its queues out anew."""
    if case.snapshot.earlier is None:
        return
    before, now = _connections(case.snapshot.earlier), _connections(case.snapshot)
    holders_before, holders = _holders(case.snapshot.earlier), _holders(case.snapshot)
    for group in sorted(before.keys() & now.keys()):
        then, here = before[group], now[group]
        stayed = then.keys() & here.keys()
        remade = {client for broker, client in stayed if then[broker, client].isdisjoint(here[broker, client])}
        if remade:
            both = holders_before.get(group, {}).keys() & holders.get(group, {}).keys()
            moved = [queue for queue in both if holders_before[group][queue] != holders[group][queue]]
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, group=group),
                params={"group": group, "clients": named_clients(remade)},
                evidence={
                    "remade_count": len(remade),
                    "member_count": len({client for _, client in here}),
                    "moved_count": len(moved),
                    "window_ms": case.window_ms,
                },
            )


def _connections(snapshot: ClusterSnapshot) -> dict[str, _Connections]:
    """Returns the addresses of each client at each broker, by group."""
    found: dict[str, _Connections] = {}
    for broker in snapshot.brokers:
        for entry in broker.memberships:
            for member in entry.members:
                key = (broker.name or "", member.client_id)
                found.setdefault(entry.group, {}).setdefault(key, set()).add(member.address)
    return found


def _holders(snapshot: ClusterSnapshot) -> dict[str, dict[object, frozenset[str]]]:
    """Returns who holds each queue, by group."""
    return {
        view.group: {
            queue: frozenset(
                client
                for client, info in view.running.items()
                if any(held.queue == queue and not held.dropped for held in info.queues)
            )
            for queue in {held.queue for info in view.running.values() for held in info.queues}
        }
        for view in group_views(snapshot)
    }
