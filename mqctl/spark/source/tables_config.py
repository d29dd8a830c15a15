"""The small tables of the data source: committed offsets, delay offsets, topics, groups, index entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from mqctl.spark.query import Query
from mqctl.spark.scan.planning import committed_offsets, open_store
from mqctl.spark.selection import Selection
from mqctl.spark.source.table import BATCH_ROWS, SourceTable, Work
from mqctl.store import config_files as configs
from mqctl.store.index_file import IndexFile

_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
}
ConfigRow = dict[str, object]


def _plan_stores(wanted: Selection, query: Query, count: int) -> list[Work]:
    del query, count  # one task a store is all there is to share
    return [(path, wanted) for path in wanted.stores]


def _store_work(work: Work) -> tuple[str, Selection]:
    assert isinstance(work, tuple)
    path, wanted = work
    return path, wanted


def small_table(columns: Mapping[str, str], rows: Callable[[str, Selection], list[ConfigRow]]) -> SourceTable:
    """Makes a table of few rows a store; `columns` gives each column's Spark type."""

    def read(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        path, wanted = _store_work(work)
        where = {"store": path, "broker": wanted.broker_of(path) or None}
        schema = pa.schema([(name, _TYPES[columns[name]]) for name in names])
        yield pa.RecordBatch.from_pylist([{**where, **row} for row in rows(path, wanted)], schema=schema)

    return SourceTable(", ".join(f"`{name}` {kind}" for name, kind in columns.items()), _plan_stores, read)


def _offsets(path: str, wanted: Selection) -> list[ConfigRow]:
    return [
        {"group": each.group, "topic": each.topic, "queue_id": each.queue_id, "consumer_offset": each.offset}
        for each in committed_offsets(open_store(path))
        if (not wanted.groups or each.group in wanted.groups) and (not wanted.topics or each.topic in wanted.topics)
    ]


def _delay_offsets(path: str, wanted: Selection) -> list[ConfigRow]:
    del wanted  # levels have neither topic nor group
    offsets = configs.delay_offsets(open_store(path).config(configs.DELAY_OFFSETS))
    return [{"level": level, "queue_id": level - 1, "next_offset": offset} for level, offset in offsets.offsets.items()]


def _topics(path: str, wanted: Selection) -> list[ConfigRow]:
    return [
        {
            "topic": each.name,
            "read_queue_count": each.read_queue_count,
            "write_queue_count": each.write_queue_count,
            "perm": each.perm,
            "filter_type": each.filter_type,
            "sys_flag": each.sys_flag,
            "order": each.order,
            "attributes": list(each.attributes.items()),
        }
        for each in configs.topic_configs(open_store(path).config(configs.TOPICS))
        if not wanted.topics or each.name in wanted.topics
    ]


def _groups(path: str, wanted: Selection) -> list[ConfigRow]:
    return [
        {
            "group": each.name,
            "consume_enable": each.consume_enable,
            "consume_broadcast_enable": each.consume_broadcast_enable,
            "consume_message_orderly": each.consume_message_orderly,
            "retry_queue_count": each.retry_queue_count,
            "retry_max_times": each.retry_max_times,
            "consume_timeout_minute": each.consume_timeout_minute,
        }
        for each in configs.group_configs(open_store(path).config(configs.GROUPS))
        if not wanted.groups or each.name in wanted.groups
    ]


INDEX_COLUMNS = "store string, broker string, file string, key_hash int, physical_offset bigint, time_ms bigint"


def _plan_index(wanted: Selection, query: Query, count: int) -> list[Work]:
    del query, count
    return [
        (path, each.path.name, wanted.broker_of(path) or None)
        for path in wanted.stores
        for each in open_store(path).index_files()
    ]


def _read_index(work: Work, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Reads one index file; times have the file's resolution of a second."""
    assert isinstance(work, tuple)
    path, file_name, broker = work
    index = IndexFile(open_store(path).path / "index" / file_name)
    entries = index.entries
    for begin in range(0, len(entries), BATCH_ROWS):
        some = entries[begin : begin + BATCH_ROWS]
        columns = {
            "store": pa.array([path] * len(some), pa.string()),
            "broker": pa.array([broker] * len(some), pa.string()),
            "file": pa.array([file_name] * len(some), pa.string()),
            "key_hash": pa.array(some["key_hash"].astype(np.int32)),
            "physical_offset": pa.array(some["physical_offset"].astype(np.int64)),
            "time_ms": pa.array(index.header.begin_time_ms + some["time_diff_s"].astype(np.int64) * 1000),
        }
        yield pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))


TABLES: dict[str, SourceTable] = {
    "consumer_offsets": small_table(
        {
            "store": "string",
            "broker": "string",
            "group": "string",
            "topic": "string",
            "queue_id": "int",
            "consumer_offset": "bigint",
        },
        _offsets,
    ),
    "delay_offsets": small_table(
        {"store": "string", "broker": "string", "level": "int", "queue_id": "int", "next_offset": "bigint"},
        _delay_offsets,
    ),
    "topics": small_table(
        {
            "store": "string",
            "broker": "string",
            "topic": "string",
            "read_queue_count": "int",
            "write_queue_count": "int",
            "perm": "int",
            "filter_type": "string",
            "sys_flag": "int",
            "order": "boolean",
            "attributes": "map<string,string>",
        },
        _topics,
    ),
    "groups": small_table(
        {
            "store": "string",
            "broker": "string",
            "group": "string",
            "consume_enable": "boolean",
            "consume_broadcast_enable": "boolean",
            "consume_message_orderly": "boolean",
            "retry_queue_count": "int",
            "retry_max_times": "int",
            "consume_timeout_minute": "int",
        },
        _groups,
    ),
    "index": SourceTable(INDEX_COLUMNS, _plan_index, _read_index),
}
