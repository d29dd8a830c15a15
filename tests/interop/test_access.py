"""Clients of others with keys, against an embedded broker that asks for them: their signatures are right, and count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.embedded_broker.access import ADMIN, SigningPeer, write_list
from tests.interop.clients import Client
from tests.interop.conftest import StartClient, client_command, topic_request

LIST = """
accounts:
  - accessKey: admin-key
    secretKey: admin-secret
    admin: true
  - accessKey: orders-app
    secretKey: orders-secret
    defaultGroupPerm: SUB
    topicPerms: [Orders=PUB|SUB]
  - accessKey: reader-app
    secretKey: reader-secret
    defaultGroupPerm: SUB
    topicPerms: [Orders=SUB]
"""
ORDERS = {"access_key": "orders-app", "secret_key": "orders-secret"}
READER = {"access_key": "reader-app", "secret_key": "reader-secret"}
GUESSED = {"access_key": "orders-app", "secret_key": "guessed-secret"}
SEND_CODES = (10, 310)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(acl_file=write_list(tmp_path_factory.mktemp("conf"), LIST)) as cluster:
        with SigningPeer(cluster.broker().address, ADMIN) as admin:
            assert admin.call(topic_request("Orders", 2)).code == 0
        yield cluster


@pytest.fixture
def start(guarded: EmbeddedCluster, tmp_path: Path) -> Iterator[StartClient]:
    with ExitStack() as stack:

        def started(kind: str, role: str, group: str, topic: str, *, name: str | None = None, **more: object) -> Client:
            settings = {"role": role, "namesrv": guarded.namesrv, "group": group, "topic": topic, **more}
            name = name or f"{kind}-{role}-{len(list(tmp_path.iterdir()))}"
            client = stack.enter_context(Client(name, client_command(kind), settings, tmp_path))
            client.wait("ready")
            return client

        yield started


def test_the_cpp_client_signs_as_the_broker_reads(start: StartClient, guarded: EmbeddedCluster) -> None:
    guarded.record_requests()
    producer = start("cpp", "producer", "GP", "Orders", **ORDERS)
    assert producer.ask("send", topic="Orders", body="from C++", tags="A", keys="k1")["status"] == "OK"
    consumer = start("cpp", "push", "GC", "Orders", **ORDERS)
    assert [message["body"] for message in consumer.messages(1)] == ["from C++"]
    consumer.stop()
    producer.stop()
    sent = [request for code in SEND_CODES for request in guarded.requests(code)]
    assert sent and all("Signature" in request.ext_fields for request in sent)


def test_the_node_client_signs_as_the_broker_reads(start: StartClient) -> None:
    producer = start("node", "producer", "GP", "Orders", **ORDERS)
    assert producer.ask("send", topic="Orders", body="from Node", tags="A", keys="k1").get("status") == "SEND_OK"
    producer.stop()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (READER, "No default permission for topic:Orders"),
        (GUESSED, "Check signature failed for accessKey=orders-app"),
        ({}, "No accessKey is configured"),
    ],
)
def test_the_node_client_cannot_send_what_its_account_may_not(
    start: StartClient, caplog: pytest.LogCaptureFixture, keys: dict[str, str], said: str
) -> None:
    producer = start("node", "producer", "GP", "Orders", **keys)
    failed = producer.ask("send", topic="Orders", body="never")
    assert failed["event"] == "failed", failed
    assert any(said in line for line in caplog.messages), "the client keeps the remark to itself, the broker logs it"
