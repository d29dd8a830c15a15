from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ClientConfigCheck, ConsumerIds, LockedQueues, LockRequest, SubscriptionData
from mqctl.protocol.bodies_cluster import TopicList, TopicRouteData
from mqctl.protocol.bodies_stats import ConsumeStats
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import encode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import GetConsumeStats
from mqctl.protocol.requests_client import (
    CheckClientConfig,
    ConsumerSendMsgBack,
    EndTransaction,
    GetConsumerListByGroup,
    LitePullMessage,
    LockBatchMq,
    SendMessageV2,
    SendReplyMessageV2,
    UnlockBatchMq,
    UnregisterClient,
    UpdateConsumerOffset,
)
from mqctl.protocol.requests_namesrv import GetRouteInfo
from mqctl.protocol.requests_v5 import QuerySubscriptionByConsumer, QueryTopicsByConsumer
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer

_QUEUE = MessageQueue("T", "broker-a", 0)


def members(peer: Peer, group: str = "GC") -> list[str]:
    return sorted(ConsumerIds.from_bytes(peer.call(GetConsumerListByGroup(consumer_group=group)).body).consumer_id_list)


def test_members_come_and_go_and_hear_of_each_other(cluster: EmbeddedCluster, broker: Peer) -> None:
    assert broker.call(GetConsumerListByGroup(consumer_group="GC")).code == ResponseCode.SYSTEM_ERROR
    heartbeat(broker, "one", group="GC", subscriptions={"T": "*"})
    assert members(broker) == ["one"]
    with Peer(cluster.broker().address) as other:
        heartbeat(other, "two", group="GC", subscriptions={"T": "*"})
        assert members(broker) == ["one", "two"]
        other.call(UnregisterClient(client_id="two", consumer_group="GC"))
        assert members(broker) == ["one"]
        heartbeat(other, "two", group="GC", subscriptions={"T": "*"})
    for _ in ("one came", "two came", "two left", "two came again", "its channel closed"):
        assert broker.asked(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED).ext("consumerGroup") == "GC"
    assert members(broker) == ["one"]


def test_a_heartbeat_creates_the_retry_topic(broker: Peer, namesrv: Peer) -> None:
    heartbeat(broker, "one", group="GC", subscriptions={"T": "*"})
    (queues,) = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="%RETRY%GC")).body).queue_datas
    assert (queues.read_queue_nums, queues.perm) == (1, 6)


def test_the_last_heartbeat_decides_the_subscriptions_of_all(cluster: EmbeddedCluster, broker: Peer) -> None:
    broker.call(send("T"), b"x")
    broker.call(send("U"), b"x")
    heartbeat(broker, "one", group="GC", subscriptions={"T": "*"})
    assert broker.call(pull("T", 0, subscription=None)).code == 0
    with Peer(cluster.broker().address) as other:
        heartbeat(other, "two", group="GC", subscriptions={"U": "*"})
        assert other.call(pull("U", 0, subscription=None)).code == 0
        assert broker.call(pull("T", 0, subscription=None)).code == ResponseCode.SUBSCRIPTION_NOT_EXIST


def test_a_silent_client_is_dropped() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        heartbeat(peer, "one", group="GC", subscriptions={"T": "*"})
        cluster.advance(100_000)
        assert members(peer) == ["one"]
        cluster.advance(40_000)
        assert peer.closed()
        with Peer(cluster.broker().address) as other:
            assert other.call(GetConsumerListByGroup(consumer_group="GC")).code == ResponseCode.SYSTEM_ERROR


def test_locks_belong_to_a_client_for_a_minute() -> None:
    def lock(peer: Peer, client: str) -> tuple[MessageQueue, ...]:
        request = LockRequest(client_id=client, consumer_group="GC", mq_set=(_QUEUE,))
        return LockedQueues.from_bytes(peer.call(LockBatchMq(), request.to_bytes()).body).lock_ok_mq_set

    def unlock(peer: Peer, client: str) -> None:
        request = LockRequest(client_id=client, consumer_group="GC", mq_set=(_QUEUE,))
        assert peer.call(UnlockBatchMq(), request.to_bytes()).code == 0

    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        assert lock(peer, "one") == (_QUEUE,)
        assert lock(peer, "two") == ()
        unlock(peer, "two")
        assert lock(peer, "two") == ()
        cluster.advance(50_000)
        assert lock(peer, "one") == (_QUEUE,)
        cluster.advance(50_000)
        assert lock(peer, "two") == ()
        cluster.advance(10_001)
        assert lock(peer, "two") == (_QUEUE,)
        unlock(peer, "two")
        assert lock(peer, "one") == (_QUEUE,)


@pytest.mark.parametrize(("kind", "code"), [("TAG", 0), ("SQL92", ResponseCode.SYSTEM_ERROR)])
def test_check_client_config(broker: Peer, kind: str, code: int) -> None:
    data = SubscriptionData(topic="T", sub_string="a > 1", expression_type=kind)
    check = ClientConfigCheck(client_id="c", group="GC", subscription_data=data)
    assert broker.call(CheckClientConfig(), check.to_bytes()).code == code


def send_back(offset: int, *, level: int = 0, most: int | None = None) -> ConsumerSendMsgBack:
    return ConsumerSendMsgBack(offset=offset, group="GC", delay_level=level, max_reconsume_times=most)


def test_a_message_sent_back_waits_in_the_schedule_topic(broker: Peer) -> None:
    broker.call(send("T", properties={"TAGS": "A"}), b"x")
    (message,) = decode_messages(broker.call(pull("T", 0)).body)
    assert broker.call(send_back(message.physical_offset)).code == 0
    (waiting,) = decode_messages(broker.call(pull("SCHEDULE_TOPIC_XXXX", 0, queue_id=2)).body)
    assert waiting.reconsume_times == 1
    assert waiting.properties == {
        "TAGS": "A", "CLUSTER": "DefaultCluster", "RETRY_TOPIC": "T", "WAIT": "false", "DELAY": "3",
        "ORIGIN_MESSAGE_ID": waiting.properties["ORIGIN_MESSAGE_ID"], "REAL_TOPIC": "%RETRY%GC", "REAL_QID": "0",
    }  # fmt: skip


@pytest.mark.parametrize(("level", "most"), [(-1, None), (0, 0)])
def test_a_message_that_was_retried_enough_is_buried(broker: Peer, level: int, most: int | None) -> None:
    broker.call(send("T"), b"x")
    (message,) = decode_messages(broker.call(pull("T", 0)).body)
    assert broker.call(send_back(message.physical_offset, level=level, most=most)).code == 0
    (dead,) = decode_messages(broker.call(pull("%DLQ%GC", 0)).body)
    assert (dead.body, dead.reconsume_times, dead.properties["RETRY_TOPIC"]) == (b"x", 1, "T")
    assert dead.properties["DELAY"] == "0"


def test_sending_back_what_is_not_there(broker: Peer) -> None:
    assert broker.call(send_back(1 << 40)).code == ResponseCode.SYSTEM_ERROR


def test_a_retry_send_beyond_the_limit_is_buried(broker: Peer) -> None:
    heartbeat(broker, "one", group="GC", subscriptions={"T": "*"})
    first = broker.call(send("%RETRY%GC", reconsume_times=2, max_reconsume_times=3), b"again")
    assert first.code == 0
    second = broker.call(send("%RETRY%GC", reconsume_times=3, max_reconsume_times=3), b"enough")
    assert second.code == 0
    assert [m.body for m in decode_messages(broker.call(pull("%RETRY%GC", 0)).body)] == [b"again"]
    assert [m.body for m in decode_messages(broker.call(pull("%DLQ%GC", 0)).body)] == [b"enough"]


def test_five_looks_before_it_commits() -> None:
    with EmbeddedCluster(version="5.3.3") as cluster, Peer(cluster.broker().address, version=479) as peer:
        peer.call(send("T"), b"x")
        commit = UpdateConsumerOffset(consumer_group="GC", topic="T", queue_id=0, commit_offset=1)
        assert peer.call(commit).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
        peer.call(pull("T", 0))
        assert peer.call(commit).code == 0
        missing = UpdateConsumerOffset(consumer_group="GC", topic="None", queue_id=0, commit_offset=1)
        assert peer.call(missing).code == ResponseCode.TOPIC_NOT_EXIST
        beyond = UpdateConsumerOffset(consumer_group="GC", topic="T", queue_id=9, commit_offset=1)
        assert peer.call(beyond).code == 0, "nobody looks whether the queue is there"


def reply_to(client_id: str) -> SendReplyMessageV2:
    values = {item.name: getattr(send("DefaultCluster_REPLY_TOPIC"), item.name) for item in SendMessageV2.fields()}
    values["properties"] = f"REPLY_TO_CLIENT\x01{client_id}\x02CORRELATION_ID\x01c1\x02WAIT\x01true"
    return SendReplyMessageV2(**values)


def test_a_reply_is_handed_to_the_client_that_asked(cluster: EmbeddedCluster, broker: Peer) -> None:
    heartbeat(broker, "asker")
    with Peer(cluster.broker().address) as replier:
        posted = replier.post(reply_to("asker"), b"answer")
        pushed = broker.asked(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT)
        assert (pushed.body, pushed.ext("bornHost"), pushed.is_oneway) == (b"answer", replier.local, False)
        assert "CORRELATION_ID\x01c1" in (pushed.ext("properties") or "")
        broker.socket.sendall(encode(pushed.answer(0)))
        assert replier.answer_to(posted).code == 0
        (stored,) = decode_messages(replier.call(pull("DefaultCluster_REPLY_TOPIC", 0)).body)
        assert stored.properties == {"REPLY_TO_CLIENT": "asker", "CORRELATION_ID": "c1", "WAIT": "true"}
        missing = replier.call(reply_to("nobody"), b"answer")
        assert (missing.code, missing.remark) == (1, "push reply message fail, channel of <nobody> not found.")


def test_there_is_no_transaction_to_end(broker: Peer) -> None:
    end = EndTransaction(
        producer_group="GP", tran_state_table_offset=0, commit_log_offset=0, commit_or_rollback=8, msg_id="x"
    )
    assert broker.call(end).code == ResponseCode.SYSTEM_ERROR


def test_tools_of_five_ask_what_a_group_consumes() -> None:
    with EmbeddedCluster(version="5.3.3") as cluster, Peer(cluster.broker().address, version=479) as peer:
        for number in range(3):
            peer.call(send("T"), b"%d" % number)
        heartbeat(peer, "one", group="GC", subscriptions={"T": "A || B"})
        peer.call(UpdateConsumerOffset(consumer_group="GC", topic="T", queue_id=0, commit_offset=1))
        topics = TopicList.from_bytes(peer.call(QueryTopicsByConsumer(group="GC")).body)
        assert (topics.topic_list, topics.broker_addr) == (("T",), cluster.broker().address)
        answer = peer.call(QuerySubscriptionByConsumer(group="GC", topic="T"))
        assert b'"subString":"A || B"' in answer.body
        lite = LitePullMessage(**{item.name: getattr(pull("T", 2), item.name) for item in LitePullMessage.fields()})
        assert [message.body for message in decode_messages(peer.call(lite).body)] == [b"2"]
        stats = ConsumeStats.from_bytes(peer.call(GetConsumeStats(consumer_group="GC", topic="T")).body)
        progress = stats.offset_table[_QUEUE]
        assert (progress.broker_offset, progress.consumer_offset, progress.pull_offset) == (3, 1, 3)
