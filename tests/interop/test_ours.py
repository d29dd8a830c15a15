"""Our own client beside those of others: it is read by them, reads them, and shares a group with them."""

from __future__ import annotations

from itertools import count
from time import monotonic

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from tests.client.consuming import Heard, quick, quick_client
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.interop.clients import collect
from tests.interop.conftest import MakeTopic, StartClient

_LONG = "消息" * 4000
_SECONDS = 60


@pytest.mark.parametrize(("kind", "role"), [("node", "consumer"), ("cpp", "push")])
def test_what_we_send_others_read(
    cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient, kind: str, role: str
) -> None:
    create_topic("TopicOurs", 1)
    with Producer("GP", quick_client(cluster)) as producer:
        sent = producer.send(OutgoingMessage(topic="TopicOurs", body=b"plain", tags="TagA", keys=("k1", "k2")))
        producer.send(OutgoingMessage(topic="TopicOurs", body=_LONG.encode()))
        batch = [OutgoingMessage(topic="TopicOurs", body=b"batch %d" % number, tags="TagB") for number in range(3)]
        producer.send_batch(batch)
        producer.send(OutgoingMessage(topic="TopicOurs", body=b"late", delay_level=1))
    consumer = start_client(kind, role, "GC", "TopicOurs")
    got = consumer.messages(6)
    assert [message["body"] for message in got] == ["plain", _LONG, "batch 0", "batch 1", "batch 2", "late"]
    assert (got[0]["tags"], got[0]["keys"]) == ("TagA", "k1 k2")
    assert got[0]["msg_id"] == (sent.offset_id if kind == "node" else sent.message_id), "Node knows no unique ids"
    assert [message["tags"] for message in got[2:5]] == ["TagB"] * 3


@pytest.mark.both_releases
def test_what_others_send_we_read(cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient) -> None:
    create_topic("TopicTheirs", 4)
    node = start_client("node", "producer", "GN", "TopicTheirs")
    cpp = start_client("cpp", "producer", "GC", "TopicTheirs")
    ids = {
        f"{name} {size}": producer.ask("send", topic="TopicTheirs", body=body, tags="TagT", keys=f"k-{name}")["msg_id"]
        for name, producer in (("node", node), ("cpp", cpp))
        for size, body in (("short", f"{name} short"), ("long", f"{name} {_LONG}"))
    }
    heard = Heard()
    consumer = PushConsumer("G", quick_client(cluster), heard, quick())
    consumer.subscribe("TopicTheirs", "TagT")
    with consumer:
        heard.wait_for(4)
    expected = {f"{name} {what}" for name in ("node", "cpp") for what in ("short", _LONG)}
    assert {body.decode() for body in heard.bodies} == expected
    given = {name: {id_ for key, id_ in ids.items() if key.startswith(name)} for name in ("node", "cpp")}
    seen = {name: {m.message_id for m in heard.messages if m.body.decode().startswith(name)} for name in given}
    assert seen["cpp"] == given["cpp"]
    # The client for node gives no ids, and shows where its messages lie. A 5.x broker gives them ids of its own.
    five = cluster.spec.version == "5.3.3"
    assert (seen["node"] == given["node"], len(seen["node"])) == (not five, 2)
    assert {(message.body.decode().split()[0], tuple(message.keys)) for message in heard.messages} == {
        ("node", ("k-node",)),
        ("cpp", ("k-cpp",)),
    }


def test_three_clients_of_three_makers_share_one_group(
    cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient
) -> None:
    """Nobody tells them who takes what: each computes it, and they must come to the same result."""
    create_topic("TopicThree", 6)
    node = start_client("node", "consumer", "G", "TopicThree")
    cpp = start_client("cpp", "push", "G", "TopicThree")
    heard = Heard()
    ours = PushConsumer("G", quick_client(cluster), heard, quick())
    ours.subscribe("TopicThree")
    rounds = count(1)
    deadline = monotonic() + _SECONDS
    shares: list[int] = []
    with ours, Peer(cluster.broker().address) as peer:
        while shares != [2, 2, 2]:
            assert monotonic() < deadline, f"the last round was shared {shares}"
            bodies = {f"round {next(rounds)}" for _ in range(6)}
            for queue_id, body in enumerate(sorted(bodies)):
                assert peer.call(send("TopicThree", queue_id=queue_id), body.encode()).code == 0

            def reached(bodies: set[str] = bodies) -> list[set[str]]:
                theirs = [{message["body"] for message in client.of("message")} for client in (node, cpp)]
                return [bodies & each for each in (*theirs, {body.decode() for body in heard.bodies})]

            def all_reached(bodies: set[str] = bodies) -> bool:
                return set().union(*reached()) == bodies

            collect((node, cpp), all_reached)
            shares = [len(each) for each in reached()]
