"""The commit log: one sequence of records over files of one size, perhaps in several directories.

Sources: `CommitLog`, `MappedFileQueue`, `MultiPathMappedFileQueue` of 4.9.8.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from mqctl.errors import NotFoundError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.store.kernel import Headers, Int64s, Stop, Tail, accepted, headers
from mqctl.store.layouts import BLANK_BYTES, HEADER_BYTES, MAGIC_V1, MAGIC_V2, PAGE_BYTES, SIZE_AND_MAGIC
from mqctl.store.mapped_files import Buffer, MappedFile, OddFile, listed_files, nominal_size
from mqctl.store.walk import Walk, find_record, record_limit, scan, walk
from mqctl.text import sentence


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Where the log ends: `offset` is behind the last accepted record, `file` and `tail` say why there."""

    offset: int
    file: MappedFile | None
    tail: Tail | None


@dataclass(frozen=True, slots=True)
class FileGap:
    """Bytes that no file covers, between two files of one queue."""

    start: int
    end: int
    before: MappedFile
    after: MappedFile


def gaps(files: Sequence[MappedFile], size: int | None) -> list[FileGap]:
    """Finds where a file of size `size` does not reach its neighbour."""
    return [
        FileGap(left.start + size, right.start, left, right)
        for left, right in itertools.pairwise(files)
        if size and left.start + size < right.start
    ]


@dataclass(frozen=True)
class CommitLog:
    """The commit log of a store.

    Attributes:
        directories: where its files are; with several, files are merged by name as the broker does.
        until: physical offset behind which nothing is looked at, as a broker is writing there; None means all.
    """

    directories: tuple[Path, ...]
    until: int | None = None

    @cached_property
    def files(self) -> tuple[MappedFile, ...]:
        """All files by start offset, zero-length ones included."""
        files = sorted((file for each, _ in self._listed for file in each), key=lambda file: file.start)
        if self.until is None:
            return tuple(files)
        return tuple(
            file if file.end <= self.until else replace(file, until=self.until - file.start)
            for file in files
            if file.start < self.until or file is files[0]
        )

    @cached_property
    def _listed(self) -> list[tuple[tuple[MappedFile, ...], tuple[OddFile, ...]]]:
        return [listed_files(directory) for directory in self.directories]

    @cached_property
    def odd_files(self) -> tuple[OddFile, ...]:
        """What has the name of a file of the log and cannot be read as one: the rest is judged without it."""
        odd = (each for _, some in self._listed for each in some)
        return tuple(sorted(odd, key=lambda each: each.start))

    def odd_span(self, odd: OddFile) -> tuple[int, int]:
        """Returns the physical offsets that the records of an odd file would have."""
        return odd.start, odd.start + (self.file_size_bytes or 0)

    @cached_property
    def file_size_bytes(self) -> int | None:
        """The size files were created with, judged from the files; None when there are none."""
        return nominal_size(self.files)

    @property
    def capacity(self) -> int | None:
        """Size of a file that keeps its last eight bytes free; None when it looks like that of a cut copy."""
        size = self.file_size_bytes
        return size if size is not None and size % PAGE_BYTES == 0 else None

    @property
    def gaps(self) -> list[FileGap]:
        return gaps(self.files, self.file_size_bytes)

    @property
    def min_offset(self) -> int:
        """Physical offset of the first byte kept; 0 for an empty log."""
        starts = [*(file.start for file in self.files[:1]), *(odd.start for odd in self.odd_files[:1])]
        return min(starts, default=0)

    @cached_property
    def end(self) -> LogEnd:
        """The end of the log, found by walking the last file that holds a record."""
        return self.find_end()

    @property
    def max_offset(self) -> int:
        """Physical offset behind the last accepted record."""
        return self.end.offset

    def find_end(self, hint: int | None = None) -> LogEnd:
        """Finds the end of the log; `hint` is a physical offset at which a record is believed to start.

        A hint in the last used file (from the consume queues) spares walking that file from its start; one that does
        not hold a record is ignored.
        """
        for file in reversed(self.files):
            if not _used(file):
                continue
            start = self._hinted(file, hint)
            walk = self.walk(file, start)
            end = walk.tail.position if walk.tail.stop is not Stop.BLANK else file.size_bytes
            return LogEnd(file.start + end, file, walk.tail)
        first = self.files[0] if self.files else None
        return LogEnd(self.min_offset, first, None)

    def _hinted(self, file: MappedFile, hint: int | None) -> int:
        if hint is None or not file.start <= hint < file.end:
            return 0
        position = hint - file.start
        buffer = file.view(position, position + HEADER_BYTES)
        position_found = find_record(buffer, buffer.data, file.start, position, position + 1)
        return 0 if position_found is None else position

    def file_of(self, physical_offset: int) -> MappedFile | None:
        """Returns the file that covers `physical_offset`, or None."""
        starts = self._starts
        number = int(np.searchsorted(starts, physical_offset, side="right")) - 1
        if number < 0 or physical_offset >= self.files[number].end:
            return None
        return self.files[number]

    @cached_property
    def _starts(self) -> Int64s:
        return np.array([file.start for file in self.files], dtype=np.int64)

    def walk(self, file: MappedFile, start: int = 0) -> Walk:
        """Positions in `file` of the accepted records from byte `start` on, and what ended the walk."""
        return walk(_from(file, start), file.start, start, capacity=self.capacity)

    def scan(self, file: MappedFile, start: int = 0) -> Iterator[tuple[Headers | None, Tail | None]]:
        """Walks as `walk` does, yielding header columns chunk by chunk and the tail at last."""
        return scan(_from(file, start), file.start, start, capacity=self.capacity)

    def resync(self, file: MappedFile, position: int) -> int | None:
        """Finds the next record behind a damaged spot, by magic and physical offset; None when none follows.

        The broker never does this (it cuts the log there); a forensic reader may.
        """
        buffer = file.buffer
        spans = file.data_spans(position + 1, record_limit(buffer, self.capacity))
        positions = (find_record(buffer, buffer.data, file.start, low, high) for low, high in spans)
        return next((place for place in positions if place is not None), None)

    def headers(
        self, physical_offsets: Int64s, files: Sequence[MappedFile] | None = None
    ) -> list[tuple[MappedFile, Headers]]:
        """Reads the headers of records at `physical_offsets` (ascending int64), grouped by file; of all or some files.

        Offsets that no file covers, or that leave no room for a header, are left out.
        """
        parts = []
        for file in self.files if files is None else files:
            low, high = np.searchsorted(physical_offsets, [file.start, file.end])
            positions = physical_offsets[low:high] - file.start
            positions = positions[positions <= len(file.known) - HEADER_BYTES]
            if len(positions):
                parts.append((file, headers(file.records_view(positions), positions)))
        return parts

    def store_times(self, physical_offsets: Int64s) -> Int64s:
        """Returns the store times (epoch ms) of the records at `physical_offsets` (int64, any order).

        -1 stands where no acceptable record starts.
        """
        times = np.full(len(physical_offsets), -1, dtype=np.int64)
        order = np.argsort(physical_offsets, kind="stable")
        ascending = physical_offsets[order]
        for file, part in self.headers(ascending):
            good = accepted(part, file.start, record_limit(file.known, self.capacity))
            at = part.position[good] + file.start
            low, high = np.searchsorted(ascending, at), np.searchsorted(ascending, at, side="right")
            times[order[low]] = part.store_time_ms[good]
            # The same offset asked for twice.
            for row in np.flatnonzero(high - low > 1):
                times[order[low[row] : high[row]]] = part.store_time_ms[good][row]
        return times

    def record_at(self, physical_offset: int) -> Message:
        """Decodes the record at `physical_offset`.

        Raises:
            NotFoundError: no file covers the offset, or no record starts there.
            OddFileError: the file that should cover it is none.
            RecordError: what starts there is torn.
        """
        file = self.file_of(physical_offset)
        problem = sentence(
            "store-could-not-read-record",
            "could not read the record at physical offset {physical_offset}",
            physical_offset=physical_offset,
        )
        if file is None:
            for odd in self.odd_files:
                low, high = self.odd_span(odd)
                if low <= physical_offset < high:
                    raise odd.error()
            raise NotFoundError(
                problem,
                reason=sentence(
                    "store-commit-log-holds",
                    "the commit log holds {min_offset} to {end}",
                    min_offset=self.min_offset,
                    end=self.files[-1].end if self.files else 0,
                ),
            )
        position = physical_offset - file.start
        magic = 0
        buffer = file.records_view(np.array([position], dtype=np.int64))
        if len(buffer) - position >= BLANK_BYTES:
            _, magic = SIZE_AND_MAGIC.unpack_from(buffer.data, position)
        if magic not in (MAGIC_V1, MAGIC_V2):
            raise NotFoundError(
                problem,
                reason=sentence(
                    "store-no-record-starts-byte",
                    "no record starts at byte {position} of {path}",
                    position=position,
                    path=file.path.name,
                ),
            )
        try:
            message = decode_message(buffer.data, position)
        except RecordError as error:
            raise RecordError(
                problem,
                reason=error.reason,
                remedy=sentence("verify-this-store", "run `mqctl store verify` on the store"),
            ) from error
        if message.physical_offset != physical_offset:
            raise RecordError(
                problem,
                reason=sentence(
                    "record-belongs-elsewhere",
                    "the record there says that it belongs at {physical_offset}",
                    physical_offset=message.physical_offset,
                ),
                remedy=sentence(
                    "verify-file-of-other-broker", "run `mqctl store verify`: the file may be another broker's"
                ),
            )
        return message


def _from(file: MappedFile, start: int) -> Buffer:
    """The bytes of a file from `start` on; what lies before is not asked for where it would have to be fetched."""
    return file.view(start, file.fetched_end()) if file.is_fetched else file.buffer


def _used(file: MappedFile) -> bool:
    """Whether anything was written to the file: a file made ahead of need starts with zeros."""
    return bool(file.view(0, BLANK_BYTES)[:BLANK_BYTES].any())


def records_at(log: CommitLog, physical: Int64s) -> Iterator[tuple[MappedFile, Int64s, Headers]]:
    """Yields file by file the rows of `physical` (any order) at which sound records stand, and their headers."""
    order = np.argsort(physical, kind="stable")
    ordered = physical[order]
    for file in log.files:
        end = file.start + (file.size_bytes if file.until is None else file.until)
        low, high = np.searchsorted(ordered, [file.start, end - HEADER_BYTES + 1])
        rows = order[low:high]
        if len(rows):
            records = headers(file.records_view(physical[rows] - file.start), physical[rows] - file.start)
            good = accepted(records, file.start, record_limit(file.known, log.capacity))
            yield file, rows[good], records.take(good)
