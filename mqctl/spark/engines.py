"""Where partial aggregates are computed and combined: on Spark, or in this process with numpy alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from mqctl.model.progress import Progress
from mqctl.spark.aggregates.all import PART_TABLES
from mqctl.spark.aggregates.heavy import EDGE, stitches
from mqctl.spark.aggregates.keyed import KEYED, KeyedTable
from mqctl.spark.aggregates.rows import Columns
from mqctl.spark.aggregates.table import PartTable, Work
from mqctl.spark.aggregates.tracks import PackedTracks, TrackShare, plan_tracks, read_tracks, unpacked
from mqctl.spark.asking import Ask, Kernels
from mqctl.spark.scan.planning import committed_offsets, open_store
from mqctl.spark.wanted import Wanted

Row = dict[str, object]
"""A combined row by column name; columns that do not apply are None or absent."""


class Engine(Protocol):
    """Computes the combined rows of a table of partial aggregates."""

    def rows(self, table: str, wanted: Wanted, ask: Ask, by: Sequence[str] | None = None) -> list[Row]:
        """Reads the stores of `wanted`; rows are combined by the table's keys, or by some of them.

        Raises:
            NotFoundError: a store is missing on the host that should read it.
            BadInputError: a directory is no store, or has its consume queues in RocksDB.
            StorageError: reading failed otherwise.
        """
        ...

    def group_topics(self, wanted: Wanted) -> dict[str, set[str]]:
        """Returns the topics that each consumer group has offsets for."""
        ...


class PlainEngine:
    """Reads small stores in this process: no session, no Java, no pyarrow."""

    def __init__(self, kernels: Kernels = Kernels.AUTO, progress: Progress | None = None) -> None:
        self._kernels = kernels
        self._progress = progress

    def group_topics(self, wanted: Wanted) -> dict[str, set[str]]:
        """See `Engine`."""
        found: dict[str, set[str]] = {}
        for path in wanted.stores:
            for each in committed_offsets(open_store(path)):
                found.setdefault(each.group, set()).add(each.topic)
        return found

    def rows(self, table: str, wanted: Wanted, ask: Ask, by: Sequence[str] | None = None) -> list[Row]:
        """See `Engine`."""
        ask = replace(ask, kernels=self._kernels)
        if table in KEYED:
            return _combined(KEYED[table], self._judged(table, wanted, ask), by)
        part = PART_TABLES[table]
        return _combined(
            part, (rows for work in self._told(table, part.plan(wanted, ask, 1)) for rows in part.read(work)), by
        )

    def _told(self, table: str, work: Sequence[Work]) -> Iterator[Work]:
        """Yields shares, and tells how many are done."""
        for number, each in enumerate(work):
            if self._progress is not None:
                self._progress(f"{table}: share {number + 1} of {len(work)}", number, len(work))
            yield each

    def _judged(self, table: str, wanted: Wanted, ask: Ask) -> Iterator[Columns]:
        buckets: dict[int, list[PackedTracks]] = {}
        for work in self._told(table, plan_tracks(wanted, ask, 1)):
            assert isinstance(work, TrackShare)
            for packed in read_tracks(work):
                buckets.setdefault(packed.bucket, []).append(packed)
        for found in buckets.values():
            yield from KEYED[table].judge(unpacked(found), ask)


def whole_keys(found: Sequence[Row], table: str, ask: Ask) -> list[Row]:
    """Adds what lies between the slices of keys that were cut (`aggregates.heavy`) to the rows of a keyed table."""
    added = list(stitches(found, ask.bucket_ms))
    if not added:
        return list(found)
    part = KEYED[table]
    keys = list(part.keys)
    combined: dict[tuple[object, ...], Row] = {}
    for row in (*found, *added):
        if row["cut"] != EDGE:
            _combine(part, keys, combined, row)
    return list(combined.values())


def _combined(part: PartTable | KeyedTable, found: Iterable[Columns], by: Sequence[str] | None) -> list[Row]:
    combined: dict[tuple[object, ...], Row] = {}
    keys = list(part.keys if by is None else by)
    for columns in found:
        names = list(columns)
        for values in zip(*columns.values(), strict=True):
            _combine(part, keys, combined, dict(zip(names, values, strict=True)))
    return list(combined.values())


def _combine(
    part: PartTable | KeyedTable, keys: Sequence[str], combined: dict[tuple[object, ...], Row], row: Row
) -> None:
    key = tuple(row.get(name) for name in keys)
    known = combined.setdefault(key, {name: row.get(name) for name in keys})
    for name in part.sums:
        known[name] = _either(known.get(name), row.get(name), int.__add__)
    for name in part.lows:
        known[name] = _either(known.get(name), row.get(name), min)
    for name in part.highs:
        known[name] = _either(known.get(name), row.get(name), max)


class _Join(Protocol):
    def __call__(self, left: int, right: int, /) -> int: ...


def _either(left: object, right: object, join: _Join) -> int | None:
    if left is None or right is None:
        return number(right) if left is None else number(left)
    return join(int(str(left)), int(str(right)))


def number(value: object) -> int | None:
    """Reads a number of a row; None where it does not apply."""
    return value if isinstance(value, int) else None


def sum_of(row: Row, name: str) -> int:
    """Reads a sum of a row; 0 where nothing was added."""
    return number(row.get(name)) or 0


def text(row: Row, name: str) -> str:
    """Reads a name of a row."""
    return str(row[name])


def maybe_text(row: Row, name: str) -> str | None:
    """Reads a name that may be missing."""
    value = row.get(name)
    return None if value is None else str(value)
