"""The table `backlog`: partial aggregates of what lies behind consumer groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mqctl.model.lag import LagState, QueueLag
from mqctl.spark.aggregation import Segment, behind
from mqctl.spark.asking import Ask
from mqctl.spark.planning import QueueRange, cells, open_store, ranges, shares
from mqctl.spark.table import BATCH_ROWS, Work
from mqctl.spark.wanted import Bounds, Wanted


@dataclass(frozen=True, slots=True)
class BacklogShare:
    """The work of one partition of `backlog`: states to report as they are, and ranges to read."""

    states: tuple[tuple[str, QueueLag], ...]
    ranges: tuple[QueueRange, ...]
    store_time_ms: Bounds


BACKLOG_COLUMNS = (
    "store string, group string, topic string, queue_id int, is_state boolean, tag string, messages bigint,"
    " bytes bigint, oldest_ms bigint, newest_ms bigint, dangling bigint, lag bigint, lost bigint, never_committed int,"
    " beyond_max int, no_queue int"
)
_BACKLOG_TYPES = {
    "store": pa.string(),
    "group": pa.string(),
    "topic": pa.string(),
    "queue_id": pa.int32(),
    "is_state": pa.bool_(),
    "tag": pa.string(),
    **dict.fromkeys(("messages", "bytes", "oldest_ms", "newest_ms", "dangling", "lag", "lost"), pa.int64()),
    **dict.fromkeys(("never_committed", "beyond_max", "no_queue"), pa.int32()),
}


def plan_backlog(wanted: Wanted, ask: Ask, count: int) -> list[Work]:
    del ask
    states: list[tuple[str, QueueLag]] = []
    work: list[QueueRange] = []
    for path in wanted.stores:
        found = cells(open_store(path), wanted)
        states += [(path, state) for state in found]
        work += ranges(path, found)
    dealt = shares(work, count) or [[]]
    return [
        BacklogShare(tuple(states) if number == 0 else (), tuple(share), wanted.store_time_ms)
        for number, share in enumerate(dealt)
    ]


def read_backlog(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    assert isinstance(work, BacklogShare)
    rows = [_state_row(path, state) for path, state in work.states]
    stores = {path: open_store(path) for path in sorted({each.store for each in work.ranges})}
    for each in work.ranges:
        for group, segment in behind(stores[each.store], each, work.store_time_ms):
            rows += _segment_rows(each, group, segment)
        if len(rows) >= BATCH_ROWS:
            yield _batch(rows, names)
            rows = []
    if rows:
        yield _batch(rows, names)


def _batch(rows: list[dict[str, object]], names: Sequence[str]) -> pa.RecordBatch:
    schema = pa.schema([(name, _BACKLOG_TYPES[name]) for name in names])
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def _state_row(path: str, state: QueueLag) -> dict[str, object]:
    return {
        "store": path,
        "group": state.group,
        "topic": state.topic,
        "queue_id": state.queue_id,
        "is_state": True,
        "messages": 0,
        "bytes": 0,
        "dangling": 0,
        "lag": state.lag_count,
        "lost": state.lost_count,
        "never_committed": int(state.state is LagState.NEVER_COMMITTED),
        "beyond_max": int(state.state is LagState.BEYOND_MAX),
        "no_queue": int(state.state is LagState.NO_QUEUE),
    }


def _segment_rows(work: QueueRange, group: str, segment: Segment) -> list[dict[str, object]]:
    where: dict[str, object] = {
        "store": work.store,
        "group": group,
        "topic": work.topic,
        "queue_id": work.queue_id,
        "is_state": False,
    }
    rows: list[dict[str, object]] = [
        {
            **where,
            "tag": tag,
            "messages": sums.messages,
            "bytes": sums.bytes,
            "oldest_ms": sums.oldest_ms,
            "newest_ms": sums.newest_ms,
            "dangling": 0,
        }
        for tag, sums in segment.by_tag.items()
    ]
    if segment.dangling:
        # Nobody knows the tag of what is not there: these go with the queue.
        rows.append({**where, "is_state": True, "messages": 0, "bytes": 0, "dangling": segment.dangling})
    return rows
