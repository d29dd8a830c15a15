from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.requests_admin import CreateTopic
from tests.embedded_broker.wire import Peer
from tests.interop.clients import Client
from tests.interop.node_client import node_command
from tests.requires import need_extra

StartClient = Callable[..., Client]
# A first retry waits for level 3.
_DELAY_LEVELS = "1s 1s 1s 2s"

MakeTopic = Callable[[str, int], None]


@pytest.fixture(params=["4.9.8", "5.3.3"], scope="module")
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param, settings={"messageDelayLevel": _DELAY_LEVELS}) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """One broker and one name server, empty, with every request logged."""
    shared_cluster.reset()
    shared_cluster.record_requests()
    return shared_cluster


def topic_request(topic: str, queues: int) -> CreateTopic:
    """Returns the request that makes a topic."""
    return CreateTopic(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=queues,
        write_queue_nums=queues,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        topic_sys_flag=0,
        order=False,
    )


def put_topic(address: str, topic: str, queues: int) -> None:
    with Peer(address) as peer:
        answer = peer.call(topic_request(topic, queues))
    assert answer.code == 0, answer.remark


@pytest.fixture
def create_topic(cluster: EmbeddedCluster) -> MakeTopic:
    def create(topic: str, queues: int) -> None:
        put_topic(cluster.broker().address, topic, queues)

    return create


@pytest.fixture
def start_client(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[StartClient]:
    """Starts a client process (`node` or `cpp`) and waits until it is ready."""
    with ExitStack() as stack:

        def start(kind: str, role: str, group: str, topic: str, *, name: str | None = None, **more: object) -> Client:
            command = client_command(kind)
            settings = {"role": role, "namesrv": cluster.namesrv, "group": group, "topic": topic, **more}
            client = stack.enter_context(Client(name or f"{kind}-{role}", command, settings, tmp_path))
            client.wait("ready")
            return client

        yield start


def client_command(kind: str) -> list[str]:
    """Returns the command that runs a client, `node` or `cpp`."""
    return node_command() if kind == "node" else _cpp_command()


def _cpp_command() -> list[str]:
    need_extra("interop", "rocketmq.client")
    return [sys.executable, str(Path(__file__).parent / "cpp_driver.py")]
