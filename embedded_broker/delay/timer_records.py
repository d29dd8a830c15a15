"""What the files of the timer wheel of 5.x hold: slots, records that hang in them, and how far the wheel has come.

Source: `Slot`, `TimerLog`, `TimerCheckpoint` of 5.3.3; every number is big-endian.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

SLOT = Struct(">qqqii")
RECORD = Struct(">iqiqiqiiq")
FILLER = Struct(">iqi")
DEFAULT, ROLL, DELETE = 1, 2, 4
"""Bits of a record's magic: a message, one that is rolled, one that takes another away."""
NO_POSITION = -1


class Slot(NamedTuple):
    """One slot: valid for the unit of time it names; `last_pos` is the newest record in it."""

    units: int
    first_pos: int
    last_pos: int
    net_count: int
    magic: int


UNUSED = Slot(0, 0, 0, 0, 0)


class TimerRecord(NamedTuple):
    """One record of the timer log.

    Attributes:
        magic: DEFAULT, with ROLL or DELETE.
        write_ms: when it was enqueued; `write_ms + delayed_ms` is its slot's time.
    """

    size_bytes: int
    previous_pos: int
    magic: int
    write_ms: int
    delayed_ms: int
    physical_offset: int
    record_bytes: int
    topic_hash: int
    reserved: int = 0


class TimerCheckpoint(NamedTuple):
    """`config/timercheck`: until where the wheel was turned and the timer topic read."""

    read_ms: int = 0
    log_pos: int = 0
    queue_offset: int = 0
    master_queue_offset: int = 0
    state_version: int = 0
    timestamp_ms: int = 0
    counter: int = 0
