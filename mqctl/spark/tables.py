"""The tables of the `rocketmq` data source: their columns, their partitions, and how a partition is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mqctl.model.lag import LagState, QueueLag
from mqctl.spark.aggregation import Segment, behind
from mqctl.spark.planning import QueueRange, Wanted, cells, committed_offsets, open_store, queue_bounds, ranges, shares
from mqctl.store.consumequeue import is_filler
from mqctl.store.kernel import Headers
from mqctl.store.mapped_files import Buffer, MappedFile
from mqctl.store.texts import Spans, property_spans

_BATCH_ROWS = 32_000
Work = object
"""What one partition reads; any picklable value its table's reader understands."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table.

    Attributes:
        columns: Spark DDL of all columns.
        plan: (wanted, partitions at most) -> the work of each partition.
        read: (work, names of the asked columns) -> record batches with exactly those columns.
    """

    columns: str
    plan: Callable[[Wanted, int], Sequence[Work]]
    read: Callable[[Work, Sequence[str]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class BacklogShare:
    """The work of one partition of `backlog`: states to report as they are, and ranges to read."""

    states: tuple[tuple[str, QueueLag], ...]
    ranges: tuple[QueueRange, ...]


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


def _plan_backlog(wanted: Wanted, count: int) -> list[Work]:
    states: list[tuple[str, QueueLag]] = []
    work: list[QueueRange] = []
    for path in wanted.stores:
        found = cells(open_store(path), wanted)
        states += [(path, state) for state in found]
        work += ranges(path, found)
    dealt = shares(work, count) or [[]]
    return [BacklogShare(tuple(states) if number == 0 else (), tuple(share)) for number, share in enumerate(dealt)]


def _read_backlog(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    assert isinstance(work, BacklogShare)
    rows = [_state_row(path, state) for path, state in work.states]
    stores = {path: open_store(path) for path in sorted({each.store for each in work.ranges})}
    for each in work.ranges:
        for group, segment in behind(stores[each.store], each):
            rows += _segment_rows(each, group, segment)
        if len(rows) >= _BATCH_ROWS:
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


OFFSET_COLUMNS = "store string, group string, topic string, queue_id int, consumer_offset bigint"


def _plan_stores(wanted: Wanted, count: int) -> list[Work]:
    return [(path, wanted) for path in wanted.stores]


def _read_offsets(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    path, wanted = _store_work(work)
    found = [
        each
        for each in committed_offsets(open_store(path))
        if (not wanted.groups or each.group in wanted.groups) and (not wanted.topics or each.topic in wanted.topics)
    ]
    columns = {
        "store": pa.array([path] * len(found), pa.string()),
        "group": pa.array([each.group for each in found], pa.string()),
        "topic": pa.array([each.topic for each in found], pa.string()),
        "queue_id": pa.array([each.queue_id for each in found], pa.int32()),
        "consumer_offset": pa.array([each.offset for each in found], pa.int64()),
    }
    yield pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))


def _store_work(work: Work) -> tuple[str, Wanted]:
    assert isinstance(work, tuple)
    path, wanted = work
    return path, wanted


QUEUE_COLUMNS = (
    "store string, topic string, queue_id int, queue_offset bigint, physical_offset bigint, size_bytes int,"
    " tags_code bigint"
)


def _plan_queues(wanted: Wanted, count: int) -> list[Work]:
    work = [
        QueueRange(path, queue.topic, queue.queue_id, queue.min_offset, queue.max_offset, ())
        for path in wanted.stores
        for queue in queue_bounds(open_store(path), wanted.topics or None)
        if queue.min_offset < queue.max_offset
    ]
    return [tuple(share) for share in shares(work, count)]


def _read_queues(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    assert isinstance(work, tuple)
    stores = {path: open_store(path) for path in sorted({each.store for each in work})}
    for each in work:
        queue = stores[each.store].consume_queue(each.topic, each.queue_id)
        for first, run in queue.runs(each.low, each.high):
            for begin in range(0, len(run), _BATCH_ROWS):
                entries = run[begin : begin + _BATCH_ROWS]
                kept = np.flatnonzero(~is_filler(entries))
                columns = {
                    "store": pa.array([each.store] * len(kept), pa.string()),
                    "topic": pa.array([each.topic] * len(kept), pa.string()),
                    "queue_id": pa.array(np.full(len(kept), each.queue_id, np.int32)),
                    "queue_offset": pa.array(first + begin + kept),
                    "physical_offset": pa.array(entries["physical_offset"][kept].copy()),
                    "size_bytes": pa.array(entries["size"][kept].copy()),
                    "tags_code": pa.array(entries["tags_code"][kept].copy()),
                }
                yield pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))


MESSAGE_COLUMNS = (
    "store string, topic string, queue_id int, queue_offset bigint, physical_offset bigint, size_bytes int,"
    " store_time_ms bigint, born_time_ms bigint, flag int, sys_flag int, reconsume_times int, prepared_offset bigint,"
    " body_size int, tags string, keys string, body binary"
)
_HEADER_COLUMNS = {
    "queue_id": "queue_id",
    "queue_offset": "queue_offset",
    "physical_offset": "physical_offset",
    "size_bytes": "total_size",
    "store_time_ms": "store_time_ms",
    "born_time_ms": "born_time_ms",
    "flag": "flag",
    "sys_flag": "sys_flag",
    "reconsume_times": "reconsume_times",
    "prepared_offset": "prepared_offset",
    "body_size": "body_size",
}


def _plan_messages(wanted: Wanted, count: int) -> list[Work]:
    """One partition a commit log file: records never cross files, so each file can be walked by itself."""
    del count
    return [
        (path, file.start, wanted)
        for path in wanted.stores
        for file in open_store(path).commit_log.files
        if file.size_bytes
    ]


def _read_messages(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Walks one file; behind a damaged record it goes on at the next sound one, as no broker would."""
    assert isinstance(work, tuple)
    path, start, wanted = work
    log = open_store(path).commit_log
    (file,) = (each for each in log.files if each.start == start)
    position: int | None = 0
    while position is not None:
        resume: int | None = None
        for found, tail in log.scan(file, position):
            if found is not None:
                yield from _message_batches(path, file, found, wanted, names)
            if tail is not None and not tail.is_clean:
                resume = log.resync(file, tail.position)
        position = resume


def _message_batches(
    path: str, file: MappedFile, found: Headers, wanted: Wanted, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    topics = _texts(_binary(file.buffer, Spans(found.topic_start, found.topic_size)))
    if wanted.topics:
        mask = np.isin(np.array(topics.to_pylist(), dtype=object), list(wanted.topics))
        found, topics = found.take(mask), topics.filter(pa.array(mask))
    if not len(found):
        return
    properties = property_spans(file.buffer, found, [name.upper() for name in names if name in ("tags", "keys")])
    columns = []
    for name in names:
        if name in _HEADER_COLUMNS:
            columns.append(pa.array(getattr(found, _HEADER_COLUMNS[name])))
        elif name == "store":
            columns.append(pa.array([path] * len(found), pa.string()))
        elif name == "topic":
            columns.append(topics)
        elif name == "body":
            columns.append(_binary(file.buffer, Spans(found.body_start, found.body_size)).cast(pa.binary()))
        else:
            columns.append(_texts(_binary(file.buffer, properties[name.upper()])))
    yield pa.RecordBatch.from_arrays(columns, names=list(names))


def _binary(buffer: Buffer, spans: Spans) -> pa.LargeBinaryArray:
    """Copies byte spans into one arrow array; what has no span is null."""
    starts = np.where(spans.present, spans.start, 0)
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(spans.size, dtype=np.int64)))
    index = np.repeat(starts - offsets[:-1], spans.size) + np.arange(int(offsets[-1]), dtype=np.int64)
    absent = None if spans.present.all() else pa.py_buffer(np.packbits(spans.present, bitorder="little"))
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(starts), [absent, pa.py_buffer(offsets), pa.py_buffer(buffer[index])]
    )


def _texts(values: pa.LargeBinaryArray) -> pa.StringArray:
    """Decodes UTF-8; what is none is replaced, as nothing may hide a message."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        decoded = [None if value is None else value.decode("utf-8", "replace") for value in values.to_pylist()]
        return pa.array(decoded, pa.string())


TABLES: dict[str, SourceTable] = {
    "backlog": SourceTable(BACKLOG_COLUMNS, _plan_backlog, _read_backlog),
    "consume_queue": SourceTable(QUEUE_COLUMNS, _plan_queues, _read_queues),
    "consumer_offsets": SourceTable(OFFSET_COLUMNS, _plan_stores, _read_offsets),
    "messages": SourceTable(MESSAGE_COLUMNS, _plan_messages, _read_messages),
}
