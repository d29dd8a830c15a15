"""Clients of others when their broker is killed and started again."""

from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.interop.conftest import MakeTopic, StartClient


def test_a_consumer_goes_on(cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient) -> None:
    """The Node client's; the one in C++ does so too, after the half minute it gives every pull."""
    create_topic("TopicBack", 2)
    consumer = start_client("node", "consumer", "GC", "TopicBack", lenient=True)
    _send(cluster, b"before")
    consumer.wait("message", lambda event: event["body"] == "before")
    cluster.broker().kill()
    cluster.broker().start()
    _send(cluster, b"after")
    consumer.wait("message", lambda event: event["body"] == "after")


@pytest.mark.parametrize(("kind", "status"), [("node", "SEND_OK"), ("cpp", "OK")])
def test_a_producer_goes_on(
    cluster: EmbeddedCluster, create_topic: MakeTopic, start_client: StartClient, kind: str, status: str
) -> None:
    create_topic("TopicBack", 2)
    producer = start_client(kind, "producer", "GP", "TopicBack")
    assert producer.ask("send", topic="TopicBack", body="before")["status"] == status
    cluster.broker().restart()
    assert producer.ask("send", topic="TopicBack", body="after")["status"] == status


def _send(cluster: EmbeddedCluster, body: bytes) -> None:
    with Peer(cluster.broker().address) as peer:
        assert peer.call(send("TopicBack"), body).code == 0
