"""Replication as brokers tell it (request 907 of 5.x; 4.9 has none), and the tables that slaves copied."""

from __future__ import annotations

from mqctl.model.epochs import Epoch
from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HaConnection:
    """One connection to a master's replication port: of a slave, or of anybody who connected.

    Attributes:
        address: the other side's `ip:port`.
        acknowledged_offset: physical offset it reported last, -1 before its first report.
        is_in_sync: what the master says: less than 256 MiB behind. A connection that never reported is in sync, too.
    """

    address: str
    acknowledged_offset: int
    is_in_sync: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncState:
    """A set of replicas in the eyes of its controller.

    Attributes:
        in_sync, out_of_sync: addresses of its members, the master among those in sync; a member that died stays one.
        master_epoch: number of the last election.
        set_epoch: how often the set changed.
        master: address of the master; None where nobody could be elected.
        dead: addresses of members whose heartbeats do not reach the controller.
    """

    in_sync: tuple[str, ...]
    out_of_sync: tuple[str, ...]
    master_epoch: int
    set_epoch: int = 0
    master: str | None = None
    dead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenController:
    """One of the controllers that a broker is set to.

    Attributes:
        leader: address of the one that leads, as this one says; None where it knows of none.
        answered: whether it answered at all.
    """

    address: str
    leader: str | None
    answered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HaView:
    """Replication in the eyes of one broker.

    Attributes:
        is_master: whether it takes itself for a master.
        connections: to the replication port of a master.
        log_end: end of a master's log, read no earlier than the positions of its connections: none of them can be
            beyond it, however fast the log grows. None where it was not told.
        master_address: replication port that a slave connects to; it stays when that is gone.
        written_ms: when a slave reported last, epoch milliseconds; None on a master. (The time of its last reading is
            of no use: failed attempts to connect renew it.)
        sync_state: of a broker under a controller, by that controller.
        controllers: of a broker under a controller: those that it is set to.
        epochs: of a broker under a controller: which masters wrote from where on, oldest first; None where not told.
    """

    is_master: bool
    connections: tuple[HaConnection, ...] = ()
    log_end: int | None = None
    master_address: str | None = None
    written_ms: int | None = None
    sync_state: SyncState | None = None
    controllers: tuple[SeenController, ...] = ()
    epochs: tuple[Epoch, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLook:
    """The log of a slave at a second look, after its master's: an end that has reached the master's by then, and a
    reading position that has moved, are those of a slave that follows.

    Attributes:
        end: physical end of its log.
        undispatched_bytes: how much of that is in no queue yet; None where it does not tell.
    """

    end: int
    undispatched_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedTables:
    """The tables of a slave, which it copies from its master every 10 s (4.9) or 60 s (5.x).

    Attributes:
        topics, groups: names in its tables.
        offset_count: committed offsets in its table; None when it did not tell.
        is_same: whether its topics and groups are its master's, read after them; None where that is not known. Equal
            versions prove it. Other versions prove nothing: slaves of 5.3.3 count their own.
        differing: topics and groups whose settings are not the master's, or that only the slave has.
        changed_ms: when its master changed one of the tables last, epoch milliseconds; None without a master.
    """

    topics: tuple[str, ...]
    groups: tuple[str, ...]
    offset_count: int | None
    is_same: bool | None = None
    differing: tuple[str, ...] = ()
    changed_ms: int | None = None
