"""Consume queues: the 20-byte entries by which a queue finds its messages in the commit log.

Source: `ConsumeQueue` of 4.9.8; the file variant of 5.3.3 is the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.dtypes import QUEUE_ENTRY, QUEUE_ENTRY_NATIVE
from mqctl.store.layouts import FILLER_SIZE, QUEUE_ENTRY_BYTES, QUEUE_ENTRY_STRUCT
from mqctl.store.mapped_files import Buffer, MappedFile, mapped_files, nominal_size

_FIRST_PROBE = 3_000
_LOOKED_AT = 1 << 14
Entries: TypeAlias = NDArray[Any]
"""Structured array with the native fields `physical_offset` (i8), `size` (i4) and `tags_code` (i8)."""


def is_filler(entries: Entries) -> NDArray[np.bool_]:
    """Marks the entries that only fill a first file which does not start at a file boundary; they are no messages."""
    mask: NDArray[np.bool_] = (entries["size"] == FILLER_SIZE) & (entries["physical_offset"] == 0)
    return mask


def is_message(entries: Entries) -> NDArray[np.bool_]:
    """Marks the entries that stand for a message: written (the broker's own test), and no fillers."""
    mask: NDArray[np.bool_] = (entries["size"] > 0) & (entries["physical_offset"] >= 0) & ~is_filler(entries)
    return mask


def written_entries(buffer: Buffer) -> int:
    """Counts the entries written from the start of a file, by bisection.

    An entry counts while its size is above zero and its physical offset not below (the broker's own test). Files are
    written from the front and padded with zeros, so a few probes suffice; `written_entries_linear` is the slow truth.
    """
    low, high = 0, len(buffer) // QUEUE_ENTRY_BYTES
    view = buffer.data
    while low < high:
        middle = (low + high) // 2
        if _written(view, middle):
            low = middle + 1
        else:
            high = middle
    return low


def _written_in(file: MappedFile) -> int:
    """Counts as `written_entries` does; of a file that is fetched only what is probed is asked for."""
    if not file.is_fetched:
        return written_entries(file.buffer)
    count = file.size_bytes // QUEUE_ENTRY_BYTES

    def written(number: int) -> bool:
        low = number * QUEUE_ENTRY_BYTES
        return _written(file.view(low, low + QUEUE_ENTRY_BYTES).data, number)

    if count and written(count - 1):
        return count
    low, high, step = 0, max(0, count - 1), _FIRST_PROBE
    while low < high:  # most queues end in the first block or two
        middle = min(low + step, (low + high) // 2)
        low, high = (middle + 1, high) if written(middle) else (low, middle)
        step *= 4
    return low


def _entries_of(file: MappedFile, low: int, high: int) -> Entries:
    """Copies the entries of a file from its `low`th to before its `high`th."""
    view = file.view(low * QUEUE_ENTRY_BYTES, high * QUEUE_ENTRY_BYTES)
    return raw_entries(view)[low:high].astype(QUEUE_ENTRY_NATIVE)


def _written(view: memoryview, number: int) -> bool:
    physical_offset, size, _ = QUEUE_ENTRY_STRUCT.unpack_from(view, number * QUEUE_ENTRY_BYTES)
    return bool(size > 0 and physical_offset >= 0)


def written_entries_linear(buffer: Buffer) -> int:
    """Counts the entries up to the first that is not valid by looking at each: what the broker's recovery does."""
    raw = raw_entries(buffer)
    for begin in range(0, len(raw), _LOOKED_AT):
        some = raw[begin : begin + _LOOKED_AT]
        bad = (some["size"] <= 0) | (some["physical_offset"] < 0)
        if bad.any():
            return begin + int(np.argmax(bad))
    return len(raw)


def raw_entries(buffer: Buffer) -> Entries:
    """Views the whole entries of a file as big-endian structures; a torn last entry is left out."""
    count = len(buffer) // QUEUE_ENTRY_BYTES
    return buffer[: count * QUEUE_ENTRY_BYTES].view(QUEUE_ENTRY)


@dataclass(frozen=True)
class ConsumeQueue:
    """The consume queue of one (topic, queue id).

    Attributes:
        directory: where its files are; it may not exist, the queue is empty then.
        until: entries for records from this physical offset on are not looked at; None means all are.
    """

    directory: Path
    topic: str
    queue_id: int
    until: int | None = None

    @cached_property
    def files(self) -> tuple[MappedFile, ...]:
        """Its files by start offset, zero-length ones included."""
        return mapped_files(self.directory)

    @cached_property
    def file_size_bytes(self) -> int | None:
        """Size that this queue's files have, judged from the files; None when there is none."""
        return nominal_size(self.files)

    @property
    def min_file_offset(self) -> int:
        """Logical offset at which the first file starts, whatever it holds."""
        return self.files[0].start // QUEUE_ENTRY_BYTES if self.files else 0

    @property
    def max_offset(self) -> int:
        """Logical offset of the next message: the entries written, stale ones and fillers included.

        A queue whose files hold nothing has the offset of its first file. Found once; not by `cached_property`, whose
        lock (up to Python 3.11) all queues share: the look may wait for an object store.
        """
        if "_end" not in self.__dict__:
            self.__dict__["_end"] = self._found_end()
        end: int = self.__dict__["_end"]
        return end

    def _found_end(self) -> int:
        for file in reversed(self.files):
            written = _written_in(file)
            if written and self.until is not None:
                written = self._before(file, written, self.until)
            written = max(written, self._behind(file, written))
            if written:
                return file.start // QUEUE_ENTRY_BYTES + written
        return self.min_file_offset

    def _behind(self, file: MappedFile, begin: int) -> int:
        """Returns where the entries end that stand behind a hole, which misleads the search; 0 where none do.

        Files that are fetched are not looked through.
        """
        if file.is_fetched:
            return 0
        raw, whole = raw_entries(file.buffer), file.size_bytes // QUEUE_ENTRY_BYTES
        spans = list(file.data_spans(begin * QUEUE_ENTRY_BYTES, whole * QUEUE_ENTRY_BYTES))
        for low, high in reversed(spans):
            first, end = low // QUEUE_ENTRY_BYTES, -(-high // QUEUE_ENTRY_BYTES)
            for at in reversed(range(first, end, _LOOKED_AT)):
                some = raw[at : min(at + _LOOKED_AT, end)]
                if not some["size"].any():  # zeros that were written
                    continue
                real = is_message(some)
                if self.until is not None:
                    real &= some["physical_offset"] < self.until
                if real.any():
                    return at + int(np.flatnonzero(real)[-1]) + 1
        return 0

    @staticmethod
    def _before(file: MappedFile, written: int, until: int) -> int:
        """Counts the entries of a file whose records, and those of all before, begin below a physical offset."""

        def leads_to(number: int) -> int:
            return int(_entries_of(file, number, number + 1)["physical_offset"][0])

        return bisect_left(range(written), until, key=leads_to)

    def hole(self) -> tuple[int, int] | None:
        """Returns the queue offsets [first, end) of a hole where a file begins or ends, or where its end is looked for.

        Not every entry is looked at: whoever reads entries leaves out those that stand for no message.
        """
        for file in self.files:
            if file.is_fetched:
                continue
            first = file.start // QUEUE_ENTRY_BYTES
            raw = raw_entries(file.buffer)[: max(0, self.max_offset - first)]
            if not len(raw):
                continue
            is_last = first + len(raw) == self.max_offset
            ends = is_last or not _written(file.buffer.data, len(raw) - 1)
            written = len(raw) if _written(file.buffer.data, 0) else 0
            if written and ends:
                written = written_entries(file.buffer)
            if written < len(raw):
                real = is_message(raw[written:])
                length = int(np.argmax(real)) if real.any() else len(real)
                return first + written, first + written + length
        return None

    def entries(self, low: int | None = None, high: int | None = None) -> Entries:
        """Copies the entries with logical offsets in [low, high), cut to what is written.

        Entry `i` of the result has logical offset `max(low, min_file_offset) + i` as long as no file is missing in
        between; `runs` gives the pieces of a queue with holes.
        """
        pieces = [piece for _, piece in self.runs(low, high)]
        return np.concatenate(pieces) if pieces else np.empty(0, dtype=QUEUE_ENTRY_NATIVE)

    def runs(self, low: int | None = None, high: int | None = None) -> Iterator[tuple[int, Entries]]:
        """Yields (logical offset of the first, native entries) file by file within [low, high)."""
        low = self.min_file_offset if low is None else low
        high = self.max_offset if high is None else min(high, self.max_offset)
        for file in self.files:
            first = file.start // QUEUE_ENTRY_BYTES
            count = file.size_bytes // QUEUE_ENTRY_BYTES
            begin, end = max(low, first), min(high, first + count)
            if begin < end:
                yield begin, _entries_of(file, begin - first, end - first)

    def min_offset(self, commit_log_min: int) -> int:
        """Returns the first logical offset whose record the commit log still has; `max_offset` when it has none.

        Entries below the commit log's start stay in the first file after retention; fillers are passed over. Brokers of
        4.9 keep an old minimum when every entry has expired, 5.x answers the maximum as this does.
        """
        for file in self.files:
            first = file.start // QUEUE_ENTRY_BYTES
            end = min(self.max_offset, first + file.size_bytes // QUEUE_ENTRY_BYTES)
            if end <= first:
                continue
            last = _entries_of(file, end - first - 1, end - first)
            if not len(last) or int(last["physical_offset"][-1]) < commit_log_min:
                continue
            for begin in range(first, end, _FIRST_PROBE):
                entries = _entries_of(file, begin - first, min(begin + _FIRST_PROBE, end) - first)
                live = (entries["physical_offset"] >= commit_log_min) & is_message(entries)
                if live.any():
                    return begin + int(np.argmax(live))
        return self.max_offset
