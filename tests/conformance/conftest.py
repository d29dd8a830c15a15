from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from threading import Event
from time import monotonic, time_ns
from typing import Protocol

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.bodies_cluster import ClusterInfo, SubscriptionGroupTable, TopicConfigTable
from mqctl.protocol.codes import V5_0_0
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    CreateTopic,
    DeleteSubscriptionGroup,
    DeleteTopic,
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
)
from mqctl.protocol.requests_client import GetMaxOffset, PullMessage, SendMessageV2
from mqctl.protocol.requests_namesrv import DeleteTopicFromNamesrv, GetBrokerClusterInfo
from tests.embedded_broker.wire import Peer

_REAL = os.environ.get("MQCTL_TEST_NAMESRV", "")
_numbers = count(1)
_RUN = time_ns() // 1_000_000


@dataclass(frozen=True)
class Site:
    """A cluster under test: a name server, one of its masters, and its version line."""

    namesrv: str
    cluster: str
    broker_name: str
    broker: str
    is_v5: bool

    @property
    def version(self) -> int:
        return 479 if self.is_v5 else 409


def look_around(namesrv: str) -> Site:
    """Finds a master of the cluster behind `namesrv`."""
    with Peer(namesrv) as peer:
        answer = peer.call(GetBrokerClusterInfo())
    data = next(
        data for data in ClusterInfo.from_bytes(answer.body).broker_addr_table.values() if 0 in data.broker_addrs
    )
    return Site(namesrv, data.cluster, data.broker_name, data.broker_addrs[0], answer.version >= V5_0_0)


def clear_up(site: Site) -> None:
    """Removes the topics and groups of this run."""
    with Peer(site.broker, version=site.version) as broker, Peer(site.namesrv, version=site.version) as namesrv:
        for name in TopicConfigTable.from_bytes(broker.call(GetAllTopicConfig()).body).topic_config_table:
            if str(_RUN) in name:
                assert broker.call(DeleteTopic(topic=name)).code == 0
                assert namesrv.call(DeleteTopicFromNamesrv(topic=name)).code == 0
        answer = broker.call(GetAllSubscriptionGroupConfig())
        for name in SubscriptionGroupTable.from_bytes(answer.body).subscription_group_table:
            if str(_RUN) in name:
                deleted = DeleteSubscriptionGroup(group_name=name, remove_offset=True, clean_offset=True)
                assert broker.call(deleted).code == 0


_EMBEDDED = ("4.9.8", "5.3.3")
_AS_REAL = [pytest.param(f"{release} as real", marks=pytest.mark.long) for release in _EMBEDDED]


@pytest.fixture(scope="session", params=[*_EMBEDDED, *_AS_REAL, *(["real"] if _REAL else [])])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    if request.param == "real":
        real = look_around(_REAL)
        yield real
        clear_up(real)
        return
    version, _, as_real = request.param.partition(" ")
    with EmbeddedCluster(version=version, as_real=bool(as_real)) as cluster:
        yield look_around(cluster.namesrv)


@pytest.fixture
def broker(site: Site) -> Iterator[Peer]:
    with Peer(site.broker, version=site.version) as peer:
        yield peer


@pytest.fixture
def other(site: Site) -> Iterator[Peer]:
    with Peer(site.broker, version=site.version) as peer:
        yield peer


@pytest.fixture
def namesrv(site: Site) -> Iterator[Peer]:
    with Peer(site.namesrv, version=site.version) as peer:
        yield peer


@pytest.fixture
def group() -> str:
    return f"conformance_group_{_RUN}_{next(_numbers)}"


@pytest.fixture
def topic(broker: Peer) -> str:
    """A fresh topic of four queues."""
    name = f"conformance_{_RUN}_{next(_numbers)}"
    created = broker.call(
        CreateTopic(
            topic=name,
            default_topic="TBW102",
            read_queue_nums=4,
            write_queue_nums=4,
            perm=6,
            topic_filter_type="SINGLE_TAG",
            topic_sys_flag=0,
            order=False,
        )
    )
    assert created.code == 0
    return name


class Condition(Protocol):
    def __call__(self) -> bool: ...


def eventually(condition: Condition, *, seconds: float = 60.0) -> None:
    """Asks until it is so; for what a real broker does in another thread."""
    pause, deadline = Event(), monotonic() + seconds
    while not condition():
        assert monotonic() < deadline
        pause.wait(0.005)


def put(peer: Peer, request: SendMessageV2, body: bytes) -> RemotingCommand:
    """Sends a message and waits until it can be read: a real broker answers before its queue has it."""
    answer = peer.call(request, body)
    if answer.code == 0:
        queue_id, last = int(answer.ext("queueId") or 0), int(answer.ext("queueOffset") or 0)
        end = GetMaxOffset(topic=request.topic, queue_id=queue_id)
        eventually(lambda: int(peer.call(end).ext("offset") or 0) > last)
    return answer


def pulled(peer: Peer, request: PullMessage) -> RemotingCommand:
    """Pulls until there is something, and returns it."""
    answers: list[RemotingCommand] = []

    def has_come() -> bool:
        answers.append(peer.call(request))
        return answers[-1].code == 0

    eventually(has_come)
    return answers[-1]
