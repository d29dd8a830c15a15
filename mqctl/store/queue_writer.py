"""Appending to consume queues: entries gather in memory for a moment, then go to their files in one write a queue.

What is still in memory when a broker is killed, recovery dispatches again from the commit log. Files are created at
full size and sparse. Source: `ConsumeQueue` of 4.9.8.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mqctl.model.numbers import decimal
from mqctl.store.disk import Disk, DiskFullError
from mqctl.store.layouts import FILLER_SIZE, QUEUE_ENTRY_BYTES, QUEUE_ENTRY_STRUCT, QUEUE_FILE_BYTES
from mqctl.store.log_writer import file_starts
from mqctl.store.record_writer import MessageRefused, is_name
from mqctl.text import sentence

_FIRST_CHUNK_BYTES = QUEUE_ENTRY_BYTES * 50
_CHUNK_BYTES = QUEUE_ENTRY_BYTES * 4_096
_RECOVERED_FILES = 3
NO_FILE: Final = -1


class QueueWriter:
    """The consume queue of one (topic, queue id). Many of them exist, so each is small.

    Attributes:
        first_file: byte offset at which its first file starts; NO_FILE before there is one.
        min_offset: first logical offset whose record the commit log still has.
        max_offset: logical offset of the next message.
        max_physical: end of the last record indexed; entries that end at or before it are taken for repetitions.
        pending: entries that are not in a file yet.
    """

    __slots__ = ("first_file", "max_offset", "max_physical", "min_offset", "pending", "queue_id", "topic")

    def __init__(self, topic: str, queue_id: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.first_file = NO_FILE
        self.min_offset = 0
        self.max_offset = 0
        self.max_physical = 0
        self.pending: bytearray | None = None

    @property
    def written_offset(self) -> int:
        """Logical offset up to which entries are in files."""
        return self.max_offset - len(self.pending or b"") // QUEUE_ENTRY_BYTES


class ConsumeQueues:
    """All consume queues of a store.

    Attributes:
        table: the queues by (topic, queue id).
        dirty: those with entries that are not in a file yet.
        awaited: those that `awaiting` was asked for, by (topic, queue id).
        incomplete: those of them that it found to miss entries.
        file_bytes: size of a queue file, rounded up to whole entries.
    """

    __slots__ = ("_disk", "awaited", "directory", "dirty", "file_bytes", "incomplete", "table")

    def __init__(self, directory: str, disk: Disk, *, file_bytes: int = QUEUE_FILE_BYTES) -> None:
        self.directory = directory
        self.file_bytes = -(-file_bytes // QUEUE_ENTRY_BYTES) * QUEUE_ENTRY_BYTES
        self.table: dict[tuple[str, int], QueueWriter] = {}
        self.dirty: dict[QueueWriter, None] = {}
        self.awaited: set[tuple[str, int]] = set()
        self.incomplete: set[tuple[str, int]] = set()
        self._disk = disk

    def load(self, *, log_min: int = 0, clean: bool = True) -> None:
        """Finds the queues that have a directory and recovers each.

        Args:
            log_min: physical offset of the first byte that the commit log has.
            clean: the last exit was a clean one, so nothing will be dispatched again.

        Raises:
            StorageError: a file cannot be read.
        """
        for topic, queue_id in _directories(self.directory):
            queue = self.queue(topic, queue_id)
            self._recover(queue, self._connected_starts(queue, log_min, clean=clean))

    def queue(self, topic: str, queue_id: int, *, at_offset: int = 0) -> QueueWriter:
        """Returns a queue, making it (without a file) when it is new; `at_offset` is where a new one begins.

        Raises:
            MessageRefused: a topic of that name would lead out of the directory.
        """
        writer = self.table.get((topic, queue_id))
        if writer is None:
            if not is_name(topic):
                raise MessageRefused(
                    sentence("store-could-not-store-topic", "could not store in topic {topic!r}", topic=topic),
                    reason=sentence("store-no-directory-of-name", "no directory can have that name"),
                )
            writer = self.table[topic, queue_id] = QueueWriter(topic, queue_id)
            writer.min_offset = writer.max_offset = at_offset
        return writer

    def path(self, queue: QueueWriter, start: int) -> str:
        """Names the file of `queue` that starts at byte offset `start`."""
        return f"{self.directory}/{queue.topic}/{queue.queue_id}/{start:020d}"

    def put(self, queue: QueueWriter, physical_offset: int, size_bytes: int, tags_code: int, queue_offset: int) -> bool:
        """Appends the entry of a record; False when the queue has it already.

        A queue without a file begins at `queue_offset`. Otherwise, the position is what counts, as in the broker: an
        offset below it is a repetition, one above it is appended all the same.
        """
        if physical_offset + size_bytes <= queue.max_physical or queue_offset < queue.max_offset:
            return False
        if queue.first_file == NO_FILE and queue.pending is None:
            queue.min_offset = queue.max_offset = queue_offset
        entry = QUEUE_ENTRY_STRUCT.pack(physical_offset, size_bytes, tags_code)
        if queue.pending is None:
            queue.pending = bytearray(entry)
            self.dirty[queue] = None
        else:
            queue.pending += entry
        queue.max_offset += 1
        queue.max_physical = physical_offset + size_bytes
        return True

    def write_out(self) -> None:
        """Writes all pending entries to their files.

        Raises:
            DiskFullError, StorageError: some entries are still pending; a later call goes on with them.
        """
        while self.dirty:
            queue = next(iter(self.dirty))
            self._write_out(queue)
            del self.dirty[queue]

    def _write_out(self, queue: QueueWriter) -> None:
        while queue.pending:
            position = queue.written_offset * QUEUE_ENTRY_BYTES
            start = position - position % self.file_bytes
            path = self.path(queue, start)
            if queue.first_file == NO_FILE or position == start:
                self._disk.create(path, self.file_bytes)
                if queue.first_file == NO_FILE and position > start:
                    filler = QUEUE_ENTRY_STRUCT.pack(0, FILLER_SIZE, 0)
                    self._disk.write(path, filler * ((position - start) // QUEUE_ENTRY_BYTES), 0)
            piece = queue.pending[: start + self.file_bytes - position]
            try:
                self._disk.write(path, piece, position - start)
            except DiskFullError:
                self._disk.clear_from(path, position - start)
                raise
            if position - start + len(piece) == self.file_bytes:
                self._disk.sync_file(path)  # recovery looks at the last files only: those before must be whole
            if queue.first_file == NO_FILE:
                queue.first_file = start
            del queue.pending[: len(piece)]
        queue.pending = None

    def entries(self, queue: QueueWriter, low: int, count: int) -> bytes:
        """Returns up to `count` whole entries from logical offset `low` that lie in one file.

        Raises:
            StorageError: the file cannot be read.
        """
        written = queue.written_offset
        if low >= written:
            begin = (low - written) * QUEUE_ENTRY_BYTES
            return bytes((queue.pending or b"")[begin : begin + count * QUEUE_ENTRY_BYTES])
        position = low * QUEUE_ENTRY_BYTES
        start = position - position % self.file_bytes
        if low < 0 or start < queue.first_file:
            return b""
        count = min(count, (start + self.file_bytes - position) // QUEUE_ENTRY_BYTES)
        in_file = min(count, written - low)
        data = self._disk.read(self.path(queue, start), in_file * QUEUE_ENTRY_BYTES, position - start)
        if in_file < count and queue.pending:
            data += queue.pending[: (count - in_file) * QUEUE_ENTRY_BYTES]
        return data

    def entry(self, queue: QueueWriter, offset: int) -> tuple[int, int, int] | None:
        """Returns (physical offset, size, tags code) at logical `offset`, or None where nothing is written."""
        if not queue.min_offset <= offset < queue.max_offset:
            return None
        data = self.entries(queue, offset, 1)
        return QUEUE_ENTRY_STRUCT.unpack(data) if len(data) == QUEUE_ENTRY_BYTES else None

    def _recover(self, queue: QueueWriter, starts: list[int]) -> None:
        """Finds the end of a queue from its third-last file on, as `ConsumeQueue.recover` does."""
        if not starts:
            return
        queue.first_file = starts[0]
        for start in starts[-_RECOVERED_FILES:]:
            self._disk.check_size(self.path(queue, start), self.file_bytes, "mappedFileSizeConsumeQueue")
        end = starts[max(0, len(starts) - _RECOVERED_FILES)]
        for start in starts[-_RECOVERED_FILES:]:
            if start != end:
                break  # the file before it is not full: this one is left over
            end, last = self._end_of(queue, start)
            if last is not None:
                queue.max_physical = last
        queue.max_offset = end // QUEUE_ENTRY_BYTES
        queue.min_offset = queue.first_file // QUEUE_ENTRY_BYTES
        self.cut(queue, queue.max_offset)

    def _connected_starts(self, queue: QueueWriter, log_min: int, *, clean: bool) -> list[int]:
        """Returns where the files of a queue begin, on one side of a gap that a power failure left.

        Files before it that lead to nothing any more were deleted, and are there again; they go. Otherwise one behind
        the last of them was lost with its name, and the later ones are made again from the commit log.
        """
        starts = file_starts(f"{self.directory}/{queue.topic}/{queue.queue_id}")
        for number in range(len(starts) - 1, 0, -1):
            if starts[number] - starts[number - 1] == self.file_bytes:
                continue
            data = self._disk.read(
                self.path(queue, starts[number - 1]), QUEUE_ENTRY_BYTES, self.file_bytes - QUEUE_ENTRY_BYTES
            )
            if (
                len(data) == QUEUE_ENTRY_BYTES
                and QUEUE_ENTRY_STRUCT.unpack(data)[1] > 0
                and (QUEUE_ENTRY_STRUCT.unpack(data)[0] < log_min)
            ):
                for start in starts[:number]:
                    self._disk.delete(self.path(queue, start))
                return starts[number:]
            if not clean:
                starts = starts[:number]
        return starts

    def _end_of(self, queue: QueueWriter, start: int) -> tuple[int, int | None]:
        """Returns the byte offset behind the last valid entry of a file, and the end of the record it points to."""
        path = self.path(queue, start)
        position = 0
        last = None
        chunk = _FIRST_CHUNK_BYTES  # most queues of a store with very many are short
        while position < self.file_bytes:
            data = self._disk.read(path, min(chunk, self.file_bytes - position), position)
            chunk = _CHUNK_BYTES
            if len(data) < QUEUE_ENTRY_BYTES:
                break
            for physical_offset, size, _ in QUEUE_ENTRY_STRUCT.iter_unpack(
                data[: len(data) // QUEUE_ENTRY_BYTES * QUEUE_ENTRY_BYTES]
            ):
                if physical_offset < 0 or size <= 0:
                    return start + position, last
                if size != FILLER_SIZE:
                    last = physical_offset + size
                position += QUEUE_ENTRY_BYTES
        return start + position, last

    def cut(self, queue: QueueWriter, offset: int) -> None:
        """Ends a queue at logical `offset`, which is in its files: later files go, entries behind it become zeros.

        Raises:
            StorageError: a file cannot be deleted or written.
        """
        position = offset * QUEUE_ENTRY_BYTES
        for start in file_starts(f"{self.directory}/{queue.topic}/{queue.queue_id}"):
            if start >= position and start != queue.first_file:
                self._disk.delete(self.path(queue, start))
            elif start + self.file_bytes > position:
                self._disk.clear_from(self.path(queue, start), max(0, position - start))
        queue.max_offset = offset

    def end_at(self, queue: QueueWriter, offset: int) -> None:
        """Ends a queue at logical `offset`, with what it knows of the record before. Raises as `cut`."""
        self.cut(queue, offset)
        last = self.entry(queue, offset - 1)
        queue.max_physical = last[0] + last[1] if last is not None and last[1] != FILLER_SIZE else 0

    def awaiting(self, topic: str, queue_id: int, offset: int) -> QueueWriter:
        """Returns a queue whose next entry is that of `offset`, as recovery finds it in the order of the commit log.

        Entries from there on were of a topic that was deleted and made anew, or are not those that were written. A
        queue that ends before is noted as incomplete, unless nothing at all is in it: then it begins there.

        Raises:
            MessageRefused: as `queue`.
            DiskFullError, StorageError: the operating system refuses.
        """
        queue = self.queue(topic, queue_id)
        self.awaited.add((topic, queue_id))
        is_empty = queue.max_offset == queue.min_offset
        if offset == queue.max_offset or (is_empty and queue.first_file == NO_FILE):
            return queue
        if is_empty or offset <= queue.min_offset:
            self.delete(queue)
            return self.queue(topic, queue_id, at_offset=offset)
        if offset > queue.max_offset:
            self.incomplete.add((topic, queue_id))
        else:
            self.write_out()
            self.end_at(queue, offset)
        return queue

    def doubt_names(self) -> None:
        """Has the next sync of the store include the names of awaited queues: who made them may have died before."""
        for topic, queue_id in self.awaited:
            parent = f"{self.directory}/{topic}"
            self._disk.unsynced.update((f"{parent}/{queue_id}", parent, self.directory))
        self.awaited.clear()

    def truncate(self, queue: QueueWriter, physical_offset: int) -> None:
        """Drops the entries of records at or behind `physical_offset` (the commit log was cut there).

        Raises:
            StorageError: a file cannot be deleted or written.
        """
        offset = queue.max_offset
        first = max(queue.first_file, 0) // QUEUE_ENTRY_BYTES
        while offset > first:
            physical, size, _ = QUEUE_ENTRY_STRUCT.unpack(self.entries(queue, offset - 1, 1))
            if size == FILLER_SIZE or physical + size <= physical_offset:
                break
            offset -= 1
        self.end_at(queue, offset)

    def correct_min_offsets(self, log_min: int) -> None:
        """Sets every queue's minimum to the first entry whose record the commit log still has.

        Raises:
            StorageError: a file cannot be read.
        """
        for queue in self.table.values():
            self.correct_min_offset(queue, log_min)

    def correct_min_offset(self, queue: QueueWriter, log_min: int) -> None:
        """Sets one queue's minimum, searching its entries by halves; the maximum when no record is left."""
        low = max(queue.min_offset, queue.first_file // QUEUE_ENTRY_BYTES)
        high = queue.max_offset
        while low < high:
            middle = (low + high) // 2
            physical_offset, size, _ = QUEUE_ENTRY_STRUCT.unpack(self.entries(queue, middle, 1))
            if physical_offset < log_min or size == FILLER_SIZE:
                low = middle + 1
            else:
                high = middle
        queue.min_offset = low

    def drop_before(self, queue: QueueWriter, log_min: int) -> int:
        """Deletes files whose last entry leads before `log_min`, never the last file; returns how many.

        Raises:
            StorageError: a file cannot be read or deleted.
        """
        dropped = 0
        last_file = (queue.written_offset - 1) * QUEUE_ENTRY_BYTES // self.file_bytes * self.file_bytes
        while NO_FILE < queue.first_file < last_file:
            following = queue.first_file + self.file_bytes
            data = self._disk.read(
                self.path(queue, queue.first_file), QUEUE_ENTRY_BYTES, self.file_bytes - QUEUE_ENTRY_BYTES
            )
            if QUEUE_ENTRY_STRUCT.unpack(data)[0] >= log_min:
                break
            self._disk.delete(self.path(queue, queue.first_file))
            queue.first_file = following
            queue.min_offset = max(queue.min_offset, following // QUEUE_ENTRY_BYTES)
            dropped += 1
        return dropped

    def delete(self, queue: QueueWriter) -> None:
        """Removes a queue with its files.

        Raises:
            StorageError: a file cannot be deleted.
        """
        directory = f"{self.directory}/{queue.topic}/{queue.queue_id}"
        for start in file_starts(directory):
            self._disk.delete(self.path(queue, start))
        self.dirty.pop(queue, None)
        self.table.pop((queue.topic, queue.queue_id), None)
        for path in (directory, f"{self.directory}/{queue.topic}"):
            try:
                Path(path).rmdir()
            except OSError:
                return  # something else lives there, or nothing ever did
            self._disk.unsynced.add(str(Path(path).parent))


def _directories(root: str) -> Iterator[tuple[str, int]]:
    for topic in _names(root):
        numbers = map(decimal, _names(f"{root}/{topic}"))
        yield from ((topic, number) for number in numbers if number is not None)


def _names(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
