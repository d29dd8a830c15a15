"""What 5.x keeps elsewhere than in consume queues: timers, batch queues, RocksDB. Read, or named with how much."""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.errors import BadInputError
from mqctl.model.backlog import BacklogBy
from mqctl.spark.engines import PlainEngine
from mqctl.spark.reports.backlog import backlog_rows
from mqctl.spark.reports.delay import delay
from mqctl.spark.selection import Bounds, Selection
from mqctl.store import dtypes
from mqctl.store.layouts import TIMER_CHECK
from tests.conftest import Outcome
from tests.spark.plain_reports import messages_of
from tests.store.builder import StoreBuilder, message

Run = Callable[..., Outcome]
Store = Callable[[str], Path]
START_MS = 1_795_218_000_000


def timer_store(root: Path, due_ms: dict[str, list[int]], *, read_ms: int, marks: tuple[str, ...] = ()) -> Path:
    """A store whose timer log has all messages but the last of each topic, which the timer has not taken yet."""
    builder = StoreBuilder()
    logged = []
    for topic, times in due_ms.items():
        for number, due in enumerate(times):
            properties = {"REAL_TOPIC": topic, "UNIQ_KEY": f"{topic}{number}", "TIMER_OUT_MS": str(due)}
            placed = builder.append(message("rmq_sys_wheel_timer", 0, properties=properties, store_time_ms=START_MS))
            if number < len(times) - 1:
                logged.append((placed, due, 1))
    for key in marks:
        properties = {"REAL_TOPIC": "Orders", "TIMER_DEL_UNIQKEY": key, "TIMER_OUT_MS": str(due_ms["Orders"][0])}
        placed = builder.append(message("rmq_sys_wheel_timer", 0, properties=properties, store_time_ms=START_MS))
        logged.append((placed, due_ms["Orders"][0], 4))
    store = builder.write(root)
    records = b""
    for placed, due, magic in logged:
        place = (placed.physical_offset, placed.size_bytes, 0, 0)
        records += struct.pack(">iqiqiqiiq", 52, -1, magic, due - 5_000, 5_000, *place)
    assert dtypes.TIMER_LOG_RECORD.itemsize == 52
    (store / "timerlog").mkdir()
    (store / "timerlog" / f"{0:020}").write_bytes(records.ljust(1 << 16, b"\0"))
    (store / "config" / "timercheck").write_bytes(TIMER_CHECK.pack(read_ms, len(records), 0, 0, 0, 0, 0))
    return store


def test_timers_that_wait_are_those_of_slots_not_read_yet(tmp_path: Path) -> None:
    hour = 3_600_000
    due = {"Orders": [START_MS + at * 1_000 for at in (60, 120, 180, 240)], "Bills": [START_MS + hour] * 3}
    store = timer_store(tmp_path / "store", due, read_ms=START_MS + 60_000, marks=())
    report = delay(PlainEngine(), Selection((str(store),)), at_ms=START_MS + 150_000, bucket_ms=60_000)
    timers = {row.topic: (row.waiting, row.overdue, row.not_due, row.head_due_ms) for row in report.timers}
    assert timers == {"Orders": (3, 1, 2, START_MS + 120_000), "Bills": (3, 0, 3, START_MS + hour)}
    assert sum(row.waiting for row in report.due if row.topic == "Orders") == 3
    only = delay(PlainEngine(), Selection((str(store),), topics=("Bills",)), at_ms=START_MS, bucket_ms=60_000)
    assert [row.topic for row in only.timers] == ["Bills"]
    none = Selection((str(store),), store_time_ms=Bounds(low=START_MS + 1))
    assert delay(PlainEngine(), none, at_ms=START_MS, bucket_ms=60_000).timers == []


def test_a_recalled_timer_does_not_wait_and_lost_records_are_told(tmp_path: Path) -> None:
    due = {"Orders": [START_MS + 60_000, START_MS + 60_000, START_MS + 120_000]}
    store = timer_store(tmp_path / "store", due, read_ms=START_MS, marks=("Orders1",))
    report = delay(PlainEngine(), Selection((str(store),)), at_ms=START_MS, bucket_ms=60_000)
    assert [(row.topic, row.waiting) for row in report.timers] == [("Orders", 2)]
    with next((store / "commitlog").iterdir()).open("r+b") as file:
        file.seek(4)
        file.write(b"none")
    report = delay(PlainEngine(), Selection((str(store),)), at_ms=START_MS, bucket_ms=60_000)
    assert {row.topic: (row.waiting, row.missing) for row in report.timers} == {"Orders": (1, 0), "?": (1, 1)}
    (store / "config" / "timercheck").unlink()
    report = delay(PlainEngine(), Selection((str(store),)), at_ms=START_MS, bucket_ms=60_000)
    assert [each.part for each in report.unread] == ["config/timercheck"]


def test_timers_of_a_real_store(golden_store: Store) -> None:
    store = golden_store("store-5.3.3")
    (read_ms, *_) = TIMER_CHECK.unpack_from((store / "config" / "timercheck").read_bytes())
    truth = Counter(
        each.properties["REAL_TOPIC"]
        for each in messages_of(store, system=True)
        if each.topic == "rmq_sys_wheel_timer" and int(each.properties["TIMER_OUT_MS"]) > read_ms
    )
    assert truth
    report = delay(PlainEngine(), Selection((str(store),), system=True), at_ms=read_ms, bucket_ms=60_000)
    assert {row.topic: row.waiting for row in report.timers} == truth
    assert report.unread == []


def batch_store(root: Path, *, offset: int) -> Path:
    """Two readers' worth of batches: records of 4, 1 and 5 messages, the last without a record."""
    builder = StoreBuilder()
    placed = [
        builder.append(message("Batched", 0, b"x" * 50, {"TAGS": tag}, store_time_ms=START_MS + number))
        for number, tag in enumerate(("A", "B", "A"))
    ]
    store = builder.write(root)
    shutil.rmtree(store / "consumequeue" / "Batched")
    units, base = b"", 0
    for each, size in zip(placed, (4, 1, 5), strict=True):
        place = each.physical_offset if size < 5 else each.physical_offset + 1
        units += struct.pack(">qiqqqhii", place, each.size_bytes, 0, START_MS, base, size, -1, 0)
        base += size
    directory = store / "batchconsumequeue" / "Batched" / "0"
    directory.mkdir(parents=True)
    (directory / f"{0:020}").write_bytes(units.ljust(46 * 100, b"\0"))
    offsets = {"Batched@billing": {0: offset}}
    text = json.dumps({"offsetTable": {key: {str(k): v for k, v in own.items()} for key, own in offsets.items()}})
    (store / "config" / "consumerOffset.json").write_text(text)
    return store


@pytest.mark.parametrize(("offset", "tags"), [(0, {"A": 4, "B": 1}), (3, {"A": 1, "B": 1}), (4, {"B": 1}), (6, {})])
def test_batch_queues_are_followed_into_their_records(offset: int, tags: dict[str, int], tmp_path: Path) -> None:
    wanted = Selection((str(batch_store(tmp_path / "store", offset=offset)),))
    rows = backlog_rows(PlainEngine(), wanted, BacklogBy.TAG)
    assert {row.tag: row.messages for row in rows} == tags
    (row,) = backlog_rows(PlainEngine(), wanted, BacklogBy.QUEUE)
    assert (row.lag_count, row.messages, row.dangling_count) == (10 - offset, sum(tags.values()), min(5, 10 - offset))
    (quick,) = backlog_rows(PlainEngine(), wanted, BacklogBy.QUEUE, quick=True)
    assert quick == row
    arrivals = backlog_rows(PlainEngine(), wanted, BacklogBy.TIME, bucket_ms=1)
    assert sum(each.messages for each in arrivals) == sum(tags.values())


def test_the_backlog_of_a_real_batch_queue(golden_store: Store, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(golden_store("store-5.3.3"), store)
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable":{"TopicBatchCQ@billing":{3:1}}}')
    (row,) = backlog_rows(PlainEngine(), Selection((str(store),)), BacklogBy.QUEUE)
    (record,) = [each for each in messages_of(store) if each.topic == "TopicBatchCQ"]
    assert (row.queue_id, row.lag_count, row.messages, row.bytes) == (3, 3, 3, record.size_bytes)
    assert row.oldest_ms == record.store_time_ms


def rocksdb_store(root: Path) -> tuple[Path, int]:
    builder = StoreBuilder()
    for number in range(40):
        builder.append(message("Orders", number % 2, properties={"KEYS": f"k{number % 5}"}))
    store = builder.write(root)
    shutil.rmtree(store / "consumequeue")
    (store / "consumequeue").mkdir()
    (store / "consumequeue" / "CURRENT").write_text("MANIFEST-000001\n")
    (store / "consumequeue" / "MANIFEST-000001").write_bytes(b"x" * 100)
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable":{"Orders@billing":{"0":0,"1":0}}}')
    return store, len(builder.messages)


def test_queues_in_rocksdb_are_named_with_how_much_they_leave_out(
    mqctl: Run, golden_store: Store, tmp_path: Path
) -> None:
    store, messages = rocksdb_store(tmp_path / "rocks")
    for report in ("skew", "order", "tags", "capacity"):
        outcome = mqctl("report", report, "--store", store, "--no-spark", "-o", "json")
        assert (outcome.exit_code, outcome.stderr) == (0, ""), report
        (read,) = outcome.json["report"]["read"]
        assert read["messages"] == messages
    for report in ("backlog", "delay", "transactions"):
        refused = mqctl("report", report, "--store", store, "--no-spark")
        assert refused.exit_code == 65
        assert "RocksDB" in refused.stderr
        both = mqctl(
            "report", report, "--store", store, "--store", golden_store("store-killed"), "--no-spark", "-o", "json"
        )
        assert both.exit_code == 74, report
        value = both.json.get("report", both.json)
        (unread,) = value["unread"]
        assert (unread["store"], unread["part"], unread["messages"]) == (str(store), "consumequeue", messages)
        assert f"its commit log holds {messages} messages" in both.stderr
    alone = mqctl("report", "retries", "--store", store, "--no-spark", "-o", "json")
    assert (alone.exit_code, alone.json["report"]["unread"][0]["messages"]) == (74, messages)
    page = tmp_path / "page.html"
    outcome = mqctl("report", "run", "--store", store, "--no-spark", "--html", page)
    assert outcome.exit_code == 74
    assert f"its commit log holds {messages} messages" in outcome.stderr
    assert "Not read, and missing from the figures" in page.read_text()


def test_a_recorded_rocksdb_store_is_refused_where_queues_are_asked_for(
    mqctl: Run, golden_store: Store, without_rocksdict: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    store = golden_store("store-5.3.3-rocksdb-auth")
    with pytest.raises(BadInputError, match="RocksDB"):
        backlog_rows(PlainEngine(), Selection((str(store),)), BacklogBy.TOPIC)
    outcome = mqctl("report", "run", "--store", store, "--no-spark", env=without_rocksdict)
    assert outcome.exit_code == 74
    assert "config/consumerOffsets" in outcome.stderr
