"""What a saved snapshot tells of lag."""

from __future__ import annotations

from mqctl.model.consumption import Consumption, QueueOwners, addresses_of
from mqctl.model.gap import Part
from mqctl.model.lag import LagEvidence, without_broker
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules.engine.gone_brokers import out_of_reach

_OF_LAG = frozenset({Part.QUEUES, Part.CONSUMER_OFFSETS})


def saved_lag(snapshot: ClusterSnapshot) -> list[LagEvidence]:
    """Takes the part of a snapshot that lag needs, and who held the queues then."""
    holders = QueueOwners(clients_of(snapshot), snapshot.running)
    evidence = [
        LagEvidence(
            origin=snapshot.origin,
            name=broker.name,
            queues=broker.queues,
            consumer_offsets=broker.consumer_offsets,
            queue_counts=broker.queue_counts,
            unavailable=tuple(gap for gap in broker.unavailable if gap.part in _OF_LAG),
            consumption=_consumption(broker, holders),
        )
        for broker in snapshot.brokers
    ]
    return evidence + [without_broker(snapshot.origin, name) for name in out_of_reach(snapshot)]


def clients_of(snapshot: ClusterSnapshot) -> dict[str, set[str]]:
    """Returns the client ids of each group, as all brokers know them together."""
    clients: dict[str, set[str]] = {}
    for membership in (membership for broker in snapshot.brokers for membership in broker.memberships):
        clients.setdefault(membership.group, set()).update(membership.client_ids)
    return clients


def _consumption(broker: BrokerSnapshot, holders: QueueOwners) -> Consumption | None:
    """Returns who holds the queues of a broker; None where that is not known of any."""
    owners = {}
    cached: dict[tuple[str, str, int], int] = {}
    consumed: dict[tuple[str, str], float] = {}
    for state in broker.consumer_offsets:
        key = (state.group, state.topic, state.queue_id)
        queue = MessageQueue(state.topic, broker.name or "", state.queue_id)
        if (owning := holders.owners(state.group, queue)) is not None:
            owners[key] = owning
        if (count := holders.cached(state.group, queue)) is not None:
            cached[key] = count
        if (rate := holders.consumed_tps(state.group, state.topic)) is not None:
            consumed[state.group, state.topic] = rate
    if not owners:
        return None
    return Consumption(owners=owners, cached=cached, consumed_tps=consumed, addresses=addresses_of(broker.memberships))
