"""SQL92 subscriptions served by the embedded broker: pulls, held pulls, registration and consumerFilter.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.bodies_client import ClientConfigCheck, ConsumerData, HeartbeatData, SubscriptionData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import CheckClientConfig, ConsumerSendMsgBack, Heartbeat, PullMessage
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer

SERVED = {"enablePropertyFilter": "true"}
EXPRESSION = "a > 3 AND color = 'red'"


@pytest.fixture
def timed() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(virtual_time=True, settings=SERVED) as cluster:
        yield cluster


@pytest.fixture
def consumer(timed: EmbeddedCluster) -> Iterator[Peer]:
    with Peer(timed.broker().address) as peer:
        peer.call(send("TopicSql"), b"first of all")
        yield peer


def subscribe(peer: Peer, expression: str, *, version: int = 1, topic: str = "TopicSql", group: str = "GC_sql") -> None:
    subscription = SubscriptionData(topic=topic, sub_string=expression, expression_type="SQL92", sub_version=version)
    data = ConsumerData(group_name=group, subscription_data_set=(subscription,))
    assert peer.call(Heartbeat(), HeartbeatData(client_id="c", consumer_data_set=(data,)).to_bytes()).code == 0


def sql_pull(
    offset: int, *, expression: str | None = None, version: int = 1, wait_ms: int = 0, topic: str = "TopicSql"
) -> PullMessage:
    return PullMessage(
        consumer_group="GC_sql",
        topic=topic,
        queue_id=0,
        queue_offset=offset,
        max_msg_nums=32,
        sys_flag=(2 if wait_ms else 0) | (4 if expression is not None else 0),
        commit_offset=0,
        suspend_timeout_millis=wait_ms,
        subscription=expression,
        sub_version=version,
        expression_type="SQL92",
    )


def fill(peer: Peer) -> None:
    for number in range(8):
        peer.call(
            send("TopicSql", properties={"a": str(number), "color": "red" if number % 2 else "blue"}), b"%d" % number
        )


def filters_file(cluster: EmbeddedCluster) -> dict[str, dict[str, Any]]:
    """Topic to entry of the one group in these tests."""
    document = json.loads((cluster.broker().store / "config" / "consumerFilter.json").read_text())
    return {name: topic["groupFilterData"]["GC_sql"] for name, topic in document["filterDataByTopic"].items()}


def test_only_what_matches_is_delivered(consumer: Peer) -> None:
    fill(consumer)
    subscribe(consumer, EXPRESSION)
    answer = consumer.call(sql_pull(0))
    assert [message.body for message in decode_messages(answer.body)] == [b"5", b"7"]
    assert answer.ext("nextBeginOffset") == "9"
    nothing = consumer.call(sql_pull(0, expression="a > 100"))
    assert (nothing.code, nothing.ext("nextBeginOffset")) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "9")
    own = consumer.call(sql_pull(0, expression="color = 'blue' AND a BETWEEN 1 AND 4"))
    assert [message.body for message in decode_messages(own.body)] == [b"2", b"4"]
    types = consumer.call(sql_pull(0, expression="color = 5 OR a = 1"))
    assert types.code == ResponseCode.PULL_RETRY_IMMEDIATELY, "what throws in Java delivers nothing"


def test_a_held_pull_sleeps_through_what_it_does_not_want(consumer: Peer) -> None:
    subscribe(consumer, EXPRESSION)
    opaque = consumer.post(sql_pull(1, wait_ms=15_000))
    consumer.call(send("TopicSql", properties={"a": "1", "color": "red"}), b"no")
    consumer.call(send("TopicSql", properties={"color": "red"}), b"nor this")
    assert all(command.opaque != opaque for command in consumer.unasked)
    consumer.call(send("TopicSql", properties={"a": "9", "color": "red"}), b"yes")
    answer = next((command for command in consumer.unasked if command.opaque == opaque), None)
    answer = answer or consumer.answer_to(opaque)
    assert [message.body for message in decode_messages(answer.body)] == [b"yes"]
    assert answer.ext("nextBeginOffset") == "4"


@pytest.mark.parametrize("expression", ["a >", "", "a > 'x'", "a = NULL", "((((", "5"])
def test_what_does_not_compile_is_named(consumer: Peer, expression: str) -> None:
    subscribe(consumer, expression)
    assert consumer.call(sql_pull(0)).code == ResponseCode.FILTER_DATA_NOT_EXIST
    own = consumer.call(sql_pull(0, expression=expression))
    assert own.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert own.remark == "parse the consumer's subscription failed"
    subscription = SubscriptionData(topic="TopicSql", sub_string=expression, expression_type="SQL92")
    check = ClientConfigCheck(client_id="c", group="GC_sql", subscription_data=subscription)
    assert consumer.call(CheckClientConfig(), check.to_bytes()).code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


def test_what_compiles_passes_the_check(consumer: Peer) -> None:
    subscription = SubscriptionData(topic="TopicSql", sub_string=EXPRESSION, expression_type="SQL92")
    check = ClientConfigCheck(client_id="c", group="GC_sql", subscription_data=subscription)
    assert consumer.call(CheckClientConfig(), check.to_bytes()).code == 0


def test_the_newest_version_of_a_subscription_counts(consumer: Peer) -> None:
    fill(consumer)
    subscribe(consumer, "a = 1", version=5)
    subscribe(consumer, "a = 2", version=4)
    assert [message.body for message in decode_messages(consumer.call(sql_pull(0)).body)] == [b"1"]
    subscribe(consumer, "a = 3", version=6)
    assert [message.body for message in decode_messages(consumer.call(sql_pull(0)).body)] == [b"3"]
    assert consumer.call(sql_pull(0, version=7)).code == ResponseCode.SUBSCRIPTION_NOT_LATEST
    subscribe(consumer, "a >", version=8)
    assert consumer.call(sql_pull(0)).code == ResponseCode.FILTER_DATA_NOT_EXIST


def test_five_knows_contains() -> None:
    with EmbeddedCluster(settings=SERVED, version="5.3.3") as cluster, Peer(cluster.broker().address) as peer:
        peer.call(send("TopicSql", properties={"city": "Hangzhou"}), b"x")
        answer = peer.call(sql_pull(0, expression="city CONTAINS 'zh'"))
        assert [message.body for message in decode_messages(answer.body)] == [b"x"]


def test_class_filters_are_refused(consumer: Peer) -> None:
    heartbeat(consumer, "c", group="GC_sql", subscriptions={"TopicSql": "*"})
    request = sql_pull(0)
    classed = PullMessage.from_ext({**request.to_ext(), "sysFlag": "8", "expressionType": "TAG"})
    answer = consumer.call(classed)
    assert (answer.code, "by class" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)


def test_the_file_is_a_real_brokers(timed: EmbeddedCluster, consumer: Peer) -> None:
    born_ms = timed.now_ms()
    subscribe(consumer, EXPRESSION, version=1795217209468)
    timed.advance(10_000)
    assert filters_file(timed)["TopicSql"] == {
        "bloomFilterData": {"bitNum": 112, "bitPos": [53, 41, 24]},  # as a real broker computed them
        "bornTime": born_ms,
        "clientVersion": 1795217209468,
        "consumerGroup": "GC_sql",
        "dead": False,
        "deadTime": 0,
        "expression": EXPRESSION,
        "expressionType": "SQL92",
        "topic": "TopicSql",
    }
    left_ms = timed.now_ms()
    subscribe(consumer, "a = 1", topic="Other")
    timed.advance(10_000)
    consumer.call(send("T"), b"x")
    old = filters_file(timed)["TopicSql"]
    assert (old["dead"], old["deadTime"]) == (True, left_ms)
    for _ in range(24 * 60 + 1):
        timed.advance(60_000)
    assert "TopicSql" not in filters_file(timed)


def test_a_group_that_left_is_dead_and_lives_again_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedCluster(virtual_time=True, settings=SERVED, data_dir=tmp_path) as cluster:
        with Peer(cluster.broker().address) as peer:
            peer.call(send("TopicSql", properties={"a": "1"}), b"x")
            subscribe(peer, "a = 1", version=3)
        cluster.broker().stop()
        entry = filters_file(cluster)["TopicSql"]
        assert entry["dead"] is True
        cluster.broker().start()
        with Peer(cluster.broker().address) as peer:
            subscribe(peer, "a = 1", version=3)
            assert peer.call(sql_pull(0, version=3)).code == 0
            cluster.advance(10_000)
            assert filters_file(cluster)["TopicSql"] == {**entry, "dead": False, "deadTime": 0}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"filterDataByTopic":5}',
        '{"filterDataByTopic":{"T":{"groupFilterData":{"G":[]}},"U":3}}',
        '{"filterDataByTopic":{"T":{"groupFilterData":{"G":{"consumerGroup":"G","topic":"T","expression":"a >"}}}}}',
        '{"filterDataByTopic":{"T":{"groupFilterData":{"G":{"consumerGroup":"G","topic":"T","expression":"a = 1",'
        '"bornTime":1,"deadTime":0,"clientVersion":1,"bloomFilterData":{"bitNum":64,"bitPos":[1,2,3]}}}}}}',
    ],
)
def test_a_broken_file_leaves_the_broker_without_filters(text: str, tmp_path: Path) -> None:
    with EmbeddedCluster(settings=SERVED, data_dir=tmp_path) as cluster:
        store = cluster.broker().store
        cluster.broker().stop()
        for name in ("consumerFilter.json", "consumerFilter.json.bak"):
            (store / "config" / name).write_text(text)
        cluster.broker().start()
        with Peer(cluster.broker().address) as peer:
            peer.call(send("TopicSql"), b"x")
            subscribe(peer, EXPRESSION)
            assert peer.call(sql_pull(0)).code == ResponseCode.PULL_RETRY_IMMEDIATELY


@pytest.mark.parametrize(("filtered", "bodies"), [("true", []), ("false", [b"0"])])
def test_retries_are_filtered_only_on_request(filtered: str, bodies: list[bytes]) -> None:
    with (
        EmbeddedCluster(virtual_time=True, settings={**SERVED, "filterSupportRetry": filtered}) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        sent = peer.call(send("TopicSql", properties={"a": "0"}), b"0")
        subscribe(peer, "a = 0")
        offset = decode_messages(peer.call(sql_pull(0)).body)[0].physical_offset
        assert sent.code == 0
        back = ConsumerSendMsgBack(offset=offset, group="GC_sql", delay_level=1, origin_topic="TopicSql")
        assert peer.call(back).code == 0
        subscribe(peer, "a = 1", version=2)
        cluster.advance(2_000)
        retried = PullMessage.from_ext(
            {**sql_pull(0, expression="*", topic="%RETRY%GC_sql").to_ext(), "expressionType": "TAG"}
        )
        assert [message.body for message in decode_messages(peer.call(retried).body)] == bodies
