"""TLS of the embedded broker at the level of bytes and threads."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.tls import ClientAuth, ServerTls, TlsMode
from embedded_broker.testing.options import parse
from mqctl.client.admin.broker_queries import runtime_info
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import LinkSettings
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.tls import TlsSettings
from mqctl.errors import ConfigurationError, UsageError
from mqctl.protocol.requests_admin import GetBrokerConfig
from tests.embedded_broker.authority import Authority
from tests.embedded_broker.wire import Peer

_HELLO = b"\x16\x03\x01\x02\x00\x01"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def permissive(authority: Authority) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tls=authority.server(TlsMode.PERMISSIVE), virtual_time=True) as cluster:
        yield cluster


def connect(cluster: EmbeddedCluster) -> socket.socket:
    host, _, port = cluster.broker().address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def ends(sock: socket.socket) -> bool:
    """Reads until the other side closes; what it says before is an alert at most."""
    try:
        while sock.recv(4096):
            pass
    except ConnectionResetError:
        return True
    return True


def test_a_handshake_of_garbage_closes_the_connection(permissive: EmbeddedCluster) -> None:
    for garbage in (_HELLO + b"\xff" * 600, b"\x16" * 100, b"\x16\x03\x01\xff\xff" + b"\x00" * 70_000):
        with connect(permissive) as sock:
            sock.sendall(garbage)
            assert ends(sock)
    with Peer(permissive.broker().address) as peer:
        assert peer.call(GetBrokerConfig()).code == 0


def test_a_handshake_that_does_not_end_is_closed_after_half_a_minute(permissive: EmbeddedCluster) -> None:
    with connect(permissive) as sock:
        sock.sendall(_HELLO)
        with Peer(permissive.broker().address) as peer:  # answered after the first bytes were read
            assert peer.call(GetBrokerConfig()).code == 0
        permissive.advance(32_000)
        assert ends(sock)


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_frame_may_come_in_any_pieces(
    permissive: EmbeddedCluster, authority: Authority, newest: ssl.TLSVersion
) -> None:
    context = ssl.create_default_context(cafile=str(authority.file))
    context.maximum_version = newest
    with Peer(permissive.broker().address) as peer:
        peer.socket = context.wrap_socket(peer.socket, server_hostname="127.0.0.1")
        plain = peer.socket.sendall

        def crumbs(data: bytes) -> None:
            for at in range(0, len(data), 7):
                plain(data[at : at + 7])

        peer.socket.sendall = crumbs  # type: ignore[assignment, method-assign]
        assert peer.call(GetBrokerConfig()).code == 0


def test_many_threads_share_one_secured_connection(permissive: EmbeddedCluster, authority: Authority) -> None:
    """OpenSSL's objects bear one thread at a time; a link has one reader and any number of writers."""
    settings = LinkSettings(tls=TlsSettings(ca_file=str(authority.file)))
    with Links(settings) as links, ThreadPoolExecutor(8) as threads:
        address = permissive.broker().address
        pending = [threads.submit(links.ask, address, runtime_info(), Deadline(30_000)) for _ in range(800)]
        assert len([one.result() for one in pending]) == 800


def test_words_that_contradict_each_other(authority: Authority, tmp_path: Path) -> None:
    for words in (["--tls-cert", "a.pem"], ["--tls-key", "a.key"], ["--tls-mode", "enforcing"]):
        with pytest.raises(UsageError):
            parse(words)
    pair = authority.issue("127.0.0.1")
    nobody = ServerTls(cert_path=pair.cert, key_path=pair.key, need_client_auth=ClientAuth.REQUIRE)
    missing = ServerTls(cert_path=tmp_path / "none.crt", key_path=pair.key)
    for wrong in (nobody, missing):
        with pytest.raises(ConfigurationError), EmbeddedCluster(tls=wrong):
            pass
