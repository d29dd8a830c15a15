"""`ha status`: every broker process, slaves beside their masters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.model.replicas import Replica, log_bounds, replicas
from mqctl.model.replication import SyncState
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.render.replication import ReplicaRow


def wanted_times(brokers: Sequence[BrokerSnapshot]) -> dict[tuple[str, int], tuple[str, int]]:
    """Returns, of slaves that are behind, the address of their master and where their logs end."""
    masters = {broker.name: broker.address for broker in brokers if broker.broker_id == MASTER_ID}
    return {
        (replica.name, replica.broker_id): (address, replica.end)
        for replica in replicas(brokers)
        if replica.end and (replica.behind_bytes or 0) > 0 and (address := masters.get(replica.name)) is not None
    }


def replica_rows(
    brokers: Sequence[BrokerSnapshot], since_ms: Mapping[tuple[str, int], int], now_ms: int
) -> list[ReplicaRow]:
    """Returns the rows, masters before their slaves.

    Args:
        since_ms: store times of the first messages that slaves do not have, by broker name and id.
    """
    slaves = {(item.name, item.broker_id): item for item in replicas(brokers)}
    ordered = sorted(brokers, key=lambda broker: (broker.cluster or "", broker.name or "", broker.broker_id or 0))
    rows = []
    for broker in ordered:
        replica = slaves.get((broker.name or "", broker.broker_id or 0))
        if replica is None:
            rows.append(_master_row(broker, sum(name == broker.name for name, _ in slaves)))
        else:
            rows.append(_slave_row(broker, replica, since_ms, now_ms))
    return rows


def _master_row(broker: BrokerSnapshot, slave_count: int) -> ReplicaRow:
    start, end = log_bounds(broker)
    view = broker.replication
    sets = view.sync_state if view is not None else None
    return ReplicaRow(
        cluster=broker.cluster or "",
        broker=broker.name or "",
        broker_id=broker.broker_id or 0,
        role=broker.config.get("brokerRole"),
        address=broker.address or "",
        log_start=start,
        log_end=end,
        state="master" if end is not None else "unknown",
        slave_count=slave_count,
        sync_state=None if sets is None else _shown(sets),
        in_sync=None if sets is None else list(sets.in_sync),
        out_of_sync=None if sets is None else list(sets.out_of_sync),
        connections=", ".join(f"{one.address} at {one.acknowledged_offset:,}" for one in view.connections)
        if view is not None
        else None,
        claimed_in_sync_count=sum(one.is_in_sync for one in view.connections) if view is not None else None,
    )


def _shown(sets: SyncState) -> str:
    outside = [f"out: {', '.join(sets.out_of_sync)}"] if sets.out_of_sync else []
    return "; ".join([", ".join(sets.in_sync), *outside, f"epoch {sets.master_epoch}"])


def _slave_row(
    broker: BrokerSnapshot, replica: Replica, since_ms: Mapping[tuple[str, int], int], now_ms: int
) -> ReplicaRow:
    stored_ms = since_ms.get((replica.name, replica.broker_id))
    return ReplicaRow(
        cluster=broker.cluster or "",
        broker=replica.name,
        broker_id=replica.broker_id,
        role=broker.config.get("brokerRole"),
        address=replica.address,
        log_start=replica.start,
        log_end=replica.end,
        behind_bytes=replica.behind_bytes,
        behind_ms=None if stored_ms is None else max(0, now_ms - stored_ms),
        state=replica.state.value,
        undispatched_bytes=replica.undispatched_bytes if replica.end is not None else None,
    )
