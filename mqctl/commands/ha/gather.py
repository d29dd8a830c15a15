"""`ha status`: every broker process, slaves beside their masters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.commands.ha.status_view import ControllerRow, ReplicaRow
from mqctl.model.epochs import Epoch, meeting_point
from mqctl.model.replicas import Replica, log_bounds, replicas, undispatched_bytes
from mqctl.model.replication import SyncState
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.text import joined, sentence


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
            master = next((item for item in brokers if item.name == broker.name and item.broker_id == MASTER_ID), None)
            rows.append(_slave_row(broker, replica, master, since_ms=since_ms, now_ms=now_ms))
    return rows


def controller_rows(brokers: Sequence[BrokerSnapshot]) -> list[ControllerRow]:
    """Returns the controllers that brokers are set to, each once."""
    names: dict[tuple[str, str | None, bool], set[str]] = {}
    for broker in brokers:
        for seen in broker.replication.controllers if broker.replication is not None else ():
            names.setdefault((seen.address, seen.leader, seen.answered), set()).add(broker.name or "")
    return [
        ControllerRow(
            address=address,
            state="silent" if not answered else "leads" if leader == address else "follows" if leader else "leaderless",
            leader=leader,
            brokers=sorted(known),
        )
        for (address, leader, answered), known in sorted(names.items(), key=lambda item: item[0][0])
    ]


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
        undispatched_bytes=undispatched_bytes(broker),
        sync_state=None if sets is None else _shown(sets),
        in_sync=None if sets is None else list(sets.in_sync),
        out_of_sync=None if sets is None else list(sets.out_of_sync),
        dead=None if sets is None else list(sets.dead),
        epochs=None if view is None else _epochs(view.epochs),
        connections=", ".join(f"{one.address} at {one.acknowledged_offset:,}" for one in view.connections)
        if view is not None
        else None,
        claimed_in_sync_count=sum(one.is_in_sync for one in view.connections) if view is not None else None,
    )


def _shown(sets: SyncState) -> str:
    outside = (
        [sentence("replication-out", "out: {out_of_sync}", out_of_sync=sets.out_of_sync)] if sets.out_of_sync else []
    )
    return joined(
        "; ",
        [
            ", ".join(sets.in_sync),
            *outside,
            sentence("replication-epoch", "epoch {master_epoch}", master_epoch=sets.master_epoch),
        ],
    )


def _epochs(epochs: tuple[Epoch, ...] | None) -> str | None:
    return None if epochs is None else ", ".join(f"{item.epoch}@{item.start:,}" for item in epochs)


def _slave_row(
    broker: BrokerSnapshot,
    replica: Replica,
    master: BrokerSnapshot | None,
    *,
    since_ms: Mapping[tuple[str, int], int],
    now_ms: int,
) -> ReplicaRow:
    stored_ms = since_ms.get((replica.name, replica.broker_id))
    view = broker.replication
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
        epochs=None if view is None else _epochs(view.epochs),
        epochs_meet_at=_meeting(broker, replica, master),
        connections=sentence("replication-connects", "connects to {master_address}", master_address=view.master_address)
        if view is not None and view.master_address
        else None,
        silent_ms=None if view is None or view.written_ms is None else max(0, now_ms - view.written_ms),
        undispatched_bytes=undispatched_bytes(broker),
    )


def _meeting(broker: BrokerSnapshot, replica: Replica, master: BrokerSnapshot | None) -> int | None:
    """Returns where the slave would be cut by both brokers' epochs; None where that is not known."""
    views = (broker.replication, master.replication if master is not None else None)
    own, other = (view.epochs if view is not None else None for view in views)
    if own is None or other is None or replica.end is None or replica.master_end is None:
        return None
    return meeting_point(own, replica.end, other, replica.master_end)
