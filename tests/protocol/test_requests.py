"""Declared requests: the table, recorded headers through it, and the remarks of a real broker for bad ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.protocol.codes import (
    Language,
    RequestCode,
    ResponseCode,
    request_name,
    response_name,
    version_ordinal,
    version_text,
)
from mqctl.protocol.declared import camel_case, replaced
from mqctl.protocol.frame import SerializeType, decode, encode
from mqctl.protocol.header import HeaderValueError
from mqctl.protocol.requests import (
    REQUESTS,
    HeaderFieldError,
    Request,
    UnknownRequestError,
    describe_requests,
    read_reply,
    read_request,
)
from mqctl.protocol.requests_client import GetMaxOffset, OffsetReply, PullMessage, SendMessage, SendMessageV2
from tests.each import each
from tests.protocol.conftest import RecordedFrame

ADDED_BY_OTHERS = {"ReqT", "AccessKey", "Signature", "SecurityToken"}
NO_HANDLER = {13, 22, 23, 27, 54, 209, 214, 301, 358, 9999, 99999}


def test_recorded_headers_go_through_their_declaration_unchanged(recorded_frames: list[RecordedFrame]) -> None:
    seen = set()
    for frame in recorded_frames:
        command = decode(frame.data)
        if frame.request_code in NO_HANDLER or (command.is_response and command.code != 0):
            continue
        ext = {name: value for name, value in (command.ext_fields or {}).items() if name not in ADDED_BY_OTHERS}
        if command.is_response:
            assert read_reply(REQUESTS[frame.request_code].reply, command).to_ext() == ext, frame.name
        elif ext.get("queueId") != "abc" and not (frame.request_code == 30 and "queueId" not in ext):
            assert read_request(command).to_ext() == ext, frame.name
        seen.add(frame.request_code)
    assert len(seen) > 90


def test_the_remark_for_a_missing_number_is_that_of_a_real_broker(recorded_frames: list[RecordedFrame]) -> None:
    (recorded,) = {
        frame.header["remark"]
        for frame in recorded_frames
        if frame.request_code == 30 and frame.is_response and frame.header["code"] == 1
    }
    for ext in ({"topic": "T"}, {"topic": "T", "queueId": "abc"}, {"topic": "T", "queueId": "99999999999"}):
        with pytest.raises(HeaderFieldError) as caught:
            GetMaxOffset.from_ext(ext)
        assert recorded.startswith(f"{caught.value.remark}, ")


def test_fast_headers_fail_with_the_number_format() -> None:
    with pytest.raises(HeaderFieldError) as caught:
        PullMessage.from_ext({"queueId": "abc", "consumerGroup": "g", "topic": "t"})
    assert caught.value.remark == 'java.lang.NumberFormatException: For input string: "abc"'


@each("text", ["9" * 5_000, "\u0663", "\u00b2", "inf", "nan", " 1", "1 ", "1_0", "+-1", "--1", "1e3", "1.0"])
def test_what_is_no_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(HeaderFieldError) as caught:
        PullMessage.from_ext({"queueId": text, "consumerGroup": "g", "topic": "t"})
    assert caught.value.reason.startswith("queueId is ")


def test_signs_and_zeros_are_read_as_java_reads_them() -> None:
    read = [GetMaxOffset.from_ext({"topic": "T", "queueId": text}).queue_id for text in ("+7", "-7", "007")]
    assert read == [7, -7, 7]


def test_unknown_codes_carry_the_documented_remark() -> None:
    command = with_code(9999)
    with pytest.raises(UnknownRequestError) as caught:
        read_request(decode(command))
    assert caught.value.remark == " request type 9999 not supported"


def with_code(code: int) -> bytes:
    frame = encode(GetMaxOffset(topic="T", queue_id=0).command(opaque=1))
    return encode(replace(decode(frame), code=code))


def test_short_names_are_those_of_v2() -> None:
    fields: dict[str, Any] = {
        "producer_group": "g", "topic": "T", "default_topic": "TBW102", "default_topic_queue_nums": 4, "queue_id": 1,
        "sys_flag": 0, "born_timestamp": 5, "flag": 0, "properties": "TAGS\x01A", "reconsume_times": 0,
        "unit_mode": False, "max_reconsume_times": None, "batch": True, "bname": "b-a",
    }  # fmt: skip
    assert "".join(sorted(SendMessageV2(**fields).to_ext())) == "abcdefghijkmn"
    assert SendMessage(**fields).to_ext()["defaultTopicQueueNums"] == "4"
    assert SendMessageV2.from_ext(SendMessageV2(**fields).to_ext()) == SendMessageV2(**fields)


def test_a_second_declaration_of_a_code_fails_at_import() -> None:
    with pytest.raises(TypeError, match="both declare request code 30"):

        class Again(Request, code=RequestCode.GET_MAX_OFFSET):
            """Declares a code that is taken."""


def test_declared_values_are_frozen_and_complete() -> None:
    value = OffsetReply(offset=5)
    with pytest.raises(AttributeError):
        value.offset = 6  # type: ignore[misc]
    with pytest.raises(TypeError, match="offset"):
        OffsetReply()  # type: ignore[call-arg]
    assert replaced(value, offset=6) == OffsetReply(offset=6)
    assert hash(value) == hash(OffsetReply(offset=5))
    assert repr(value) == "OffsetReply(offset=5)"


def test_every_declaration_is_well_formed() -> None:
    assert len(REQUESTS) > 120
    for code, kind in REQUESTS.items():
        assert kind.code == code
        assert kind.__doc__
        for item in (*kind.fields(), *kind.reply.fields()):
            assert item.kind in {"str", "bool", "float", "Int32", "Int64"}, (kind, item.name)
        wires = [item.short if kind._short else item.wire for item in kind.fields()]
        assert len(set(wires)) == len(wires)
    lines = list(describe_requests())
    assert lines[1].startswith("11 PULL_MESSAGE since 4.0: consumerGroup, topic, queueId, queueOffset")
    assert len(lines) == len(REQUESTS)


@settings(deadline=None)
@given(st.integers(-(2**31), 2**31 - 1), st.sampled_from(SerializeType), st.text(max_size=20))
def test_requests_survive_the_wire(queue_id: int, serialize_type: SerializeType, topic: str) -> None:
    topic = topic.encode("utf-8", "replace").decode() or "T"
    request = GetMaxOffset(topic=topic, queue_id=queue_id)
    frame = encode(request.command(opaque=3, serialize_type=serialize_type, language=Language.JAVA))
    assert read_request(decode(frame)) == request


def test_names_and_versions() -> None:
    assert camel_case("tran_state_table_offset") == "tranStateTableOffset"
    assert request_name(310) == "SEND_MESSAGE_V2"
    assert request_name(9999) == "9999"
    assert response_name(209, version=409) == "UPDATE_AND_CREATE_ACL_CONFIG_FAILED"
    assert response_name(209, version=479) == "POLLING_FULL"
    assert ResponseCode(19).name == "PULL_NOT_FOUND"
    known = {"4.0.0": 213, "4.3.0": 273, "4.5.2": 317, "4.7.1": 355, "4.9.4": 401, "4.9.8": 409, "5.0.0": 413}
    known |= {"5.1.0": 433, "5.3.1": 475, "5.3.3": 479}
    for release, ordinal in known.items():
        assert version_ordinal(release) == ordinal
        assert version_text(ordinal) == release
    assert version_text(232) == "4.1.0-SNAPSHOT"
    assert version_text(62) == "3.x"


@pytest.mark.parametrize(
    "request_",
    [GetMaxOffset(topic="T", queue_id=1 << 31), GetMaxOffset(topic="\udcff", queue_id=0)],
    ids=["too large", "no UTF-8"],
)
def test_what_would_be_read_as_something_else_is_not_sent(request_: Request) -> None:
    with pytest.raises(HeaderValueError, match=r"GetMaxOffset cannot be sent: (queueId|topic)"):
        request_.command(opaque=1)
