"""Replication as brokers tell it (request 907 of 5.x; 4.9 has none), and the tables that slaves copied."""

from __future__ import annotations

from dataclasses import dataclass


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
        master_epoch: how many masters were elected.
    """

    in_sync: tuple[str, ...]
    out_of_sync: tuple[str, ...]
    master_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HaView:
    """Replication in the eyes of one broker.

    Attributes:
        is_master: whether it takes itself for a master.
        connections: to the replication port of a master.
        master_address: replication port that a slave connects to; it stays when that is gone.
        written_ms: when a slave reported last, epoch milliseconds; None on a master. (The time of its last reading is
            of no use: failed attempts to connect renew it.)
        sync_state: of a master under a controller, by that controller.
    """

    is_master: bool
    connections: tuple[HaConnection, ...] = ()
    master_address: str | None = None
    written_ms: int | None = None
    sync_state: SyncState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedTables:
    """The tables of a slave, which it copies from its master every 10 s (4.9) or 60 s (5.x).

    Attributes:
        topics, groups: names in its tables.
        offset_count: committed offsets in its table; None when it did not tell.
        is_same: whether both tables have the versions of its master's; None without a master.
        changed_ms: when its master changed one of them last, epoch milliseconds; None without a master.
    """

    topics: tuple[str, ...]
    groups: tuple[str, ...]
    offset_count: int | None
    is_same: bool | None = None
    changed_ms: int | None = None
