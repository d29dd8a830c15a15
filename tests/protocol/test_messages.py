"""Records, batches, properties, ids, compression and signatures."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.model.message import Message
from mqctl.protocol.acl import Credentials, sign, signature, signature_matches, signed_content
from mqctl.protocol.compression import Compression, CompressionError, compress, decompress
from mqctl.protocol.frame import RemotingCommand, decode
from mqctl.protocol.message_batch import BatchElement, decode_batch, encode_batch
from mqctl.protocol.message_id import MessageIdError, OffsetId, UniqueId
from mqctl.protocol.message_record import (
    MAGIC_V1,
    MAGIC_V2,
    RecordError,
    body_crc,
    decode_message,
    decode_messages,
    encode_message,
)
from mqctl.protocol.properties import format_properties, format_settings, parse_properties, parse_settings
from tests.each import each
from tests.protocol.conftest import RecordedFrame

DOCUMENTED = bytes.fromhex(
    "00000064daa320a70000000000000001000000000000000000000002000000000000000300000000000000000000000401020304"
    "000000050000000000000005060708090000000a00000000000000000000000000000002686901540006544147530141"
)
MESSAGE = Message(
    topic="T", queue_id=1, queue_offset=2, physical_offset=3, size_bytes=100, flag=0, sys_flag=0, born_time_ms=4,
    born_host="1.2.3.4:5", store_time_ms=5, store_host="6.7.8.9:10", reconsume_times=0, prepared_transaction_offset=0,
    body_crc=0, body=b"hi", properties={"TAGS": "A"},
)  # fmt: skip


def test_the_documented_record() -> None:
    assert decode_messages(DOCUMENTED) == [MESSAGE]
    assert encode_message(MESSAGE) == DOCUMENTED
    assert decode_messages(DOCUMENTED * 3) == [MESSAGE] * 3


def test_recorded_records_carry_the_crc_of_their_body(recorded_frames: list[RecordedFrame]) -> None:
    count = 0
    for frame in recorded_frames:
        command = decode(frame.data)
        if (
            frame.request_code in {11, 12, 33, 309, 39, 361}
            and command.body
            and frame.is_response != (frame.request_code in {309, 39})
        ):
            for message in decode_messages(command.body):
                assert message.body_crc == body_crc(message.body)
                assert message.unique_key is None or UniqueId.parse(message.unique_key).counter >= 0
                count += 1
    assert count > 5


@each("cut", range(0, len(DOCUMENTED), 7))
def test_torn_records_raise_the_declared_error(cut: int) -> None:
    if cut:
        with pytest.raises(RecordError):
            decode_messages(DOCUMENTED[:cut])
    with pytest.raises(RecordError):
        decode_message(DOCUMENTED[:4] + bytes(4) + DOCUMENTED[8:])


def test_a_size_that_contradicts_the_parts_is_refused() -> None:
    with pytest.raises(RecordError, match="its size says 101"):
        decode_message(b"\0\0\0\x65" + DOCUMENTED[4:] + b"\0")


def test_long_topics_need_the_second_layout() -> None:
    long = replace(MESSAGE, topic="T" * 200, born_host="[::1]:5", store_host="[2001:db8::1]:6")
    with pytest.raises(RecordError):
        encode_message(long)
    decoded = decode_message(encode_message(long, magic=MAGIC_V2, trailing_separator=True))
    assert decoded.topic == long.topic
    assert decoded.sys_flag == 0x30
    assert (decoded.born_host, decoded.store_host) == ("[::1]:5", "[2001:db8::1]:6")
    with pytest.raises(RecordError):
        encode_message(replace(MESSAGE, born_host="somewhere"))


TEXT = st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=10)
HOSTS = st.ip_addresses(v=4).map(lambda ip: f"{ip}:9876") | st.ip_addresses(v=6).map(lambda ip: f"[{ip}]:1")
LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)
FIELDS: dict[str, Any] = {
    "topic": st.text("abc%_-", min_size=1, max_size=127),
    "queue_id": INT, "queue_offset": LONG, "physical_offset": LONG,
    "size_bytes": st.just(0), "flag": INT, "sys_flag": st.just(0), "born_time_ms": LONG, "born_host": HOSTS,
    "store_time_ms": LONG, "store_host": HOSTS, "reconsume_times": INT, "prepared_transaction_offset": LONG,
    "body_crc": INT.filter(lambda n: n >= 0), "body": st.binary(max_size=50),
    "properties": st.dictionaries(TEXT, TEXT, max_size=4),
}  # fmt: skip


@settings(deadline=None)
@given(st.builds(Message, **FIELDS), st.sampled_from([MAGIC_V1, MAGIC_V2]), st.booleans())
def test_records_round_trip(message: Message, magic: int, trailing: bool) -> None:
    data = encode_message(message, magic=magic, trailing_separator=trailing)
    decoded = decode_message(data)
    for name in FIELDS.keys() - {"size_bytes", "sys_flag"}:
        assert getattr(decoded, name) == getattr(message, name)
    assert decoded.size_bytes == len(data)


@settings(deadline=None)
@given(st.binary(max_size=150))
def test_garbage_is_no_record(data: bytes) -> None:
    for read in (decode_messages, decode_batch):
        try:
            read(data)
        except RecordError as error:
            assert error.reason


BATCH = bytes.fromhex(
    "0000002b0000000000000000000000000000000268690013574149540174727565025441475301546167410000002100000000000000000000"
    "000000000002796f0009574149540174727565"
)


def test_the_documented_batch() -> None:
    elements = [BatchElement(b"hi", "WAIT\x01true\x02TAGS\x01TagA"), BatchElement(b"yo", "WAIT\x01true")]
    assert decode_batch(BATCH) == elements
    assert encode_batch(elements) == BATCH
    with pytest.raises(RecordError):
        decode_batch(BATCH[:-1])
    with pytest.raises(RecordError):
        encode_batch([BatchElement(b"", "x" * 40_000)])


def test_properties_follow_the_brokers_rules() -> None:
    assert parse_properties("a\x01b\x02") == {"a": "b"}
    assert parse_properties("\x01b\x02a\x01\x02ab\x02c\x01d\x01e\x02c\x01f") == {"c": "f"}
    assert format_properties({"a": "b", "c": "d"}) == "a\x01b\x02c\x01d"
    assert format_properties({"a": "b"}, trailing_separator=True) == "a\x01b\x02"
    assert format_properties({}, trailing_separator=True) == ""


def test_settings_are_java_properties() -> None:
    text = b"# note\n! note\n a = b c \nlist=1,\\\n   2\npath=C\\:\\\\x\nkey\\ x: \\u4e2d\nempty\n\n"
    assert parse_settings(text) == {"a": "b c ", "list": "1,2", "path": "C:\\x", "key x": "中", "empty": ""}
    assert parse_settings(b"a=\xe9") == {"a": "é"}
    assert format_settings({"a": "b", "c": "d=e"}) == b"a=b\nc=d=e\n"


def test_message_ids() -> None:
    text = "0A00000100002A9F0000000000001000"
    assert OffsetId.parse(text) == OffsetId("10.0.0.1:10911", 4096)
    assert str(OffsetId("10.0.0.1:10911", 4096)) == text
    wide = OffsetId("[2001:db8::1]:10911", 1 << 40)
    assert len(str(wide)) == 56
    assert OffsetId.parse(str(wide)) == wide
    unique = UniqueId("192.0.2.2", 0x1234, 0x0B2766E1, 123_456_789, 0xFFFF)
    assert str(unique) == "C000020212340B2766E1075BCD15FFFF"
    assert UniqueId.parse(str(unique)) == unique
    for bad in ("", "0A", "Z" * 32, text + "00", "0000000000000000 00000000 000000"):
        with pytest.raises(MessageIdError):
            OffsetId.parse(bad)
    with pytest.raises(MessageIdError):
        str(UniqueId("here", 0, 0, 0, 0))


@each("kind", list(Compression))
def test_every_compression_round_trips_and_is_bounded(kind: Compression) -> None:
    body = b"hello world " * 500
    packed, bits = compress(body, kind)
    assert bits == 1 | kind
    assert len(packed) < len(body)
    assert decompress(packed, bits) == body
    with pytest.raises(CompressionError, match="larger"):
        decompress(packed, bits, max_bytes=1000)
    with pytest.raises(CompressionError):
        decompress(b"nothing of the kind", bits)
    assert decompress(packed, bits & ~1) == packed


def test_compression_as_clients_write_it() -> None:
    assert compress(b"x" * 100)[0] == zlib.compress(b"x" * 100, 5)
    assert decompress(zlib.compress(b"x"), 0x1) == b"x"
    with pytest.raises(CompressionError, match="0x400"):
        decompress(b"", 0x401)
    with pytest.raises(CompressionError, match="cut off"):
        decompress(zlib.compress(b"x" * 1000)[:-4], 0x301)


@pytest.mark.parametrize(
    ("ext", "body", "secret", "content", "expected"),
    [
        (
            {"topic": "TopicTest", "AccessKey": "rocketmq2", "SecurityToken": "tok"},
            b"abc",
            "12345678",
            b"rocketmq2tokTopicTestabc",
            "ZjFquA+bcFr1lUC7TIOYN5M9Bwc=",
        ),
        ({"AccessKey": "ak1234"}, b"{}", "secret1", b"ak1234{}", "OSWQfjMZGpBFRy4wyDxbEYyceFg="),
    ],
)
def test_signature_vectors(ext: dict[str, str], body: bytes, secret: str, content: bytes, expected: str) -> None:
    assert signed_content(ext, body) == content
    assert signature(content, secret) == expected
    token = ext.get("SecurityToken")
    plain = {name: value for name, value in ext.items() if name == "topic"}
    signed = sign(RemotingCommand(code=1, ext_fields=plain, body=body), Credentials(ext["AccessKey"], secret, token))
    assert signed.ext("Signature") == expected
    assert signature_matches(signed, secret)
    assert not signature_matches(signed, "another")


def test_the_unique_key_flag_may_be_left_out_of_a_signature() -> None:
    signed = sign(RemotingCommand(code=12, ext_fields={"topic": "T"}), Credentials("ak1234", "secret1"))
    ext = {**(signed.ext_fields or {}), "_UNIQUE_KEY_QUERY": "true"}
    assert signature_matches(RemotingCommand(code=12, ext_fields=ext), "secret1")
    assert "secret" not in repr(Credentials("ak1234", "secret1"))


def test_recorded_signatures_are_right(recorded_frames: list[RecordedFrame]) -> None:
    signed = [frame for frame in recorded_frames if "Signature" in (frame.header.get("extFields") or {})]
    assert signed
    wrong = [frame.name for frame in signed if not signature_matches(decode(frame.data), "12345678")]
    assert not wrong
