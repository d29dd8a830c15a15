"""Two commit logs side by side, byte by byte where both have something: a master's and its slave's.

What lies behind the last record that can be read is compared as well, as far as both were written: a slave that got
half a record which its master lost, and then the rest of another one, has no readable record there at all.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

import numpy as np

from mqctl.errors import BadInputError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.progress import Progress
from mqctl.store.commitlog import CommitLog
from mqctl.text import sentence

_WINDOW_BYTES = 8 << 20
Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogComparison:
    """What two logs have in common. All offsets are physical ones.

    Attributes:
        start, other_start: where the files begin.
        end, other_end: behind the last record that can be read.
        written, other_written: behind the last byte that is not zero, which may be within the last record.
        file_bytes, other_file_bytes: the size of their files; None without files.
        compared_bytes: of the range that both have.
        first_difference: start of the first record that differs, None where all that both have is equal.
        different_byte: the first byte that differs.
    """

    start: int
    other_start: int
    end: int
    other_end: int
    written: int
    other_written: int
    file_bytes: int | None = None
    other_file_bytes: int | None = None
    compared_bytes: int = 0
    first_difference: int | None = None
    different_byte: int | None = None

    @property
    def common(self) -> tuple[int, int] | None:
        """The range that both logs have records in, or None."""
        low, high = max(self.start, self.other_start), min(self.end, self.other_end)
        return (low, high) if low < high else None

    @property
    def turned(self) -> LogComparison:
        """The same with the other log as the first one."""
        return replace(
            self,
            start=self.other_start,
            other_start=self.start,
            end=self.other_end,
            other_end=self.end,
            written=self.other_written,
            other_written=self.written,
            file_bytes=self.other_file_bytes,
            other_file_bytes=self.file_bytes,
        )

    @property
    def is_whole(self) -> bool:
        """Whether all that both have was compared: no file between is missing."""
        return self.common is not None and self.compared_bytes >= self.common[1] - self.common[0]


def compare_logs(log: CommitLog, other: CommitLog, progress: Progress | None = None) -> LogComparison:
    """Compares two logs over the range that both have. Nothing is written.

    Raises:
        StorageError: a file cannot be read.
        BadInputError: a file changed its size meanwhile.
    """
    comparison = LogComparison(
        start=log.min_offset,
        other_start=other.min_offset,
        end=log.max_offset,
        other_end=other.max_offset,
        written=written_end(log),
        other_written=written_end(other),
        file_bytes=log.file_size_bytes,
        other_file_bytes=other.file_size_bytes,
    )
    at = low = max(comparison.start, comparison.other_start)
    high, compared = min(comparison.written, comparison.other_written), 0
    while at < high:
        size = min(_WINDOW_BYTES, high - at, _left(log, at), _left(other, at))
        if size <= 0:
            at = max(_next_file(log, at, high), _next_file(other, at, high))
            continue
        different = np.flatnonzero(_bytes(log, at, size) != _bytes(other, at, size))
        if different.size:
            byte = at + int(different[0])
            start = max(low, _record_start(log, byte), _record_start(other, byte))
            compared += byte - at
            return replace(comparison, compared_bytes=compared, first_difference=start, different_byte=byte)
        at += size
        compared += size
        if progress is not None:
            progress("comparing the logs", at - low, high - low)
    comparison = replace(
        comparison,
        end=_whole_end(log, other, (comparison.end, comparison.written)),
        other_end=_whole_end(other, log, (comparison.other_end, comparison.other_written)),
    )
    lost = 0 if comparison.common is None else max(0, comparison.common[1] - max(high, comparison.common[0]))
    return replace(comparison, compared_bytes=_at_most(compared + lost, comparison.common))


class LogRegion(StrEnum):
    """Where a log has what another one does not have."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


def only_here(log: CommitLog, other: CommitLog, comparison: LogComparison) -> dict[LogRegion, list[tuple[int, int]]]:
    """Returns the physical ranges of `log` that the other one lacks, or has records with other bytes in.

    Args:
        comparison: of both, in this order.
    """
    both = min(comparison.end, comparison.other_end)
    equal_to = both if comparison.first_difference is None else comparison.first_difference
    holes, at = [], other.min_offset
    for file in other.files:
        holes.append((at, min(file.start, both)))
        at = file.end
    ranges = {
        LogRegion.START: [(comparison.start, min(comparison.other_start, comparison.end))] if other.files else [],
        LogRegion.MIDDLE: holes,
        LogRegion.END: [*_differing(log, other, equal_to, both), (both, comparison.end)],
    }
    return {place: [(low, high) for low, high in spans if low < high] for place, spans in ranges.items()}


def equal_again(log: CommitLog, other: CommitLog, comparison: LogComparison) -> int | None:
    """Returns the physical offset from which on both logs are equal again up to the end of what both have.

    None where they never differ, or differ to that end: two histories, where otherwise single records are damaged.
    """
    low, high = comparison.first_difference, min(comparison.end, comparison.other_end)
    if low is None:
        return None
    last = max([low, *(stop for pair in ((log, other), (other, log)) for _, stop in _differing(*pair, low, high))])
    return last if last < high else None


def _differing(log: CommitLog, other: CommitLog, low: int, high: int) -> list[tuple[int, int]]:
    """Returns the physical ranges of records of `log` with other bytes in a file that the other log has, too."""
    ranges: list[tuple[int, int]] = []
    for file in log.files:
        first, stop = max(low, file.start), min(high, file.end)
        if first >= stop:
            continue
        starts = log.walk(file).positions + file.start
        starts = np.unique(np.clip(np.append(starts, first), first, stop))
        differs = np.zeros(len(starts), dtype=bool)
        at = first
        while at < stop:
            size = min(_WINDOW_BYTES, stop - at, _left(other, at))
            if size <= 0:
                at = _next_file(other, at, stop)
                continue
            begins = np.searchsorted(starts, [at, at + size])
            cuts = np.unique(np.append(0, starts[begins[0] : begins[1]] - at))
            is_other = np.logical_or.reduceat(_bytes(log, at, size) != _bytes(other, at, size), cuts)
            differs[np.searchsorted(starts, at + cuts, side="right") - 1] |= is_other
            at += size
        ends = np.append(starts[1:], stop)
        ranges += zip(starts[differs].tolist(), ends[differs].tolist(), strict=True)
    return _joined(ranges)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for low, high in ranges:
        if joined and joined[-1][1] == low:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined


def written_end(log: CommitLog) -> int:
    """Returns where the last byte lies that is not zero, plus one: files are as large as they may become."""
    for file in reversed(log.files):
        for begin, stop in reversed(list(file.data_spans(0, file.size_bytes))):
            for low in reversed(range(begin, stop, _WINDOW_BYTES)):
                used = np.flatnonzero(file.view(low, stop)[low : min(stop, low + _WINDOW_BYTES)])
                if used.size:
                    return file.start + low + int(used[-1]) + 1
    return log.min_offset


def _at_most(size: int, common: tuple[int, int] | None) -> int:
    return 0 if common is None else min(size, common[1] - common[0])


def _whole_end(log: CommitLog, other: CommitLog, bounds: tuple[int, int]) -> int:
    """Returns where the log ends without a last record of which it has the first half only, then zeros.

    Scanners accept such a record, for its head is whole; only the other log shows that more belongs to it.
    """
    end, written = bounds
    size = min(end - written, _left(other, written))
    if size <= 0 or not _bytes(other, written, size).any():
        return end
    return _record_start(log, written)


def _left(log: CommitLog, offset: int) -> int:
    file = log.file_of(offset)
    return 0 if file is None else file.end - offset


def _next_file(log: CommitLog, offset: int, high: int) -> int:
    """Returns the offset itself where a file has it, else where the next file begins."""
    if log.file_of(offset) is not None:
        return offset
    return next((file.start for file in log.files if file.start > offset), high)


def _bytes(log: CommitLog, offset: int, size: int) -> Bytes:
    file = log.file_of(offset)
    if file is None:
        return np.empty(0, dtype=np.uint8)
    position = offset - file.start
    data = np.frombuffer(file.view(position, position + size), dtype=np.uint8)[position : position + size]
    if len(data) < size:
        raise BadInputError(
            sentence("could-not-read", "could not read {file}", file=file.path),
            reason=sentence(
                "store-cut-bytes-while-read",
                "it was cut from {position:,} to {size:byte} while it was read",
                position=position + size,
                size=position + len(data),
            ),
            remedy=sentence(
                "store-run-again-when-nobody",
                "run it again when the store does not change, or copy the store first",
            ),
        )
    return data


def _record_start(log: CommitLog, byte: int) -> int:
    """Returns where the record begins in which a byte lies, or what follows the last record before it."""
    file = log.file_of(byte)
    if file is None:
        return 0
    walked = log.walk(file)
    starts = np.append(walked.positions, walked.tail.position) + file.start
    number = int(np.searchsorted(starts, byte, side="right")) - 1
    return int(starts[number]) if number >= 0 else file.start
