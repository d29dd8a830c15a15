"""The backlog report: what lies behind each consumer group, by count, bytes and store time.

A message is behind a group when its queue offset is at or above the group's committed offset and the store still has
it. So in every queue `messages + dangling = lag - lost` where lag is positive: `lost` ones expired below the queue's
minimum, and `dangling` entries lead to no message (the commit log file is gone, torn or another broker's).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mqctl.errors import UsageError
from mqctl.model.backlog import BacklogBy, BacklogRow
from mqctl.spark.aggregates.backlog_segments import ARRIVAL, ARRIVALS, TAG
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.engines import Engine, maybe_text, number, sum_of, text
from mqctl.spark.query import Cut, Query
from mqctl.spark.reports.unread import require_queues
from mqctl.spark.selection import Selection
from mqctl.text import sentence

_KEYS = {
    BacklogBy.GROUP: ("group",),
    BacklogBy.TOPIC: ("group", "topic"),
    BacklogBy.QUEUE: ("group", "topic", "store", "queue_id"),
    BacklogBy.TAG: ("group", "topic", "tag"),
    BacklogBy.TIME: ("group", "topic", "time_ms"),
}
_RECORDS_ONLY = {BacklogBy.TAG: TAG, BacklogBy.TIME: ARRIVAL}
"""Rows that only records tell, and the kind of partial rows they are made of: what they stand for has no state."""


def backlog_rows(
    engine: Engine, wanted: Selection, by: BacklogBy, *, quick: bool = False, bucket_ms: int = 60_000
) -> list[BacklogRow]:
    """Runs the report; the largest backlog first.

    With `quick` sizes and counts come from the consume queues alone (tags are not told apart then, and entries that
    lead nowhere only where files are missing or the records at a range's ends are not sound).

    Raises:
        NotFoundError: a store is missing on the host that should read it.
        BadInputError: a directory is no store, or has its consume queues in RocksDB.
        StorageError: the job failed otherwise.
        UsageError: `quick` by tag or for a range of store times: only records tell these.
    """
    if quick and (by in _RECORDS_ONLY or not wanted.store_time_ms.is_everything):
        raise UsageError(
            sentence("spark-quick-reads-queue-entries", "--quick reads queue entries only"),
            reason=sentence("spark-hold-neither-tags-nor", "they hold neither tags nor store times"),
            remedy=sentence(
                "spark-leave-quick-out-tag", "leave --quick out, or --by tag, --by time, --since and --until"
            ),
        )
    require_queues(wanted)
    cuts = (Cut(ARRIVALS, ()),) if by is BacklogBy.TIME else ()
    query = Query(cuts, bucket_ms=bucket_ms, quick=quick)
    return rows_by(engine.rows("backlog", wanted, query, ("kind", *_KEYS[by])), by)


def rows_by(rows: Iterable[Row], by: BacklogBy) -> list[BacklogRow]:
    """Builds the rows of the report, the largest backlog first, from rows of the table `backlog`."""
    merged: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row["kind"] == _RECORDS_ONLY.get(by, row["kind"]):
            merged.setdefault(tuple(row[key] for key in _KEYS[by]), []).append(row)
    return sorted((_row(own, by) for own in merged.values()), key=_order)


def _row(own: Sequence[Row], by: BacklogBy) -> BacklogRow:
    keys, first = _KEYS[by], own[0]

    def total(name: str) -> int:
        return sum(sum_of(row, name) for row in own)

    def ends(name: str) -> list[int]:
        return [time for row in own if (time := number(row.get(name))) is not None]

    def state(name: str) -> int | None:
        return None if by in _RECORDS_ONLY else total(name)

    lags = [] if by in _RECORDS_ONLY else ends("lag")
    return BacklogRow(
        group=text(first, "group"),
        topic=maybe_text(first, "topic") if "topic" in keys else None,
        store=maybe_text(first, "store") if "store" in keys else None,
        queue_id=number(first["queue_id"]) if "queue_id" in keys else None,
        tag=maybe_text(first, "tag") if "tag" in keys else None,
        messages=total("messages"),
        bytes=total("bytes"),
        oldest_ms=min(ends("oldest_ms"), default=None),
        newest_ms=max(ends("newest_ms"), default=None),
        lag_count=sum(lags) if lags else None,
        lost_count=state("lost"),
        dangling_count=state("dangling"),
        never_committed_count=state("never_committed"),
        beyond_max_count=state("beyond_max"),
        no_queue_count=state("no_queue"),
        time_ms=number(first["time_ms"]) if "time_ms" in keys else None,
    )


def forecast(rows: Iterable[BacklogRow], *, per_second: float | None, retention_ms: int | None) -> list[BacklogRow]:
    """Adds how long each row takes to drain at a rate beyond what is produced, and when its oldest message expires."""
    return [
        replace(
            row,
            drain_ms=None if per_second is None else round(row.messages * 1000 / per_second),
            expires_ms=None if retention_ms is None or row.oldest_ms is None else row.oldest_ms + retention_ms,
        )
        for row in rows
    ]


def _order(row: BacklogRow) -> tuple[object, ...]:
    if row.time_ms is not None:
        return row.group, row.topic or "", row.time_ms
    return -row.messages, row.group, row.topic or "", row.store or "", row.queue_id or 0, row.tag or ""
