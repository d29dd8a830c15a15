"""What is read of a store, by hand and against ten-line loops: batches, ends of queues, times, records at a place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_broker.clock import VirtualClock
from embedded_broker.log.copies import copy_of, target_of
from embedded_broker.log.reader import Boundary, Read, ReadStatus
from embedded_broker.log.settings import StoreSettings
from embedded_broker.log.store import Appended, Storage
from embedded_broker.log.unique_ids import UniqueIds
from mqctl.model.message import Message
from mqctl.protocol.message_record import decode_message, decode_messages
from mqctl.store.record_writer import Incoming
from tests.each import each

START_MS = 1_700_000_000_000
FILE, PER_FILE = 4_096, 100
SIZE = 128
"""Bytes of each record here: 91 and the topic, body and properties."""


class Kept:
    """A store of small files; each record has `SIZE` bytes unless it is told more."""

    def __init__(self, directory: Path, **changes: Any) -> None:
        small = {
            "mapped_file_size_commit_log": FILE, "mapped_file_size_consume_queue": PER_FILE * 20,
            "max_hash_slot_num": 50, "max_index_num": 200, "in_memory_bytes": 1 << 20,
        }  # fmt: skip
        self.clock = VirtualClock(START_MS)
        self.storage = Storage(directory, StoreSettings(**{**small, **changes}), self.clock)
        self.storage.open()
        self.appended: list[Appended] = []

    def put(self, number: int = 0, *, queue_id: int = 0, more: int = 0, tag: str = "A") -> Appended:
        properties = f"TAGS\x01{tag}\x02"
        body = b"%d " % number
        body += b"x" * (SIZE - 91 - 1 - len(properties) - len(body) + more)
        message = Incoming(
            topic="T", queue_id=queue_id, body=body, properties=properties, born_host="192.0.2.2:1",
            store_host="127.0.0.1:2", born_ms=START_MS,
        )  # fmt: skip
        appended = self.storage.append(message)
        assert appended.size_bytes == SIZE + more
        if not queue_id:
            self.appended.append(appended)
        return appended

    def fill(self, count: int) -> None:
        for number in range(count):
            self.put(number)

    def read(self, offset: int, most: int = 32, **wanted: Any) -> Read:
        return self.storage.read("T", 0, offset, max_count=most, **wanted)

    def close(self) -> None:
        self.storage.abandon()


@pytest.fixture
def kept(tmp_path: Path) -> Any:
    kept = Kept(tmp_path / "store")
    yield kept
    kept.close()


def numbers(data: Sequence[bytes | memoryview]) -> list[int]:
    return [int(message.body.split()[0]) for part in data for message in decode_messages(bytes(part))]


def test_where_a_read_beside_the_queue_is_sent(kept: Kept) -> None:
    assert kept.read(0) == Read(ReadStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0)
    assert kept.read(7) == Read(ReadStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0)
    kept.fill(3)
    assert kept.read(-1) == Read(ReadStatus.OFFSET_TOO_SMALL, 0, 0, 3)
    assert kept.read(3) == Read(ReadStatus.OFFSET_OVERFLOW_ONE, 3, 0, 3)
    assert kept.read(4) == Read(ReadStatus.OFFSET_OVERFLOW_BADLY, 3, 0, 3)
    last = kept.read(2)
    assert (last.status, last.next_offset, last.count, numbers(last.data)) == (ReadStatus.FOUND, 3, 1, [2])
    assert (last.behind_bytes, last.on_disk) == (SIZE, False)
    assert (kept.storage.min_offset("T", 9), kept.storage.max_offset("T", 9)) == (0, 0)


@each("most, most_bytes, expected", [
    (32, None, 20), (5, None, 5), (21, None, 20), (1, None, 1), (0, None, 1), (32, 3 * SIZE, 3), (32, 3 * SIZE - 1, 2),
    (32, 1, 1), (2, 3 * SIZE, 2),
])  # fmt: skip
def test_so_many_messages_fit_a_batch_and_the_first_always_does(
    kept: Kept, most: int, most_bytes: int | None, expected: int
) -> None:
    if not kept.appended:
        kept.fill(20)
    read = kept.read(0, most, max_bytes=most_bytes)
    assert (read.count, numbers(read.data), read.next_offset) == (expected, list(range(expected)), expected)


@each("changes, expected", [
    ({}, 20),
    ({"max_transfer_count_on_message_in_memory": 7}, 7),
    ({"max_transfer_bytes_on_message_in_memory": 6 * SIZE}, 6),
    ({"in_memory_bytes": 12 * SIZE}, 20),
    ({"in_memory_bytes": 12 * SIZE - 1}, 8),
    ({"in_memory_bytes": 0}, 8),
    ({"in_memory_bytes": 0, "max_transfer_bytes_on_message_in_disk": 5 * SIZE}, 5),
    ({"in_memory_bytes": 0, "max_transfer_bytes_on_message_in_disk": 5 * SIZE - 1}, 4),
    ({"in_memory_bytes": 0, "max_transfer_count_on_message_in_memory": 3}, 3),
    ({"in_memory_bytes": 17 * SIZE, "max_transfer_count_on_message_in_disk": 2}, 2),
    ({"in_memory_bytes": 18 * SIZE, "max_transfer_count_on_message_in_disk": 2}, 20),
])  # fmt: skip
def test_less_comes_from_disk_than_from_memory(
    changes: dict[str, int], expected: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept = Kept(tmp_path_factory.mktemp("store") / "s", **changes)
    kept.fill(20)
    read = kept.read(0)
    behind = (20 - (min(expected, 19))) * SIZE
    assert (read.count, read.behind_bytes) == (expected, behind)
    assert read.on_disk == (behind > changes.get("in_memory_bytes", 1 << 20))
    kept.close()


def test_what_nobody_wants_is_passed(kept: Kept) -> None:
    for number in range(9):
        kept.put(number, tag="AB"[number % 3 == 0])
    wanted = {tag: decode_tag(kept, tag) for tag in "AB"}
    read = kept.read(0, wants=lambda code: code == wanted["B"])
    assert (numbers(read.data), read.next_offset, read.count) == ([0, 3, 6], 9, 3)
    read = kept.read(1, 1, wants=lambda code: code == wanted["B"])
    assert (numbers(read.data), read.next_offset) == ([3], 4)
    read = kept.read(7, wants=lambda code: code == wanted["B"])
    assert (read.status, read.next_offset, read.count) == (ReadStatus.NO_MATCHED_MESSAGE, 9, 0)
    read = kept.read(0, wants_record=lambda record: decode_message(record).body.startswith((b"2", b"8")))
    assert (numbers(read.data), read.next_offset) == ([2, 8], 9)


def decode_tag(kept: Kept, tag: str) -> int:
    """Returns the tags code of the first message with a tag."""
    for physical, _, code in kept.storage.entries("T", 0, 0, 100):
        if decode_message(kept.storage.message_at(physical) or b"").tags == tag:
            return code
    raise AssertionError(tag)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 900)), min_size=1, max_size=25), st.integers(1, 40))
def test_whatever_lies_between_all_of_a_queue_is_read_in_order(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[int, int]], most: int
) -> None:
    kept = Kept(tmp_path_factory.mktemp("store") / "s")
    for number, (queue_id, more) in enumerate(records):
        kept.put(number, queue_id=queue_id, more=more)
    for queue_id in (0, 1):
        own, at, got = [number for number, record in enumerate(records) if record[0] == queue_id], 0, []
        while (read := kept.storage.read("T", queue_id, at, max_count=most)).count:
            assert read.count <= most and at + read.count == read.next_offset
            got += numbers(read.data)
            at = read.next_offset
        assert got == own and at == len(own) == kept.storage.max_offset("T", queue_id)
        entries = kept.storage.entries("T", queue_id, 0, 100)
        kept_records = kept.storage.reader.neighbours(entries)
        assert numbers([record for record in kept_records if record is not None]) == own
        for number, (physical, size, _) in zip(own, entries, strict=True):
            for likely in (4, size - 1, size, size + 5):
                assert numbers([kept.storage.message_at(physical, likely) or b""]) == [number]
    kept.close()


def test_only_where_a_record_begins_one_is_found(kept: Kept) -> None:
    kept.fill(2)
    end = kept.storage.log.position
    assert end == 2 * SIZE
    assert [kept.storage.message_at(at) is not None for at in (-1, 0, SIZE, end, end + 1, 1 << 40)] == [
        False, True, True, False, False, False,
    ]  # fmt: skip
    assert kept.storage.message_at(SIZE + 4) is None, "its length would go beyond the end"
    assert kept.storage.reader.neighbours([]) == []
    assert kept.storage.reader.neighbours([(0, SIZE, 0), (end, SIZE, 0)])[1] is None
    assert kept.storage.reader.neighbours([(0, SIZE, 0), (SIZE, 0, 0)])[0] is not None
    assert [len(kept.storage.entries("T", 0, at, most)) for at, most in ((0, 1), (0, 9), (1, 9), (2, 9), (-1, 9))] == [
        1, 2, 1, 0, 0,
    ]  # fmt: skip
    assert kept.storage.entries("T", 1, 0, 1) == []
    assert [kept.storage.store_time("T", 0, at) for at in (0, 1, 2)] == [START_MS, START_MS, None]
    assert kept.storage.store_time("U", 0, 0) is None


def naive(times: Sequence[int], ms: int, boundary: Boundary) -> set[int]:
    """Returns the offsets that stand for an instant: of equal times the nearest search may take any."""
    if not times:
        return {0}
    if boundary is Boundary.LOWER:
        return {next((at for at, time in enumerate(times) if time >= ms), len(times))}
    if boundary is Boundary.UPPER:
        return {max((at for at, time in enumerate(times) if time <= ms), default=0)}
    if ms in times:
        return {at for at, time in enumerate(times) if time == ms}
    earlier = [at for at, time in enumerate(times) if time < ms]
    if not earlier or len(earlier) == len(times):
        return {0} if not earlier else {len(times) - 1}
    before, after = earlier[-1], earlier[-1] + 1
    return {before if ms - times[before] <= times[after] - ms else after}


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.lists(st.sampled_from([0, 1, 2, 3, 10]), max_size=12))
def test_a_time_stands_for_the_message_that_a_plain_search_finds(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[int]
) -> None:
    kept = Kept(tmp_path_factory.mktemp("store") / "s")
    times = []
    for gap in gaps:
        kept.clock.advance(gap)
        kept.put()
        times.append(kept.clock.now_ms())
    for ms in range(START_MS - 2, kept.clock.now_ms() + 3):
        for boundary in Boundary:
            assert kept.storage.offset_by_time("T", 0, ms, boundary) in naive(times, ms, boundary)
    kept.close()


# Copies, and ids


def test_a_copy_is_the_message_with_other_properties() -> None:
    message = Message(
        topic="T", queue_id=3, queue_offset=9, physical_offset=77, size_bytes=100, flag=5, sys_flag=8,
        born_time_ms=11, born_host="192.0.2.2:1", store_time_ms=12, store_host="192.0.2.3:2", reconsume_times=4,
        prepared_transaction_offset=6, body=b"body", body_crc=0, properties={"a": "b"},
    )  # fmt: skip
    copy = copy_of(message, "x\x01y\x02")
    assert copy == Incoming(
        topic="T", queue_id=3, body=b"body", properties="x\x01y\x02", sys_flag=8, flag=5, born_ms=11,
        born_host="192.0.2.2:1", store_host="192.0.2.3:2", reconsume_times=4,
    )  # fmt: skip


@each("topic, queue_id, target", [
    ("T", "3", ("T", 3)), ("T", "0", ("T", 0)), ("T", str((1 << 31) - 1), ("T", (1 << 31) - 1)), ("T", "-1", None),
    ("T", str(1 << 31), None), ("T", "x", None), ("T", None, None), ("", "0", None), (None, "0", None),
    ("a/b", "0", None), ("SCHEDULE_TOPIC_XXXX", "0", None), ("%RETRY%G", "0", ("%RETRY%G", 0)),
])  # fmt: skip
def test_where_a_waiting_message_goes(topic: str | None, queue_id: str | None, target: tuple[str, int] | None) -> None:
    named = {name: text for name, text in (("REAL_TOPIC", topic), ("REAL_QID", queue_id)) if text is not None}
    waiting = Message(
        topic="W", queue_id=0, queue_offset=0, physical_offset=0, size_bytes=0, flag=0, sys_flag=0, born_time_ms=0,
        born_host="192.0.2.2:1", store_time_ms=0, store_host="192.0.2.3:2", reconsume_times=0,
        prepared_transaction_offset=0, body=b"", body_crc=0, properties=named,
    )  # fmt: skip
    assert target_of(waiting) == target


def test_ids_name_host_moment_and_number() -> None:
    clock = VirtualClock(START_MS)
    ids = UniqueIds(clock, "192.0.2.1")
    first, second = ids.next(), ids.next()
    clock.advance(17)
    third = ids.next()
    assert len(first) == 32 and first[:8] == "C0000201"
    assert {one[:20] for one in (first, second, third)} == {first[:20]}
    assert [int(one[28:], 16) for one in (first, second, third)] == [0, 1, 2]
    moments = [int(one[20:28], 16) for one in (first, second, third)]
    assert [moment - moments[0] for moment in moments] == [0, 0, 17]
    assert abs(moments[0] - 13 * 86_400_000 - 80_000_000) <= 14 * 3_600_000, "14 November, 22:13:20 in UTC"
