"""The backlog report against a slow reference, on recorded stores and on damaged ones."""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mqctl.errors import BadInputError, NotFoundError
from mqctl.model.names import is_system_group, is_system_topic
from mqctl.spark.engines import PlainEngine
from mqctl.spark.scan import planning
from mqctl.spark.scan.planning import QueueRange, ranges, shares
from mqctl.spark.selection import Selection
from tests.requires import need_extra
from tests.spark.plain_backlog import Found, plain_backlog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mqctl.model.backlog import BacklogRow

pytestmark = [pytest.mark.spark]
STORES = ["store-clean", "store-killed", "store-killed-recovered-clean", "store-rolled-clean", "store-5.3.3"]


def run(spark: SparkSession, wanted: Selection, by: str) -> list[BacklogRow]:
    need_extra("spark", "pyspark")
    from mqctl.model.backlog import BacklogBy
    from mqctl.spark.reports.backlog import backlog_rows
    from mqctl.spark.reports.combining import SparkEngine

    rows = backlog_rows(SparkEngine(spark), wanted, BacklogBy(by))
    if all((Path(store) / "consumequeue").is_dir() for store in wanted.stores):
        assert backlog_rows(PlainEngine(), wanted, BacklogBy(by)) == rows
    return rows


def figures(messages: Iterable[tuple[int, int]]) -> tuple[int, int, int | None, int | None]:
    known = list(messages)
    times = [time for time, _ in known]
    return len(known), sum(size for _, size in known), min(times, default=None), max(times, default=None)


def by_queue(truth: dict[tuple[str, str, int], Found]) -> dict[tuple[str, str, int], tuple[object, ...]]:
    return {
        where: (
            *figures(each for tag in expected_figures.tags.values() for each in tag),
            expected_figures.lag,
            expected_figures.lost,
            expected_figures.dangling,
            int(expected_figures.lag is None and not expected_figures.no_queue),
            int(expected_figures.lag is not None and expected_figures.lag < 0),
            int(expected_figures.no_queue),
        )
        for where, expected_figures in truth.items()
    }


def reported(rows: list[BacklogRow]) -> dict[tuple[str, str | None, int | None], tuple[object, ...]]:
    return {
        (row.group, row.topic, row.queue_id): (
            row.messages,
            row.bytes,
            row.oldest_ms,
            row.newest_ms,
            row.lag_count,
            row.lost_count,
            row.dangling_count,
            row.never_committed_count,
            row.beyond_max_count,
            row.no_queue_count,
        )
        for row in rows
    }


@pytest.mark.parametrize("name", STORES)
def test_queue_figures_equal_the_slow_reference(
    name: str, golden_store: Callable[[str], Path], spark: SparkSession
) -> None:
    store = golden_store(name)
    truth = by_queue(plain_backlog(store))
    assert truth
    assert reported(run(spark, Selection((str(store),), system=True), "queue")) == truth


def test_tag_figures_equal_the_slow_reference_over_two_stores(
    golden_store: Callable[[str], Path], spark: SparkSession
) -> None:
    stores = [golden_store(name) for name in ("store-clean", "store-5.3.3")]
    truth: dict[tuple[str, str, str | None], list[tuple[int, int]]] = {}
    for store in stores:
        for (group, topic, _), expected_figures in plain_backlog(store).items():
            for tag, messages in expected_figures.tags.items():
                truth.setdefault((group, topic, tag), []).extend(messages)
    rows = run(spark, Selection(tuple(map(str, stores)), system=True), "tag")
    assert len(rows) == len(truth)
    got = {(row.group, row.topic, row.tag): (row.messages, row.bytes, row.oldest_ms, row.newest_ms) for row in rows}
    assert got == {where: figures(messages) for where, messages in truth.items()}
    assert {row.tag for row in rows} > {None, "TagA"}


def test_groups_and_topics_narrow_the_report_and_system_ones_are_left_out(
    golden_store: Callable[[str], Path], spark: SparkSession
) -> None:
    store = golden_store("store-5.3.3")
    everything = plain_backlog(store)
    rows = run(spark, Selection((str(store),)), "topic")
    users = {(g, t) for g, t, _ in everything if not is_system_group(g) and not is_system_topic(t)}
    assert {(row.group, row.topic) for row in rows} == users
    assert users != {(group, topic) for group, topic, _ in everything}
    narrowed = run(spark, Selection((str(store),), groups=("CG_push",), topics=("TopicTest",)), "group")
    (row,) = narrowed
    assert (row.group, row.topic, row.queue_id) == ("CG_push", None, None)
    assert row.messages == sum(
        len(tag)
        for (group, topic, _), expected_figures in everything.items()
        for tag in expected_figures.tags.values()
        if (group, topic) == ("CG_push", "TopicTest")
    )


def set_offsets(store: Path, offsets: dict[str, dict[int, int]]) -> None:
    (store / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": offsets}))


def test_entries_that_lead_nowhere_are_counted_apart(store_copy: Callable[[str], Path], spark: SparkSession) -> None:
    store = store_copy("store-rolled-clean")
    groups = {"early": {0: 0, 1: 3}, "late": {0: 10_000, 5: 4, 6: 0}, "part": {1: 7}}
    set_offsets(store, {f"TopicRoll@{group}": offsets for group, offsets in groups.items()})
    logs = sorted((store / "commitlog").iterdir())
    logs[1].unlink()  # a hole in the middle: the queues still point into it
    with logs[2].open("r+b") as file:  # one record that lies about its size
        file.write(struct.pack(">i", 91))
    queue = store / "consumequeue" / "TopicRoll" / "0"
    files = sorted(queue.iterdir())
    if len(files) > 2:
        files[1].unlink()  # a hole in the queue itself
    truth = by_queue(plain_backlog(store))
    rows = run(spark, Selection((str(store),)), "queue")
    assert reported(rows) == truth
    early = {row.queue_id: row for row in rows if row.group == "early"}
    assert all((row.dangling_count or 0) > 0 and row.messages > 0 for row in early.values())
    for row in rows:
        if row.lag_count is not None and row.lag_count > 0:
            assert row.messages + (row.dangling_count or 0) == row.lag_count - (row.lost_count or 0)


def test_expired_messages_are_lost_and_not_behind(store_copy: Callable[[str], Path], spark: SparkSession) -> None:
    store = store_copy("store-rolled-clean")
    set_offsets(store, {"TopicRoll@early": {0: 0, 1: 0}})
    for file in sorted((store / "commitlog").iterdir())[:2]:
        file.unlink()
    rows = run(spark, Selection((str(store),)), "queue")
    assert reported(rows) == by_queue(plain_backlog(store))
    assert sum(row.lost_count or 0 for row in rows) > 0
    assert [row.dangling_count for row in rows] == [0, 0]


def test_torn_last_entry_and_missing_commit_log_hide_nothing(
    store_copy: Callable[[str], Path], spark: SparkSession
) -> None:
    store = store_copy("store-clean")
    set_offsets(store, {"TopicTest@all": {0: 0, 1: 0, 2: 0, 3: 0}})
    for file in (store / "consumequeue" / "TopicTest" / "0").iterdir():
        data = file.read_bytes()
        written = next(at for at in range(0, len(data), 20) if data[at + 8 : at + 12] == bytes(4))
        file.write_bytes(data[: written - 7])
    shutil.rmtree(store / "commitlog")
    (store / "commitlog").mkdir()
    rows = run(spark, Selection((str(store),)), "queue")
    assert reported(rows) == by_queue(plain_backlog(store))
    assert all(row.messages == 0 and row.dangling_count == row.lag_count for row in rows)


def test_store_missing_where_it_is_read_names_path_and_host(tmp_path: Path, spark: SparkSession) -> None:
    with pytest.raises(NotFoundError) as caught:
        run(spark, Selection((str(tmp_path / "gone"),)), "group")
    assert str(tmp_path / "gone") in caught.value.problem
    assert "no such directory (on " in caught.value.reason


def test_rocksdb_store_is_refused_with_the_way_out(
    golden_store: Callable[[str], Path], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    with pytest.raises(BadInputError) as caught:
        run(spark, Selection((str(golden_store("store-5.3.3-rocksdb-auth")),)), "group")
    assert "RocksDB" in caught.value.reason
    assert "group lag --namesrv" in caught.value.remedy


def test_source_tables_hold_every_record_and_entry(golden_store: Callable[[str], Path], spark: SparkSession) -> None:
    from mqctl.spark.source.data_source import register
    from mqctl.store.directory import StoreDirectory

    store = golden_store("store-rolled-clean")
    opened = StoreDirectory.open(store)
    register(spark)

    def table(name: str, schema: str | None = None) -> DataFrame:
        reader = spark.read.format("rocketmq").options(table=name)
        return (reader.schema(schema) if schema else reader).load(str(store))

    messages = table("messages", "physical_offset bigint, tags string, body_size int")
    rows = {row["physical_offset"]: (row["tags"], row["body_size"]) for row in messages.collect()}
    decoded = {}
    for file in opened.commit_log.files:
        for position in opened.commit_log.walk(file).positions.tolist():
            message = opened.commit_log.record_at(file.start + position)
            decoded[message.physical_offset] = (message.properties.get("TAGS"), len(message.body))
    assert rows == decoded
    queues = table("consume_queue")
    offset_of = {
        (row["topic"], row["queue_id"], row["queue_offset"]): row["physical_offset"] for row in queues.collect()
    }
    assert offset_of == {
        (topic, queue_id, at): int(entry["physical_offset"])
        for topic, queue_id in opened.queue_ids()
        for first, entries in opened.consume_queue(topic, queue_id).runs()
        for at, entry in enumerate(entries, first)
        if entry["size"] != 2_147_483_647
    }
    offsets = table("consumer_offsets")
    assert {(row["group"], row["queue_id"]): row["consumer_offset"] for row in offsets.collect()} == {
        ("GC_roll", queue_id): offset
        for (_, group), queues_of in plain_offsets(store).items()
        if group == "GC_roll"
        for queue_id, offset in queues_of.items()
    }


def plain_offsets(store: Path) -> dict[tuple[str, str], dict[int, int]]:
    from tests.spark.plain_backlog import offsets_of

    return offsets_of(store)


def test_long_queues_are_cut_and_dealt_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "SHARE_ENTRIES", 10)
    monkeypatch.setattr(planning, "QUEUE_COST_ENTRIES", 1)
    work = [QueueRange("s", "t", number, 0, size, ()) for number, size in enumerate((100, 40, 35, 30, 30, 5))]
    dealt = shares(work, 3)
    assert sorted(each.queue_id for share in dealt for each in share) == list(range(6))
    assert max(sum(each.high for each in share) for share in dealt) == 100
    assert len(shares(work, 1)) == 1
    assert shares([], 4) == []


def test_a_cut_queue_has_the_figures_of_a_whole_one(
    store_copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mqctl.spark.aggregates.backlog_figures import Segment, behind

    store = store_copy("store-rolled-clean")
    set_offsets(store, {"TopicRoll@a": {0: 0, 1: 5}, "TopicRoll@b": {0: 13, 1: 200}, "TopicRoll@c": {0: 13}})
    opened = planning.open_store(str(store))
    states = planning.cells(opened, Selection((str(store),)))
    monkeypatch.setattr(planning, "RANGE_ENTRIES", 17)
    totals: dict[tuple[str, int], Segment] = {}
    for each in ranges(str(store), states):
        for group, segment in behind(opened, each):
            totals.setdefault((group, each.queue_id), Segment()).add(segment)
    truth = plain_backlog(store)
    assert {where: {tag: sums.messages for tag, sums in total.by_tag.items()} for where, total in totals.items()} == {
        (group, queue_id): {tag: len(messages) for tag, messages in expected_figures.tags.items()}
        for (group, _, queue_id), expected_figures in truth.items()
        if expected_figures.tags
    }


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("by", ["group", "topic", "queue"])
def test_figures_from_the_queues_alone_are_those_of_the_records(
    name: str, by: str, golden_store: Callable[[str], Path]
) -> None:
    from mqctl.model.backlog import BacklogBy
    from mqctl.spark.reports.backlog import backlog_rows

    wanted = Selection((str(golden_store(name)),), system=True)
    assert backlog_rows(PlainEngine(), wanted, BacklogBy(by), quick=True) == backlog_rows(
        PlainEngine(), wanted, BacklogBy(by)
    )


@pytest.mark.parametrize("damage", ["hole", "tail", "record"])
def test_queues_that_cannot_be_believed_send_us_to_the_records(store_copy: Callable[[str], Path], damage: str) -> None:
    from mqctl.model.backlog import BacklogBy
    from mqctl.spark.reports.backlog import backlog_rows

    store = store_copy("store-rolled-clean")
    set_offsets(store, {"TopicRoll@early": {0: 0, 1: 3}})
    logs = sorted((store / "commitlog").iterdir())
    if damage == "hole":
        logs[1].unlink()
    elif damage == "tail":
        logs[-1].unlink()
    else:
        with logs[0].open("r+b") as file:
            file.write(bytes(8))
    wanted = Selection((str(store),))
    rows = backlog_rows(PlainEngine(), wanted, BacklogBy.QUEUE, quick=True)
    assert rows == backlog_rows(PlainEngine(), wanted, BacklogBy.QUEUE)
    assert reported(rows) == by_queue(plain_backlog(store))
    assert sum(row.dangling_count or 0 for row in rows) > 0


def test_arrivals_add_up_to_the_backlog(golden_store: Callable[[str], Path]) -> None:
    from mqctl.spark.query import Cut, Query

    store = golden_store("store-killed")
    query = Query((Cut("arrivals", ()),), bucket_ms=1_000)
    rows = PlainEngine().rows("backlog", Selection((str(store),), system=True), query, ("kind", "group", "time_ms"))
    arrivals = {(row["group"], row["time_ms"]): row["messages"] for row in rows if row["kind"] == "arrival"}
    truth: dict[tuple[object, object], int] = {}
    for (group, _, _), own in plain_backlog(store).items():
        for messages in own.tags.values():
            for time, _ in messages:
                key = (group, time // 1_000 * 1_000)
                truth[key] = truth.get(key, 0) + 1
    assert arrivals == truth != {}


def test_what_arrived_when_and_a_forecast(golden_store: Callable[[str], Path], spark: SparkSession) -> None:
    from mqctl.spark.reports.backlog import forecast

    store = golden_store("store-killed")
    rows = run(spark, Selection((str(store),), system=True), "time")
    truth: dict[tuple[str, str, int], int] = {}
    for (group, topic, _), own in plain_backlog(store).items():
        for time, _ in (each for messages in own.tags.values() for each in messages):
            where = (group, topic, time // 60_000 * 60_000)
            truth[where] = truth.get(where, 0) + 1
    assert {(row.group, row.topic, row.time_ms): row.messages for row in rows} == truth != {}
    topics = run(spark, Selection((str(store),), system=True), "topic")
    predicted = forecast(topics, per_second=2.0, retention_ms=3_600_000)
    assert [(row.drain_ms, row.expires_ms) for row in predicted] == [
        (row.messages * 500, None if row.oldest_ms is None else row.oldest_ms + 3_600_000) for row in topics
    ]
