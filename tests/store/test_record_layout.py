"""Records byte by byte: what the writer makes of every width of host, of both layouts and of every limit, and what is
read back of it, against bytes that the builder packs for itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.message import Message
from mqctl.store.record_writer import (
    Incoming,
    MessageRefused,
    RecordWriter,
    StoredRecord,
    blank,
    checked_size,
    finish,
    is_blank,
    read_record,
    store_time_of,
    text_of_properties,
)
from tests.each import each
from tests.store.builder import message, property_bytes, record_bytes

HOSTS = ("192.0.2.2:40001", "[2001:db8::7]:65535")
NEXT = b"\xff" * 7
"""What follows a record in its file; it must not be taken for a part of it."""


def distinct(born: str, store: str, version: int, *, body: bytes = b"a body", topic: str | None = None) -> Message:
    """Returns a message no two of whose numbers are equal, so that none can stand for another."""
    name = topic or ("T" * 200 if version == 2 else "TopicTest")
    item = message(name, 3, body, {"TAGS": "a", "KEYS": "k1 k2"}, born_host=born, store_host=store)
    return replace(
        item, flag=5, sys_flag=0x8, queue_offset=7, physical_offset=1 << 33, born_time_ms=1_795_218_000_011,
        store_time_ms=1_795_218_000_013, reconsume_times=17, prepared_transaction_offset=1 << 35,
    )  # fmt: skip


def written(item: Message) -> bytes:
    properties = property_bytes(item.properties).decode()
    incoming = Incoming(
        topic=item.topic, queue_id=item.queue_id, body=item.body, properties=properties,
        sys_flag=item.sys_flag | 0x30,  # hosts decide, not what a client claims
        flag=item.flag, born_ms=item.born_time_ms, born_host=item.born_host, store_host=item.store_host,
        reconsume_times=item.reconsume_times, prepared_offset=item.prepared_transaction_offset,
    )  # fmt: skip
    draft = RecordWriter(long_topics=True).draft(incoming)
    data = finish(draft, item.queue_offset, item.physical_offset, item.store_time_ms)
    assert draft.size_bytes == len(data)
    return data


def expected_of(item: Message, data: bytes) -> StoredRecord:
    wide = (0x10 if item.born_host.startswith("[") else 0) | (0x20 if item.store_host.startswith("[") else 0)
    return StoredRecord(
        size_bytes=len(data), queue_id=item.queue_id, queue_offset=item.queue_offset,
        physical_offset=item.physical_offset, sys_flag=item.sys_flag & ~0x30 | wide, store_ms=item.store_time_ms,
        prepared_offset=item.prepared_transaction_offset, topic=item.topic,
        properties=property_bytes(item.properties).decode(),
    )  # fmt: skip


EVERY_WIDTH = list(product(HOSTS, HOSTS, (1, 2)))


@each("born, store, version", EVERY_WIDTH)
def test_records_of_every_width_are_written_byte_for_byte(born: str, store: str, version: int) -> None:
    for body in (b"", b"x", b"a body"):
        item = distinct(born, store, version, body=body)
        assert written(item) == record_bytes(item, version=version)


@each("born, store, version", EVERY_WIDTH)
def test_records_of_every_width_are_read_field_by_field(born: str, store: str, version: int) -> None:
    for body, topic in product((b"", b"a body"), ("T", "T" * 127, None)):
        item = distinct(born, store, version, body=body, topic=topic)
        data = record_bytes(item, version=version)
        for at in (0, 13):
            around = b"\0" * at + data + NEXT
            for limit in (at + len(data), len(around)):
                assert read_record(around, at, limit, check_crc=True) == expected_of(item, data)
                assert checked_size(memoryview(around), at, limit) == (len(data), item.physical_offset)
        assert text_of_properties(data) == property_bytes(item.properties).decode()


@each("born, store, version", EVERY_WIDTH)
def test_the_store_time_stands_in_the_first_88_bytes_of_every_record(born: str, store: str, version: int) -> None:
    item = distinct(born, store, version)
    data = record_bytes(item, version=version)
    assert [store_time_of(data[:length]) for length in (88, 89, len(data))] == [item.store_time_ms] * 3
    assert {store_time_of(data[:length]) for length in range(88)} == {None}
    assert store_time_of(data[:4] + b"\xda\xa3\x20\xa8" + data[8:]) is None


@each("born, store, version", EVERY_WIDTH)
def test_what_is_cut_or_changed_is_no_record(born: str, store: str, version: int) -> None:
    item = distinct(born, store, version)
    data = record_bytes(item, version=version)
    for limit in range(len(data)):
        assert read_record(data, 0, limit, check_crc=False) is None
        assert checked_size(memoryview(data), 0, limit) is None
    a_shorter_text = data[:-19] + b"\0\x10" + data[-17:]
    for changed in (data[:4] + b"\xcb\xd4\x31\x94" + data[8:], a_shorter_text):
        assert checked_size(memoryview(changed), 0, len(data)) is None
        assert read_record(changed, 0, len(data), check_crc=False) is None
    other_body = data.replace(b"a body", b"a bodY")
    assert read_record(other_body, 0, len(data), check_crc=True) is None
    assert checked_size(memoryview(other_body), 0, len(data)) is None
    assert read_record(other_body, 0, len(data), check_crc=False) == expected_of(item, data)


@given(
    born=st.sampled_from(HOSTS),
    store=st.sampled_from(HOSTS),
    topic=st.text("aé中", min_size=1, max_size=60),
    numbers=st.lists(st.integers(0, (1 << 31) - 1), min_size=7, max_size=7),
    body=st.binary(max_size=40),
    properties=st.dictionaries(st.text("ab中", min_size=1, max_size=3), st.text("xyé", max_size=5), max_size=3),
)
def test_any_message_is_written_as_the_builder_packs_it(
    born: str, store: str, topic: str, numbers: list[int], body: bytes, properties: dict[str, str]
) -> None:
    item = replace(
        message(topic, numbers[0], body, properties, born_host=born, store_host=store),
        flag=numbers[1], queue_offset=numbers[2], physical_offset=numbers[3], born_time_ms=numbers[4],
        reconsume_times=numbers[5], prepared_transaction_offset=numbers[6],
    )  # fmt: skip
    data = record_bytes(item, version=1 if len(topic.encode()) <= 127 else 2)
    assert written(item) == data
    assert read_record(data, 0, len(data), check_crc=True) == expected_of(item, data)
    assert store_time_of(data) == item.store_time_ms


def incoming(topic: str = "T", properties: str = "") -> Incoming:
    return Incoming(
        topic=topic, queue_id=0, body=b"", properties=properties, born_ms=1, born_host=HOSTS[0], store_host=HOSTS[0]
    )


def test_topics_and_properties_are_refused_from_their_limits_on() -> None:
    short, long = RecordWriter(), RecordWriter(long_topics=True)
    for length, magics in ((1, (1, 1)), (126, (1, 1)), (127, (1, 1)), (128, (None, 2)), (255, (None, 2))):
        for writer, version in zip((short, long), magics, strict=True):
            name = "é" * (length // 2) + "t" * (length % 2)  # bytes count, not characters
            if version is None:
                with pytest.raises(MessageRefused, match="topic name is too long"):
                    writer.draft(incoming(name))
            else:
                data = finish(writer.draft(incoming(name)), 0, 0, 0)
                assert data[4:8] == {1: b"\xda\xa3\x20\xa7", 2: b"\xda\xa3\x20\xab"}[version]
    for writer in (short, long):
        with pytest.raises(MessageRefused, match="topic name is too long"):
            writer.draft(incoming("t" * 256))
        fits = "é" * 16_383 + "p"
        assert text_of_properties(finish(writer.draft(incoming(properties=fits)), 0, 0, 0)) == fits
        with pytest.raises(MessageRefused, match="take 32,768 bytes, at most 32,767 fit"):
            writer.draft(incoming(properties=fits + "p"))
        with pytest.raises(MessageRefused, match="character 2 of its properties is half of a surrogate"):
            writer.draft(incoming(properties="ab\ud800"))


def test_the_filler_of_a_file_is_told_by_its_magic_alone() -> None:
    for left in (8, 9, 4_000):
        assert blank(left) == left.to_bytes(4, "big") + b"\xcb\xd4\x31\x94"
        assert is_blank(b"\1" + blank(left), 1)
    assert not is_blank(blank(8)[:7], 0)
    assert not is_blank(bytes(8), 0)
