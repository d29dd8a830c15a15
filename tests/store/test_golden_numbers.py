"""Readers against what the real tools and clients recorded about the very stores they left behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from mqctl.model.config_file import FileSource
from mqctl.model.damage import DamageCode, DamageGrade
from mqctl.model.storage_state import QueueBehind, UnconfirmedTail
from mqctl.protocol.compression import decompress
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_message
from mqctl.store.config_files import consumer_offsets, delay_offsets, group_configs, topic_configs
from mqctl.store.consumequeue import written_entries, written_entries_linear
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import headers
from mqctl.store.texts import property_spans, topic_codes
from mqctl.store.timer import chain, read_timer_check, timer_log, used_slots
from mqctl.store.verify import verify
from tests.each import each

ALL = ["store-clean", "store-killed", "store-killed-recovered-clean", "store-rolled-clean", "store-5.3.3"]
Find = Callable[[str], Path]


def _topic_status(path: Path) -> dict[int, tuple[int, int, str]]:
    """queue id -> (min offset, max offset, last update) from mqadmin's `topicStatus` table."""
    rows = {}
    for line in path.read_text().splitlines():
        parts = line.split()
        if len(parts) >= 4 and not line.startswith("#") and parts[1].isdigit():
            rows[int(parts[1])] = (int(parts[2]), int(parts[3]), " ".join(parts[4:]))
    return rows


@pytest.mark.golden_full
@pytest.mark.parametrize(
    ("store", "topic", "recorded", "log_min"),
    [
        ("store-rolled-clean", "TopicRoll", "mqadmin_g/g_topicStatus_before.out", 0),
        # The same store after the broker had deleted its first three commit log files.
        ("store-rolled-clean", "TopicRoll", "mqadmin_g/h_topicStatus_deleted.out", 3 << 20),
        ("store-killed-recovered-clean", "TopicKill", "mqadmin_kill/k_topicStatus_recovered.out", 0),
        ("store-killed-recovered-clean", "SCHEDULE_TOPIC_XXXX", "mqadmin_kill/k_topicStatus_sched.out", 0),
    ],
)
def test_queue_bounds_and_times_equal_mqadmin(
    golden_store: Find, full_golden: Path, store: str, topic: str, recorded: str, log_min: int
) -> None:
    opened = StoreDirectory.open(golden_store(store))
    status = _topic_status(full_golden / "rocketmq-4.9.8" / recorded)
    assert status
    for queue_id, (minimum, maximum, updated) in status.items():
        queue = opened.consume_queue(topic, queue_id)
        assert (queue.min_offset(log_min), queue.max_offset) == (minimum, maximum), queue_id
        if maximum:
            last = opened.commit_log.store_times(queue.entries(maximum - 1)["physical_offset"])
            shown = datetime.fromtimestamp(int(last[0]) / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
            assert shown == updated


@each("name", ALL)
def test_bisection_finds_the_written_end_a_linear_scan_finds(golden_store: Find, name: str) -> None:
    opened = StoreDirectory.open(golden_store(name))
    for topic, queue_id in opened.queue_ids():
        for file in opened.consume_queue(topic, queue_id).files:
            assert written_entries(file.buffer) == written_entries_linear(file.buffer)


@each("name", ALL)
def test_entries_lead_to_their_records_and_extensions_to_their_times(golden_store: Find, name: str) -> None:
    opened = StoreDirectory.open(golden_store(name))
    seen = 0
    for topic, queue_id in opened.queue_ids():
        queue = opened.consume_queue(topic, queue_id)
        entries = queue.entries()
        times = opened.commit_log.store_times(entries["physical_offset"])
        units = opened.consume_queue_ext(topic, queue_id).resolve(entries["tags_code"])
        for logical, entry in enumerate(entries):
            record = opened.commit_log.record_at(int(entry["physical_offset"]))
            assert (record.topic, record.queue_id, record.queue_offset) == (topic, queue_id, logical)
            assert (record.size_bytes, record.store_time_ms) == (int(entry["size"]), int(times[logical]))
            if units.found.any():
                assert units.found[logical]
                assert int(units.store_time_ms[logical]) == record.store_time_ms
            seen += 1
    assert seen > 300


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name == "store-rolled-clean" else name for name in ALL]
)
def test_properties_topics_and_index_agree_with_the_decoder(golden_store: Find, name: str) -> None:
    opened = StoreDirectory.open(golden_store(name))
    names = ["TAGS", "KEYS", "UNIQ_KEY", "DELAY", "TRAN_PREPARED_QUEUE_OFFSET", "REAL_TOPIC"]
    indexes = opened.index_files()
    known = 0
    for file in opened.commit_log.files:
        rows = headers(file.buffer, opened.commit_log.walk(file).positions)
        records = [decode_message(file.buffer.data, int(position)) for position in rows.position]
        spans = property_spans(file.buffer, rows, names)
        for key in names:
            assert spans[key].texts(file.buffer) == [record.properties.get(key) for record in records], key
        topics = topic_codes(file.buffer, rows)
        assert [topics.names[code] for code in topics.codes] == [record.topic for record in records]
        for record in records:
            for key in [*record.keys, *([record.unique_key] if record.unique_key else [])]:
                hits = [index.lookup(record.topic, key) for index in indexes]
                known += any(record.physical_offset in hit for hit in hits)
    expected = {"store-clean": 598, "store-killed": 2_038, "store-killed-recovered-clean": 2_105, "store-5.3.3": 652}
    assert known == expected.get(name, 6_500)


@each("name", [name for name in ALL if name != "store-killed"])
def test_a_cleanly_stopped_store_verifies_without_any_remark(golden_store: Find, name: str) -> None:
    report = verify(StoreDirectory.open(golden_store(name)))
    assert report.damages == ()
    assert report.unconfirmed is None
    assert report.behind == ()
    assert report.dispatched_offset is not None
    assert report.clocks.step_back_count == 0


def test_the_killed_store_shows_its_unclean_stop(golden_store: Find) -> None:
    opened = StoreDirectory.open(golden_store("store-killed"))
    report = verify(opened)
    assert opened.abort()
    checkpoint = opened.checkpoint()
    assert checkpoint is not None and checkpoint.is_zero
    assert report.behind == (QueueBehind(topic="TopicKill", queue_id=2, max_offset=294, log_max_offset=295),)
    assert report.unconfirmed == UnconfirmedTail(physical_offset=231_042, size_bytes=173)
    assert (report.record_count, report.queue_entries, report.max_offset) == (1_207, 1_206, 231_215)
    assert {damage.code for damage in report.damages} == {
        DamageCode.QUEUE_BEHIND_LOG,
        DamageCode.CHECKPOINT_ZERO,
        DamageCode.UNCONFIRMED_TAIL,
    }
    assert report.graded(DamageGrade.DAMAGE) == []


def test_what_recovery_made_of_the_killed_store_is_what_the_log_said(golden_store: Find) -> None:
    """The broker's own recovery dispatched exactly the record that the killed store's queue lacked."""
    recovered = StoreDirectory.open(golden_store("store-killed-recovered-clean"))
    entry = recovered.consume_queue("TopicKill", 2).entries(294, 295)
    assert (int(entry["physical_offset"][0]), int(entry["size"][0])) == (231_042, 173)


def test_rocksdb_parts_are_named_not_read_as_empty(golden_store: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    opened = StoreDirectory.open(golden_store("store-5.3.3-rocksdb-auth"))
    assert opened.consume_queue_kind == "rocksdb"
    assert [part.part for part in opened.unreadable] == [
        "consumequeue", "config/consumerOffsets", "config/subscriptionGroups", "config/topics",
    ]  # fmt: skip
    report = verify(opened)  # it was never written to: its directory for the log is empty by rights
    assert (report.damages, report.unread) == ((), ())


@pytest.mark.golden_full
def test_offsets_and_bounds_of_5x_equal_its_mqadmin(golden_store: Find, full_golden: Path) -> None:
    """Recorded while the broker ran on: what the store holds now may only have grown."""
    opened = StoreDirectory.open(golden_store("store-5.3.3"))
    for queue_id, (minimum, maximum, _) in _topic_status(
        full_golden / "rocketmq-5.3.3" / "mqadmin" / "08_topicStatus.txt"
    ).items():
        queue = opened.consume_queue("TopicTest", queue_id)
        assert queue.min_offset(0) == minimum
        assert queue.max_offset >= maximum


def test_5x_batch_queue_timer_files_and_attributes(golden_store: Find) -> None:
    opened = StoreDirectory.open(golden_store("store-5.3.3"))
    assert opened.batch_queue_ids() == [("TopicBatchCQ", 3)]
    batch = opened.batch_consume_queue("TopicBatchCQ", 3)
    assert (batch.min_offset(0), batch.max_offset, batch.units["batch_size"].tolist()) == (0, 4, [4])
    record = opened.commit_log.record_at(int(batch.units["physical_offset"][0]))
    assert (record.properties["INNER_NUM"], record.properties["INNER_BASE"]) == ("4", "0")
    positions, records = timer_log(opened.path / "timerlog")
    slots = used_slots(opened.path / "timerwheel")
    assert len(slots) == 9
    for slot in slots:
        rows = chain(int(slot["last_pos"]), positions, records)
        assert len(rows) == int(slot["num"])
        for row in rows:
            stored = opened.commit_log.record_at(int(records["physical_offset"][row]))
            assert stored.topic == "rmq_sys_wheel_timer"
            due = int(records["write_time_ms"][row]) + int(records["delayed_ms"][row])
            assert due == int(stored.properties["TIMER_OUT_MS"])
            assert due // 1_000 == int(slot["time_units"])
    check = read_timer_check(opened.path / "config" / "timercheck")
    assert check is not None
    assert check.last_timer_queue_offset == opened.consume_queue("rmq_sys_wheel_timer", 0).max_offset
    attributes = {topic.name: topic.attributes for topic in topic_configs(opened.config("topics.json"))}
    assert attributes["TopicTx"] == {"message.type": "TRANSACTION"}


def test_configurations_of_the_clean_store(golden_store: Find) -> None:
    opened = StoreDirectory.open(golden_store("store-clean"))
    offsets = consumer_offsets(opened.config("consumerOffset.json"))
    assert offsets.offsets[("TopicKeys", "GC_lite")] == {0: 2, 1: 3, 2: 4, 3: 0, 4: 3, 5: 3, 6: 0, 7: 0}
    assert delay_offsets(opened.config("delayOffset.json")).offsets == {1: 8, 2: 4, 3: 3, 4: 3}
    groups = {group.name: group for group in group_configs(opened.config("subscriptionGroup.json"))}
    assert groups["GC_normal"].retry_max_times == 3
    assert opened.config("nothing.json").state.source is FileSource.NONE


def test_message_ids_lead_back_to_records(golden_store: Find) -> None:
    log = StoreDirectory.open(golden_store("store-clean")).commit_log
    for position in log.walk(log.files[0]).positions.tolist():
        record = log.record_at(position)
        text = str(OffsetId(record.store_host, record.physical_offset))
        assert OffsetId.parse(text) == OffsetId(record.store_host, position)
    assert str(OffsetId("[2001:db8::1]:10911", 258)) == "20010DB800000000000000000000000100002A9F0000000000000102"


def test_compressed_bodies_open(golden_store: Find) -> None:
    log = StoreDirectory.open(golden_store("store-clean")).commit_log
    rows = headers(log.files[0].buffer, log.walk(log.files[0]).positions)
    packed = rows.physical_offset[np.flatnonzero(rows.sys_flag & 1)].tolist()
    assert packed
    for offset in packed:
        record = log.record_at(offset)
        assert record.sys_flag & 0x700 == 0x300
        assert len(decompress(record.body, record.sys_flag)) > len(record.body)
