from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import EmbeddedCluster
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
