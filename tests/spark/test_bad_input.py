"""Stores that are damaged, incomplete or odd: reports count what is sound and say what they passed over."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from mqctl.model.report_rows import StoreRead
from mqctl.model.reports import SkewReport
from mqctl.spark.engines import PlainEngine
from mqctl.spark.reports import order, skew, tags
from mqctl.spark.selection import Selection
from tests.conftest import Outcome
from tests.spark.plain_reports import messages_of, plain_gini
from tests.store.builder import StoreBuilder, message

Store = Callable[[str], Path]
START_MS = 1_795_218_000_000


def made(root: Path, count: int = 900) -> tuple[Path, StoreBuilder]:
    """A store of several commit log files."""
    builder = StoreBuilder(commit_log_file_bytes=1 << 16)
    for number in range(count):
        properties = {"KEYS": f"k{number % 11}"}
        builder.append(message("Orders", number % 3, b"x" * 150, properties, store_time_ms=START_MS + number))
    return builder.write(root), builder


def skewed(*stores: Path) -> SkewReport:
    return skew.skew(PlainEngine(), Selection(tuple(map(str, stores))), top=5)


def total(report: SkewReport) -> int:
    return sum(row.messages for row in report.topics)


def only(read: list[StoreRead]) -> StoreRead:
    (damage,) = read
    return damage


def test_a_torn_tail_is_read_up_to_the_last_whole_record(tmp_path: Path) -> None:
    store, builder = made(tmp_path / "store")
    last = builder.messages[-1]
    path = sorted((store / "commitlog").iterdir())[-1]
    with path.open("r+b") as file:  # the second half of the last record was never written
        file.seek(last.physical_offset % (1 << 16) + last.size_bytes // 2)
        file.write(bytes(last.size_bytes))
    report = skewed(store)
    assert total(report) == len(builder.messages) - 1
    assert 0 < only(report.read).skipped_bytes <= last.size_bytes
    assert only(report.read).damaged_at == [last.physical_offset]


@pytest.mark.parametrize("magic", [b"\x00\x00\x00\x01", b"\xda\xa3\x20\xab", b"\xcb\xd4\x31\x94"])
def test_an_unknown_or_wrong_magic_costs_one_record(tmp_path: Path, magic: bytes) -> None:
    store, builder = made(tmp_path / "store")
    hurt = builder.messages[40]
    with (store / "commitlog" / f"{0:020}").open("r+b") as file:
        file.seek(hurt.physical_offset + 4)
        file.write(magic)
    report = skewed(store)
    missing = len(builder.messages) - total(report)
    if magic == b"\xcb\xd4\x31\x94":  # the filler's magic ends a file: a broker goes on with the next one
        assert missing > 1
    else:
        assert missing == 1
        assert only(report.read).skipped_bytes == hurt.size_bytes
        assert only(report.read).damaged_at == [hurt.physical_offset]


def test_zero_filled_truncated_and_foreign_files_among_good_ones(tmp_path: Path) -> None:
    store, builder = made(tmp_path / "store")
    files = sorted((store / "commitlog").iterdir())
    assert len(files) >= 4
    files[1].write_bytes(bytes(1 << 16))
    files[2].write_bytes(files[0].read_bytes())  # another place's records
    cut = files[3].stat().st_size // 2
    with files[3].open("r+b") as file:
        file.truncate(cut)
    (store / "commitlog" / "notes.txt").write_text("not a log")
    (store / "commitlog" / f"{1 << 40:020}").write_bytes(b"")
    lost = {(1 << 16), (2 << 16)}
    expected = [
        each
        for each in builder.messages
        if each.physical_offset >> 16 << 16 not in lost
        and not (each.physical_offset >> 16 == 3 and each.physical_offset % (1 << 16) + each.size_bytes > cut)
    ]
    report = skewed(store)
    assert total(report) == len(expected)
    read = only(report.read)
    assert read.messages == len(expected)
    assert read.skipped_bytes >= 60_000, "the foreign file is told"
    assert 2 << 16 in read.damaged_at


def test_a_sparse_file_is_read_like_a_full_one(tmp_path: Path) -> None:
    store, builder = made(tmp_path / "store", 50)
    path = store / "commitlog" / f"{0:020}"
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    assert total(skewed(store)) == len(builder.messages)
    assert only(skewed(store).read).skipped_bytes == 0


def test_queues_without_a_log_and_a_log_without_queues(tmp_path: Path) -> None:
    store, builder = made(tmp_path / "store")
    shutil.rmtree(store / "consumequeue")
    assert total(skewed(store)) == len(builder.messages)
    other, _ = made(tmp_path / "other")
    shutil.rmtree(other / "commitlog")
    report = skewed(other)
    assert total(report) == 0
    assert [row.queues for row in report.topics] == [3], "queues that hold nothing are still there"


def test_stores_of_both_versions_in_one_read(golden_store: Store) -> None:
    stores = [golden_store("store-clean"), golden_store("store-5.3.3")]
    report = tags.tags(PlainEngine(), Selection(tuple(map(str, stores))))
    assert sum(row.messages for row in report.topics) == sum(len(messages_of(store)) for store in stores)
    assert {row.store for row in report.queues} == set(map(str, stores))


@pytest.mark.long
def test_a_topic_with_ten_thousand_queues(tmp_path: Path) -> None:
    builder = StoreBuilder(queue_file_entries=4)
    for number in range(10_300):
        builder.append(message("Wide", number % 10_000, b"", {"KEYS": f"k{number % 50}"}, store_time_ms=START_MS))
    report = skewed(builder.write(tmp_path / "store"))
    (topic,) = report.topics
    assert (topic.queues, topic.messages, len(report.queues)) == (10_000, 10_300, 10_000)
    assert topic.gini == pytest.approx(plain_gini([2] * 3 + [1] * 97), abs=0.001)
    ordered = order.order(PlainEngine(), Selection((str(tmp_path / "store"),)), top=3, bucket_ms=1_000)
    assert [(row.keys, row.moved_keys) for row in ordered.topics] == [(50, 50)]


def test_the_longest_keys_and_thousands_of_properties(tmp_path: Path) -> None:
    """A record has room for 32,767 bytes of properties: no key can be longer."""
    from mqctl.spark.scan.log_splits import Coverage, LogSplit, chunks
    from mqctl.spark.source import columns

    builder = StoreBuilder(commit_log_file_bytes=1 << 18)
    long = "k" * 32_700
    for number in range(3):
        builder.append(message("Orders", number, b"", {"KEYS": long}))
    many = {f"p{number}": "v" for number in range(4_000)}
    builder.append(message("Orders", 0, b"", many))
    builder.append(message("Orders", 0, b"", {"KEYS": long + "x"}))
    store = builder.write(tmp_path / "store")
    report = skewed(store)
    assert total(report) == 5
    shown = {row.key for row in report.keys}
    assert len(shown) == 2, "keys that differ behind what is shown are told apart"
    assert all(key is not None and len(key) < 300 for key in shown)
    split = LogSplit(str(store), 0, 0, 1 << 18, 1 << 18)
    parsed = [
        dict(row)
        for chunk in chunks(split, Selection((str(store),)), Coverage(str(store), 0))
        for row in columns.properties(chunk.buffer, chunk.found).to_pylist()
    ]
    assert parsed == [dict(each.properties) for each in builder.messages]


def test_bodies_of_every_codec_count_as_they_are_stored(tmp_path: Path) -> None:
    plain = b"abc" * 500
    bodies = {
        0x100: lz4.frame.compress(plain),
        0x200: zstandard.ZstdCompressor().compress(plain),
        0x300: zlib.compress(plain),
        0x000: zlib.compress(plain),
    }
    builder = StoreBuilder()
    for kind, body in bodies.items():
        builder.append(replace(message("Orders", 0, body), sys_flag=kind | 0x1))
    report = skewed(builder.write(tmp_path / "store"))
    assert total(report) == 4
    assert sum(row.messages for row in report.sizes) == 4
    assert {row.from_bytes for row in report.sizes} == {1 << (len(body).bit_length() - 1) for body in bodies.values()}


def test_what_is_passed_over_is_told_on_stderr(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    store, builder = made(tmp_path / "store", 50)
    hurt = builder.messages[7]
    with (store / "commitlog" / f"{0:020}").open("r+b") as file:
        file.seek(hurt.physical_offset + 4)
        file.write(b"\xff")
    outcome = mqctl("report", "skew", "--store", store, "--no-spark", "-o", "json")
    assert outcome.exit_code == 0
    assert f"{hurt.size_bytes} bytes are no sound records" in outcome.stderr
    assert f"physical offset {hurt.physical_offset}" in outcome.stderr
    assert sum(row["messages"] for row in outcome.json["report"]["topics"]) == 49
