"""The gRPC clients of others, from PyPI and npm as they are, against the embedded endpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.requests_admin import UpdateAndCreateSubscriptionGroup
from tests.conftest import REPOSITORY
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.test_grpc import make_topic
from tests.embedded_broker.wire import Peer
from tests.interop.clients import Client, Event
from tests.interop.node_client import grpc_command
from tests.requires import need_extra

_KINDS = ("python", "node")
_AGAIN_SECONDS = 60
_SOON = {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [50]}}
_ATTEMPTS = {"python": 2, "node": 1}
"""Deliveries of a dead message by group settings that allow two: the Node client counts from one more."""
_TOPICS = {"Normal": "NORMAL", "Fifo": "FIFO", "Late": "DELAY", "Tx": "TRANSACTION"}
_SETTINGS = {
    "recallMessageEnable": "true",
    "transactionCheckInterval": "300",
    "transactionTimeOut": "300",
    "transactionOpBatchInterval": "20",
    "timerPrecisionMs": "100",
    "enableRetryTopicV2": "true",
    "retrieveMessageFromPopRetryTopicV1": "false",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(grpc=True, settings=_SETTINGS) as cluster:
        for kind in _KINDS:
            for topic, message_type in _TOPICS.items():
                make_topic(cluster, f"{kind}{topic}", message_type)
        yield cluster


@pytest.fixture(scope="module")
def clients(cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Client]]:
    """A process each, with a producer of all types of topics: that of Node waits for ever if settings come too soon."""
    need_extra("interop", "rocketmq.v5")
    commands = {"node": grpc_command(), "python": [sys.executable, str(Path(__file__).parent / "grpc_driver.py")]}
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                Client(kind, commands[kind], {"endpoints": cluster.grpc}, tmp_path_factory.mktemp(kind))
            )
            for kind in _KINDS
        ]

        def prepare(client: Client) -> None:
            client.wait("ready")
            topics = [f"{client.name}{topic}" for topic in _TOPICS]
            assert client.ask("producer", topics=topics, check="COMMIT")["event"] == "ready"

        at_once(started, prepare)
        yield started
        at_once(started, Client.stop)


def at_once(clients: Sequence[Client], work: Callable[[Client], None]) -> None:
    """Does something with all clients at the same time: most of it is waiting."""
    with ThreadPoolExecutor(len(clients)) as pool:
        for done in [pool.submit(work, client) for client in clients]:
            done.result()


def with_each(
    test: Callable[[Client, EmbeddedCluster], None],
) -> Callable[[list[Client], EmbeddedCluster], None]:
    """Makes a test of one client one of all of them."""

    def test_all(clients: list[Client], cluster: EmbeddedCluster) -> None:
        at_once(clients, lambda client: test(client, cluster))

    test_all.__name__, test_all.__doc__ = test.__name__, test.__doc__
    return test_all


def _sent(client: Client, topic: str, body: str, **more: object) -> Event:
    event = client.ask("send", topic=f"{client.name}{topic}", body=body, **more)
    assert event["event"] == "sent", event
    return event


def _start(client: Client, role: str, name: str, topic: str, **more: object) -> None:
    assert client.ask(role, name=name, group=name, topic=f"{client.name}{topic}", **more)["event"] == "ready"


def _received(client: Client, name: str, count: int) -> list[Event]:
    """Receives until there are so many messages, and acknowledges them."""
    events: list[Event] = []
    while len(events) < count:
        event = client.ask("receive", name=name)
        assert event["event"] == "received", event
        events += event["messages"]
        assert client.ask("ack", name=name)["event"] == "acked"
    return events


def _pushed(client: Client, name: str, count: int) -> list[Event]:
    while len(events := [event for event in client.of("message") if event["name"] == name]) < count:
        client.wait("message")
    return events


@with_each
def test_what_it_sends_it_receives_and_remoting_clients_read(client: Client, cluster: EmbeddedCluster) -> None:
    topic, group = f"{client.name}Normal", f"{client.name}Simple"
    sent = _sent(client, "Normal", "body 订单", tag="TagA", keys=["k1", "k2"], properties={"colour": "red"})
    with Peer(cluster.broker().address) as peer:
        assert peer.call(send(topic, properties={"TAGS": "TagA", "KEYS": "k3"}), b"by remoting").code == 0
        _start(client, "simple", group, "Normal")
        by_body = {event["body"]: event for event in _received(client, group, 2)}
        own = by_body["body 订单"]
        assert (own["tag"], own["keys"], own["properties"]) == ("TagA", ["k1", "k2"], {"colour": "red"})
        assert (own["message_id"], own["attempt"]) == (sent["message_id"], 1)
        assert by_body["by remoting"]["keys"] == ["k3"]
        bodies = b"".join(peer.call(pull(topic, 0, queue_id=number)).body for number in range(2))
    assert "body 订单".encode() in bodies and b"by remoting" in bodies


@with_each
def test_a_push_consumer_gets_all_and_what_fails_again(client: Client, cluster: EmbeddedCluster) -> None:
    name = f"{client.name}Push"
    put_group(cluster, {"groupName": name, "groupRetryPolicy": _SOON})
    _start(client, "push", name, "Normal", expression="Mine", failures=1)
    _sent(client, "Normal", "not mine", tag="Other")
    for number in range(3):
        _sent(client, "Normal", f"push {number}", tag="Mine")
    pushed = _pushed(client, name, 4)
    assert {event["body"] for event in pushed} == {f"push {number}" for number in range(3)}
    assert sorted(event["attempt"] for event in pushed) == [1, 1, 1, 2]


@with_each
def test_messages_of_a_group_come_in_their_order(client: Client, cluster: EmbeddedCluster) -> None:
    name = f"{client.name}Ordered"
    put_group(cluster, {"groupName": name, "consumeMessageOrderly": True})
    for number in range(5):
        _sent(client, "Fifo", f"fifo {number}", message_group="G")
    _start(client, "push", name, "Fifo")
    assert [event["body"] for event in _pushed(client, name, 5)] == [f"fifo {number}" for number in range(5)]


@with_each
def test_what_an_orderly_consumer_cannot_take_goes_to_the_dead_letters(
    client: Client, cluster: EmbeddedCluster
) -> None:
    name = f"{client.name}Dead"
    group = {"groupName": name, "consumeMessageOrderly": True, "retryMaxTimes": 1, "groupRetryPolicy": _SOON}
    put_group(cluster, group)
    make_topic(cluster, name, "FIFO")
    assert client.ask("producer", topics=[name], check="COMMIT")["event"] == "ready"
    for body in ("dead", "alive"):
        assert client.ask("send", topic=name, body=body, message_group="G")["event"] == "sent"
    assert client.ask("push", name=name, group=name, topic=name, failing="dead")["event"] == "ready"
    client.wait("message", lambda event: event["name"] == name and event["body"] == "alive")
    assert [event["body"] for event in client.of("message") if event["name"] == name][:-1] == ["dead"] * _ATTEMPTS[
        client.name
    ]
    with Peer(cluster.broker().address) as peer:
        assert b"dead" in peer.call(pull(f"%DLQ%{name}", 0)).body


@with_each
def test_a_recalled_message_does_not_come_and_another_in_its_time(client: Client, cluster: EmbeddedCluster) -> None:
    name = f"{client.name}Late"
    recalled = _sent(client, "Late", "recalled", delay_ms=2_000)
    _sent(client, "Late", "late", delay_ms=2_000)
    answer = client.ask("recall", topic=f"{client.name}Late", handle=recalled["handle"])
    assert (answer["event"], answer["message_id"]) == ("recalled", recalled["message_id"])
    _start(client, "simple", name, "Late")
    assert [event["body"] for event in _received(client, name, 1)] == ["late"]


@with_each
def test_transactions_end_as_they_are_told_or_as_the_check_says(client: Client, cluster: EmbeddedCluster) -> None:
    name = f"{client.name}Tx"
    for how in ("commit", "rollback", "leave"):
        _sent(client, "Tx", how, transaction=how)
    client.wait("checked", lambda event: event["body"] == "leave")
    _start(client, "simple", name, "Tx")
    bodies = {event["body"] for event in _received(client, name, 2)}
    while len(bodies) < 2:  # what a busy machine acknowledges late comes again before the other one
        bodies |= {event["body"] for event in _received(client, name, 1)}
    assert bodies == {"commit", "leave"}


def test_the_consumer_of_the_readme_runs_as_printed_but_for_the_port(cluster: EmbeddedCluster) -> None:
    need_extra("interop", "rocketmq.v5")
    make_topic(cluster, "orders")
    with Peer(cluster.broker().address) as peer:
        assert peer.call(send("orders"), b"hello").code == 0
    readme, chinese = ((REPOSITORY / name).read_text() for name in ("README.md", "README.zh.md"))
    block = readme.partition("<!-- gRPC trial -->\n```python\n")[2].partition("```")[0]
    assert block in chinese
    assert len(block.strip().splitlines()) <= 11
    script = block.replace("127.0.0.1:8081", cluster.grpc) + "\nimport os; os._exit(0)\n"
    done = subprocess.run([sys.executable, "-u", "-c", script], capture_output=True, text=True, timeout=90, check=False)
    assert (done.stdout, done.returncode) == ("hello\n", 0), done.stderr


def test_the_test_in_the_guide_runs(tmp_path: Path) -> None:
    need_extra("interop", "rocketmq.v5")
    guide = (REPOSITORY / "docs" / "embedded-broker.md").read_text()
    block = guide.partition("<!-- gRPC test -->\n```python\n")[2].partition("```")[0]
    (tmp_path / "test_guide.py").write_text(block)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmq_grpc = true\n")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "embedded_broker.testing.pytest_plugin", "."]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_broker_that_was_killed_and_an_endpoint_that_was_gone_are_found_again(
    clients: list[Client], cluster: EmbeddedCluster
) -> None:
    at_once(clients, lambda client: _start(client, "push", f"{client.name}Again", "Normal", expression="Again"))

    def go_on(body: str) -> None:
        def one(client: Client) -> None:
            name, deadline = f"{client.name}Again", monotonic() + _AGAIN_SECONDS
            while client.ask("send", topic=f"{client.name}Normal", body=body, tag="Again")["event"] != "sent":
                assert monotonic() < deadline
            client.wait("message", lambda event: event["name"] == name and event["body"] == body)

        at_once(clients, one)

    go_on("before")
    cluster.broker().kill()
    cluster.broker().start()
    go_on("broker back")
    cluster.stop_grpc()
    cluster.start_grpc()
    go_on("endpoint back")


def put_group(cluster: EmbeddedCluster, settings: dict[str, object]) -> None:
    with Peer(cluster.broker().address) as peer:
        assert peer.call(UpdateAndCreateSubscriptionGroup(), json.dumps(settings).encode()).code == 0
