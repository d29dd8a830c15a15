from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import SerializeType
from mqctl.protocol.message_batch import BatchElement, encode_batch
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import (
    ConsumerSendMsgBack,
    GetEarliestMsgStoretime,
    GetMaxOffset,
    GetMinOffset,
    PullMessageReply,
    QueryConsumerOffset,
    SearchOffset,
    SendMessage,
    SendMessageReply,
    UpdateConsumerOffset,
)
from mqctl.protocol.requests_namesrv import GetRouteInfo
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer


def test_a_message_comes_back_as_it_was_sent(cluster: EmbeddedCluster, broker: Peer) -> None:
    sent = broker.call(send("T", queue_id=2, properties={"KEYS": "k1", "TAGS": "TagA"}), "héllo".encode())
    reply = SendMessageReply.from_ext(sent.ext_fields)
    assert (sent.code, reply.queue_id, reply.queue_offset, reply.region, reply.trace_on) == (
        0, 2, 0, "DefaultRegion", True,
    )  # fmt: skip
    assert OffsetId.parse(reply.msg_id).host == cluster.broker().address

    pulled = broker.call(pull("T", 0, queue_id=2))
    (message,) = decode_messages(pulled.body)
    assert pulled.remark == "FOUND"
    assert message.body.decode() == "héllo"
    assert message.properties == {"KEYS": "k1", "TAGS": "TagA", "CLUSTER": "DefaultCluster"}
    assert (message.born_host, message.store_host) == (broker.local, cluster.broker().address)
    assert message.physical_offset == OffsetId.parse(reply.msg_id).physical_offset
    where = PullMessageReply.from_ext(pulled.ext_fields)
    assert (where.next_begin_offset, where.min_offset, where.max_offset, where.suggest_which_broker_id) == (1, 0, 1, 0)


@pytest.mark.parametrize("serialize_type", list(SerializeType))
def test_both_header_forms_and_the_long_names(cluster: EmbeddedCluster, serialize_type: SerializeType) -> None:
    with Peer(cluster.broker().address, serialize_type=serialize_type) as peer:
        long_names = SendMessage(**{item.name: getattr(send("T"), item.name) for item in SendMessage.fields()})
        assert [peer.call(request, b"x").code for request in (send("T"), long_names)] == [0, 0]
        answer = peer.call(pull("T", 0))
        assert answer.serialize_type is serialize_type
        assert len(decode_messages(answer.body)) == 2


def test_a_topic_is_created_from_its_template_and_registered(broker: Peer, namesrv: Peer) -> None:
    assert broker.call(send("Fresh", queues=4), b"x").code == 0
    (queues,) = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="Fresh")).body).queue_datas
    assert (queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (4, 4, 6)
    assert broker.call(send("Wide", queues=100), b"x").code == 0
    (queues,) = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="Wide")).body).queue_datas
    assert queues.read_queue_nums == 8


@pytest.mark.parametrize(
    ("request_", "body", "code", "words"),
    [
        (send("T", default_topic="none"), b"x", ResponseCode.TOPIC_NOT_EXIST, "topic[T] not exist"),
        (send("a b"), b"x", ResponseCode.SYSTEM_ERROR, "illegal characters"),
        (send(" "), b"x", ResponseCode.SYSTEM_ERROR, "blank"),
        (send("t" * 128), b"x", ResponseCode.SYSTEM_ERROR, "127"),
        (send("SCHEDULE_TOPIC_XXXX"), b"x", ResponseCode.NO_PERMISSION, "forbidden"),
        (send("RMQ_SYS_TRANS_HALF_TOPIC"), b"x", ResponseCode.NO_PERMISSION, "forbidden"),
        (send("T", queue_id=99), b"x", ResponseCode.SYSTEM_ERROR, "queueId[99] is illegal"),
        (send("T"), bytes(4 * 1024 * 1024 + 1), ResponseCode.MESSAGE_ILLEGAL, "4194304"),
        (send("T", properties={"k": "v" * 32_767}), b"x", ResponseCode.MESSAGE_ILLEGAL, "properties"),
        (send("T", batch=True), b"\0\0\0\1", ResponseCode.SYSTEM_ERROR, "batch"),
    ],
)  # fmt: skip
def test_what_is_refused(broker: Peer, request_: SendMessage, body: bytes, code: int, words: str) -> None:
    answer = broker.call(request_, body)
    assert answer.code == code
    assert words in (answer.remark or "")
    assert answer.ext("MSG_REGION") == "DefaultRegion"


def test_a_batch_becomes_single_messages_of_one_queue(broker: Peer) -> None:
    elements = [BatchElement(f"m{number}".encode(), f"UNIQ_KEY\x01{number}") for number in range(3)]
    answer = broker.call(send("T", queue_id=1, batch=True), encode_batch(elements))
    ids = (answer.ext("msgId") or "").split(",")
    messages = decode_messages(broker.call(pull("T", 0, queue_id=1)).body)
    assert [message.body for message in messages] == [b"m0", b"m1", b"m2"]
    assert [message.queue_offset for message in messages] == [0, 1, 2]
    assert [OffsetId.parse(text).physical_offset for text in ids] == [message.physical_offset for message in messages]
    assert messages[1].properties == {"UNIQ_KEY": "1", "WAIT": "true", "CLUSTER": "DefaultCluster"}


def test_a_pull_waits_for_its_message(cluster: EmbeddedCluster, broker: Peer) -> None:
    broker.call(send("T"), b"first")
    waiting = broker.post(pull("T", 1, wait_ms=60_000))
    with Peer(cluster.broker().address) as producer:
        assert producer.call(send("T"), b"second").code == 0
    (message,) = decode_messages(broker.answer_to(waiting).body)
    assert message.body == b"second"


def test_a_waiting_pull_is_not_woken_by_other_tags(cluster: EmbeddedCluster, broker: Peer) -> None:
    broker.call(send("T"), b"first")
    waiting = broker.post(pull("T", 1, subscription="TagA || TagB", wait_ms=60_000))
    with Peer(cluster.broker().address) as producer:
        producer.call(send("T", properties={"TAGS": "TagC"}), b"other")
        producer.call(send("T", properties={"TAGS": "TagB"}), b"wanted")
    (message,) = decode_messages(broker.answer_to(waiting).body)
    assert message.body == b"wanted"


def test_a_waiting_pull_ends_at_its_deadline() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        peer.call(send("T"), b"x")
        waiting = peer.post(pull("T", 1, wait_ms=15_000))
        peer.call(GetMaxOffset(topic="T", queue_id=0))
        cluster.advance(14_000)
        assert cluster.broker().on_loop(lambda broker: len(broker.pull_holds)) == 1
        cluster.advance(1_100)
        answer = peer.answer_to(waiting)
        assert (answer.code, answer.remark) == (ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE")


@pytest.mark.parametrize(
    ("offset", "code", "remark", "next_offset"),
    [
        (2, ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", 2),
        (7, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", 2),
        (-1, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", 0),
    ],
)
def test_pulls_beyond_the_ends(broker: Peer, offset: int, code: int, remark: str, next_offset: int) -> None:
    for body in (b"a", b"b"):
        broker.call(send("T"), body)
    answer = broker.call(pull("T", offset))
    assert (answer.code, answer.remark) == (code, remark)
    assert answer.ext("nextBeginOffset") == str(next_offset)
    events = decode_messages(broker.call(pull("OFFSET_MOVED_EVENT", 0)).body) if code == 21 else []
    assert [event.properties["KEYS"] for event in events] == ["GC"] * len(events)


def test_what_a_pull_is_refused_for(broker: Peer) -> None:
    broker.call(send("T"), b"x")
    assert broker.call(pull("None", 0)).code == ResponseCode.TOPIC_NOT_EXIST
    bad_queue = broker.call(pull("T", 0, queue_id=77))
    assert bad_queue.code == ResponseCode.SYSTEM_ERROR
    assert bad_queue.remark == (
        f"queueId[77] is illegal, topic:[T] topicConfig.readQueueNums:[4] consumer:[/{broker.local}]"
    )
    assert broker.call(pull("T", 0, subscription="||")).code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert broker.call(pull("T", 0, subscription=None)).code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    heartbeat(broker, "c1", group="GC", subscriptions={"T": "*"}, version=5)
    assert broker.call(pull("T", 0, subscription=None, sub_version=6)).code == ResponseCode.SUBSCRIPTION_NOT_LATEST
    assert broker.call(pull("T", 0, subscription=None, sub_version=5)).code == ResponseCode.SUCCESS
    assert broker.call(pull("Other", 0, subscription=None)).code == ResponseCode.TOPIC_NOT_EXIST


def test_tags_are_filtered_and_scanned_over(broker: Peer) -> None:
    for tag in ("A", "B", "A", "C"):
        broker.call(send("T", properties={"TAGS": tag}), tag.encode())
    answer = broker.call(pull("T", 0, subscription="A || C"))
    assert [message.body for message in decode_messages(answer.body)] == [b"A", b"A", b"C"]
    assert answer.ext("nextBeginOffset") == "4"
    none = broker.call(pull("T", 0, subscription="D"))
    assert (none.code, none.remark) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
    assert none.ext("nextBeginOffset") == "4"


def test_offsets_of_a_group(cluster: EmbeddedCluster, broker: Peer) -> None:
    broker.call(send("T"), b"x")
    request = QueryConsumerOffset(consumer_group="GC", topic="T", queue_id=0)
    assert broker.call(request).ext("offset") == "0"
    broker.call(pull("T", 0, commit=1))
    assert broker.call(request).ext("offset") == "1"
    broker.post(UpdateConsumerOffset(consumer_group="GC", topic="T", queue_id=0, commit_offset=7), oneway=True)
    assert broker.call(request).ext("offset") == "7"
    cluster.broker().restart()
    with Peer(cluster.broker().address) as again:
        assert again.call(request).ext("offset") == "7"
        assert again.call(pull("T", 0)).code == 0


def test_ends_and_times_of_a_queue(broker: Peer) -> None:
    assert broker.call(GetEarliestMsgStoretime(topic="T", queue_id=0)).ext("timestamp") == "-1"
    assert broker.call(GetMaxOffset(topic="T", queue_id=0)).ext("offset") == "0"
    for _ in range(3):
        broker.call(send("T"), b"x")
    (first, *_) = decode_messages(broker.call(pull("T", 0)).body)
    assert broker.call(GetMaxOffset(topic="T", queue_id=0)).ext("offset") == "3"
    assert broker.call(GetMinOffset(topic="T", queue_id=0)).ext("offset") == "0"
    assert broker.call(GetEarliestMsgStoretime(topic="T", queue_id=0)).ext("timestamp") == str(first.store_time_ms)
    far = SearchOffset(topic="T", queue_id=0, timestamp=first.store_time_ms + 86_400_000)
    assert broker.call(far).ext("offset") == "2"
    assert broker.call(SearchOffset(topic="T", queue_id=0, timestamp=0)).ext("offset") == "0"


def test_a_delayed_message_arrives_when_it_is_due() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        answer = peer.call(send("T", queue_id=1, properties={"DELAY": "5"}), b"late")
        assert (answer.ext("queueId"), answer.ext("queueOffset")) == ("1", "0")
        waiting = peer.post(pull("T", 0, queue_id=1, wait_ms=120_000))
        peer.call(GetMaxOffset(topic="T", queue_id=1))
        cluster.advance(59_000)
        assert peer.call(GetMaxOffset(topic="T", queue_id=1)).ext("offset") == "0"
        cluster.advance(2_000)
        (message,) = decode_messages(peer.answer_to(waiting).body)
        assert message.body == b"late"
        assert message.properties["REAL_TOPIC"] == "T"


def test_a_retry_comes_back_after_its_level() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        peer.call(send("T", properties={"TAGS": "A"}), b"x")
        (message,) = decode_messages(peer.call(pull("T", 0)).body)
        back = ConsumerSendMsgBack(offset=message.physical_offset, group="GC", delay_level=0)
        assert peer.call(back).code == 0
        cluster.advance(12_000)
        (retry,) = decode_messages(peer.call(pull("%RETRY%GC", 0)).body)
        assert (retry.body, retry.reconsume_times, retry.properties["RETRY_TOPIC"]) == (b"x", 1, "T")


def test_with_sync_flush_the_answer_waits_for_the_disk() -> None:
    with EmbeddedCluster(settings={"flushDiskType": "SYNC_FLUSH"}) as cluster:
        with Peer(cluster.broker().address) as peer:
            posted = [peer.post(send("T"), b"x") for _ in range(20)]
            assert [peer.answer_to(opaque).ext("queueOffset") for opaque in posted] == [str(n) for n in range(20)]
        cluster.broker().kill()
        cluster.broker().start()
        with Peer(cluster.broker().address) as peer:
            assert peer.call(GetMaxOffset(topic="T", queue_id=0)).ext("offset") == "20"
