"""Delayed, transactional, ordered and filtered messages between makers, as far as each supports them."""

from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.consumer_settings import ConsumeMode
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.client.producer.transactions import LocalTransactionState, TransactionProducer
from tests.client.consuming import Heard, quick, quick_client
from tests.interop.conftest import MakeTopic, StartClient

OTHERS = [("node", "consumer"), ("cpp", "push")]


def never(message: ReceivedMessage) -> LocalTransactionState:
    raise AssertionError(f"nobody should ask about {message}")


@pytest.mark.parametrize(("kind", "role"), OTHERS)
def test_others_hear_what_we_commit_and_never_what_we_roll_back(
    cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient, kind: str, role: str
) -> None:
    create_topic("TopicPaid", 1)
    consumer = start_client(kind, role, "GC", "TopicPaid")

    def execute(message: OutgoingMessage, message_id: str) -> LocalTransactionState:
        return LocalTransactionState.COMMIT if b"good" in message.body else LocalTransactionState.ROLLBACK

    with TransactionProducer("GT", quick_client(cluster), never) as producer:
        for number in range(6):
            word = b"good" if number % 2 else b"bad"
            producer.send(OutgoingMessage(topic="TopicPaid", body=word + b" %d" % number, tags="TagT"), execute)
        producer.send(OutgoingMessage(topic="TopicPaid", body=b"good, the last", tags="TagT"), execute)
    got = [message["body"] for message in consumer.messages(4)]
    assert got == ["good 1", "good 3", "good 5", "good, the last"]


@pytest.mark.parametrize(("kind", "role"), OTHERS)
def test_what_we_order_by_key_others_hear_in_order(
    cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient, kind: str, role: str
) -> None:
    create_topic("TopicOrdered", 4)
    with Producer("GP", quick_client(cluster)) as producer:
        for number in range(40):
            key = f"order-{number % 8}"
            message = OutgoingMessage(topic="TopicOrdered", body=f"{key} {number}".encode(), keys=key)
            producer.send(message, select=by_key(key))
    more = {"orderly": True} if kind == "cpp" else {}
    consumer = start_client(kind, role, "GC", "TopicOrdered", **more)
    places: dict[str, list[int]] = {}
    queues: dict[str, set[int]] = {}
    for got in consumer.messages(40):
        key, place = got["body"].split()
        places.setdefault(key, []).append(int(place))
        queues.setdefault(key, set()).add(got["queue_id"])
    assert all(len(owners_of) == 1 for owners_of in queues.values())
    if kind == "cpp":  # Node has no orderly listener
        assert all(numbers == sorted(numbers) for numbers in places.values())


def test_what_others_delay_and_order_we_hear(
    cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient
) -> None:
    create_topic("TopicMixed", 4)
    cpp = start_client("cpp", "producer", "GX", "TopicMixed")
    node = start_client("node", "producer", "GN", "TopicMixed")
    heard = Heard()
    ours = PushConsumer("G", quick_client(cluster), heard, quick(), mode=ConsumeMode.ORDERLY)
    ours.subscribe("TopicMixed", "TagA")
    for number in range(12):
        cpp.ask("send", topic="TopicMixed", body=f"cpp {number}", tags="TagA", order_by=7)
    for client, name in ((cpp, "cpp"), (node, "node")):
        client.ask("send", topic="TopicMixed", body=f"{name} late", tags="TagA", delay_level=1)
        client.ask("send", topic="TopicMixed", body=f"{name} filtered out", tags="TagB")
    with ours:
        messages = heard.wait_for(14)
    bodies = [message.body.decode() for message in messages]
    assert [body for body in bodies if body[4:].isdigit()] == [f"cpp {number}" for number in range(12)]
    late = {message.body.decode(): message for message in messages if b"late" in message.body}
    assert late.keys() == {"cpp late", "node late"}
    assert all(message.stored.store_time_ms - message.stored.born_time_ms >= 900 for message in late.values())
