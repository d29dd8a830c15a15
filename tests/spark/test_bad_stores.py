"""What else a store may lack: every report says what is missing from its figures and how much."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mqctl.model.backlog import BacklogBy
from mqctl.spark.engines import PlainEngine
from mqctl.spark.reports.backlog import backlog_rows
from mqctl.spark.reports.delay import delay
from mqctl.spark.reports.duplicates import duplicates
from mqctl.spark.reports.order import order
from mqctl.spark.reports.transactions import transactions
from mqctl.spark.scan.log_splits import Coverage, chunks, log_splits
from mqctl.spark.selection import Selection
from tests.conftest import Outcome
from tests.store.builder import StoreBuilder, message
from tests.store.failing_disk import failing

Run = Callable[..., Outcome]
START_MS = 1_795_218_000_000


def store_with_backlog(root: Path) -> tuple[Path, StoreBuilder]:
    builder = StoreBuilder(commit_log_file_bytes=1 << 16)
    for number in range(900):
        properties = {"KEYS": f"k{number % 7}", "UNIQ_KEY": f"u{number % 450}", "TAGS": "A" if number % 2 else "B"}
        builder.append(message("Orders", number % 3, b"x" * 150, properties, store_time_ms=START_MS + number))
    store = builder.write(root)
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable":{"Orders@billing":{0:0,1:0,2:0}}}')
    return store, builder


@pytest.mark.parametrize("quick", [False, True])
def test_a_backlog_whose_commit_log_is_gone_leads_nowhere(quick: bool, tmp_path: Path) -> None:
    store, builder = store_with_backlog(tmp_path / "store")
    shutil.rmtree(store / "commitlog")
    (row,) = backlog_rows(PlainEngine(), Selection((str(store),)), BacklogBy.TOPIC, quick=quick)
    assert (row.lag_count, row.messages, row.bytes, row.dangling_count) == (900, 0, 0, 900)
    assert builder.messages


@pytest.mark.parametrize("quick", [False, True])
def test_a_backlog_with_one_log_file_of_several_lost_counts_the_others(quick: bool, tmp_path: Path) -> None:
    store, builder = store_with_backlog(tmp_path / "store")
    files = sorted((store / "commitlog").iterdir())
    files[1].unlink()
    lost = sum(each.physical_offset >> 16 == 1 for each in builder.messages)
    (row,) = backlog_rows(PlainEngine(), Selection((str(store),)), BacklogBy.TOPIC, quick=quick)
    assert (row.messages, row.dangling_count) == (900 - lost, lost)
    files[2].write_bytes(bytes(1 << 16))
    lost += sum(each.physical_offset >> 16 == 2 for each in builder.messages)
    (row,) = backlog_rows(PlainEngine(), Selection((str(store),)), BacklogBy.TOPIC)
    assert (row.messages, row.dangling_count) == (900 - lost, lost)


def test_a_file_of_a_consume_queue_that_is_lost_is_counted(tmp_path: Path) -> None:
    builder = StoreBuilder(queue_file_entries=100)
    for number in range(450):
        builder.append(message("Orders", 0, store_time_ms=START_MS + number))
    store = builder.write(tmp_path / "store")
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable":{"Orders@billing":{0:50}}}')
    sorted((store / "consumequeue" / "Orders" / "0").iterdir())[2].unlink()
    for quick in (False, True):
        (row,) = backlog_rows(PlainEngine(), Selection((str(store),)), BacklogBy.TOPIC, quick=quick)
        assert (row.lag_count, row.messages, row.dangling_count) == (400, 300, 100)


def test_a_split_whose_file_is_gone_when_it_is_read_is_passed_over_loudly(tmp_path: Path) -> None:
    store, _ = store_with_backlog(tmp_path / "store")
    (share,) = log_splits(Selection((str(store),)), 1)
    gone = sorted((store / "commitlog").iterdir())[0]
    size = gone.stat().st_size
    gone.unlink()
    split = next(each for each in share if each.start == 0)
    covered = Coverage(split.store, split.start)
    assert list(chunks(split, Selection((str(store),)), covered)) == []
    assert covered.skipped_bytes == split.high - split.low <= size
    assert covered.damaged_at == (0,)


def test_reports_on_keys_tell_what_they_passed_over(mqctl: Run, tmp_path: Path) -> None:
    store, builder = store_with_backlog(tmp_path / "store")
    hurt = builder.messages[40]
    with sorted((store / "commitlog").iterdir())[0].open("r+b") as file:
        file.seek(hurt.physical_offset + 4)
        file.write(b"\0\0\0\1")
    for make in (order, duplicates):
        report = make(PlainEngine(), Selection((str(store),)), top=3, bucket_ms=1_000)
        (read,) = report.read
        assert (read.messages, read.skipped_bytes, read.damaged_at) == (899, hurt.size_bytes, [hurt.physical_offset])
        assert {row.messages for row in report.topics} == {899}
    for name in ("order", "duplicates", "tags", "capacity", "retries", "skew"):
        outcome = mqctl("report", name, "--store", store, "--no-spark")
        assert f"{hurt.size_bytes} bytes are no sound records and were passed over" in outcome.stderr, name


@pytest.mark.parametrize("name", ["skew", "order", "tags", "capacity"])
@pytest.mark.parametrize("where", ["inside", "up to the end of a file", "a whole file"])
def test_a_hole_in_the_log_is_passed_over_and_told(mqctl: Run, tmp_path: Path, where: str, name: str) -> None:
    store, builder = store_with_backlog(tmp_path / "store")
    second = [each for each in builder.messages if each.physical_offset >> 16 == 1]
    low, high = {
        "inside": (second[10].physical_offset, second[30].physical_offset),
        "up to the end of a file": (second[10].physical_offset, 2 << 16),
        "a whole file": (1 << 16, 2 << 16),
    }[where]
    with sorted((store / "commitlog").iterdir())[1].open("r+b") as file:
        file.seek(low - (1 << 16))
        file.write(bytes(high - low))
    lost = sum(low <= each.physical_offset < high for each in builder.messages)
    outcome = mqctl("report", name, "--store", store, "--no-spark", "-o", "json")
    line = f"{high - low:,} bytes are no sound records and were passed over (at physical offset {low})"
    assert line in outcome.stderr
    assert [each["messages"] for each in outcome.json["report"]["read"]] == [900 - lost]


@pytest.mark.parametrize("cut", [1 << 14, 1 << 15])
def test_a_hole_over_several_splits_is_counted_once(cut: int, tmp_path: Path) -> None:
    store, builder = store_with_backlog(tmp_path / "store")
    low, high = builder.messages[20].physical_offset, builder.messages[200].physical_offset
    assert low < cut < high < 1 << 16
    with sorted((store / "commitlog").iterdir())[0].open("r+b") as file:
        file.seek(low)
        file.write(bytes(high - low))
    wanted = Selection((str(store),))
    (whole,) = (split for split in log_splits(wanted, 1)[0] if split.start == 0)
    read = []
    for split in (replace(whole, high=cut), replace(whole, low=cut)):
        covered = Coverage(split.store, split.start)
        read.append((sum(len(chunk.found) for chunk in chunks(split, wanted, covered)), covered.skipped_bytes))
    own = sum(each.physical_offset < 1 << 16 for each in builder.messages)
    assert read == [(20, high - low), (own - 200, 0)]


def test_zeros_at_the_end_of_the_log_are_no_hole(tmp_path: Path) -> None:
    store, _ = store_with_backlog(tmp_path / "store")
    last = sorted((store / "commitlog").iterdir())[-1]
    (store / "commitlog" / f"{int(last.name) + (1 << 16):020}").write_bytes(bytes(1 << 16))  # made, and not yet used
    (read,) = order(PlainEngine(), Selection((str(store),)), top=3, bucket_ms=1_000).read
    assert (read.messages, read.skipped_bytes, read.damaged_at) == (900, 0, [])


@pytest.mark.long
@pytest.mark.parametrize("name", ["order", "capacity"])
def test_workers_read_on_behind_what_a_disk_refuses(mqctl: Run, tmp_path: Path, name: str) -> None:
    store, _ = store_with_backlog(tmp_path / "store")
    log = sorted((store / "commitlog").iterdir())[0]
    whole = mqctl("report", name, "--store", store, "--no-spark", "-o", "json")
    outcome = mqctl("report", name, "--store", store, "-o", "json", env=failing([(str(log), 8_192, 8_193)]))
    line = f"commitlog/{log.name} is not read (4,096 bytes): Input/output error"
    assert (whole.exit_code, outcome.exit_code) == (0, 74)
    assert line in outcome.stderr
    assert "at bytes 8,192 to 12,288" in outcome.stderr
    counts = [each.json["report"]["read"][0]["messages"] for each in (whole, outcome)]
    assert counts[0] - 20 < counts[1] < counts[0] - 10


def test_half_and_delayed_messages_without_a_sound_record_are_told(tmp_path: Path) -> None:
    builder = StoreBuilder()
    for number in range(6):
        properties = {"PGROUP": "makers", "REAL_TOPIC": "Orders", "UNIQ_KEY": f"U{number}"}
        builder.append(message("RMQ_SYS_TRANS_HALF_TOPIC", 0, properties=properties, store_time_ms=START_MS + number))
    delayed = builder.append(
        replace(message("SCHEDULE_TOPIC_XXXX", 2, properties={"REAL_TOPIC": "Orders"}), store_time_ms=START_MS)
    )
    store = builder.write(tmp_path / "store")
    with next((store / "commitlog").iterdir()).open("r+b") as file:
        for offset in (builder.messages[2].physical_offset, delayed.physical_offset):
            file.seek(offset + 4)
            file.write(b"none")
    report = transactions(PlainEngine(), Selection((str(store),)), top=9)
    assert [(row.transactions, row.pending) for row in report.groups] == [(5, 5)]
    (unread,) = report.unread
    assert (unread.part, unread.messages) == ("RMQ_SYS_TRANS_HALF_TOPIC", 1)
    levels = delay(PlainEngine(), Selection((str(store),)), at_ms=START_MS, bucket_ms=1_000).levels
    assert [(row.level, row.waiting, row.missing) for row in levels] == [(3, 1, 1)]
