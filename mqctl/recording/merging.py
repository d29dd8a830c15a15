"""Files of hours made into one of a quarter of a day, row group by row group: memory does not grow with the files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from mqctl.errors import BadInputError
from mqctl.recording.kinds import COLUMNS, MOST_ROWS, RowKind
from mqctl.recording.tables import (
    GROUP_ROWS,
    Arrow,
    damaged,
    file_with,
    opened,
    order_of,
    rows_in,
    schema_of,
)
from mqctl.text import sentence

_Place: TypeAlias = tuple[object, ...]


def joined(kind: RowKind, sources: Sequence[tuple[str, bytes]], cluster: str) -> bytes:
    """Joins files of the same kind: keyframes in row groups of their own, then the rest by key and moment.

    Args:
        sources: name and bytes of each, the oldest first.

    Raises:
        BadInputError: one cannot be read, of which nothing is left out; or the whole would be too large to read.
    """
    files = [_Source(kind, where, *_opened(kind, where, data)) for where, data in sources]
    count = sum(source.file.metadata.num_rows for source in files)
    if count > MOST_ROWS:
        raise BadInputError(
            sentence("recording-files-not-joined", "could not join {files:file}", files=len(files)),
            reason=sentence("recording-rows-not-readable", "one of {count} rows would not be read", count=count),
        )
    return file_with(kind, [*(part for file in files for part in file.frames()), *_rest(kind, files)], cluster)


def _opened(kind: RowKind, where: str, data: bytes) -> tuple[Arrow, list[int], list[int]]:
    """Returns a file, and the row groups of one moment and of several."""
    try:
        file, _ = opened(kind, data, where)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(where, error) from error
    place = file.schema_arrow.names.index("moment_ms")
    bounds = [file.metadata.row_group(number).column(place).statistics for number in range(file.num_row_groups)]
    single = [number for number, bound in enumerate(bounds) if bound is not None and bound.min == bound.max]
    return file, single, [number for number in range(file.num_row_groups) if number not in single]


@dataclass(slots=True)
class _Source:
    """One file, read forward by key; `rows` are those that were read and not taken yet."""

    kind: RowKind
    where: str
    file: Arrow
    single: list[int]
    waiting: list[int]
    rows: Arrow | None = field(default=None)

    def _read(self, number: int) -> Arrow:
        try:
            return rows_in(self.file, self.kind, number).cast(schema_of(self.kind))
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise damaged(self.where, error) from error

    def frames(self) -> Iterator[Arrow]:
        for number in self.single:
            yield self._read(number)

    def fill(self) -> None:
        if (self.rows is None or not self.rows.num_rows) and self.waiting:
            self.rows = self._read(self.waiting.pop(0))

    def key_at(self, number: int) -> _Place:
        assert self.rows is not None
        return tuple(self.rows[name][number].as_py() for name in COLUMNS[self.kind].key)

    def last_key(self) -> _Place | None:
        """The key up to which everything was read; None at the end of the file."""
        return self.key_at(self.rows.num_rows - 1) if self.rows is not None and self.waiting else None

    def take(self, until: _Place | None) -> Arrow | None:
        """Takes the rows up to a key, or all."""
        if self.rows is None:
            return None
        count = self.rows.num_rows
        if until is not None:
            count = bisect_right(range(count), until, key=self.key_at)
        taken, self.rows = self.rows.slice(0, count), self.rows.slice(count)
        return taken


def _rest(kind: RowKind, files: Sequence[_Source]) -> Iterator[Arrow]:
    """Yields the rows of all files by key and moment, about a row group at a time."""
    held: list[Arrow] = []
    while True:
        for file in files:
            file.fill()
        ends = [end for file in files if (end := file.last_key()) is not None]
        taken = [part for file in files if (part := file.take(min(ends, default=None))) is not None and part.num_rows]
        if taken:
            held.append(pa.concat_tables(taken).sort_by(order_of(kind)))
        if sum(part.num_rows for part in held) >= GROUP_ROWS or (held and not ends):
            yield pa.concat_tables(held)
            held = []
        if not ends and not any(file.waiting for file in files):
            return
