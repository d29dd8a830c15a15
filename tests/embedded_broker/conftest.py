from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import EmbeddedCluster
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.sides import Side
from tests.embedded_broker.wire import Peer


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """One broker and one name server, empty."""
    shared_cluster.reset()
    return shared_cluster


@pytest.fixture
def broker(cluster: EmbeddedCluster) -> Iterator[Peer]:
    with Peer(cluster.broker().address) as peer:
        yield peer


@pytest.fixture
def namesrv(cluster: EmbeddedCluster) -> Iterator[Peer]:
    with Peer(cluster.namesrv) as peer:
        yield peer


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def release(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param, virtual_time=True) as cluster:
        yield cluster


@pytest.fixture
def side(release: EmbeddedCluster) -> Iterator[Side]:
    """A broker of each release in turn, with five messages in `T` and the group `G`."""
    release.reset()
    five = release.spec.version == "5.3.3"
    with Peer(release.broker().address, version=479 if five else 409) as peer:
        for number in range(5):
            assert peer.call(send("T"), f"body {number}".encode()).code == 0
        assert peer.call(pull("T", 0, group="G")).code == 0  # makes the group
        yield Side(release, peer, five)
