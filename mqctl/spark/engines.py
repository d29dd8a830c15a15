"""Where partial aggregates are computed and combined: on Spark, or in this process with numpy alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from mqctl.model.progress import Progress
from mqctl.spark.aggregates.combiner import Columns, Combiner, Row, Value
from mqctl.spark.aggregates.heavy import EDGE, stitches
from mqctl.spark.aggregates.keyed import KEYED
from mqctl.spark.aggregates.part_tables import PART_TABLES
from mqctl.spark.aggregates.table import Work
from mqctl.spark.aggregates.tracks import PackedTracks, TrackShare, plan_tracks, read_tracks
from mqctl.spark.aggregates.whole_tracks import unpacked
from mqctl.spark.query import Kernels, Query
from mqctl.spark.scan.planning import committed_offsets, open_store
from mqctl.spark.selection import Selection
from mqctl.store.bad_spots import read_past
from mqctl.store.mapping_guard import BadSpotError


class Engine(Protocol):
    """Computes the combined rows of a table of partial aggregates."""

    def rows(self, table: str, wanted: Selection, query: Query, by: Sequence[str] | None = None) -> list[Row]:
        """Reads the stores of `wanted`; rows are combined by the table's keys, or by some of them.

        Raises:
            NotFoundError: a store is missing on the host that should read it.
            BadInputError: a directory is no store, or has its consume queues in RocksDB.
            StorageError: reading failed otherwise.
        """
        ...

    def group_topics(self, wanted: Selection) -> dict[str, set[str]]:
        """Returns the topics that each consumer group has offsets for."""
        ...


class PlainEngine:
    """Reads small stores in this process: no session, no Java, no pyarrow."""

    def __init__(self, kernels: Kernels = Kernels.AUTO, progress: Progress | None = None) -> None:
        self._kernels = kernels
        self._progress = progress

    def group_topics(self, wanted: Selection) -> dict[str, set[str]]:
        """See `Engine`."""
        topics: dict[str, set[str]] = {}
        for path in wanted.stores:
            for each in committed_offsets(open_store(path)):
                topics.setdefault(each.group, set()).add(each.topic)
        return topics

    def rows(self, table: str, wanted: Selection, query: Query, by: Sequence[str] | None = None) -> list[Row]:
        """See `Engine`."""
        query = replace(query, kernels=self._kernels)
        return reading_past(wanted, lambda: self._rows(table, wanted, query, by))

    def _rows(self, table: str, wanted: Selection, query: Query, by: Sequence[str] | None) -> list[Row]:
        if table in KEYED:
            combiner = Combiner(KEYED[table], by)
            for columns in self._judged(table, wanted, query):
                combiner.add(columns)
            return combiner.rows()
        part = PART_TABLES[table]
        combiner = Combiner(part, by)
        for work in self._told(table, part.plan(wanted, query, 1)):
            for columns in part.read(work):
                combiner.add(columns)
        return combiner.rows()

    def _told(self, table: str, work: Sequence[Work]) -> Iterator[Work]:
        """Yields shares, and tells how many are done."""
        for number, each in enumerate(work):
            if self._progress is not None:
                self._progress(f"{table}: share {number + 1} of {len(work)}", number, len(work))
            yield each

    def _judged(self, table: str, wanted: Selection, query: Query) -> Iterator[Columns]:
        buckets: dict[int, list[PackedTracks]] = {}
        for work in self._told(table, plan_tracks(wanted, query, 1)):
            assert isinstance(work, TrackShare)
            for packed in read_tracks(work):
                own = packed._replace(data=bytes(packed.data))
                buckets.setdefault(packed.bucket, []).append(own)
        for columns in buckets.values():
            yield from KEYED[table].judge(unpacked(columns, query), query)


def reading_past(wanted: Selection, rows: Callable[[], list[Row]]) -> list[Row]:
    """Returns the rows of stores on this host, made again where a disk refuses a part of a commit log: that is read as
    a hole then, and `reports.unread` names it."""
    while True:
        try:
            return rows()
        except BadSpotError as error:
            logs = [file for path in wanted.stores for file in open_store(path).commit_log.files]
            own = [file for file in logs if file.path == error.path]
            if not any(read_past(file, error.reason) for file in own):
                raise


def whole_keys(rows: Sequence[Row], table: str, query: Query) -> list[Row]:
    """Adds what lies between the slices of keys that were cut (`aggregates.heavy`) to the rows of a keyed table."""
    added = list(stitches(rows, query.bucket_ms))
    if not added:
        return list(rows)
    combiner = Combiner(KEYED[table])
    for row in (*rows, *added):
        if row["cut"] != EDGE:
            combiner.add({name: (value,) for name, value in row.items()})
    return combiner.rows()


def number(value: Value) -> int | None:
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
