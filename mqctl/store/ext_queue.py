"""Extensions of consume queues (`enableConsumeQueueExt`), read and written one unit at a time, without numpy.

A unit holds the tags code, the store time and the bit map of SQL92 subscriptions that match a message; the queue's
entry then holds the unit's address in place of the tags code. Source: `ConsumeQueueExt` of 4.9.8.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from mqctl.store.disk import Disk
from mqctl.store.layouts import (
    EXT_ADDRESS_BASE,
    EXT_ADDRESS_LIMIT,
    EXT_END_RESERVED_BYTES,
    EXT_FILE_BYTES,
    EXT_UNIT_BYTES,
    EXT_UNIT_HEAD,
)
from mqctl.store.log_writer import file_starts

_LONGEST_UNIT_BYTES = 32_767
_END_MARK = Struct(">h").pack(-1)
_USUAL_BITMAP_BYTES = 64


class ExtUnit(NamedTuple):
    """What stands beside one queue entry; the bit map may be empty."""

    tags_code: int
    store_ms: int
    bitmap: bytes


class ExtQueues:
    """The extension files of a store.

    Args:
        file_bytes: size of a file; it is made at once, and sparse.
    """

    def __init__(self, directory: str, disk: Disk, *, file_bytes: int = EXT_FILE_BYTES) -> None:
        self._directory = directory
        self._disk = disk
        self._file_bytes = file_bytes
        self._starts: dict[tuple[str, int], list[int]] = {}
        self._ends: dict[tuple[str, int], int] = {}

    def tags_code(self, topic: str, queue_id: int, address: int) -> int | None:
        """Returns the tags code at `address`, or None when the extension does not have it. Raises StorageError."""
        unit = self.unit(topic, queue_id, address)
        return None if unit is None else unit.tags_code

    def unit(self, topic: str, queue_id: int, address: int) -> ExtUnit | None:
        """Returns the unit at `address`, or None when the extension does not have it. Raises StorageError."""
        offset = address - EXT_ADDRESS_BASE
        starts = self._known(topic, queue_id)
        place = bisect_right(starts, offset) - 1
        if place < 0:
            return None
        path = f"{self._directory}/{topic}/{queue_id}/{starts[place]:020d}"
        data = self._disk.read(path, EXT_UNIT_BYTES + _USUAL_BITMAP_BYTES, offset - starts[place])
        if len(data) < EXT_UNIT_BYTES:
            return None
        size, code, store_ms, bitmap_bytes = EXT_UNIT_HEAD.unpack_from(data)
        if size < EXT_UNIT_BYTES or size != EXT_UNIT_BYTES + bitmap_bytes:
            return None
        if size > len(data):
            data = self._disk.read(path, size, offset - starts[place])
        return ExtUnit(int(code), int(store_ms), data[EXT_UNIT_BYTES:size])

    def _known(self, topic: str, queue_id: int) -> list[int]:
        starts = self._starts.get((topic, queue_id))
        if starts is None:
            starts = self._starts[topic, queue_id] = file_starts(f"{self._directory}/{topic}/{queue_id}")
        return starts

    def put(self, topic: str, queue_id: int, unit: ExtUnit, last_code: Callable[[], int | None]) -> int | None:
        """Writes a unit behind the last one and returns its address; None when it is too long for one.

        Args:
            last_code: gives what the last entry of the queue holds, None for an empty queue. It tells where to go on
                after a start: units behind the one it names were lost with their entries.

        Raises:
            DiskFullError, StorageError: the operating system refuses.
        """
        size = EXT_UNIT_BYTES + len(unit.bitmap)
        if size > _LONGEST_UNIT_BYTES:
            return None
        key = topic, queue_id
        end = self._ends.get(key)
        if end is None:
            end = self._end(topic, queue_id, last_code())
            parent = f"{self._directory}/{topic}"  # who made the files may have died before it synced their names
            self._disk.unsynced.update((f"{parent}/{queue_id}", parent, self._directory))
        starts = self._known(topic, queue_id)
        inside = end % self._file_bytes
        if starts and end < starts[-1] + self._file_bytes and size > self._file_bytes - inside - EXT_END_RESERVED_BYTES:
            self._disk.write(self._path(topic, queue_id, end - inside), _END_MARK, inside)
            end, inside = end - inside + self._file_bytes, 0
        path = self._path(topic, queue_id, end - inside)
        if not starts or starts[-1] < end - inside:
            self._disk.create(path, self._file_bytes)
            starts.append(end - inside)
        head = EXT_UNIT_HEAD.pack(size, unit.tags_code, unit.store_ms, len(unit.bitmap))
        self._disk.write(path, head + unit.bitmap, inside)
        self._ends[key] = end + size
        return EXT_ADDRESS_BASE + end

    def _path(self, topic: str, queue_id: int, start: int) -> str:
        return f"{self._directory}/{topic}/{queue_id}/{start:020d}"

    def _end(self, topic: str, queue_id: int, last_code: int | None) -> int:
        """Where the next unit goes: behind the one of the queue's last entry, else into a file of its own."""
        starts = self._known(topic, queue_id)
        if last_code is not None and last_code <= EXT_ADDRESS_LIMIT:
            unit = self.unit(topic, queue_id, last_code)
            if unit is not None:
                return last_code - EXT_ADDRESS_BASE + EXT_UNIT_BYTES + len(unit.bitmap)
        return starts[-1] + self._file_bytes if starts else 0

    def drop_before(self, topic: str, queue_id: int, address: int) -> None:
        """Deletes files of which no unit is at or behind `address`. Raises StorageError."""
        starts = self._known(topic, queue_id)
        while len(starts) > 1 and starts[1] <= address - EXT_ADDRESS_BASE:
            self._disk.delete(self._path(topic, queue_id, starts[0]))
            starts.pop(0)

    def delete(self, topic: str, queue_id: int) -> None:
        """Removes the files of a queue. Raises StorageError."""
        for start in self._known(topic, queue_id):
            self._disk.delete(self._path(topic, queue_id, start))
        self._starts.pop((topic, queue_id), None)
        self._ends.pop((topic, queue_id), None)
