"""The backlog report: what lies behind each consumer group, by count, bytes and store time.

A message is behind a group when its queue offset is at or above the group's committed offset and the store still has
it. So in every queue `messages + dangling = lag - lost` where lag is positive: `lost` ones expired below the queue's
minimum, and `dangling` entries lead to no message (the commit log file is gone, torn or another broker's).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mqctl.model.backlog import BacklogBy, BacklogRow
from mqctl.spark.carried import delivered
from mqctl.spark.planning import committed_offsets, open_store
from mqctl.spark.source import FORMAT, register, wanted_options
from mqctl.spark.wanted import Wanted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_KEYS = {
    BacklogBy.GROUP: ("group",),
    BacklogBy.TOPIC: ("group", "topic"),
    BacklogBy.QUEUE: ("group", "topic", "store", "queue_id"),
    BacklogBy.TAG: ("group", "topic", "tag"),
}
_OPTIONAL_KEYS = ("topic", "store", "queue_id", "tag")


def backlog_parts(spark: SparkSession, wanted: Wanted, *, partitions: int | None = None) -> DataFrame:
    """Returns the source's table of partial aggregates, computed in at most `partitions` tasks (default: 4 a core)."""
    register(spark)
    options = {
        **wanted_options(wanted),
        "table": "backlog",
        "partitions": str(partitions or 4 * spark.sparkContext.defaultParallelism),
    }
    return spark.read.format(FORMAT).options(**options).load()


def backlog(parts: DataFrame, by: BacklogBy) -> DataFrame:
    """Sums partial aggregates to one row a group, topic, queue or tag."""
    from pyspark.sql import functions as f

    if by is BacklogBy.TAG:
        parts = parts.where(~f.col("is_state"))
    return parts.groupBy(*_KEYS[by]).agg(
        f.sum("messages").alias("messages"),
        f.sum("bytes").alias("bytes"),
        f.min("oldest_ms").alias("oldest_ms"),
        f.max("newest_ms").alias("newest_ms"),
        f.sum("lag").alias("lag_count"),
        *(
            f.sum(name).alias(f"{name}_count")
            for name in ("lost", "dangling", "never_committed", "beyond_max", "no_queue")
        ),
    )


def backlog_rows(spark: SparkSession, wanted: Wanted, by: BacklogBy) -> list[BacklogRow]:
    """Runs the report; the largest backlog first.

    Raises:
        NotFoundError: a store is missing on the host that should read it.
        BadInputError: a directory is no store, or has its consume queues in RocksDB.
        StorageError: the job failed otherwise.
    """
    with delivered():
        collected = backlog(backlog_parts(spark, wanted), by).collect()
    per_queue = by is not BacklogBy.TAG
    rows = [
        BacklogRow(
            group=row["group"],
            **{key: row[key] if key in _KEYS[by] else None for key in _OPTIONAL_KEYS},
            messages=row["messages"],
            bytes=row["bytes"],
            oldest_ms=row["oldest_ms"],
            newest_ms=row["newest_ms"],
            lag_count=row["lag_count"],
            lost_count=(row["lost_count"] or 0) if per_queue else None,
            dangling_count=row["dangling_count"] if per_queue else None,
            never_committed_count=(row["never_committed_count"] or 0) if per_queue else None,
            beyond_max_count=(row["beyond_max_count"] or 0) if per_queue else None,
            no_queue_count=(row["no_queue_count"] or 0) if per_queue else None,
        )
        for row in collected
    ]
    return sorted(rows, key=_order)


def _order(row: BacklogRow) -> tuple[object, ...]:
    return -row.messages, row.group, row.topic or "", row.store or "", row.queue_id or 0, row.tag or ""


def unread_batch_topics(paths: Sequence[str]) -> list[str]:
    """Lists topics with consumer offsets whose messages stand in 5.x batch consume queues, which are not read yet."""
    found: set[str] = set()
    for path in paths:
        store = open_store(path)
        found |= {topic for topic, _ in store.batch_queue_ids()} & {each.topic for each in committed_offsets(store)}
    return sorted(found)
