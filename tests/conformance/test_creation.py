"""Topics and groups that nobody created by hand."""

from __future__ import annotations

import pytest

from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.bodies_cluster import SubscriptionGroupTable, TopicConfigTable, TopicRouteData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import (
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
)
from mqctl.protocol.requests_client import ConsumerSendMsgBack
from mqctl.protocol.requests_namesrv import GetRouteInfo
from tests.conformance.conftest import Site, eventually, pulled, put
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer


def topics(peer: Peer) -> dict[str, TopicConfig]:
    return dict(TopicConfigTable.from_bytes(peer.call(GetAllTopicConfig()).body).topic_config_table)


def groups(peer: Peer) -> dict[str, SubscriptionGroupConfig]:
    answer = peer.call(GetAllSubscriptionGroupConfig())
    return dict(SubscriptionGroupTable.from_bytes(answer.body).subscription_group_table)


@pytest.mark.parametrize(("wished", "made"), [(4, 4), (1, 1), (8, 8), (100, 8)])
def test_the_first_message_makes_its_topic(
    broker: Peer, namesrv: Peer, site: Site, group: str, wished: int, made: int
) -> None:
    name = f"auto_{group}"
    answer = broker.call(send(name, queues=wished), b"x")
    assert (answer.code, answer.ext("queueId"), answer.ext("queueOffset")) == (0, "0", "0")
    config = topics(broker)[name]
    assert (config.read_queue_count, config.write_queue_count, config.perm) == (made, made, 6)

    def routed() -> bool:
        route_answer = namesrv.call(GetRouteInfo(topic=name))
        if route_answer.code != 0:
            return False
        (queues,) = TopicRouteData.from_bytes(route_answer.body).queue_datas
        return (queues.broker_name, queues.write_queue_nums, queues.perm) == (site.broker_name, made, 6)

    eventually(routed)


def test_a_message_without_a_queue_gets_one(broker: Peer, topic: str) -> None:
    answer = broker.call(send(topic, queue_id=-1), b"x")
    assert answer.code == 0
    assert 0 <= int(answer.ext("queueId") or -1) < 4


def test_a_heartbeat_makes_the_group_and_its_retry_topic(broker: Peer, site: Site, topic: str, group: str) -> None:
    if site.is_v5:
        # A 5.x broker makes a group at the first pull, and passes over a heartbeat of one that it does not know.
        assert broker.call(pull(topic, 0, group=group)).code == ResponseCode.PULL_NOT_FOUND
    assert heartbeat(broker, "one", group=group, subscriptions={topic: "*"}).code == 0
    eventually(lambda: f"%RETRY%{group}" in topics(broker))
    retry = topics(broker)[f"%RETRY%{group}"]
    assert (retry.read_queue_count, retry.write_queue_count, retry.perm) == (1, 1, 6)
    made = groups(broker)[group]
    assert (made.consume_enable, made.retry_queue_count, made.retry_max_times) == (True, 1, 16)


def test_retries_beyond_the_limit_are_dead_letters(broker: Peer, site: Site, topic: str, group: str) -> None:
    """5.x lets one more pass than 4.9, whose limit is the first that is too many."""
    broker.call(pull(topic, 0, group=group))
    times = 17 if site.is_v5 else 16
    retry = send(f"%RETRY%{group}", reconsume_times=times, properties={"RETRY_TOPIC": topic})
    assert broker.call(retry, b"given up").code == 0
    (dead,) = decode_messages(pulled(broker, pull(f"%DLQ%{group}", 0, group=group)).body)
    assert (dead.body, dead.queue_id, dead.properties["RETRY_TOPIC"]) == (b"given up", 0, topic)
    config = topics(broker)[f"%DLQ%{group}"]
    assert (config.write_queue_count, config.perm) == (1, 6)
    most = 2 if site.is_v5 else 3
    early = send(f"%RETRY%{group}", reconsume_times=2, max_reconsume_times=most, properties={"RETRY_TOPIC": topic})
    assert broker.call(early, b"not yet").code == 0
    (waiting,) = decode_messages(pulled(broker, pull(f"%RETRY%{group}", 0, group=group)).body)
    assert (waiting.body, waiting.reconsume_times) == (b"not yet", 2)


def test_a_client_sets_its_own_limit_of_retries(broker: Peer, topic: str, group: str) -> None:
    put(broker, send(topic, properties={"TAGS": "T"}), b"x")
    (message,) = decode_messages(broker.call(pull(topic, 0, group=group)).body)
    back = ConsumerSendMsgBack(
        offset=message.physical_offset, group=group, delay_level=0, origin_topic=topic, max_reconsume_times=0
    )
    assert broker.call(back).code == 0
    (dead,) = decode_messages(pulled(broker, pull(f"%DLQ%{group}", 0, group=group)).body)
    assert (dead.body, dead.reconsume_times, dead.tags) == (b"x", 1, "T")
    nothing = ConsumerSendMsgBack(offset=1 << 50, group=group, delay_level=0, origin_topic=topic)
    assert broker.call(nothing).code == ResponseCode.SYSTEM_ERROR
