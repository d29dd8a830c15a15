from __future__ import annotations

from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumerConnection, ConsumerIds, LockedQueues, LockRequest
from mqctl.protocol.bodies_cluster import GroupList, TopicConfigTable, TopicRouteData
from mqctl.protocol.bodies_stats import ConsumeStats, TopicStatsTable
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import encode
from mqctl.protocol.requests_admin import (
    DeleteTopic,
    GetAllTopicConfig,
    GetConsumerConnectionList,
    GetConsumeStats,
    GetTopicStatsInfo,
    QueryTopicConsumeByWho,
)
from mqctl.protocol.requests_client import (
    GetConsumerListByGroup,
    GetConsumerRunningInfo,
    LockBatchMq,
    QueryConsumerOffset,
    UnlockBatchMq,
    UnregisterClient,
    UpdateConsumerOffset,
)
from mqctl.protocol.requests_namesrv import DeleteTopicFromNamesrv, GetRouteInfo
from tests.conformance.conftest import Site, eventually, put
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer


def ids(peer: Peer, group: str) -> list[str]:
    answer = peer.call(GetConsumerListByGroup(consumer_group=group))
    return sorted(ConsumerIds.from_bytes(answer.body).consumer_id_list) if answer.code == 0 else []


def join(peer: Peer, client_id: str, group: str, topic: str) -> None:
    """Registers a member, after the group exists (a 5.x broker with auto-creation knows it then)."""
    assert heartbeat(peer, client_id, group=group, subscriptions={topic: "*"}).code == 0


def test_members_are_listed_and_told_of_each_other(broker: Peer, other: Peer, topic: str, group: str) -> None:
    join(broker, "one", group, topic)
    join(other, "two", group, topic)
    eventually(lambda: ids(broker, group) == ["one", "two"])
    while broker.asked(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED).ext("consumerGroup") != group:
        pass
    connections = ConsumerConnection.from_bytes(broker.call(GetConsumerConnectionList(consumer_group=group)).body)
    assert {connection.client_id for connection in connections.connection_set} == {"one", "two"}
    assert topic in connections.subscription_table
    assert other.call(UnregisterClient(client_id="two", consumer_group=group)).code == 0
    eventually(lambda: ids(broker, group) == ["one"])
    other.socket.close()
    assert broker.call(pull(topic, 0, subscription=None, group=group)).code == ResponseCode.PULL_NOT_FOUND
    assert broker.call(GetConsumerConnectionList(consumer_group=f"{group}_none")).code == 206


def test_a_question_is_passed_on_to_a_client_and_back(broker: Peer, other: Peer, topic: str, group: str) -> None:
    join(broker, "one", group, topic)
    request = other.post(GetConsumerRunningInfo(consumer_group=group, client_id="one", jstack_enable=True))
    relayed = broker.asked(RequestCode.GET_CONSUMER_RUNNING_INFO)
    assert (relayed.ext("clientId"), relayed.ext("jstackEnable")) == ("one", "true")
    broker.socket.sendall(encode(relayed.answer(0, body=b'{"properties":{}}')))
    answer = other.answer_to(request)
    assert (answer.code, answer.body) == (0, b'{"properties":{}}')
    missing = GetConsumerRunningInfo(consumer_group=group, client_id="nobody")
    assert other.call(missing).remark == f"The Consumer <{group}> <nobody> not online"


def test_locks_are_exclusive(broker: Peer, site: Site, topic: str, group: str) -> None:
    queue = MessageQueue(topic, site.broker_name, 0)

    def lock(client_id: str) -> tuple[MessageQueue, ...]:
        body = LockRequest(client_id=client_id, consumer_group=group, mq_set=(queue,)).to_bytes()
        return LockedQueues.from_bytes(broker.call(LockBatchMq(), body).body).lock_ok_mq_set

    assert lock("one") == (queue,)
    assert lock("two") == ()
    assert lock("one") == (queue,)
    body = LockRequest(client_id="one", consumer_group=group, mq_set=(queue,)).to_bytes()
    assert broker.call(UnlockBatchMq(), body).code == 0
    assert lock("two") == (queue,)


def test_offsets_are_kept_and_shown(broker: Peer, site: Site, topic: str, group: str) -> None:
    for _ in range(3):
        put(broker, send(topic), b"x")
    broker.call(pull(topic, 0, group=group))  # the group exists from here on
    request = QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0)
    assert broker.call(request).ext("offset") == "0"
    commit = UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=0, commit_offset=2)
    assert broker.call(commit).code == 0
    assert broker.call(request).ext("offset") == "2"
    stats = ConsumeStats.from_bytes(broker.call(GetConsumeStats(consumer_group=group, topic=topic)).body)
    progress = stats.offset_table[MessageQueue(topic, site.broker_name, 0)]
    assert (progress.broker_offset, progress.consumer_offset) == (3, 2)
    assert len(stats.offset_table) == 4
    table = TopicStatsTable.from_bytes(broker.call(GetTopicStatsInfo(topic=topic)).body).offset_table
    bounds = table[MessageQueue(topic, site.broker_name, 0)]
    assert (bounds.min_offset, bounds.max_offset) == (0, 3)
    who = GroupList.from_bytes(broker.call(QueryTopicConsumeByWho(topic=topic)).body)
    assert group in who.group_list


def test_a_topic_comes_and_goes(broker: Peer, namesrv: Peer, site: Site, topic: str) -> None:
    def route() -> TopicRouteData | None:
        answer = namesrv.call(GetRouteInfo(topic=topic))
        return TopicRouteData.from_bytes(answer.body) if answer.code == 0 else None

    eventually(lambda: route() is not None)
    names = route()
    assert names is not None
    (queues,) = [data for data in names.queue_datas if data.broker_name == site.broker_name]
    assert (queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (4, 4, 6)
    table = TopicConfigTable.from_bytes(broker.call(GetAllTopicConfig()).body).topic_config_table
    assert table[topic].read_queue_count == 4
    assert broker.call(DeleteTopic(topic=topic)).code == 0
    assert namesrv.call(DeleteTopicFromNamesrv(topic=topic)).code == 0
    assert route() is None
    assert broker.call(pull(topic, 0)).code == ResponseCode.TOPIC_NOT_EXIST
    assert broker.call(GetTopicStatsInfo(topic=topic)).code == ResponseCode.TOPIC_NOT_EXIST
