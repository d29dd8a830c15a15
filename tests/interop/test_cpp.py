"""The C++ client inside the PyPI wheel `rocketmq`, and messages between it and the Node client."""

from __future__ import annotations

import os
import signal
from itertools import count
from time import monotonic

from embedded_broker import EmbeddedCluster
from mqctl.protocol.codes import RequestCode as Code
from tests.interop.clients import Client, Event, collect
from tests.interop.conftest import MakeTopic, StartClient

_SECONDS = 60
_rounds = count(1)


def _send(producer: Client, topic: str, bodies: list[str], **more: object) -> list[Event]:
    sent = [producer.ask("send", topic=topic, body=body, **more) for body in bodies]
    assert [event.get("status") for event in sent] == ["OK"] * len(bodies), sent
    return sent


def test_what_it_sends_it_is_pushed(create_topic: MakeTopic, start_client: StartClient) -> None:
    create_topic("TopicCpp", 4)
    producer = start_client("cpp", "producer", "GP", "TopicCpp")
    bodies = [*(f"body {number}" for number in range(7)), "订单" * 3000]
    sent = [_send(producer, "TopicCpp", [body], tags="TagA", keys=f"k{n}")[0] for n, body in enumerate(bodies)]
    assert sorted(event["queue_offset"] for event in sent) == [0, 0, 0, 0, 1, 1, 1, 1]
    consumer = start_client("cpp", "push", "GC", "TopicCpp")
    got = {message["body"]: message for message in consumer.messages(len(bodies))}
    for number, (body, event) in enumerate(zip(bodies, sent, strict=True)):
        message = got[body]
        assert (message["topic"], message["tags"], message["keys"]) == ("TopicCpp", "TagA", f"k{number}")
        assert (message["msg_id"], message["queue_offset"]) == (event["msg_id"], event["queue_offset"])
    consumer.stop()
    producer.stop()


def test_a_topic_is_made_by_its_first_message(cluster: EmbeddedCluster, start_client: StartClient) -> None:
    producer = start_client("cpp", "producer", "GP", "TopicMade")
    _send(producer, "TopicMade", ["first"])
    consumer = start_client("cpp", "pull", "GC", "TopicMade")
    assert [message["body"] for message in consumer.ask("pull")["messages"]] == ["first"]


def test_pulls_get_everything_in_order_and_filtered(create_topic: MakeTopic, start_client: StartClient) -> None:
    create_topic("TopicPull", 2)
    producer = start_client("cpp", "producer", "GP", "TopicPull")
    for number in range(70):
        _send(producer, "TopicPull", [f"{number}"], tags="TagA" if number % 2 else "TagB")
    everything = start_client("cpp", "pull", "GC", "TopicPull")
    messages = everything.ask("pull")["messages"]
    assert sorted(int(message["body"]) for message in messages) == list(range(70))
    for queue_id in (0, 1):
        offsets = [message["queue_offset"] for message in messages if message["queue_id"] == queue_id]
        assert offsets == list(range(len(offsets))), "in order, without holes"
    assert everything.ask("pull")["messages"] == []
    some = start_client("cpp", "pull", "GD", "TopicPull", name="some", expression="TagA")
    assert sorted(int(message["body"]) for message in some.ask("pull")["messages"]) == list(range(1, 70, 2))


def test_oneway_sends_and_order_within_a_queue(
    cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient
) -> None:
    create_topic("TopicWays", 4)
    producer = start_client("cpp", "producer", "GP", "TopicWays")
    for number in range(30):
        sent = producer.ask("send", topic="TopicWays", body=f"{number}", order_by=number % 3)
        assert (sent["status"], sent["queue_offset"]) == ("OK", number // 3)
    producer.ask("oneway", topic="TopicWays", body="oneway")
    consumer = start_client("cpp", "push", "GC", "TopicWays", orderly=True)
    got = consumer.messages(31)
    for key in range(3):
        in_queue = [int(m["body"]) for m in got if m["queue_id"] == key and m["body"] != "oneway"]
        assert in_queue == list(range(key, 30, 3))
    assert [m["body"] for m in got].count("oneway") == 1
    assert cluster.requests(Code.LOCK_BATCH_MQ)


def test_a_group_of_two_hears_from_the_broker_who_joins_and_who_is_gone(
    create_topic: MakeTopic, start_client: StartClient
) -> None:
    create_topic("TopicShare", 4)
    producer = start_client("cpp", "producer", "GP", "TopicShare")
    one = start_client("cpp", "push", "GC", "TopicShare", name="one")
    _rounds_until(producer, [one], {"one": 4})
    two = start_client("cpp", "push", "GC", "TopicShare", name="two")
    _rounds_until(producer, [one, two], {"one": 2, "two": 2})
    os.kill(two.pid, signal.SIGKILL)
    _rounds_until(producer, [one], {"one": 4})


def _rounds_until(producer: Client, consumers: list[Client], wanted: dict[str, int]) -> None:
    """Sends one message to each of four queues, again and again, until so many of a round reached each consumer."""
    deadline = monotonic() + _SECONDS
    shares: dict[str, int] = {}
    while shares != wanted:
        assert monotonic() < deadline, f"the last round was shared {shares}, not {wanted}"
        sent = {f"round {next(_rounds)}" for _ in range(4)}
        for queue_id, body in enumerate(sorted(sent)):
            assert producer.ask("send", topic="TopicShare", body=body, order_by=queue_id)["status"] == "OK"

        def reached(consumer: Client, sent: set[str] = sent) -> set[str]:
            return sent & {message["body"] for message in consumer.of("message")}

        collect(consumers, lambda sent=sent: set().union(*map(reached, consumers)) == sent)  # type: ignore[misc]
        shares = {consumer.name: len(reached(consumer)) for consumer in consumers}


def test_refused_messages_come_again(
    cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient
) -> None:
    create_topic("TopicRetry", 1)
    create_topic("%RETRY%GC", 1)  # else this client sees it only at its next look for routes, seconds later
    producer = start_client("cpp", "producer", "GP", "TopicRetry")
    (sent,) = _send(producer, "TopicRetry", ["again"], tags="TagR")
    consumer = start_client("cpp", "push", "GC", "TopicRetry", refusals=1)
    first = consumer.wait("message")
    second = consumer.wait("message", lambda event: event["reconsume_times"] > 0)
    assert (first["reconsume_times"], second["reconsume_times"]) == (0, 1)
    assert (second["body"], second["tags"], second["topic"]) == ("again", "TagR", "TopicRetry")
    assert first["msg_id"] == sent["msg_id"]
    assert cluster.requests(Code.CONSUMER_SEND_MSG_BACK)


def test_node_and_cpp_read_each_other(create_topic: MakeTopic, start_client: StartClient) -> None:
    create_topic("TopicBoth", 4)
    node = start_client("node", "producer", "GP", "TopicBoth")
    cpp = start_client("cpp", "producer", "GP", "TopicBoth")
    long = "消息" * 4000
    assert node.ask("send", topic="TopicBoth", body=f"node {long}", tags="TagN", keys="kn")["status"] == "SEND_OK"
    assert cpp.ask("send", topic="TopicBoth", body=f"cpp {long}", tags="TagC", keys="kc")["status"] == "OK"
    expected = {f"node {long}": ("TagN", "kn"), f"cpp {long}": ("TagC", "kc")}
    for kind, role, group in (("node", "consumer", "GN"), ("cpp", "push", "GC")):
        consumer = start_client(kind, role, group, "TopicBoth")
        assert {m["body"]: (m["tags"], m["keys"]) for m in consumer.messages(2)} == expected, kind
