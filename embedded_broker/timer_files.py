"""The files of the timer wheel of 5.x: slots by second, a log of records that hang in them, and a checkpoint.

Source: `TimerWheel`, `TimerLog`, `TimerCheckpoint` of 5.3.3; every number is big-endian.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from mqctl.store.disk import Disk
from mqctl.store.layouts import BLANK_BYTES, MAGIC_BLANK, TIMER_CHECK, TIMER_LOG_RECORD_BYTES
from mqctl.store.log_writer import file_starts

SLOTS = 7 * 86_400
"""How many units ahead the wheel reaches; its ring is twice as long."""
DEFAULT, ROLL, DELETE = 1, 2, 4
NO_POSITION = -1

_RING = 2 * SLOTS
_SLOT = Struct(">qqqii")
_RECORD = Struct(">iqiqiqiiq")
_FILLER = Struct(">iqi")
_CHECK_BYTES = 4_096
_FILLER_BYTES = 16
_READ_SLOTS = 4_096


class Slot(NamedTuple):
    """One slot: valid for the unit of time it names; `last_pos` is the newest record in it."""

    units: int
    first_pos: int
    last_pos: int
    net_count: int
    magic: int


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


class TimerFiles:
    """Reads and writes wheel, log and checkpoint below a store's directory.

    Args:
        precision_ms: length of a unit of time.
        log_file_bytes: size of a file of the log (`mappedFileSizeTimerLog`).

    Attributes:
        log_pos: where the next record goes.
    """

    def __init__(self, directory: Path, disk: Disk, *, precision_ms: int, log_file_bytes: int) -> None:
        self._wheel = f"{directory}/timerwheel"
        self._log = f"{directory}/timerlog"
        self._check = f"{directory}/config/timercheck"
        self._disk = disk
        self._precision_ms = precision_ms
        self._file_bytes = log_file_bytes
        self._files: dict[int, str] = {}
        self.log_pos = 0

    def open(self) -> TimerCheckpoint:
        """Creates what is missing, and hangs records into the wheel that the checkpoint does not know of.

        Raises:
            ConfigurationError: the files have other sizes than the settings say.
            DiskFullError, StorageError: the operating system refuses.
        """
        disk = self._disk
        whole = Path(self._wheel).exists()
        disk.create(self._wheel, _RING * _SLOT.size)
        self._files = {start: self._file(start) for start in file_starts(self._log)}
        for path in self._files.values():
            disk.check_size(path, self._file_bytes, "mappedFileSizeTimerLog")
        disk.create(self._check, _CHECK_BYTES)
        check = TimerCheckpoint(*TIMER_CHECK.unpack(disk.read(self._check, TIMER_CHECK.size, 0)))
        # A lost wheel, or a checkpoint that fits no file: the whole log tells what hangs where.
        self.log_pos = check.log_pos if whole and self._fits(check.log_pos) else min(self._files, default=0)
        while record := self.record_at(self.log_pos):
            self._hang(record, self.log_pos)
            self.log_pos = self._after(self.log_pos)
        return check

    def _fits(self, position: int) -> bool:
        """Tells whether a position is where a record of the log begins, or the next one will."""
        start = position // self._file_bytes * self._file_bytes
        known = start in self._files or start - self._file_bytes == max(self._files, default=-self._file_bytes)
        return known and position >= 0 and (position - start) % TIMER_LOG_RECORD_BYTES == 0

    def last_record(self) -> TimerRecord | None:
        """Returns the newest record of the log, or None."""
        in_file = self.log_pos % self._file_bytes
        if in_file:
            return self.record_at(self.log_pos - TIMER_LOG_RECORD_BYTES)
        last_of_file = (self._file_bytes - _FILLER_BYTES) // TIMER_LOG_RECORD_BYTES - 1
        return self.record_at(self.log_pos - self._file_bytes + last_of_file * TIMER_LOG_RECORD_BYTES)

    def save(self, check: TimerCheckpoint) -> None:
        """Writes the checkpoint. Raises DiskFullError, StorageError."""
        self._disk.write(self._check, TIMER_CHECK.pack(*check), 0)

    # The log

    def _file(self, start: int) -> str:
        return f"{self._log}/{start:020d}"

    def _after(self, position: int) -> int:
        """Returns the place behind a record: in the next file when no further one fits."""
        end = position + TIMER_LOG_RECORD_BYTES
        left = self._file_bytes - end % self._file_bytes
        return end if left >= TIMER_LOG_RECORD_BYTES + _FILLER_BYTES else end + left

    def record_at(self, position: int) -> TimerRecord | None:
        """Returns the record at a position of the log, or None when there is none. Raises StorageError."""
        start = position // self._file_bytes * self._file_bytes
        path = self._files.get(start)
        if path is None:
            return None
        data = self._disk.read(path, TIMER_LOG_RECORD_BYTES, position - start)
        if len(data) < TIMER_LOG_RECORD_BYTES:
            return None
        record = TimerRecord(*_RECORD.unpack(data))
        return record if record.size_bytes == TIMER_LOG_RECORD_BYTES and 0 <= record.magic <= 15 else None

    def add(self, record: TimerRecord, units: int) -> None:
        """Appends a record and hangs it into the slot of a unit of time. Raises DiskFullError, StorageError."""
        position = self.log_pos
        slot = self.slot(units)
        record = record._replace(previous_pos=slot.last_pos if slot is not None else NO_POSITION)
        start = position // self._file_bytes * self._file_bytes
        path = self._file(start)
        if position == start:
            self._disk.create(path, self._file_bytes)
            self._files[start] = path
        self._disk.write(path, _RECORD.pack(*record), position - start)
        self._hang(record, position)
        following = self._after(position)
        left = start + self._file_bytes - position - TIMER_LOG_RECORD_BYTES
        if following == start + self._file_bytes and left >= BLANK_BYTES:
            filler = _FILLER.pack(left, 0, MAGIC_BLANK)
            self._disk.write(path, filler, position - start + TIMER_LOG_RECORD_BYTES)
        self.log_pos = following

    def drop_before(self, log_min: int) -> None:
        """Deletes whole files, oldest first and never the newest, whose messages the commit log has no more.

        As `MappedFileQueue.deleteExpiredFileByOffsetForTimerLog` of 5.3.3: a file's last record tells.

        Raises:
            StorageError: a file cannot be read or deleted.
        """
        last_in_file = ((self._file_bytes - _FILLER_BYTES) // TIMER_LOG_RECORD_BYTES - 1) * TIMER_LOG_RECORD_BYTES
        starts = sorted(self._files)
        for start in starts[:-1]:
            last = self.record_at(start + last_in_file)
            if last is None or last.physical_offset >= log_min:
                return
            self._disk.delete(self._files.pop(start))

    # The wheel

    def slot(self, units: int) -> Slot | None:
        """Returns the slot of a unit of time, or None when nothing hangs there. Raises StorageError."""
        found = Slot(*_SLOT.unpack(self._disk.read(self._wheel, _SLOT.size, units % _RING * _SLOT.size)))
        return found if found.units == units else None

    def _hang(self, record: TimerRecord, position: int) -> None:
        units = (record.write_ms + record.delayed_ms) // self._precision_ms
        slot = self.slot(units)
        step = -1 if record.magic & DELETE else 1
        if slot is None:
            fresh = Slot(units, position, position, step, 0)
        elif slot.last_pos < position:
            fresh = slot._replace(last_pos=position, net_count=slot.net_count + step)
        else:
            return
        self._disk.write(self._wheel, _SLOT.pack(*fresh), units % _RING * _SLOT.size)

    def used_slots(self, first_units: int, end_units: int) -> Iterator[Slot]:
        """Yields the slots in use of some units of time, in their order. Raises StorageError."""
        units = first_units
        while units < end_units:
            at = units % _RING
            count = min(end_units - units, _RING - at, _READ_SLOTS)
            data = self._disk.read(self._wheel, count * _SLOT.size, at * _SLOT.size)
            for number, fields in enumerate(_SLOT.iter_unpack(data)):
                if fields[0] == units + number:
                    yield Slot(*fields)
            units += count

    def chain(self, slot: Slot) -> list[TimerRecord]:
        """Returns the records of a slot, oldest first. Raises StorageError."""
        found: list[TimerRecord] = []
        position, before = slot.last_pos, self.log_pos
        while 0 <= position < before:
            record = self.record_at(position)
            if record is None:
                break
            found.append(record)
            position, before = record.previous_pos, position
        return found[::-1]
