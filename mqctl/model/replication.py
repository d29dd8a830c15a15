"""Replication as brokers tell it (request 907 of 5.x; 4.9 has none)."""

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
class HaView:
    """Replication in the eyes of one broker.

    Attributes:
        is_master: whether it takes itself for a master.
        connections: to the replication port of a master.
        master_address: replication port that a slave connects to; it stays when that is gone.
        written_ms: when a slave reported last, epoch milliseconds; None on a master. (The time of its last reading is
            of no use: failed attempts to connect renew it.)
    """

    is_master: bool
    connections: tuple[HaConnection, ...] = ()
    master_address: str | None = None
    written_ms: int | None = None
