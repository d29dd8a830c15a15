"""A live cluster for commands: two brokers, topics with messages, a group that is behind, one with members."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.conftest import REPOSITORY, Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.terminal import Seen, Terminal, run_on_terminal

Run = Callable[..., Outcome]
Consume = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Two name servers and two brokers with topic Pay (two queues each, five messages in the first queues); group G
    has consumed three of each."""
    shared_cluster.reset()
    topic = TopicConfig(name="Pay", read_queue_count=2, write_queue_count=2)
    for name in ("broker-a", "broker-b"):
        address = shared_cluster.broker(name).address
        with Links() as links, Peer(address) as peer:
            links.ask(address, put_topic(topic), Deadline(60_000))
            for number in range(5):
                assert peer.call(send("Pay", properties={"TAGS": "A", "KEYS": f"k{number}"}), b"x%d" % number).code == 0
            links.ask(address, put_group(SubscriptionGroupConfig(name="G")), Deadline(60_000))
            links.ask(address, commit_offset("G", "Pay", 0, 3), Deadline(60_000))
            links.ask(address, commit_offset("G", "Pay", 1, 0), Deadline(60_000))
    return shared_cluster


def change(cluster: EmbeddedCluster, broker: str, question: Question[None]) -> None:
    links = Links()
    links.ask(cluster.broker(broker).address, question, Deadline(60_000))
    links.close()


@pytest.fixture
def live(mqctl: Run, cluster: EmbeddedCluster, tmp_path: Path) -> Run:
    """Runs mqctl against the cluster, with directories of its own."""
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        return mqctl(*words, env={**places, "MQCTL_NAMESRV": cluster.namesrv, **(env or {})})

    return run


@pytest.fixture(scope="module")
def slow_server() -> Iterator[str]:
    """The URL of an HTTP server that takes questions and never answers."""
    ended = threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ended.wait()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/slow"
    ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def consume(cluster: EmbeddedCluster) -> Iterator[Consume]:
    """Starts a consumer process of group G on topic Pay whose listener does one thing
    (`tests/live/stacks/stack_process.py`), and returns it once so many of its threads are in that state."""
    running: list[subprocess.Popen[str]] = []

    def start(does: str, *, name: str = "one", ready: int = 1, **more: object) -> subprocess.Popen[str]:
        settings = {"namesrv": cluster.namesrv, "group": "G", "topic": "Pay", "name": name, "does": does, **more}
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.live.stacks.stack_process", json.dumps(settings)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(ready)] == ["ready\n"] * ready
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def terminal(cluster: EmbeddedCluster, tmp_path: Path) -> Terminal:
    """Runs mqctl against the cluster on a terminal."""
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

    def run(*words: object, keys: Mapping[str, bytes] | None = None, columns: int = 100) -> Seen:
        env = {**places, "MQCTL_NAMESRV": cluster.namesrv, "COLUMNS": str(columns)}
        return run_on_terminal(words, env, keys or {}, tmp_path)

    return run
