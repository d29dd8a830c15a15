"""Partial aggregates combined by Spark: a function from a table of the source to a DataFrame, and its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.keyed import KEYED
from mqctl.spark.aggregates.part_tables import PART_TABLES
from mqctl.spark.aggregates.tracks import PackedTracks
from mqctl.spark.aggregates.whole_tracks import unpacked
from mqctl.spark.carried import carrying, delivered
from mqctl.spark.engines import reading_past
from mqctl.spark.query import Kernels, Query
from mqctl.spark.reports.dealing import dealt_rows
from mqctl.spark.reports.gathering import gathered, is_local
from mqctl.spark.selection import Selection
from mqctl.spark.source.data_source import FORMAT, register, wanted_options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def parts(
    spark: SparkSession, table: str, wanted: Selection, query: Query, *, partitions: int | None = None
) -> DataFrame:
    """Returns a table of partial aggregates, computed in at most about `partitions` tasks (default: 4 a core)."""
    register(spark)
    options = {
        **wanted_options(wanted),
        "table": table,
        "ask": query.text(),
        "partitions": str(partitions or 4 * spark.sparkContext.defaultParallelism),
    }
    return spark.read.format(FORMAT).options(**options).load()


def combined(parts_of_keys: DataFrame, table: str, by: Sequence[str] | None = None) -> DataFrame:
    """Makes one row of the partial rows of each key, or of each combination of the keys `by`."""
    from pyspark.sql import functions as f

    part = KEYED[table] if table in KEYED else PART_TABLES[table]
    return parts_of_keys.groupBy(*(part.keys if by is None else by)).agg(
        *(f.sum(name).alias(name) for name in part.sums),
        *(f.min(name).alias(name) for name in part.lows),
        *(f.max(name).alias(name) for name in part.highs),
    )


def keyed_parts(tracks: DataFrame, table: str, query: Query) -> DataFrame:
    """Brings all tracks of each key together and judges them (`aggregates.keyed`), a bucket of keys at a time."""
    types = KEYED[table].types
    schema = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    return tracks.groupBy("bucket").applyInArrow(_judging(table, query.text()), schema)


def _judging(table: str, query: str) -> Callable[[pa.Table], pa.Table]:
    import pyarrow

    def judge(part: pa.Table) -> pa.Table:
        return _judge(table, query, part)

    # Spark chooses by these how the function wants its data; texts it would resolve where pyarrow is not known.
    judge.__annotations__ = {"part": pyarrow.Table, "return": pyarrow.Table}
    return judge


def _judge(table: str, query: str, part: pa.Table) -> pa.Table:
    from mqctl.spark.source.columns import as_table, record_batch

    keyed = KEYED[table]
    packed = [
        PackedTracks(**{**row, "topics": tuple(row["topics"]), "hosts": tuple(row["hosts"])})
        for row in part.to_pylist()
    ]
    wanted = Query.parse(query)
    with carrying():
        batches = [record_batch(columns, keyed.types) for columns in keyed.judge(unpacked(packed, wanted), wanted)]
    return as_table(batches, keyed.types)


class SparkEngine:
    """Reads stores with a Spark session."""

    def __init__(self, spark: SparkSession, kernels: Kernels = Kernels.AUTO) -> None:
        self._spark = spark
        self._kernels = kernels

    def rows(self, table: str, wanted: Selection, query: Query, by: Sequence[str] | None = None) -> list[Row]:
        """See `mqctl.spark.engines.Engine`."""
        query = replace(query, kernels=self._kernels)
        if is_local(self._spark.sparkContext, wanted):
            return reading_past(wanted, lambda: self._rows(table, wanted, query, by))
        return self._rows(table, wanted, query, by)

    def _rows(self, table: str, wanted: Selection, query: Query, by: Sequence[str] | None) -> list[Row]:
        with delivered():
            if table in KEYED:
                whole = dealt_rows(self._spark.sparkContext, table, wanted, query, by)
                if whole is not None:
                    return whole
                frame = keyed_parts(parts(self._spark, "tracks", wanted, query), table, query)
            else:
                few = gathered(self._spark.sparkContext, table, wanted, query, by)
                if few is not None:
                    return few
                frame = parts(self._spark, table, wanted, query)
            rows: list[Row] = combined(frame, table, by).toArrow().to_pylist()
        return rows

    def group_topics(self, wanted: Selection) -> dict[str, set[str]]:
        """See `mqctl.spark.engines.Engine`."""
        everything = Selection(wanted.stores, system=True)
        with delivered():
            distinct = parts(self._spark, "consumer_offsets", everything, Query(())).select("group", "topic").distinct()
            pairs = [(row["group"], row["topic"]) for row in distinct.collect()]
        topics: dict[str, set[str]] = {}
        for group, topic in pairs:
            topics.setdefault(group, set()).add(topic)
        return topics
