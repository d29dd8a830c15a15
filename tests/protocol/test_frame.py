"""Frames: recorded bytes in both header forms, fragmentation, limits, garbage."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.protocol.codes import Language
from mqctl.protocol.frame import (
    MAX_FRAME_BYTES,
    FrameDecoder,
    FrameError,
    RemotingCommand,
    SerializeType,
    decode,
    encode,
)
from tests.each import each
from tests.protocol.conftest import RecordedFrame


def _check(frame: RecordedFrame) -> RemotingCommand:
    (command,) = FrameDecoder().feed(frame.data)
    header = frame.header
    assert command.code == header.get("code", 0), frame.name
    assert command.flag == header.get("flag", 0)
    assert command.version == header.get("version", 0)
    assert command.opaque == header["opaque"]
    assert command.remark == header.get("remark")
    assert command.serialize_type.name == frame.serialize
    assert len(command.body) == frame.body_bytes
    fields = {name: str(value) for name, value in (header.get("extFields") or {}).items() if value != ""}
    assert {name: value for name, value in (command.ext_fields or {}).items() if value != ""} == fields
    assert command.is_response is frame.is_response
    return command


def test_the_sample_is_decoded_and_encoded_to_the_same_bytes(recorded_frames: list[RecordedFrame]) -> None:
    assert len(recorded_frames) > 250
    for frame in recorded_frames:
        command = _check(frame)
        rewritten = encode(command)
        if frame.serialize == "ROCKETMQ" and "" in (frame.header.get("extFields") or {}).values():
            assert decode(rewritten) == command  # an empty value is null to Java: it is not written again
        else:
            assert rewritten == frame.data, frame.name


def test_every_recorded_frame_keeps_its_meaning(all_recorded_frames: list[RecordedFrame]) -> None:
    same = 0
    for frame in all_recorded_frames:
        command = _check(frame)
        rewritten = encode(command)
        same += rewritten == frame.data
        assert decode(rewritten).ext_fields == command.ext_fields
        assert decode(rewritten).body == command.body
    assert same > 3200


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            '0000007f0000007b{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":7,'
            '"serializeTypeCurrentRPC":"JSON","version":409}',
            RemotingCommand(code=105, opaque=7, language=Language.JAVA, ext_fields={"topic": "T"}),
        ),
        (
            "00000025010000210069000199000000070000000000000000" + "0000000c0005746f7069630000000154",
            RemotingCommand(
                code=105,
                opaque=7,
                language=Language.JAVA,
                ext_fields={"topic": "T"},
                serialize_type=SerializeType.ROCKETMQ,
            ),
        ),
    ],
)
def test_documented_frames(text: str, command: RemotingCommand) -> None:
    data = bytes.fromhex(text[:16]) + text[16:].encode() if "{" in text else bytes.fromhex(text)
    assert decode(data) == command
    assert encode(command) == data


def _json_frame(header: str, body: bytes = b"") -> bytes:
    data = header.encode()
    return struct.pack(">II", 4 + len(data) + len(body), len(data)) + data + body


def test_lenient_json_headers() -> None:
    command = decode(
        _json_frame("{code:'30',language:9,opaque:5,version:0,extFields:{queueId:0,ok:true,no:null,d:1.5}}")
    )
    assert command.code == 30
    assert command.language is Language.GO
    assert command.ext_fields == {"queueId": "0", "ok": "true", "d": "1.5"}
    numbered = decode(_json_frame('{"code":30,"extFields":{000:"0","1":"x"}}'))  # a bare key is a number
    assert decode(encode(numbered)).ext_fields == numbered.ext_fields == {"0": "0", "1": "x"}
    assert decode(_json_frame('{"language":"NOSUCH"}')).language is None


def test_names_of_fields_that_are_numbers_become_text() -> None:
    """As keys of a map of texts; such a command could be read, and not be written again."""
    command = decode(_json_frame('{code:30,extFields:{7:"a",topic:"T"}}'))
    assert command.ext_fields == {"7": "a", "topic": "T"}
    assert decode(encode(command)) == command


@each(
    "data",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 3),
        struct.pack(">i", 20 << 20),
        struct.pack(">iI", 4, 5),
        struct.pack(">iI", 4, 7 << 24),
        _json_frame("nonsense"),
        _json_frame("[]"),
        _json_frame("null"),
        _json_frame('{"code":"x"}'),
        _json_frame('{"opaque":4294967296}'),
        _json_frame('{"opaque":"1_000"}'),
        _json_frame('{"opaque":"\u0661"}'),
        _json_frame('{"opaque":" 1"}'),
        _json_frame('{"opaque":"' + "9" * 5_000 + '"}'),
        _json_frame('{"opaque":1e999}'),
        _json_frame('{"extFields":[1]}'),
        struct.pack(">iI", 8, 1 << 24 | 4) + b"\0\0\0\0",
        struct.pack(">iIhBhiii", 25, 1 << 24 | 21, 1, 0, 0, 0, 0, -5) + b"\0\0\0\0",
        struct.pack(">iIhBhiiiihb", 28, 1 << 24 | 24, 1, 0, 0, 0, 0, 0, 3, 9, 0),
    ],
)
def test_broken_streams_raise_the_declared_error_for_good(data: bytes) -> None:
    decoder = FrameDecoder()
    good = encode(RemotingCommand(code=1))
    with pytest.raises(FrameError) as caught:
        decoder.feed(good + data)
    assert [command.code for command in caught.value.frames] == [1]
    with pytest.raises(FrameError):
        decoder.feed(good)


def test_the_limit_counts_the_length_field() -> None:
    room = MAX_FRAME_BYTES - len(encode(RemotingCommand(code=1)))
    largest = encode(RemotingCommand(code=1, body=bytes(room)))
    assert len(largest) == MAX_FRAME_BYTES
    assert len(FrameDecoder().feed(largest)) == 1
    with pytest.raises(FrameError):
        encode(RemotingCommand(code=1, body=bytes(room + 1)))
    with pytest.raises(FrameError):
        FrameDecoder(max_frame_bytes=100).feed(struct.pack(">i", 97))


def test_a_code_too_large_for_the_binary_header_is_refused() -> None:
    with pytest.raises(FrameError):
        encode(RemotingCommand(code=200_050, serialize_type=SerializeType.ROCKETMQ))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
INT = st.integers(-(2**31), 2**31 - 1)
COMMANDS = st.builds(
    RemotingCommand,
    code=st.integers(-(2**15), 2**15 - 1),
    opaque=INT,
    flag=st.integers(0, 3),
    version=st.integers(0, 1000),
    language=st.sampled_from(Language),
    remark=st.none() | TEXT,
    ext_fields=st.none() | st.dictionaries(TEXT, TEXT, min_size=1, max_size=5),
    body=st.binary(max_size=64),
    serialize_type=st.sampled_from(SerializeType),
)


@settings(deadline=None)
@given(st.lists(COMMANDS, max_size=5), st.data())
def test_commands_survive_any_fragmentation(commands: list[RemotingCommand], data: st.DataObject) -> None:
    stream = b"".join(encode(command) for command in commands)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    decoder = FrameDecoder()
    received: list[RemotingCommand] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += decoder.feed(stream[start:end])
    assert received == commands
    assert decoder.pending_bytes == 0


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2), st.integers(0, 60))
def test_garbage_raises_only_the_declared_error(data: bytes, kind: int, header_bytes: int) -> None:
    frame = struct.pack(">iI", 4 + len(data), kind << 24 | header_bytes) + data
    try:
        FrameDecoder().feed(frame)
    except FrameError as error:
        assert error.reason


def test_a_field_that_can_be_read_and_not_written_again_is_no_frame() -> None:
    """Fields become text: a reference makes one endless, and a reader's thread may have no room for a deep one."""
    header = b'{"code":0,"extFields":{"a":{"$ref":"@"}}}'
    frame = (4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header
    with pytest.raises(FrameError):
        decode(frame)
