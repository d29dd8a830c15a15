"""The lane walker and the header gather against the plain loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.store import walk as walking
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Stop, headers
from mqctl.store.walk import walk
from tests.each import each
from tests.store.builder import StoreBuilder, message, record_bytes
from tests.store.reference_loop import loop

STORES = [
    ("store-clean", 352, 81_945),
    ("store-killed", 1_207, 231_215),
    ("store-killed-recovered-clean", 1_240, 240_937),
    ("store-rolled-clean", 3_000, 3_670_758),
    ("store-5.3.3", 371, 119_331),
]


@each("name, records, end", STORES)
def test_walk_equals_the_loop_on_recorded_stores(
    golden_store: Callable[[str], Path], name: str, records: int, end: int
) -> None:
    log = StoreDirectory.open(golden_store(name)).commit_log
    total = 0
    for file in log.files:
        walked = log.walk(file)
        assert walked.positions.tolist() == loop(file.buffer.data, file.start, file.size_bytes - 8)
        total += len(walked.positions)
    assert (total, log.max_offset) == (records, end)


@each("name", [name for name, _, _ in STORES])
def test_headers_equal_the_decoded_records(golden_store: Callable[[str], Path], name: str) -> None:
    log = StoreDirectory.open(golden_store(name)).commit_log
    for file in log.files:
        positions = log.walk(file).positions
        columns = headers(file.buffer, positions)
        for row, position in enumerate(positions.tolist()):
            record = decode_message(file.buffer.data, position)
            seen = (
                columns.total_size[row], columns.body_crc[row], columns.queue_id[row], columns.queue_offset[row],
                columns.physical_offset[row], columns.sys_flag[row], columns.born_time_ms[row],
                columns.store_time_ms[row], columns.reconsume_times[row], columns.prepared_offset[row],
                columns.body_size[row],
            )  # fmt: skip
            assert seen == (
                record.size_bytes, record.body_crc, record.queue_id, record.queue_offset, record.physical_offset,
                record.sys_flag, record.born_time_ms, record.store_time_ms, record.reconsume_times,
                record.prepared_transaction_offset, len(record.body),
            )  # fmt: skip
            topic = file.buffer[columns.topic_start[row] :][: columns.topic_size[row]].tobytes()
            assert topic.decode() == record.topic


HOSTS = st.sampled_from(["10.1.2.3:10911", "[2001:db8::7]:65535"])
MESSAGES = st.builds(
    message,
    topic=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20),
    queue_id=st.integers(0, 3),
    body=st.binary(max_size=300),
    properties=st.dictionaries(
        st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "a", "XTAGS", "KEYSX"]),
        st.text("ab \u4e2d", min_size=1, max_size=9),
    ),
    born_host=HOSTS,
    store_host=HOSTS,
)
LOGS = st.lists(st.tuples(MESSAGES, st.sampled_from([1, 2])), max_size=25)


@settings(max_examples=60, deadline=None)
@given(items=LOGS, cut=st.integers(0, 1 << 13), junk=st.binary(max_size=40), flip=st.none() | st.integers(0, 1 << 13))
def test_walk_equals_the_loop_on_made_stores(
    items: list[tuple[object, int]], cut: int, junk: bytes, flip: int | None
) -> None:
    built = StoreBuilder(commit_log_file_bytes=1 << 20, log_start=1 << 20)
    for item, version in items:
        built.append(item, version=version)  # type: ignore[arg-type]
    data = bytearray(built.log)
    if data:
        del data[len(data) - cut % (len(data) + 1) :]
    data += junk
    if flip is not None and data:
        data[flip % len(data)] ^= 0x5A
    data += bytes(64)
    buffer = np.frombuffer(bytes(data), dtype=np.uint8)
    lanes, walking.LANE_BYTES = walking.LANE_BYTES, 512
    try:
        records = walk(buffer, 1 << 20)
    finally:
        walking.LANE_BYTES = lanes
    expected = loop(bytes(data), 1 << 20, len(data))
    assert records.positions.tolist() == expected
    for position in expected:
        record = decode_message(buffer.data, position)
        assert record.physical_offset == (1 << 20) + position


def test_a_record_inside_a_body_is_not_taken_for_a_record() -> None:
    built = StoreBuilder(commit_log_file_bytes=1 << 20)
    inner = record_bytes(message(body=b"inner" * 30))
    for _ in range(200):
        built.append(message(body=inner * 5))
    # One that even claims the right physical offset: only the joint of the pieces gives it away.
    place = built.end + 88
    for shift in range(0, 4_000, 500):
        forged = record_bytes(message(body=b"f" * 300))
        forged = forged[:28] + (place + shift).to_bytes(8, "big") + forged[36:]
        built.append(message(body=bytes(shift) + forged + bytes(100)))
        place = built.end + 88
    buffer = np.frombuffer(bytes(built.log) + bytes(100), dtype=np.uint8)
    lanes, walking.LANE_BYTES = walking.LANE_BYTES, 256
    try:
        records = walk(buffer, 0)
    finally:
        walking.LANE_BYTES = lanes
    assert records.positions.tolist() == [item.physical_offset for item in built.messages]


def test_the_walk_names_why_it_stopped() -> None:
    built = StoreBuilder(commit_log_file_bytes=4_096)
    for _ in range(50):
        built.append(message(body=b"x" * 200))
    first = np.frombuffer(bytes(built.log[:4_096]), dtype=np.uint8)
    tail = walk(first, 0, capacity=4_096).tail
    assert (tail.stop, tail.size) == (Stop.BLANK, 4_096 - tail.position)
    last = bytes(built.log[-(len(built.log) % 4_096) :])
    start = built.end - len(last)
    cases = {
        Stop.UNWRITTEN: last + bytes(100),
        Stop.END: last,
        Stop.BAD_MAGIC: last + b"\1" * 100,
        Stop.TORN: last + last[:50],
        Stop.FOREIGN: last + last,
        Stop.LENGTH_MISMATCH: _longer_topic(last),
    }
    for stop, data in cases.items():
        records = walk(np.frombuffer(data, dtype=np.uint8), start)
        assert records.tail.stop is stop, stop


def _longer_topic(data: bytes) -> bytes:
    at = data.rindex(b"\x09TopicTest")
    return data[:at] + b"\x08" + data[at + 1 :]


def test_torn_bytes_are_refused_by_the_decoder() -> None:
    data = record_bytes(message(properties={"TAGS": "A"}))
    for length in range(len(data)):
        with pytest.raises(RecordError):
            decode_message(memoryview(data)[:length])
