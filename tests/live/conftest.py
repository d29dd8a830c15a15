"""A live cluster for commands: two brokers, topics with messages, a group that is behind, one with members."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.deadline import Deadline
from mqctl.client.links import Links
from mqctl.client.question import Question
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

Run = Callable[..., Outcome]


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version=request.param) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Two name servers and two brokers with topic Pay (two queues each, five messages in the first queues); group G
    has consumed three of each."""
    shared_cluster.reset()
    for name in ("broker-a", "broker-b"):
        change(shared_cluster, name, put_topic(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=2)))
        with Peer(shared_cluster.broker(name).address) as peer:
            for number in range(5):
                assert peer.call(send("Pay", properties={"TAGS": "A", "KEYS": f"k{number}"}), b"x%d" % number).code == 0
        change(shared_cluster, name, put_group(SubscriptionGroupConfig(name="G")))
        change(shared_cluster, name, commit_offset("G", "Pay", 0, 3))
        change(shared_cluster, name, commit_offset("G", "Pay", 1, 0))
    return shared_cluster


def change(cluster: EmbeddedCluster, broker: str, question: Question[None]) -> None:
    links = Links()
    links.ask(cluster.broker(broker).address, question, Deadline(10_000))
    links.close()


@pytest.fixture
def live(mqctl: Run, cluster: EmbeddedCluster, tmp_path: Path) -> Run:
    """Runs mqctl against the cluster, with directories of its own."""
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

    def run(*words: object, env: Mapping[str, str] | None = None) -> Outcome:
        return mqctl(*words, env={**places, "MQCTL_NAMESRV": cluster.namesrv, **(env or {})})

    return run
