"""The tables of the `rocketmq` data source by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from mqctl.spark.aggregates.batches import is_batch
from mqctl.spark.aggregates.part_tables import PART_TABLES
from mqctl.spark.aggregates.table import PartTable
from mqctl.spark.aggregates.tracks import TrackShare, plan_tracks, read_tracks
from mqctl.spark.query import Query
from mqctl.spark.scan.hosts import hosts
from mqctl.spark.scan.log_splits import Chunk, LogSplit, log_splits, shares_of
from mqctl.spark.scan.planning import QueueRange, open_store, queue_bounds, shares
from mqctl.spark.selection import Selection
from mqctl.spark.source import tables_config
from mqctl.spark.source.columns import binary, named, properties, record_batch, texts
from mqctl.spark.source.table import BATCH_ROWS, SourceTable, Work
from mqctl.store.consumequeue import is_message
from mqctl.store.texts import Spans, property_spans

QUEUE_COLUMNS = (
    "store string, broker string, topic string, queue_id int, queue_offset bigint, physical_offset bigint,"
    " size_bytes int, tags_code bigint"
)


def _plan_queues(wanted: Selection, query: Query, count: int) -> list[Work]:
    del query
    work = [
        QueueRange(path, queue.topic, queue.queue_id, low, high, ())
        for path in wanted.stores
        for store in [open_store(path)]
        for queue in queue_bounds(store, wanted.topics or None)
        if not is_batch(store, queue.topic, queue.queue_id)  # their units are another table's columns
        if not wanted.queue_ids or queue.queue_id in wanted.queue_ids
        for low, high in [
            (max(queue.min_offset, wanted.queue_offset.low), min(queue.max_offset, wanted.queue_offset.high))
        ]
        if low < high
    ]
    return [(tuple(share), wanted) for share in shares(work, count)]


def _read_queues(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    assert isinstance(work, tuple)
    ranges, wanted = work
    stores = {path: open_store(path) for path in sorted({each.store for each in ranges})}
    for each in ranges:
        queue = stores[each.store].consume_queue(each.topic, each.queue_id)
        for first, run in queue.runs(each.low, each.high):
            for begin in range(0, len(run), BATCH_ROWS):
                entries = run[begin : begin + BATCH_ROWS]
                mask = is_message(entries) & wanted.physical_offset.mask(entries["physical_offset"])
                kept = np.flatnonzero(mask)
                columns = {
                    "store": pa.array([each.store] * len(kept), pa.string()),
                    "broker": pa.array([wanted.broker_of(each.store) or None] * len(kept), pa.string()),
                    "topic": pa.array([each.topic] * len(kept), pa.string()),
                    "queue_id": pa.array(np.full(len(kept), each.queue_id, np.int32)),
                    "queue_offset": pa.array(first + begin + kept),
                    "physical_offset": pa.array(entries["physical_offset"][kept].copy()),
                    "size_bytes": pa.array(entries["size"][kept].copy()),
                    "tags_code": pa.array(entries["tags_code"][kept].copy()),
                }
                yield pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))


MESSAGE_COLUMNS = (
    "store string, broker string, topic string, queue_id int, queue_offset bigint, physical_offset bigint,"
    " size_bytes int, store_time_ms bigint, born_time_ms bigint, flag int, sys_flag int, reconsume_times int,"
    " prepared_offset bigint, body_crc int, body_size int, born_host string, store_host string, tags string,"
    " keys string, sharding_key string, unique_key string, producer_group string,"
    " properties map<string,string>, body binary"
)
_HEADER_COLUMNS = {
    "size_bytes": "total_size",
    **{
        name: name
        for name in (
            "queue_id",
            "queue_offset",
            "physical_offset",
            "store_time_ms",
            "born_time_ms",
            "flag",
            "sys_flag",
            "reconsume_times",
            "prepared_offset",
            "body_crc",
            "body_size",
        )
    },
}
_PROPERTY_COLUMNS = {
    "tags": "TAGS",
    "keys": "KEYS",
    "sharding_key": "__SHARDINGKEY",
    "unique_key": "UNIQ_KEY",
    "producer_group": "PGROUP",
}


def _plan_messages(wanted: Selection, query: Query, count: int) -> list[Work]:
    del query
    return [(tuple(share), wanted) for share in log_splits(wanted, count)]


def _read_messages(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    assert isinstance(work, tuple)
    splits, wanted = work
    assert all(isinstance(split, LogSplit) for split in splits)
    for part, _ in shares_of(splits, wanted):
        for chunk in part:
            yield _message_batch(chunk, names, wanted.broker_of(chunk.store))


def _message_batch(chunk: Chunk, names: Sequence[str], broker: str) -> pa.RecordBatch:
    buffer, headers = chunk.buffer, chunk.found
    wanted = [_PROPERTY_COLUMNS[name] for name in names if name in _PROPERTY_COLUMNS]
    spans = property_spans(buffer, headers, wanted)
    columns = []
    for name in names:
        if name in _HEADER_COLUMNS:
            columns.append(pa.array(getattr(headers, _HEADER_COLUMNS[name])))
        elif name in _PROPERTY_COLUMNS:
            columns.append(texts(binary(buffer, spans[_PROPERTY_COLUMNS[name]])))
        elif name in ("born_host", "store_host"):
            columns.append(named(hosts(buffer, headers, born=name == "born_host", port=True)))
        elif name == "properties":
            columns.append(properties(buffer, headers))
        elif name == "body":
            columns.append(binary(buffer, Spans(headers.body_start, headers.body_size)).cast(pa.binary()))
        elif name == "topic":
            columns.append(named(chunk.topics))
        else:
            value = chunk.store if name == "store" else broker or None
            columns.append(pa.array([value] * len(headers), pa.string()))
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _part_table(part: PartTable) -> SourceTable:
    def read(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for columns in part.read(work):
            yield record_batch(columns, part.types, names)

    columns = ", ".join(f"`{name}` {kind}" for name, kind in part.types.items())
    return SourceTable(columns, part.plan, read, has_store_time=True, has_offsets=True)


TRACK_COLUMNS = "bucket int, kind int, slice int, store string, topics array<string>, hosts array<string>, data binary"


def _read_tracks(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    assert isinstance(work, TrackShare)
    texts_type = pa.list_(pa.string())
    for each in read_tracks(work):
        columns = {
            "bucket": pa.array([each.bucket], pa.int32()),
            "kind": pa.array([each.kind], pa.int32()),
            "slice": pa.array([each.slice], pa.int32()),
            "store": pa.array([each.store], pa.string()),
            "topics": pa.array([list(each.topics)], texts_type),
            "hosts": pa.array([list(each.hosts)], texts_type),
            "data": pa.array([bytes(each.data)], pa.binary()),
        }
        yield pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))


_QUEUE_FILTERS = frozenset({"topic", "queue_id", "queue_offset", "physical_offset"})

TABLES: dict[str, SourceTable] = {
    "consume_queue": SourceTable(QUEUE_COLUMNS, _plan_queues, _read_queues, _QUEUE_FILTERS, has_offsets=True),
    "messages": SourceTable(
        MESSAGE_COLUMNS,
        _plan_messages,
        _read_messages,
        _QUEUE_FILTERS | {"store_time_ms"},
        has_store_time=True,
        has_offsets=True,
    ),
    "tracks": SourceTable(TRACK_COLUMNS, plan_tracks, _read_tracks, has_store_time=True, has_offsets=True),
    **tables_config.TABLES,
    **{name: _part_table(part) for name, part in PART_TABLES.items()},
}
