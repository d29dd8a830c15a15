"""The files of the timer wheel of 5.x: slots by second, a log of records that hang in them, and a checkpoint.

Nothing else tells what was taken out of the timer topic, so the order counts in which they reach the disk: records and
slots first, then the checkpoint that says they are there. What lies behind the checkpoint may be torn, and is believed
only where records bear it out. Source: `TimerWheel`, `TimerLog`, `TimerCheckpoint` of 5.3.3; every number is
big-endian.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from embedded_broker.delay.timer_records import (
    DELETE,
    FILLER,
    NO_POSITION,
    RECORD,
    SLOT,
    UNUSED,
    LogPlaces,
    Slot,
    TimerCheckpoint,
    TimerRecord,
    read_record,
    slot_with,
)
from mqctl.errors import MqctlError
from mqctl.store.disk import Disk
from mqctl.store.layouts import BLANK_BYTES, MAGIC_BLANK, TIMER_CHECK, TIMER_LOG_RECORD_BYTES
from mqctl.store.log_writer import file_runs

SLOTS = 7 * 86_400
"""How many units ahead the wheel reaches; its ring is twice as long."""

_RING = 2 * SLOTS
_CHECK_BYTES = 4_096
_READ_SLOTS = 4_096


class TimerFiles:
    """Reads and writes wheel, log and checkpoint below a store's directory.

    Args:
        precision_ms: length of a unit of time.
        log_file_bytes: size of a file of the log (`mappedFileSizeTimerLog`).

    Attributes:
        log_pos: where the next record goes.
        is_shorter: the log ended before the place that the checkpoint names, so this says too much of the topic, too.
    """

    def __init__(self, directory: Path, disk: Disk, *, precision_ms: int, log_file_bytes: int) -> None:
        self._directory = str(directory)
        self._wheel = f"{directory}/timerwheel"
        self._log = f"{directory}/timerlog"
        self._check = f"{directory}/config/timercheck"
        self._disk = disk
        self._precision_ms = precision_ms
        self._file_bytes = log_file_bytes
        self._places = LogPlaces(self._log, log_file_bytes)
        self._files: dict[int, str] = {}
        self._written: set[str] = set()
        self._fresh: dict[int, Slot] = {}  # what holds of slots that were written since the last sync
        self._torn: set[int] = set()
        self._durable_pos = 0
        self.log_pos = 0
        self.is_shorter = False

    # Opening

    def open(
        self,
        is_sound: Callable[[TimerRecord], bool],
        is_right: Callable[[TimerRecord, TimerCheckpoint], bool],
        now_units: int,
    ) -> TimerCheckpoint:
        """Creates what is missing, hangs records into the wheel that the checkpoint does not know of, cuts the rest.

        Args:
            is_sound: tells whether a record is one of a message that is there.
            is_right: tells more strictly, for a record behind the place that the checkpoint names, whether it is as it
                was written: two tries at one place may have left half of each.
            now_units: where the wheel begins when no checkpoint says so.

        Raises:
            ConfigurationError: the files have other sizes than the settings say.
            DiskFullError, StorageError: the operating system refuses.
        """
        disk = self._disk
        whole = Path(self._wheel).exists()
        self._create(self._wheel, _RING * SLOT.size)
        self._create(self._check, _CHECK_BYTES)
        # Who made the files may have died before it synced their names.
        self._written.update((self._log, self._directory, str(Path(self._check).parent)))
        check = TimerCheckpoint(*TIMER_CHECK.unpack(disk.read(self._check, TIMER_CHECK.size, 0)))
        self._files = {start: self._places.file(start) for start in self._following_starts(check.log_pos)}
        for path in self._files.values():
            disk.check_size(path, self._file_bytes, "mappedFileSizeTimerLog")
        # A lost wheel, or a checkpoint that fits no file: the whole log tells what hangs where.
        whole = whole and self._fits(check.log_pos)
        self.log_pos = check.log_pos if whole else min(self._files, default=0)
        while (last := self.last_record()) is not None and not is_sound(last):
            self.log_pos = self._places.before(self.log_pos)  # its message went with the end of the commit log
        self._durable_pos = self.log_pos
        seen: set[int] = set()
        while (record := self.record_at(self.log_pos)) and is_sound(record):
            if self.log_pos >= check.log_pos and not is_right(record, check):
                break
            self._rehang(record, self.log_pos, seen)
            self._doubt(self._places.file(self.log_pos // self._file_bytes * self._file_bytes))
            self.log_pos = self._places.after(self.log_pos)
        self.is_shorter = self.log_pos < check.log_pos
        self._cut_log()
        self._mend_slots(check.read_ms // self._precision_ms or now_units)
        self.sync()
        return check

    def _following_starts(self, position: int) -> list[int]:
        """Returns where the files begin that follow one another to and from a position, and deletes the others.

        Those before a gap were deleted once, and a power failure brought them back; or it took a new file whose name
        was not on the disk, and those behind the gap came after it.
        """
        runs = file_runs(self._log, self._file_bytes)
        kept = next((run for run in runs if run and run[0] <= position <= run[-1] + self._file_bytes), runs[-1])
        for start in [start for run in runs if run is not kept for start in run]:
            self._delete(self._places.file(start))
        return kept

    def _fits(self, position: int) -> bool:
        """Tells whether a position is where the next record goes: at the begin of the log, or behind a record."""
        start = position // self._file_bytes * self._file_bytes
        known = start in self._files or start - self._file_bytes == max(self._files, default=-self._file_bytes)
        if not known or position < 0 or (position - start) % TIMER_LOG_RECORD_BYTES:
            return False
        return position == min(self._files, default=0) or self.record_at(self._places.before(position)) is not None

    def _rehang(self, record: TimerRecord, position: int, seen: set[int]) -> None:
        """Hangs a record in again; of the slot, what leads to it or behind it is not believed."""
        units = self._units(record)
        slot = self.slot(units)
        if slot is not None and (units not in seen and slot.last_pos >= position):
            older = record.previous_pos if 0 <= record.previous_pos < position else NO_POSITION
            if older == NO_POSITION:
                slot = None
            else:
                slot = slot._replace(last_pos=older, net_count=self._net_count(units, older))
        seen.add(units)
        self._hang(record, position, slot)

    def _net_count(self, units: int, last_pos: int) -> int:
        return sum(-1 if record.magic & DELETE else 1 for record in self._chain(units, last_pos))

    def _cut_log(self) -> None:
        """Wipes out what lies behind the log's end: the next record would be followed by a stale one."""
        for start in [start for start in self._files if start >= self.log_pos and start > min(self._files)]:
            self._delete(self._files.pop(start))
        path = self._files.get(self.log_pos // self._file_bytes * self._file_bytes)
        if path is not None and self._disk.clear_from(path, self.log_pos % self._file_bytes):
            self._note(path)

    def _mend_slots(self, first_units: int) -> None:
        """Puts right slots from a unit on that lead to no record of theirs: the log, from its begin, tells what does.

        A slot that was written after the checkpoint may have survived its records, or be half a slot.
        """
        doubtful = {
            slot.units for slot in self.used_slots(first_units, first_units + SLOTS) if not self._leads_well(slot)
        }
        if not doubtful:
            return
        slots: dict[int, Slot] = {}
        position = min(self._files, default=0)
        while position < self.log_pos and (record := self.record_at(position)):
            units = self._units(record)
            if units in doubtful:
                slots[units] = slot_with(slots.get(units), record, position, units)
            position = self._places.after(position)
        for units in doubtful:
            self._put_slot(units, slots.get(units, UNUSED))

    def _leads_well(self, slot: Slot) -> bool:
        last = self.record_at(slot.last_pos) if 0 <= slot.last_pos < self.log_pos else None
        return (
            last is not None
            and slot.last_pos % self._file_bytes % TIMER_LOG_RECORD_BYTES == 0
            and self._units(last) == slot.units
            and 0 <= slot.first_pos <= slot.last_pos
        )

    # Reaching the disk

    def _create(self, path: str, size_bytes: int) -> None:
        if not Path(path).exists():  # noted first: a try that fails may leave the file, and the next one finds it
            self._written.update((path, str(Path(path).parent), self._directory))
        self._disk.create(path, size_bytes)

    def _delete(self, path: str) -> None:
        """Deletes a file for good: one that came back would stand before a gap."""
        self._written.discard(path)
        self._disk.delete(path)
        self._disk.sync_file(self._log)

    def _note(self, path: str) -> None:
        """Notes that a file is to be synced here, before the checkpoint, and not whenever the store's others are."""
        self._written.add(path)
        self._disk.unsynced.discard(path)

    def _doubt(self, path: str) -> None:
        """Has the next sync write a file again: if one of who wrote it failed, the system takes it for written."""
        self._written.add(path)
        self._disk.spoilt.add(path)

    def _write(self, path: str, data: bytes, position: int) -> None:
        try:
            self._disk.write(path, data, position)
        finally:
            self._note(path)

    def sync(self) -> None:
        """Makes records and slots durable.

        Raises:
            DiskFullError, StorageError: some are not; the next call tries all of it again.
        """
        if not self._disk.spoilt.isdisjoint(self._written):
            self._renew()
        for units in list(self._torn):
            self._put_slot(units, self._fresh[units])
        for path in sorted(self._written):
            self._disk.sync_file(path)
            self._written.discard(path)
        self._durable_pos = self.log_pos
        self._fresh.clear()

    def _renew(self) -> None:
        """Writes again what a failed sync may have dropped: for the system it is written, and not tried again."""
        position = self._durable_pos
        while position < self.log_pos:
            start = position // self._file_bytes * self._file_bytes
            data = self._disk.read(self._files[start], TIMER_LOG_RECORD_BYTES, position - start)
            self._write(self._files[start], data, position - start)
            position = self._places.after(position)
        for units, slot in list(self._fresh.items()):
            self._put_slot(units, slot)
        self._disk.spoilt.difference_update(self._written)

    def save(self, check: TimerCheckpoint, *, durable: bool) -> None:
        """Writes the checkpoint behind what it vouches for. Raises DiskFullError, StorageError.

        Args:
            durable: bring it to the disk; without, a power failure takes the wheel back to the one before.
        """
        self.sync()
        self._disk.write(self._check, TIMER_CHECK.pack(*check), 0)
        self._disk.spoilt.discard(self._check)
        if durable:
            self._disk.sync_file(self._check)

    # The log

    def last_record(self) -> TimerRecord | None:
        """Returns the newest record of the log, or None."""
        return self.record_at(self._places.before(self.log_pos))

    def record_at(self, position: int) -> TimerRecord | None:
        """Returns the record at a position of the log, or None when there is none. Raises StorageError."""
        start = position // self._file_bytes * self._file_bytes
        path = self._files.get(start)
        if path is None:
            return None
        data = self._disk.read(path, TIMER_LOG_RECORD_BYTES, position - start)
        return read_record(data) if len(data) == TIMER_LOG_RECORD_BYTES else None

    def add(self, record: TimerRecord, units: int) -> None:
        """Appends a record and hangs it into the slot of a unit of time. Raises as `add_some`."""
        position = self.log_pos
        slot = self.slot(units)
        record = record._replace(previous_pos=slot.last_pos if slot is not None else NO_POSITION)
        start = position // self._file_bytes * self._file_bytes
        if position == start:
            self._create(self._places.file(start), self._file_bytes)
            self._files[start] = self._places.file(start)
        path = self._files[start]
        following = self._places.after(position)
        left = start + self._file_bytes - position - TIMER_LOG_RECORD_BYTES
        if following == start + self._file_bytes and left >= BLANK_BYTES:
            filler = FILLER.pack(left, 0, MAGIC_BLANK)
            self._write(path, filler, position - start + TIMER_LOG_RECORD_BYTES)
        self._write(path, RECORD.pack(*record), position - start)
        self._hang(record, position, slot)
        self.log_pos = following

    def add_some(self, hung: Sequence[tuple[TimerRecord, int]]) -> int:
        """Appends the first of some records, each with its slot's unit of time: as many as one write does, and returns
        how many; every slot is written once.

        Raises:
            DiskFullError, StorageError: none of them hangs anywhere, and nothing else does that did not.
        """
        hung = hung[: self._places.room(self.log_pos)]
        if len(hung) < 2:
            self.add(*hung[0])
            return 1
        position, parts = self.log_pos, []
        slots: dict[int, Slot] = {}
        for record, units in hung:
            slot = slots.get(units) or self.slot(units)
            parts.append(RECORD.pack(record.size_bytes, slot.last_pos if slot else NO_POSITION, *record[2:]))
            slots[units] = slot_with(slot, record, position, units)
            position += TIMER_LOG_RECORD_BYTES
        start = self.log_pos // self._file_bytes * self._file_bytes
        self._write(self._files[start], b"".join(parts), self.log_pos - start)
        before = {units: self._fresh.get(units) or self.slot(units) or UNUSED for units in slots}
        try:
            for units, slot in slots.items():
                self._put_slot(units, slot)
        except MqctlError:
            self._fresh.update(before)
            self._torn.update(before)
            raise
        self.log_pos = position
        return len(hung)

    def drop_before(self, log_min: int) -> None:
        """Deletes whole files, oldest first and never the newest, whose messages the commit log has no more.

        As `MappedFileQueue.deleteExpiredFileByOffsetForTimerLog` of 5.3.3: a file's last record tells.

        Raises:
            StorageError: a file cannot be read or deleted.
        """
        starts = sorted(self._files)
        for start in starts[:-1]:
            last = self.record_at(start + self._places.last_in_file)
            if last is None or last.physical_offset >= log_min:
                return
            self._delete(self._files[start])
            self._files.pop(start)

    # The wheel

    def _units(self, record: TimerRecord) -> int:
        return (record.write_ms + record.delayed_ms) // self._precision_ms

    def slot(self, units: int) -> Slot | None:
        """Returns the slot of a unit of time, or None when nothing hangs there. Raises StorageError."""
        fresh = self._fresh.get(units)
        if fresh is not None:
            return fresh if fresh.units == units else None
        stored = Slot(*SLOT.unpack(self._disk.read(self._wheel, SLOT.size, units % _RING * SLOT.size)))
        return stored if stored.units == units else None

    def _put_slot(self, units: int, slot: Slot) -> None:
        """Writes a slot; one that could not be written counts as it was, whatever half of it is in the file."""
        self._fresh[units] = self._fresh.get(units) or self.slot(units) or UNUSED
        self._torn.add(units)
        self._write(self._wheel, SLOT.pack(*slot), units % _RING * SLOT.size)
        self._torn.discard(units)
        self._fresh[units] = slot

    def _hang(self, record: TimerRecord, position: int, slot: Slot | None) -> None:
        units = self._units(record)
        self._put_slot(units, slot_with(slot, record, position, units))

    def used_slots(self, first_units: int, end_units: int) -> Iterator[Slot]:
        """Yields the slots in use of some units of time, in their order. Raises StorageError."""
        units = first_units
        while units < end_units:
            at = units % _RING
            count = min(end_units - units, _RING - at, _READ_SLOTS)
            if count == _READ_SLOTS and (hole := self._hole(at)):
                units += min(hole, _RING - at)
                continue
            data = self._disk.read(self._wheel, count * SLOT.size, at * SLOT.size)
            for number, fields in enumerate(SLOT.iter_unpack(data), start=units):
                if fields[0] == number or number in self._fresh:
                    slot = self._fresh.get(number) or Slot(*fields)
                    if slot.units == number:
                        yield slot
            units += count

    def _hole(self, at: int) -> int:
        """Returns how many slots from one on were never written: most of a wheel is a hole in its file."""
        data_at = self._disk.next_data(self._wheel, at * SLOT.size)
        return _RING if data_at is None else data_at // SLOT.size - at

    def chain(self, slot: Slot) -> list[TimerRecord]:
        """Returns the records of a slot, oldest first. Raises StorageError."""
        return list(self._chain(slot.units, slot.last_pos))[::-1]

    def _chain(self, units: int, last_pos: int) -> Iterator[TimerRecord]:
        position, before = last_pos, self.log_pos
        while 0 <= position < before:
            record = self.record_at(position)
            if record is None or self._units(record) != units:
                break
            yield record
            position, before = record.previous_pos, position
