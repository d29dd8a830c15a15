"""Partial aggregates of a local session, fetched by a plain job of few tasks and combined here.

A query over a Python data source costs 100 to 150 ms before its first byte is read: two Python processes that plan, the
optimizer, code that is generated and compiled, a shuffle. A job that only calls a function costs 20 ms. Where driver
and workers share a machine and a report has few tasks, their rows are combined in the worker, sent as Arrow and
combined once more in the driver; with more tasks, or on a cluster, it is Spark that plans and combines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.keyed import KeyedTable
from mqctl.spark.aggregates.part_tables import PART_TABLES
from mqctl.spark.aggregates.table import PartTable, Work
from mqctl.spark.carried import carrying, planning
from mqctl.spark.query import Query
from mqctl.spark.scan.planning import open_store
from mqctl.spark.scan.remote import is_remote
from mqctl.spark.selection import Selection
from mqctl.store.mapping_guard import RefusedPart, pass_over, passed_over

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext

MOST_TASKS = 64
"""Tasks whose rows the driver combines: 16 GB of commit log at 256 MB a split."""
_LARGE_BYTES = 8 << 30

BadSpots: TypeAlias = tuple[tuple[Path, tuple[RefusedPart, ...]], ...]


def gathered(
    context: SparkContext, table: str, wanted: Selection, query: Query, by: Sequence[str] | None = None
) -> list[Row] | None:
    """Returns the combined rows of a table of partial aggregates; None where that is a query's business."""
    if not is_local(context, wanted):
        return None
    part = PART_TABLES[table]
    with planning():
        work = part.plan(wanted, query, tasks(context, wanted))
    if len(work) > MOST_TASKS:
        return None
    keys = tuple(part.keys if by is None else by)
    read = partial(_read, table, keys, bad_spots_of(wanted))
    answers = context.parallelize(work, len(work)).mapPartitions(read).collect()
    rows: list[Row] = combined_rows(part, keys, [received(each) for each in answers]).to_pylist()
    return rows


def is_local(context: SparkContext, wanted: Selection) -> bool:
    """Whether driver and workers share a machine, and the stores are on it."""
    return context.master.startswith("local") and not any(map(is_remote, wanted.stores))


def tasks(context: SparkContext, wanted: Selection) -> int:
    """Returns a task a core where that is seconds of work; more for large stores, whose end should be in sight."""
    size = sum(file.size_bytes for path in wanted.stores for file in open_store(path).commit_log.files)
    cores = int(context.defaultParallelism)
    return cores if size < _LARGE_BYTES else 4 * cores


def bad_spots_of(wanted: Selection) -> BadSpots:
    """Returns the parts of commit logs that their disk has refused here: workers are to read them as zeros, too."""
    logs = [file.path for path in wanted.stores for file in open_store(path).commit_log.files]
    return tuple((path, tuple(parts)) for path in logs if (parts := passed_over(path)))


def pass_over_all(parts: BadSpots) -> None:
    """Does so in a worker. Raises what `pass_over` does."""
    for path, own in parts:
        pass_over(path, own)


def _read(table: str, keys: Sequence[str], parts: BadSpots, work: Iterable[Work]) -> Iterator[bytes]:
    """Runs in a worker: the rows of its share, combined, as an Arrow stream."""
    from mqctl.spark.source.columns import as_table, record_batch

    part = PART_TABLES[table]
    with carrying():
        pass_over_all(parts)
        for each in work:
            batches = [record_batch(columns, part.types) for columns in part.read(each)]
            yield sent(combined_rows(part, keys, [as_table(batches, part.types)]))


def sent(table: pa.Table) -> bytes:
    """Writes rows as a worker sends them: an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def received(data: bytes) -> pa.Table:
    """Reads what `sent` wrote."""
    import pyarrow as pa

    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()


def combined_rows(part: PartTable | KeyedTable, keys: Sequence[str], tables: Sequence[pa.Table]) -> pa.Table:
    """Makes one row of the rows of each combination of keys; a column without values stays null."""
    import pyarrow as pa

    aggregations = [
        *((name, "sum") for name in part.sums),
        *((name, "min") for name in part.lows),
        *((name, "max") for name in part.highs),
    ]
    grouped = pa.concat_tables(tables).group_by(list(keys)).aggregate(aggregations)
    return grouped.select([*keys, *(f"{name}_{how}" for name, how in aggregations)]).rename_columns(
        [*keys, *(name for name, _ in aggregations)]
    )
