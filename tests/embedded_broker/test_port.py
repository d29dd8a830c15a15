"""Ports that a broker must get back: its own, which somebody else may hold for a moment."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Thread

import pytest

from embedded_broker import EmbeddedCluster


@pytest.fixture
def stopped() -> Iterator[tuple[EmbeddedCluster, int]]:
    """A cluster whose broker is stopped, and the port that it comes back on."""
    with EmbeddedCluster() as cluster:
        broker = cluster.broker()
        port = int(broker.address.rpartition(":")[2])
        broker.stop()
        yield cluster, port


def holder(port: int) -> socket.socket:
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", port))
    held.listen()
    return held


def test_a_port_that_is_taken_for_a_moment_is_waited_for(stopped: tuple[EmbeddedCluster, int]) -> None:
    cluster, port = stopped
    with holder(port):
        starter = Thread(target=cluster.broker().start)
        starter.start()
    starter.join(20)
    assert cluster.broker().running


def test_a_port_that_stays_taken_is_told(stopped: tuple[EmbeddedCluster, int]) -> None:
    cluster, port = stopped
    with holder(port), pytest.raises(Exception, match=f"could not listen on 127.0.0.1:{port}"):
        cluster.broker().start()
