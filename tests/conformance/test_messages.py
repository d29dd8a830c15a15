from __future__ import annotations

import pytest

from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand, SerializeType, encode
from mqctl.protocol.message_batch import BatchElement, encode_batch
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_message, decode_messages
from mqctl.protocol.requests_admin import QueryMessage, ViewMessage
from mqctl.protocol.requests_client import (
    ConsumerSendMsgBack,
    GetEarliestMsgStoretime,
    GetMaxOffset,
    GetMinOffset,
    PullMessageReply,
    SearchOffset,
    SendBatchMessage,
    SendMessage,
    SendMessageReply,
    SendMessageV2,
    SendReplyMessage,
    SendReplyMessageV2,
)
from tests.conformance.conftest import Site, eventually, pulled, put
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer


@pytest.mark.parametrize("serialize_type", list(SerializeType))
def test_a_message_survives_the_journey(site: Site, topic: str, group: str, serialize_type: SerializeType) -> None:
    with Peer(site.broker, serialize_type=serialize_type, version=site.version) as peer:
        properties = {"KEYS": "k1 k2", "TAGS": "TagA", "UNIQ_KEY": "7F000001000000000000000000000001", "名": "值"}
        sent = put(peer, send(topic, queue_id=1, properties=properties), "héllo".encode())
        reply = SendMessageReply.from_ext(sent.ext_fields)
        assert (sent.code, reply.queue_id, reply.queue_offset) == (0, 1, 0)
        answer = peer.call(pull(topic, 0, queue_id=1, group=group))
        (message,) = decode_messages(answer.body)
        assert (message.topic, message.queue_id, message.queue_offset) == (topic, 1, 0)
        assert message.body.decode() == "héllo"
        assert {name: message.properties[name] for name in properties} == properties
        added = {name: message.properties.get(name) for name in ("WAIT", "MSG_REGION", "TRACE_ON")}
        stored = {"WAIT": "true", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
        assert added == (stored if site.is_v5 else dict.fromkeys(stored)), "4.9 drops WAIT and adds the cluster only"
        assert message.properties["CLUSTER"] == site.cluster
        where = PullMessageReply.from_ext(answer.ext_fields)
        assert (answer.remark, where.next_begin_offset, where.min_offset, where.max_offset) == ("FOUND", 1, 0, 1)
        viewed = peer.call(ViewMessage(offset=OffsetId.parse(reply.msg_id).physical_offset, topic=topic))
        assert decode_message(viewed.body) == message


@pytest.mark.parametrize("kind", [SendMessage, SendMessageV2, SendBatchMessage, SendReplyMessage, SendReplyMessageV2])
@pytest.mark.parametrize("batch", [False, True])
def test_what_has_no_body_is_refused_but_for_a_single_message_by_4x(
    site: Site, broker: Peer, topic: str, kind: type[SendMessage], batch: bool
) -> None:
    like = send(topic, properties={"REPLY_TO_CLIENT": "nobody"}, batch=batch)
    answer = broker.call(kind(**vars(like)))
    reply, null = kind in (SendReplyMessage, SendReplyMessageV2), answer.remark or ""
    if site.is_v5:
        assert answer.code == ResponseCode.SYSTEM_ERROR and not answer.ext_fields
        assert null.startswith("java.lang.NullPointerException: ") and "AbstractSendMessageProcessor" in null
    elif reply:
        assert answer.remark == "push reply message fail, channel of <nobody> not found."
    elif batch:
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert null.startswith("java.lang.NullPointerException: ") and "checkMessages" in null
    else:
        assert answer.code == 0 and pulled(broker, pull(topic, 0)).code == 0


def test_a_message_is_found_by_its_key_and_its_unique_key(broker: Peer, topic: str) -> None:
    unique = "7F0000010000000000000000000000AB"
    put(broker, send(topic, properties={"KEYS": "order-1", "UNIQ_KEY": unique}), b"x")

    def bodies(key: str, *, by_unique_key: bool) -> list[bytes]:
        request = QueryMessage(
            topic=topic, key=key, max_num=10, begin_timestamp=0, end_timestamp=1 << 62, unique_key_query=by_unique_key
        )
        answer = broker.call(request)
        return [message.body for message in decode_messages(answer.body)] if answer.code == 0 else []

    eventually(lambda: bodies("order-1", by_unique_key=False) == [b"x"])
    eventually(lambda: bodies(unique, by_unique_key=True) == [b"x"])
    assert bodies("none", by_unique_key=False) == []


def test_a_batch_is_split(broker: Peer, topic: str, group: str) -> None:
    elements = [BatchElement(f"m{number}".encode(), f"UNIQ_KEY\x01KEY{number}") for number in range(3)]
    answer = put(broker, send(topic, batch=True), encode_batch(elements))
    assert answer.code == 0
    messages = decode_messages(broker.call(pull(topic, 0, group=group)).body)
    assert [(message.body, message.properties["UNIQ_KEY"]) for message in messages] == [
        (b"m0", "KEY0"), (b"m1", "KEY1"), (b"m2", "KEY2"),
    ]  # fmt: skip
    ids = [OffsetId.parse(text).physical_offset for text in (answer.ext("msgId") or "").split(",")]
    assert ids == [message.physical_offset for message in messages]


def test_a_oneway_send_is_stored(broker: Peer, topic: str) -> None:
    broker.post(send(topic), b"x", oneway=True)
    eventually(lambda: broker.call(GetMaxOffset(topic=topic, queue_id=0)).ext("offset") == "1")


def test_tags_are_filtered_by_the_broker(broker: Peer, topic: str, group: str) -> None:
    for tag in ("A", "B", "A", "C"):
        put(broker, send(topic, properties={"TAGS": tag}), tag.encode())
    answer = broker.call(pull(topic, 0, subscription="A || C", group=group))
    assert [message.body for message in decode_messages(answer.body)] == [b"A", b"A", b"C"]
    nothing = broker.call(pull(topic, 0, subscription="D", group=group))
    assert (nothing.code, nothing.remark) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
    assert nothing.ext("nextBeginOffset") == "4"


@pytest.mark.parametrize(
    ("offset", "code", "remark", "next_offset"),
    [
        (1, ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", "1"),
        (9, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", "1"),
        (-1, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", "0"),
    ],
)
def test_pulls_beyond_the_ends(broker: Peer, topic: str, offset: int, code: int, remark: str, next_offset: str) -> None:
    put(broker, send(topic), b"x")
    answer = broker.call(pull(topic, offset))
    assert (answer.code, answer.remark, answer.ext("nextBeginOffset")) == (code, remark, next_offset)


def test_a_pull_of_an_empty_queue(broker: Peer, topic: str) -> None:
    answer = broker.call(pull(topic, 0, queue_id=3))
    assert (answer.code, answer.remark) == (ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE")


def test_a_waiting_pull_gets_what_comes(broker: Peer, other: Peer, topic: str, group: str) -> None:
    waiting = broker.post(pull(topic, 0, wait_ms=20_000, group=group))
    assert other.call(send(topic), b"x").code == 0
    (message,) = decode_messages(broker.answer_to(waiting).body)
    assert message.body == b"x"


def test_a_delayed_message_comes_late(broker: Peer, topic: str, group: str) -> None:
    waiting = broker.post(pull(topic, 0, wait_ms=20_000, group=group))
    with_level = send(topic, properties={"DELAY": "1"})
    assert broker.call(with_level, b"late").code == 0
    (message,) = decode_messages(broker.answer_to(waiting).body)
    assert (message.body, message.properties["REAL_TOPIC"], message.properties["REAL_QID"]) == (b"late", topic, "0")


def test_a_message_sent_back_returns_to_its_group(broker: Peer, topic: str, group: str) -> None:
    put(broker, send(topic), b"x")
    (message,) = decode_messages(broker.call(pull(topic, 0, group=group)).body)
    back = ConsumerSendMsgBack(offset=message.physical_offset, group=group, delay_level=1, origin_topic=topic)
    assert broker.call(back).code == 0
    waiting = broker.post(pull(f"%RETRY%{group}", 0, wait_ms=20_000, group=group))
    (retry,) = decode_messages(broker.answer_to(waiting).body)
    assert (retry.body, retry.reconsume_times, retry.properties["RETRY_TOPIC"]) == (b"x", 1, topic)


def test_a_message_given_up_is_a_dead_letter(broker: Peer, topic: str, group: str) -> None:
    put(broker, send(topic), b"x")
    (message,) = decode_messages(broker.call(pull(topic, 0, group=group)).body)
    back = ConsumerSendMsgBack(offset=message.physical_offset, group=group, delay_level=-1, origin_topic=topic)
    assert broker.call(back).code == 0
    (dead,) = decode_messages(pulled(broker, pull(f"%DLQ%{group}", 0, group=group)).body)
    assert (dead.body, dead.properties["RETRY_TOPIC"]) == (b"x", topic)


def test_ends_and_times_of_a_queue(broker: Peer, site: Site, topic: str) -> None:
    assert broker.call(GetEarliestMsgStoretime(topic=topic, queue_id=0)).ext("timestamp") == "-1"
    for _ in range(3):
        put(broker, send(topic), b"x")
    first, *_ = decode_messages(broker.call(pull(topic, 0)).body)
    assert broker.call(GetMinOffset(topic=topic, queue_id=0)).ext("offset") == "0"
    assert broker.call(GetMaxOffset(topic=topic, queue_id=0)).ext("offset") == "3"
    assert broker.call(GetEarliestMsgStoretime(topic=topic, queue_id=0)).ext("timestamp") == str(first.store_time_ms)
    late = SearchOffset(topic=topic, queue_id=0, timestamp=first.store_time_ms + 3_600_000)
    assert broker.call(late).ext("offset") == ("3" if site.is_v5 else "2")
    assert broker.call(SearchOffset(topic=topic, queue_id=0, timestamp=1)).ext("offset") == "0"


def test_sends_that_are_refused(broker: Peer, site: Site, topic: str) -> None:
    wrong = ResponseCode.INVALID_PARAMETER if site.is_v5 else ResponseCode.SYSTEM_ERROR
    assert broker.call(send(topic, queue_id=99), b"x").code == wrong
    assert broker.call(send("bad topic"), b"x").code == wrong
    assert broker.call(send("SCHEDULE_TOPIC_XXXX"), b"x").code == ResponseCode.NO_PERMISSION
    assert broker.call(send(f"{topic}_none", default_topic="none"), b"x").code == ResponseCode.TOPIC_NOT_EXIST
    assert broker.call(send(topic), bytes((4 << 20) + 1)).code == ResponseCode.MESSAGE_ILLEGAL


def test_an_unknown_code(broker: Peer) -> None:
    broker.socket.sendall(encode(RemotingCommand(code=9999, opaque=1)))
    answer = broker.answer_to(1)
    assert (answer.code, answer.remark) == (3, " request type 9999 not supported")
