"""The table `backlog`: partial aggregates of what lies behind consumer groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mqctl.model.lag import LagState, QueueLag
from mqctl.spark.aggregates.backlog_figures import Segment, behind_all
from mqctl.spark.aggregates.batches import behind_in_batches, is_batch
from mqctl.spark.aggregates.combiner import Columns, Value
from mqctl.spark.aggregates.quick import behind_by_entries
from mqctl.spark.aggregates.table import PartTable, Work
from mqctl.spark.aggregates.twins import settled, use_compiled
from mqctl.spark.query import Query
from mqctl.spark.scan.planning import QueueRange, cells, open_store, placed_shares, ranges, shares
from mqctl.spark.scan.remote import is_remote
from mqctl.spark.selection import Selection

STATE, TAG, ARRIVAL = "state", "tag", "arrival"
"""Kinds of rows: where a group stands in a queue; messages behind it by tag; and by the time bucket they arrived in."""
ARRIVALS = "arrivals"
"""The cut of a `Query` that wants rows of the last kind."""
_BATCH_ROWS = 32_000
_RANGES_AT_ONCE = 2_000
_STATES = {
    "never_committed": LagState.NEVER_COMMITTED,
    "beyond_max": LagState.BEYOND_MAX,
    "no_queue": LagState.NO_QUEUE,
}


@dataclass(frozen=True, slots=True)
class BacklogShare:
    """The work of one partition of `backlog`: states to report as they are, and ranges to read."""

    states: tuple[tuple[str, QueueLag], ...]
    ranges: tuple[QueueRange, ...]
    wanted: Selection
    query: Query


def _plan(wanted: Selection, query: Query, count: int) -> list[Work]:
    states: list[tuple[str, QueueLag]] = []
    work: list[QueueRange] = []
    for path in wanted.stores:
        works = cells(open_store(path), wanted)
        states += [(path, state) for state in works]
        work += ranges(path, works, whole=query.quick)
    query = settled(query, messages=sum(each.high - each.low for each in work))
    dealt = (shares if query.quick else placed_shares)(work, count) or [[]]
    return [
        BacklogShare(tuple(states) if number == 0 else (), tuple(share), wanted, query)
        for number, share in enumerate(dealt)
    ]


def _read(work: Work) -> Iterator[Columns]:
    assert isinstance(work, BacklogShare)
    if work.states:
        yield _state_rows(work.states)
    rows: list[tuple[Value, ...]] = []
    for each, group, segment in _behind(work):
        rows += _segment_rows(each, group, segment)
        if len(rows) >= _BATCH_ROWS:
            yield _columns(rows)
            rows = []
    if rows:
        yield _columns(rows)


def _behind(work: BacklogShare) -> Iterator[tuple[QueueRange, str, Segment]]:
    """Yields what lies behind each reader of each range."""
    bucket_ms = work.query.bucket_ms if any(cut.name == ARRIVALS for cut in work.query.cuts) else 0
    times = work.wanted.store_time_ms
    for path in sorted({each.store for each in work.ranges}):
        store = open_store(path)
        left: list[QueueRange] = []
        for each in (each for each in work.ranges if each.store == path):
            if is_batch(store, each.topic, each.queue_id):
                segments: Iterator[tuple[str, Segment]] | None = behind_in_batches(
                    store, each, times, arrivals_ms=bucket_ms
                )
            else:
                segments = behind_by_entries(store, each) if work.query.quick else None
            if segments is None:
                left.append(each)
            else:
                yield from ((each, *pair) for pair in segments)
        for begin in range(0, len(left), _RANGES_AT_ONCE):
            some = left[begin : begin + _RANGES_AT_ONCE]
            # Addresses need all bytes of a file; of one that is fetched only those of the records are asked for.
            if not is_remote(path) and use_compiled(work.query.kernels):
                from mqctl.spark.aggregates.compiled import backlog

                yield from backlog.behind_all(store, some, times, arrivals_ms=bucket_ms)
            else:
                yield from behind_all(store, some, times, arrivals_ms=bucket_ms)


def _state_rows(states: tuple[tuple[str, QueueLag], ...]) -> Columns:
    nothing = [0] * len(states)
    return {
        "kind": [STATE] * len(states),
        "store": [path for path, _ in states],
        "group": [state.group for _, state in states],
        "topic": [state.topic for _, state in states],
        "queue_id": [state.queue_id for _, state in states],
        "messages": nothing,
        "bytes": nothing,
        "dangling": nothing,
        "lag": [state.lag_count for _, state in states],
        "lost": [state.lost_count for _, state in states],
        **{name: [int(state.state is kind) for _, state in states] for name, kind in _STATES.items()},
    }


_NAMES = (
    "kind", "store", "group", "topic", "queue_id", "tag", "time_ms", "messages", "bytes", "oldest_ms", "newest_ms",
    "dangling",
)  # fmt: skip


def _columns(rows: list[tuple[Value, ...]]) -> Columns:
    return dict(zip(_NAMES, zip(*rows, strict=True), strict=True))


def _segment_rows(work: QueueRange, group: str, segment: Segment) -> list[tuple[Value, ...]]:
    where = (work.store, group, work.topic, work.queue_id)
    rows: list[tuple[Value, ...]] = [
        (TAG, *where, tag, None, sums.messages, sums.bytes, sums.oldest_ms, sums.newest_ms, 0)
        for tag, sums in segment.by_tag.items()
    ]
    rows += [
        (ARRIVAL, *where, None, time_ms, sums.messages, sums.bytes, None, None, 0)
        for time_ms, sums in segment.arrivals.items()
    ]
    if segment.dangling:
        # Nobody knows the tag of what is not there: these go with the queue.
        rows.append((STATE, *where, None, None, 0, 0, None, None, segment.dangling))
    return rows


BACKLOG = PartTable(
    keys={
        "kind": "string",
        "store": "string",
        "group": "string",
        "topic": "string",
        "queue_id": "int",
        "tag": "string",
        "time_ms": "bigint",
    },
    sums=("messages", "bytes", "dangling", "lag", "lost", *_STATES),
    lows=("oldest_ms",),
    highs=("newest_ms",),
    plan=_plan,
    read=_read,
)
