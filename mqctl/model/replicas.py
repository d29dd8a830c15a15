"""What slaves hold of their masters' logs, from what both tell of themselves.

The ends of the logs are those of request 28. Logs grow while they are asked for, so that two ends mean something in one
order only. A slave is asked before its master: one that follows is never ahead. A slave that seems to be behind is
asked once more after its master: if its log has reached the master's end by then, it lacks nothing.

Sources: `HAService`, `DefaultHAService`. Two misleading numbers are left alone: `inSync` is true for an idle
connection, `dispatchBehindBytes` is about a slave's own log.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import BrokerSnapshot

NORMAL_BEHIND_BYTES = 1 << 20
"""What a slave may be behind for a moment: masters look every 100 ms for something to send."""


class ReplicaState(StrEnum):
    """How a slave stands to its master's log."""

    IN_SYNC = "in-sync"
    CATCHING_UP = "catching-up"
    BEHIND = "behind"
    CUT_OFF = "cut-off"
    EMPTY = "empty"
    PARTIAL = "partial"
    AHEAD = "ahead"
    DIVERGED = "diverged"
    NO_MASTER = "no-master"
    UNKNOWN = "unknown"

    @property
    def follows(self) -> bool:
        """Whether the slave has, or gets within a moment, what its master has."""
        return self in (ReplicaState.IN_SYNC, ReplicaState.CATCHING_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One slave beside its master.

    Attributes:
        start, end: physical bounds of the slave's log; None when it did not tell.
        master_start, master_end: those of the master's.
        undispatched_bytes: bytes of its own log that it could not put into queues; 0 while it puts them there.
        dispatched: how far it has put its own log into queues; None when it did not tell.
        state: the worst of what is seen.
    """

    name: str
    broker_id: int
    address: str
    start: int | None
    end: int | None
    master_start: int | None
    master_end: int | None
    undispatched_bytes: int
    dispatched: int | None
    state: ReplicaState

    @property
    def behind_bytes(self) -> int | None:
        """Bytes that the slave's log ends before the master's; below 0 when it ends behind it."""
        return None if self.end is None or self.master_end is None else self.master_end - self.end


def replicas(brokers: Iterable[BrokerSnapshot]) -> list[Replica]:
    """Puts every slave beside its master, by broker name and id."""
    masters: dict[str, BrokerSnapshot] = {}
    slaves: list[BrokerSnapshot] = []
    for broker in brokers:
        if broker.broker_id == MASTER_ID:
            masters[broker.name or ""] = broker
        elif broker.broker_id is not None:
            slaves.append(broker)
    ordered = sorted(slaves, key=lambda broker: (broker.name or "", broker.broker_id or 0))
    return [_replica(slave, masters.get(slave.name or "")) for slave in ordered]


def log_bounds(broker: BrokerSnapshot) -> tuple[int | None, int | None]:
    """Returns the physical bounds of a broker's log as it tells them; None where it does not or has no file (-1)."""
    start, end = _number(broker, "commitLogMinOffset"), _number(broker, "commitLogMaxOffset")
    return None if start is not None and start < 0 else start, end


def undispatched_bytes(broker: BrokerSnapshot) -> int | None:
    """Returns how much of a broker's own log is in no queue yet; None where it does not tell."""
    return _number(broker, "dispatchBehindBytes")


def _replica(slave: BrokerSnapshot, master: BrokerSnapshot | None) -> Replica:
    start, end = log_bounds(slave)
    master_start, master_end = log_bounds(master) if master is not None else (None, None)
    undispatched = undispatched_bytes(slave) or 0
    dispatched = None if end is None else end - undispatched
    again = slave.log_again
    if again is not None and end is not None and master_end is not None:
        moved = again.end - (again.undispatched_bytes or 0)
        undispatched = 0 if moved > end - undispatched else again.undispatched_bytes or 0
        dispatched = moved
        end = end if end > master_end else min(again.end, master_end)
    return Replica(
        name=slave.name or "",
        broker_id=slave.broker_id or 0,
        address=slave.address or "",
        start=start,
        end=end,
        master_start=master_start,
        master_end=master_end,
        undispatched_bytes=undispatched,
        dispatched=dispatched,
        state=_state((start, end), (master_start, master_end), undispatched, has_master=master is not None),
    )


def _state(
    slave: tuple[int | None, int | None], master: tuple[int | None, int | None], undispatched: int, *, has_master: bool
) -> ReplicaState:
    if not has_master:
        return ReplicaState.NO_MASTER
    (start, end), (master_start, master_end) = slave, master
    if end is None or master_end is None:
        return ReplicaState.UNKNOWN
    behind = master_end - end
    states = {
        ReplicaState.EMPTY: end == 0 and master_end > 0,
        ReplicaState.CUT_OFF: master_start is not None and 0 < end < master_start,
        ReplicaState.AHEAD: behind < 0,
        ReplicaState.BEHIND: behind > NORMAL_BEHIND_BYTES,
        ReplicaState.DIVERGED: undispatched > (0 if behind == 0 else NORMAL_BEHIND_BYTES),
        ReplicaState.PARTIAL: start is not None and master_start is not None and start > master_start,
        ReplicaState.CATCHING_UP: behind > 0,
    }
    return next((state for state, holds in states.items() if holds), ReplicaState.IN_SYNC)


def _number(broker: BrokerSnapshot, key: str) -> int | None:
    return decimal(broker.runtime.get(key), -MOST_INT64)
