"""Two commit logs side by side, byte by byte where both have something: a master's and its slave's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mqctl.model.progress import Progress
from mqctl.store.commitlog import CommitLog

_WINDOW_BYTES = 8 << 20
Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogComparison:
    """What two logs have in common. All offsets are physical ones.

    Attributes:
        start, other_start: where the files begin.
        end, other_end: behind the last record that can be read.
        compared_bytes: of the range that both have.
        first_difference: start of the first record that differs, None where all that both have is equal.
        different_byte: the first byte that differs.
    """

    start: int
    other_start: int
    end: int
    other_end: int
    compared_bytes: int = 0
    first_difference: int | None = None
    different_byte: int | None = None

    @property
    def common(self) -> tuple[int, int] | None:
        """The range that both logs have, or None."""
        low, high = max(self.start, self.other_start), min(self.end, self.other_end)
        return (low, high) if low < high else None


def compare_logs(log: CommitLog, other: CommitLog, progress: Progress | None = None) -> LogComparison:
    """Compares two logs over the range that both have. Nothing is written.

    Raises:
        StorageError: a file cannot be read.
        BadInputError: a file changed its size meanwhile.
    """
    found = LogComparison(
        start=log.min_offset, other_start=other.min_offset, end=log.max_offset, other_end=other.max_offset
    )
    if found.common is None:
        return found
    low, high = found.common
    at = low
    while at < high:
        size = min(_WINDOW_BYTES, high - at, _left(log, at), _left(other, at))
        if size <= 0:
            break  # a file between is missing in one of them
        different = np.flatnonzero(_bytes(log, at, size) != _bytes(other, at, size))
        if different.size:
            byte = at + int(different[0])
            return LogComparison(
                start=found.start,
                other_start=found.other_start,
                end=found.end,
                other_end=found.other_end,
                compared_bytes=byte - low,
                first_difference=_record_start(log, byte, low),
                different_byte=byte,
            )
        at += size
        if progress is not None:
            progress("comparing the logs", at - low, high - low)
    return LogComparison(
        start=found.start,
        other_start=found.other_start,
        end=found.end,
        other_end=found.other_end,
        compared_bytes=at - low,
    )


def _left(log: CommitLog, offset: int) -> int:
    file = log.file_of(offset)
    return 0 if file is None else file.end - offset


def _bytes(log: CommitLog, offset: int, size: int) -> Bytes:
    file = log.file_of(offset)
    if file is None:
        return np.empty(0, dtype=np.uint8)
    position = offset - file.start
    return np.frombuffer(file.view(position, position + size), dtype=np.uint8)[position : position + size]


def _record_start(log: CommitLog, byte: int, low: int) -> int:
    """Returns where the record begins in which a byte lies; the byte itself where no record does."""
    file = log.file_of(byte)
    if file is None:
        return byte
    starts = log.walk(file).positions + file.start
    number = int(np.searchsorted(starts, byte, side="right")) - 1
    return max(low, int(starts[number])) if number >= 0 else byte
