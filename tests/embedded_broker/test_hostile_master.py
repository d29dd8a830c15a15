"""A master that sends what no master sends: its slave says so, and does not come back at once, again and again."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import suppress

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.requests_client import GetMaxOffset
from tests.client.consuming import wait_until
from tests.each import each
from tests.embedded_broker.wire import Peer
from tests.store.builder import StoreBuilder, message

_SECONDS = 20
_CALLS = 300
"""Answers of the slave while somebody who connects at once would have done so hundreds of times."""


class Master:
    """Sends the same bytes to whoever connects."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        self.address = f"{host}:{port}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                link, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._talk, args=(link,), daemon=True).start()

    def _talk(self, link: socket.socket) -> None:
        with suppress(OSError), link:
            link.settimeout(_SECONDS)
            link.sendall(self._data)
            while link.recv(4_096):
                pass

    def close(self) -> None:
        self._listener.close()


def block(data: bytes, offset: int = 0) -> bytes:
    return offset.to_bytes(8, "big", signed=True) + len(data).to_bytes(4, "big") + data


def record(topic: str) -> bytes:
    builder = StoreBuilder()
    builder.append(message(topic), dispatch=False)
    return bytes(builder.log)


STREAMS = {
    "a topic that leaves the store": lambda: block(record("../../../x")),
    "a topic that is no UTF-8": lambda: block(record("TT").replace(b"\x02TT", b"\x02\xff\xfe")),
    "no record": lambda: block(b"\xa5" * 4_000),
    "an offset below zero": lambda: block(b"abc", -5),
    "an offset far away": lambda: block(b"abc", 1 << 62),
}


@each("name", STREAMS)
def test_a_slave_refuses_it_and_waits_before_it_comes_back(name: str, caplog: pytest.LogCaptureFixture) -> None:
    master = Master(STREAMS[name]())
    settings = {"brokerRole": "SLAVE", "brokerId": "1", "haMasterAddress": master.address}
    with caplog.at_level(logging.ERROR), EmbeddedCluster(version="4.9.8", settings=settings) as cluster:
        wait_until(lambda: master.connections >= 1, "the slave has connected")
        with Peer(cluster.broker().address) as peer:
            for _ in range(_CALLS):
                assert peer.call(GetMaxOffset(topic="T", queue_id=0)).code == 0
    master.close()
    assert master.connections <= 3
    assert "Traceback" not in caplog.text
    assert "protocol.data_received" not in caplog.text
