"""Pytest fixtures for applications that talk to RocketMQ.

`mq_cluster` is an `EmbeddedCluster`, shared by the session and emptied before every test; `mq_broker` is its first
broker. What the cluster looks like is said by the ini options `mq_brokers` (a number or names), `mq_version` and
`mq_grpc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from mqctl.model.numbers import decimal

if TYPE_CHECKING:
    from embedded_broker import EmbeddedBroker, EmbeddedCluster


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "mq_brokers", "brokers of the mq_cluster fixture: a number, or names separated by blanks", default="1"
    )
    parser.addini("mq_version", "RocketMQ release that mq_cluster behaves like (4.9.8; with mq_grpc 5.3.3)", default="")
    parser.addini("mq_grpc", "mq_cluster serves gRPC clients, at mq_cluster.grpc", type="bool", default=False)


@pytest.fixture(scope="session")
def mq_session_cluster(pytestconfig: pytest.Config) -> Iterator[EmbeddedCluster]:
    """One cluster for the whole session; tests use `mq_cluster`, which is empty."""
    from embedded_broker import EmbeddedCluster

    wanted = str(pytestconfig.getini("mq_brokers"))
    brokers = decimal(wanted) or wanted.split()
    version = str(pytestconfig.getini("mq_version")) or None
    with EmbeddedCluster(brokers=brokers, version=version, grpc=bool(pytestconfig.getini("mq_grpc"))) as cluster:
        yield cluster


@pytest.fixture
def mq_cluster(mq_session_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """An empty RocketMQ cluster; `mq_cluster.namesrv` is the address for clients."""
    mq_session_cluster.reset()
    return mq_session_cluster


@pytest.fixture
def mq_broker(mq_cluster: EmbeddedCluster) -> EmbeddedBroker:
    """The first broker of `mq_cluster`."""
    return mq_cluster.broker()
