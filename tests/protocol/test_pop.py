"""POP on the wire and in the store: everything recorded from 5.3.3 is read, and written to the same bytes."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.errors import BadInputError
from mqctl.model.names import pop_retry_topic, popped_topic
from mqctl.protocol.bodies import body_type
from mqctl.protocol.bodies_pop import (
    ACK_TAG,
    BATCH_ACK_TAG,
    CK_TAG,
    MOST_BITS,
    AckRecord,
    BatchAck,
    BatchAcks,
    MessageRequestModes,
    OrderInfos,
    PopCheckPoint,
    bit_set,
)
from mqctl.protocol.body import BodyError
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.receipts import (
    Receipt,
    ReceiptError,
    msg_offset_info,
    read_msg_offsets,
    read_order_counts,
    read_start_offsets,
    real_topic,
    retry_flag,
    start_offset_info,
)
from mqctl.protocol.requests import REQUESTS, read_reply, read_request
from mqctl.protocol.requests_pop import PopMessageReply
from tests.pop_recording import PopFrame, recorded_pop_frames, records_of_recorded_store

POP_CODES = {200050, 200051, 200052, 200053, 200054, 200055, 200056, 200151, 400, 401, 402}


@pytest.fixture(scope="module")
def frames() -> list[PopFrame]:
    return [frame for frame in recorded_pop_frames() if frame.request_code in POP_CODES]


def test_headers_go_through_their_declarations_unchanged(frames: list[PopFrame]) -> None:
    seen = set()
    for frame in frames:
        ext = frame.command.ext_fields or {}
        if frame.command.is_response:
            reply = read_reply(REQUESTS[frame.request_code].reply, frame.command)
            assert reply.to_ext() == ext or frame.command.code not in (0, 209, 210), frame
        else:
            written = read_request(frame.command).to_ext()
            assert ext.items() <= written.items(), frame
            assert all(value in ("0", "false") for name, value in written.items() if name not in ext), frame
        seen.add(frame.request_code)
    assert seen == POP_CODES


def test_bodies_are_written_to_the_same_bytes(frames: list[PopFrame]) -> None:
    same = 0
    for frame in frames:
        declared = REQUESTS[frame.request_code]
        kind = body_type(declared.reply_body if frame.command.is_response else declared.body)
        by_hand = not frame.command.is_response and (frame.request_code == 401 or not frame.session.startswith("java"))
        if kind is not None and frame.command.body:
            written = kind.from_bytes(frame.command.body).to_bytes()
            assert by_hand or written == frame.command.body, frame
            same += not by_hand
    assert same > 25


def test_every_form_of_a_batch_of_acks(frames: list[PopFrame]) -> None:
    batches = [
        [
            (ack.consumer_group, ack.queue_id, ack.offsets(0, 2**62))
            for ack in BatchAcks.from_bytes(frame.command.body).acks
        ]
        for frame in frames
        if frame.request_code == 200151 and frame.command.body
    ]
    assert batches == [
        [("GA", 0, [0]), ("GA", 2, [1]), ("GA", 3, [0])],
        [],
        [("GF", 0, [1, 2, 3])],
        [("GB64", 0, [0, 1, 2, 3])],
        [("GB65", 0, [0])],
    ]
    assert bit_set([0, 1, 2, 3]) == "Dw=="
    with pytest.raises(BodyError):
        BatchAcks.from_bytes(b'{"acks":[{"c":"G","t":"T","so":0,"q":0,"rq":1,"pt":1,"it":1,"b":7}]}').acks[0].offsets(
            0, 9
        )


@given(
    st.sets(st.integers(0, 70), max_size=40),
    st.integers(-5, 80),
    st.integers(-80, 80),
    st.integers(-80, 90),
    st.booleans(),
)
def test_acknowledged_offsets_are_those_of_the_queue(
    numbers: set[int], start: int, low: int, high: int, as_list: bool
) -> None:
    bits: object = bit_set(numbers)
    if as_list:
        bits = list(b64decode(str(bits)))
    ack = BatchAck(
        bits=bits,
        consumer_group="G",
        invisible_ms=1,
        pop_ms=1,
        queue_id=0,
        revive_queue=0,
        start_offset=start,
        topic="T",
    )
    assert ack.offsets(low, high) == sorted(start + one for one in numbers if low <= start + one <= high)


def test_bits_that_no_pop_reaches_do_not_count() -> None:
    for bits in (b64encode(b"\xff" * MOST_BITS).decode(), [-1] * MOST_BITS):
        acks = BatchAcks.from_json(
            {"acks": [{"c": "G", "t": "T", "so": 7, "q": 0, "rq": 1, "pt": 1, "it": 1, "b": bits}]}
        )
        assert acks.acks[0].offsets(0, 2**62) == list(range(7, 7 + MOST_BITS))


def test_offsets_of_answers_are_read_and_written_and_fit_their_messages(frames: list[PopFrame]) -> None:
    popped = 0
    for frame in frames:
        if frame.request_code != 200050 or not frame.command.is_response:
            continue
        reply = read_reply(PopMessageReply, frame.command)
        starts, offsets = read_start_offsets(reply.start_offset_info), read_msg_offsets(reply.msg_offset_info)
        assert start_offset_info(starts) == (reply.start_offset_info or "")
        assert msg_offset_info(offsets) == (reply.msg_offset_info or "")
        assert starts.keys() == offsets.keys()
        places = sorted((message.queue_id, message.queue_offset) for message in decode_messages(frame.command.body))
        assert places == sorted((queue, offset) for (_, queue), own in offsets.items() for offset in own)
        popped += len(places)
    assert popped > 100
    assert read_order_counts("0 qo0%1 2;0 qo0%3 1;0 0 0") == {(0, 1): 2, (0, 3): 1}
    for text in ("0 0", "0 x 1", "0 0 1,y"):
        with pytest.raises(BadInputError):
            read_start_offsets(text)


def test_receipt_handles(frames: list[PopFrame]) -> None:
    refused = {}
    for frame in frames:
        text = (frame.command.ext_fields or {}).get("extraInfo")
        if frame.request_code in (200051, 200053) and not frame.command.is_response:
            try:
                assert f"{text} ".startswith(f"{Receipt.parse(text)} "), "proxies add a part"
            except ReceiptError as error:
                refused[frame.seq] = error.remark
    answers = {frame.request_seq: frame.command.remark for frame in frames if frame.command.is_response}
    assert len(refused) == 3
    assert all(answers[seq] == remark for seq, remark in refused.items())
    nine = Receipt.parse("0 1795340241247 15000 999 2 broker-a 1 4 77")
    assert (nine.ordered, nine.retry, nine.queue_id, nine.offset) == (True, "2", 1, 4)
    assert Receipt.parse("0 1 2 3 0 b").offset is None


def test_names_of_retry_topics() -> None:
    assert pop_retry_topic("G", "T") == "%RETRY%G_T"
    assert pop_retry_topic("G", "T", v2=True) == "%RETRY%G+T"
    for v2, flag in ((False, "1"), (True, "2")):
        topic = pop_retry_topic("G_H", "T", v2=v2)
        assert (popped_topic(topic, "G_H"), retry_flag(topic, "G_H")) == ("T", flag)
        assert real_topic("T", "G_H", flag) == topic
    assert (popped_topic("%RETRY%G", "G"), retry_flag("T", "G"), real_topic("T", "G", "0")) == ("%RETRY%G", "0", "T")


def test_records_of_a_store_are_written_to_the_same_bytes_and_find_each_other() -> None:
    checkpoints, acks = {}, set()
    for message in records_of_recorded_store():
        if message.tags == CK_TAG:
            checkpoint = PopCheckPoint.from_bytes(message.body)
            assert checkpoint.to_bytes() == message.body
            assert checkpoint.unique_key == message.properties["UNIQ_KEY"]
            assert checkpoint.due_ms == checkpoint.revive_ms
            checkpoints[checkpoint.merge_key] = checkpoint
        elif message.tags in (ACK_TAG, BATCH_ACK_TAG):
            ack = AckRecord.from_bytes(message.body)
            assert ack.to_bytes() == message.body
            assert (ack.unique_key, ack.tag) == (message.properties["UNIQ_KEY"], message.tags)
            acks.add((ack.merge_key("broker-a"), ack.offsets))
    assert len(checkpoints) == 9
    assert all(set(offsets) <= set(checkpoints[key].offsets) for key, offsets in acks)
    old = PopCheckPoint.from_bytes(b'{"c":"G","it":5,"n":3,"pt":7,"q":0,"so":4,"t":"T"}')
    assert (old.offsets, old.due_ms) == ((4, 5, 6), 12)


def test_configuration_files_are_read() -> None:
    text = b'{"table":{"T@G":{0:{"a":"at","cm":1,"i":6000,"l":9,"o":[1,1,2],"oc":{1:1},"ot":{2:50},"popTime":100}}}}'
    infos = OrderInfos.from_bytes(text)
    assert infos.to_bytes() == text
    assert infos.table["T@G"][0].offsets == (1, 2, 3)
    assert infos.table["T@G"][0].unacked() == [(2, 50), (3, 6100)]
    modes = MessageRequestModes.from_bytes(
        b'{"messageRequestModeMap":{"T":{"G":{"consumerGroup":"G","mode":"POP","popShareQueueNum":8,"topic":"T"}}}}'
    )
    assert [(mode.topic, mode.consumer_group, mode.mode, mode.pop_share_queue_num) for mode in modes] == [
        ("T", "G", "POP", 8)
    ]
