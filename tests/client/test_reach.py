"""Ports that answer, hang, hang up, speak something else or are closed are told from each other."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.tls import TlsMode
from mqctl.client.remoting.link import LinkSettings
from mqctl.client.remoting.reach import PortQuestion, PortState, Reached, Speech, reach_ports
from mqctl.client.remoting.tls import TlsSettings
from mqctl.protocol.requests_namesrv import GetBrokerClusterInfo
from tests.client.wire_server import closed_address
from tests.embedded_broker.authority import Authority

_LONG_MS, _SHORT_MS = 30_000, 50
Speaker = Callable[[socket.socket], None]
Serve = Callable[[Speaker], str]
SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a listener that does one thing with each connection, and keeps it until the end."""
    listeners: list[socket.socket] = []
    threads: list[Thread] = []

    def started(speak: Speaker) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def run() -> None:
            kept = []
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    break
                kept.append(connection)
                speak(connection)
            for connection in kept:
                connection.close()

        threads.append(Thread(target=run))
        threads[-1].start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield started
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for thread in threads:
        thread.join()


def reached(
    address: str, speech: Speech = Speech.REMOTING, *, tls: TlsSettings | None = None, timeout_ms: int = _LONG_MS
) -> Reached:
    question = PortQuestion(address, speech, GetBrokerClusterInfo() if speech is Speech.REMOTING else None)
    (port,) = reach_ports([question], timeout_ms=timeout_ms, links=LinkSettings(tls=tls))
    return port


def answering(text: bytes) -> Speaker:
    def speak(connection: socket.socket) -> None:
        connection.recv(1)
        connection.sendall(text)

    return speak


def test_a_closed_port_is_no_slow_one() -> None:
    port = reached(closed_address())
    assert (port.state, port.connect_ms, port.state.open) == (PortState.CLOSED, None, False)


def test_a_port_that_accepts_and_says_nothing_is_half_open(serve: Serve) -> None:
    port = reached(serve(lambda connection: None), timeout_ms=_SHORT_MS)
    assert (port.state, port.speaks, port.answer_ms) == (PortState.HALF_OPEN, None, None)
    assert port.connect_ms is not None


def test_a_port_that_hangs_up_is_told_as_such(serve: Serve) -> None:
    assert reached(serve(lambda connection: connection.close())).state is PortState.HANGS_UP


def test_who_speaks_http_is_no_broker(serve: Serve) -> None:
    port = reached(serve(answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")))
    assert (port.state, port.speaks, port.state.open) == (PortState.OTHER, "http", False)


def test_a_port_of_grpc_is_known_by_its_settings(serve: Serve) -> None:
    port = reached(serve(answering(SETTINGS)), Speech.GRPC)
    assert (port.state, port.speaks) == (PortState.ANSWERS, "http/2")
    assert reached(serve(answering(b"220 ready\r\n")), Speech.GRPC).state is PortState.OTHER


def test_nothing_is_said_where_nothing_may_be_said(serve: Serve) -> None:
    heard: list[bytes] = []
    address = serve(lambda connection: heard.append(connection.recv(1)))
    assert reached(address, Speech.NOTHING).state is PortState.ACCEPTS
    # The listener goes on when the connection has ended: it heard that end and no word before it.
    assert reached(address, Speech.NOTHING).state is PortState.ACCEPTS
    assert heard in ([], [b""], [b"", b""])


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:70000", "127.0.0.1:1 # old", "a..b:1"])
def test_what_is_no_address_is_unknown(address: str) -> None:
    assert reached(address).state is PortState.UNKNOWN


def test_a_port_that_wants_tls_is_told_from_one_that_hangs_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    authority = Authority(tmp_path_factory.mktemp("ca"))
    with EmbeddedCluster(tls=authority.server(TlsMode.ENFORCING)) as cluster:
        plain = reached(cluster.namesrv)
        secured = reached(cluster.namesrv, tls=TlsSettings(verify=False))
    assert (plain.state, plain.speaks) == (PortState.OTHER, "remoting over TLS only")
    assert (secured.state, secured.speaks) == (PortState.ANSWERS, "remoting")


def test_many_ports_are_tried_at_once_and_told_in_order(serve: Serve) -> None:
    address, shut = serve(answering(SETTINGS)), closed_address()
    questions = [PortQuestion((address, shut)[number % 2], Speech.GRPC) for number in range(70)]
    states = [item.state for item in reach_ports(questions, timeout_ms=_LONG_MS, links=LinkSettings())]
    assert states == [PortState.ANSWERS, PortState.CLOSED] * 35
