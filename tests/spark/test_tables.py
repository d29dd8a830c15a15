"""The tables of the data source against decoded records, and what their filters leave unread."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.errors import UsageError
from mqctl.model.message import Message
from mqctl.model.names import is_system_topic
from mqctl.spark.carried import delivered
from mqctl.spark.scan import log_splits as scan
from mqctl.spark.scan.log_splits import Coverage, LogSplit, chunks, log_splits, shares_of
from mqctl.spark.selection import Bounds, Selection
from mqctl.store.directory import StoreDirectory
from tests.conftest import extract_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark]
Store = Callable[[str], Path]
STORES = ["store-clean", "store-killed", "store-killed-recovered-clean", "store-rolled-clean", "store-5.3.3"]


def decoded(store: Path) -> list[Message]:
    """Every record of a store, one by one."""
    log = StoreDirectory.open(store).commit_log
    return [
        log.record_at(file.start + position) for file in log.files for position in log.walk(file).positions.tolist()
    ]


def table(spark: SparkSession, name: str, store: Path, **options: object) -> DataFrame:
    from mqctl.spark.source.data_source import register

    register(spark)
    return spark.read.format("rocketmq").options(table=name, **{k: str(v) for k, v in options.items()}).load(str(store))


@pytest.mark.parametrize("name", STORES)
def test_every_column_of_messages_equals_the_decoded_record(
    name: str, golden_store: Store, spark: SparkSession
) -> None:
    store = golden_store(name)
    rows = table(spark, "messages", store, system="true").collect()
    truth = {message.physical_offset: message for message in decoded(store)}
    assert len(rows) == len(truth)
    for row in rows:
        message = truth[row["physical_offset"]]
        assert row.asDict() == {
            "store": str(store),
            "broker": "broker-a",
            "topic": message.topic,
            "queue_id": message.queue_id,
            "queue_offset": message.queue_offset,
            "physical_offset": message.physical_offset,
            "size_bytes": message.size_bytes,
            "store_time_ms": message.store_time_ms,
            "born_time_ms": message.born_time_ms,
            "flag": message.flag,
            "sys_flag": message.sys_flag,
            "reconsume_times": message.reconsume_times,
            "prepared_offset": message.prepared_transaction_offset,
            "body_crc": message.body_crc,
            "body_size": len(message.body),
            "born_host": message.born_host,
            "store_host": message.store_host,
            "tags": message.properties.get("TAGS"),
            "keys": message.properties.get("KEYS"),
            "sharding_key": message.properties.get("__SHARDINGKEY"),
            "unique_key": message.properties.get("UNIQ_KEY"),
            "producer_group": message.properties.get("PGROUP"),
            "properties": dict(message.properties),
            "body": bytearray(message.body),
        }


@pytest.mark.parametrize(
    ("condition", "options"),
    [
        ("topic = 'TopicRoll' and queue_id in (1)", {"topics": '["TopicRoll"]', "queue_ids": "[1]"}),
        ("queue_offset >= 7 and queue_offset < 12", {"queue_offset_from": 7, "queue_offset_until": 12}),
        (
            "physical_offset > 9999 and physical_offset <= 50000",
            {"physical_offset_from": 10_000, "physical_offset_until": 50_001},
        ),
    ],
)
def test_options_and_pushed_filters_choose_the_same_messages(
    golden_store: Store, spark: SparkSession, condition: str, options: dict[str, object]
) -> None:
    store = golden_store("store-rolled-clean")
    whole = {row["physical_offset"] for row in table(spark, "messages", store).collect() if _holds(condition, row)}
    assert whole
    assert {row["physical_offset"] for row in table(spark, "messages", store).where(condition).collect()} == whole
    assert {row["physical_offset"] for row in table(spark, "messages", store, **options).collect()} == whole


def _holds(condition: str, row: Any) -> bool:
    python = condition.replace(" = ", " == ").replace("in (1)", "in (1,)")
    return bool(eval(python, {}, row.asDict()))


def test_a_range_of_store_times_leaves_files_unread(golden_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "CLOCK_SLACK_MS", 0)
    store = golden_store("store-rolled-clean")
    messages = decoded(store)
    times = sorted(message.store_time_ms for message in messages)
    middle = Bounds(times[len(times) // 2], times[len(times) // 2] + 1)
    planned = [split for share in log_splits(Selection((str(store),), store_time_ms=middle), 4) for split in share]
    everything = [split for share in log_splits(Selection((str(store),)), 4) for split in share]
    assert 0 < len(planned) < len(everything)
    rows = read(planned, Selection((str(store),), store_time_ms=middle))
    assert rows == sorted(
        message.physical_offset
        for message in messages
        if message.store_time_ms == middle.low and not is_system_topic(message.topic)
    )


def read(splits: list[LogSplit], wanted: Selection) -> list[int]:
    return sorted(
        offset
        for share, _ in shares_of(splits, wanted)
        for chunk in share
        for offset in chunk.found.physical_offset.tolist()
    )


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 65_536), max_size=12))
def test_wherever_a_file_is_cut_each_record_is_read_once(tmp_path_factory: Any, cuts: list[int]) -> None:
    store = _unpacked(tmp_path_factory, "store-rolled-clean")
    log = StoreDirectory.open(store).commit_log
    wanted = Selection((str(store),), system=True)
    splits = []
    for file in log.files:
        edges = [0, *sorted({cut for cut in cuts if 0 < cut < file.size_bytes}), file.size_bytes]
        splits += [
            LogSplit(str(store), file.start, low, high, file.size_bytes) for low, high in itertools.pairwise(edges)
        ]
    truth = [file.start + at for file in log.files for at in log.walk(file).positions.tolist()]
    assert read(splits, wanted) == truth


_KNOWN: dict[str, Path] = {}


def _unpacked(factory: Any, name: str) -> Path:
    if name not in _KNOWN:
        _KNOWN[name] = extract_store(name, factory.mktemp("cut") / name)
    return _KNOWN[name]


def test_damage_is_passed_over_and_measured(store_copy: Store) -> None:
    store = store_copy("store-rolled-clean")
    log = StoreDirectory.open(store).commit_log
    file = log.files[0]
    positions = log.walk(file).positions.tolist()
    with file.path.open("r+b") as raw:
        raw.seek(positions[3])
        raw.write(b"\x00\x00\x00\x5b")
    damaged = Coverage(str(store), file.start)
    split = LogSplit(str(store), file.start, 0, file.size_bytes, file.size_bytes)
    passed = [
        p for chunk in chunks(split, Selection((str(store),), system=True), damaged) for p in chunk.found.position
    ]
    assert passed == positions[:3] + positions[4:]
    assert damaged.skipped_bytes == positions[4] - positions[3]
    assert damaged.damaged_at == (file.start + positions[3],)
    assert damaged.messages == len(positions) - 1


def test_config_tables_hold_what_the_broker_would_load(golden_store: Store, spark: SparkSession) -> None:
    store = golden_store("store-5.3.3")
    opened = StoreDirectory.open(store)
    topics = {row["topic"]: row.asDict() for row in table(spark, "topics", store).collect()}
    recorded = json.loads((store / "config" / "topics.json").read_text())["topicConfigTable"]
    assert {name: row["write_queue_count"] for name, row in topics.items()} == {
        name: entry["writeQueueNums"] for name, entry in recorded.items()
    }
    groups = {row["group"]: row["retry_max_times"] for row in table(spark, "groups", store).collect()}
    known = json.loads((store / "config" / "subscriptionGroup.json").read_text())["subscriptionGroupTable"]
    assert groups == {name: entry["retryMaxTimes"] for name, entry in known.items()}
    levels = {row["level"]: row["next_offset"] for row in table(spark, "delay_offsets", store).collect()}
    assert levels == {
        int(level): offset
        for level, offset in json.loads(_quoted(store / "config" / "delayOffset.json"))["offsetTable"].items()
    }
    entries = table(spark, "index", store).count()
    assert entries == sum(index.header.entry_count - 1 for index in opened.index_files()) > 0


def _quoted(path: Path) -> str:
    import re

    return re.sub(r"([{,]\s*)(-?\d+)\s*:", r'\1"\2":', path.read_text())


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("messages", {"since_ms": "noon"}, "since_ms=noon"),
        ("messages", {"queue_ids": '["1"]'}, "whole numbers"),
        ("messages", {"topics": "T"}, "JSON list"),
        ("consume_queue", {"since_ms": "5"}, "it has no store times"),
        ("topics", {"queue_ids": "[1]"}, "it has no offsets"),
        ("message", {}, "the tables are"),
    ],
)
def test_options_that_cannot_be_answered_are_refused(
    golden_store: Store, spark: SparkSession, name: str, options: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError) as caught, delivered():
        table(spark, name, golden_store("store-clean"), **options).collect()
    assert words in str(caught.value)


@pytest.mark.quick
@pytest.mark.parametrize("hole", [True, False])
@pytest.mark.parametrize("used", [0, 1, 7, 8, 4_096, 70_001, 1 << 20])
def test_the_used_part_of_a_file_is_found_whether_the_rest_is_a_hole_or_zeros(
    tmp_path: Path, used: int, hole: bool
) -> None:
    from mqctl.store.mapped_files import MappedFile

    path = tmp_path / f"{0:020}"
    path.write_bytes((bytes(max(0, used - 1)) + b"x"[: min(used, 1)]).ljust(0 if hole else 1 << 20, b"\0"))
    with path.open("r+b") as file:
        file.truncate(1 << 20)
    used_byte_count = scan.used_bytes(MappedFile(path, 0, 1 << 20))
    assert used <= used_byte_count <= -(-used // 8) * 8
