"""Writing and asking index files: hash chains from a key to the records that bear it.

Entries of many messages are written together: first the entries, then the header, then the slots that lead to them, so
that a reader never follows a slot to an entry that is not there. Source: `IndexService`, `IndexFile`, `IndexHeader` of
4.9.8.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from struct import Struct
from typing import NamedTuple

from mqctl.model.java_hash import key_hash
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.disk import Disk
from mqctl.store.layouts import (
    INDEX_ENTRIES,
    INDEX_ENTRY_BYTES,
    INDEX_HEADER,
    INDEX_HEADER_BYTES,
    INDEX_SLOTS,
)

_ENTRY = Struct(">iqii")
_SLOT = Struct(">i")
_SLOT_BYTES = 4
_INT_MAX = (1 << 31) - 1
_NAME_DIGITS = 17
_PASSED = 256
"""Entries of a chain between two pauses."""

Finding = Generator[None, None, list[int]]


class Keyed(NamedTuple):
    """A record that is to be found by some keys."""

    topic: str
    keys: list[str]
    physical_offset: int
    store_ms: int


@dataclass(frozen=True, slots=True)
class Header:
    """Counters of an index file, as in its first 40 bytes; `count` is one above the number of entries."""

    begin_ms: int = 0
    end_ms: int = 0
    begin_physical: int = 0
    end_physical: int = 0
    used_slots: int = 0
    count: int = 1

    def pack(self) -> bytes:
        return INDEX_HEADER.pack(
            self.begin_ms, self.end_ms, self.begin_physical, self.end_physical, self.used_slots, self.count
        )


class IndexFiles:
    """The index of one store.

    Attributes:
        files: headers by path, oldest file first.
        full_ms: end time of the newest full file; it goes into the checkpoint.
    """

    def __init__(self, directory: str, disk: Disk, *, slots: int = INDEX_SLOTS, entries: int = INDEX_ENTRIES) -> None:
        self.files: dict[str, Header] = {}
        self.full_ms = 0
        self._directory = directory
        self._disk = disk
        self._slots = slots
        self._entries = entries

    @property
    def _file_bytes(self) -> int:
        return self._entry_at(self._entries)

    @property
    def last(self) -> Header:
        """Header of the newest file."""
        return next(reversed(self.files.values()), Header())

    def load(self, *, trusted_ms: int | None) -> None:
        """Finds the files; those that end after `trusted_ms` (the checkpoint's index time, after a crash) go.

        So do those without an end: of what was written to one, a power failure may have taken the header alone.

        Raises:
            StorageError: a file cannot be read or deleted.
        """
        has_deleted = False
        if trusted_ms is not None:
            self._disk.unsynced.add(self._directory)  # who made the files may have died before it synced their names
        for name in _names(self._directory):
            path = f"{self._directory}/{name}"
            self._disk.check_size(path, self._file_bytes, "maxHashSlotNum and maxIndexNum")
            header = Header(*INDEX_HEADER.unpack(self._disk.read(path, INDEX_HEADER_BYTES, 0)))
            if trusted_ms is not None and not 0 < header.end_ms <= trusted_ms:
                self._disk.delete(path)
                has_deleted = True
            else:
                self.files[path] = header if header.count > 0 else replace(header, count=1)
        if has_deleted:  # one that came back would lead to records that are cut off now
            self._disk.sync_file(self._directory)

    def put(self, records: Iterable[Keyed], now_ms: int) -> None:
        """Indexes records in the order of the log; what is indexed already is passed over.

        Args:
            now_ms: names the file that may have to be created.

        Raises:
            DiskFullError, StorageError: the records at hand were not indexed; the same call may be repeated.
        """
        indexed = self.last.end_physical
        pending = [
            (key_hash(record.topic, key), record.physical_offset, record.store_ms)
            for record in records
            if record.physical_offset >= indexed
            for key in record.keys
        ]
        while pending:
            path, header = self._writable(now_ms)
            done = self._append(path, header, pending)
            del pending[:done]

    def _writable(self, now_ms: int) -> tuple[str, Header]:
        if self.files:
            path, header = next(reversed(self.files.items()))
            if header.count < self._entries:
                return path, header
            now_ms = max(now_ms, _created_ms(path) + 1)
        else:
            header = Header()
        stamp = datetime.fromtimestamp(now_ms // 1_000)  # noqa: DTZ006 - names are in the broker's local time
        path = f"{self._directory}/{stamp:%Y%m%d%H%M%S}{now_ms % 1_000:03d}"
        self._disk.create(path, self._file_bytes)
        fresh = Header(header.end_ms, header.end_ms, header.end_physical, header.end_physical)
        self.files[path] = fresh
        return path, fresh

    def _append(self, path: str, header: Header, pending: list[tuple[int, int, int]]) -> int:
        """Writes as many entries as the file takes and returns their number."""
        batch = pending[: self._entries - header.count]
        begin_ms = header.begin_ms
        slots = self._newest(path, {code % self._slots for code, _, _ in batch}, header.count)
        used = header.used_slots
        rows: list[bytes] = []
        for number, (code, physical_offset, store_ms) in enumerate(batch, start=header.count):
            slot = code % self._slots
            previous = slots[slot]
            used += previous == 0
            seconds = min(max(0, (store_ms - begin_ms) // 1_000), _INT_MAX) if begin_ms > 0 else 0
            rows.append(_ENTRY.pack(code, physical_offset, seconds, previous))
            slots[slot] = number
            if number == 1:
                begin_ms = store_ms
        _, last_physical, last_ms = batch[-1]
        first = header.count == 1
        fresh = Header(
            batch[0][2] if first else header.begin_ms,
            last_ms,
            batch[0][1] if first else header.begin_physical,
            last_physical,
            used,
            header.count + len(batch),
        )
        self._disk.write(path, b"".join(rows), self._entry_at(header.count))
        self._disk.write(path, fresh.pack(), 0)
        pack = _SLOT.pack
        self._disk.write_each(
            path, [(INDEX_HEADER_BYTES + _SLOT_BYTES * slot, pack(number)) for slot, number in slots.items()]
        )
        self.files[path] = fresh
        if fresh.count >= self._entries:
            self._disk.sync_file(path)
            self.full_ms = fresh.end_ms
        return len(batch)

    def _newest(self, path: str, slots: Iterable[int], count: int) -> dict[int, int]:
        """Reads the newest entry of each slot; entries of an attempt that failed halfway are passed over."""
        wanted = sorted(slots)
        data = self._disk.read_each(path, _SLOT_BYTES, [INDEX_HEADER_BYTES + _SLOT_BYTES * slot for slot in wanted])
        newest = {}
        for slot, piece in zip(wanted, data, strict=True):
            number = int.from_bytes(piece, "big", signed=True)
            while number >= count:
                number = self._entry(path, number)[3]
            newest[slot] = max(0, number)
        return newest

    def _entry_at(self, number: int) -> int:
        return INDEX_HEADER_BYTES + _SLOT_BYTES * self._slots + INDEX_ENTRY_BYTES * number

    def _entry(self, path: str, number: int) -> tuple[int, int, int, int]:
        return _ENTRY.unpack(self._disk.read(path, INDEX_ENTRY_BYTES, self._entry_at(number)))

    def find(self, topic: str, key: str, begin_ms: int, end_ms: int, limit: int) -> Finding:
        """Finds up to `limit` physical offsets of records that may bear `key`, ascending.

        Newest files are asked first. Keys of equal hash are not told apart. It pauses again and again, for a chain may
        lead through every entry of its file.

        Raises:
            StorageError: a file cannot be read.
        """
        code = key_hash(topic, key)
        offsets: set[int] = set()
        for path, header in list(reversed(self.files.items())):
            if header.count > 1 and header.begin_ms <= end_ms and header.end_ms >= begin_ms:
                for passed, physical_offset in enumerate(self._chain(path, header, code, begin_ms, end_ms)):
                    if physical_offset is not None:
                        offsets.add(physical_offset)
                    if len(offsets) >= limit:
                        break
                    if passed % _PASSED == _PASSED - 1:
                        yield
            if header.begin_ms < begin_ms or len(offsets) >= limit:
                break
        return sorted(offsets)

    def _chain(self, path: str, header: Header, code: int, begin_ms: int, end_ms: int) -> Iterator[int | None]:
        """Returns an offset, or None, for each entry of a chain."""
        slot = code % self._slots
        number = self._newest(path, (slot,), header.count)[slot]
        while number > 0 and path in self.files:
            entry_code, physical_offset, seconds, previous = self._entry(path, number)
            stored_ms = header.begin_ms + seconds * 1_000
            if seconds < 0:
                return
            yield physical_offset if entry_code == code and begin_ms <= stored_ms <= end_ms else None
            if previous >= number or stored_ms < begin_ms:
                return
            number = previous

    def drop_before(self, log_min: int) -> int:
        """Deletes files whose records the log has no more, never the last one; returns how many.

        Raises:
            StorageError: a file cannot be deleted.
        """
        dropped = 0
        for path, header in list(self.files.items())[:-1]:
            if header.end_physical >= log_min:
                break
            self._disk.delete(path)
            del self.files[path]
            dropped += 1
        return dropped


def _names(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if len(entry.name) == _NAME_DIGITS and entry.name.isdigit())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _created_ms(path: str) -> int:
    name = path[-_NAME_DIGITS:]
    moment = datetime.strptime(name[:-3], "%Y%m%d%H%M%S")  # noqa: DTZ007 - names are in the broker's local time
    return int(moment.timestamp()) * 1_000 + int(name[-3:])
