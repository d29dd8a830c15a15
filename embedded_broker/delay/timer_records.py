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
_FILLER_BYTES = 16


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


def read_record(data: bytes) -> TimerRecord | None:
    """Reads a record of the timer log; None when it is none."""
    record = TimerRecord(*RECORD.unpack(data))
    return record if record.size_bytes == RECORD.size and 0 <= record.magic <= 15 else None


def slot_with(slot: Slot | None, record: TimerRecord, position: int, units: int) -> Slot:
    """Returns a slot in which one more record hangs, whose place in the log is given; None is one without any."""
    step = -1 if record.magic & DELETE else 1
    if slot is None:
        return Slot(units, position, position, step, 0)
    return Slot(slot.units, slot.first_pos, position, slot.net_count + step, slot.magic)


class LogPlaces:
    """Where records stand in a timer log of files of one size, each of which ends with a filler."""

    def __init__(self, directory: str, file_bytes: int) -> None:
        self._directory = directory
        self._file_bytes = file_bytes
        self.last_in_file = ((file_bytes - _FILLER_BYTES) // RECORD.size - 1) * RECORD.size

    def file(self, start: int) -> str:
        """Returns the path of the file that begins at a position of the log."""
        return f"{self._directory}/{start:020d}"

    def before(self, position: int) -> int:
        """Returns the place of the record before a position, the filler of a full file left out."""
        if position % self._file_bytes:
            return position - RECORD.size
        return position - self._file_bytes + self.last_in_file

    def after(self, position: int) -> int:
        """Returns the place behind a record: in the next file when no further one fits."""
        end = position + RECORD.size
        left = self._file_bytes - end % self._file_bytes
        return end if left >= RECORD.size + _FILLER_BYTES else end + left

    def room(self, position: int) -> int:
        """Returns how many records one write may append: none of them the first or the last of a file, else one."""
        at = position % self._file_bytes
        return max(1, (self.last_in_file - at) // RECORD.size) if at else 1
