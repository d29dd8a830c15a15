"""Connections that cannot be secured: who hangs, who breaks off, whose certificate is no good, and what is said."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Thread

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.tls import ClientAuth, TlsMode
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import Link, LinkSettings
from mqctl.client.remoting.tls import TlsSettings
from mqctl.errors import DeadlineError, UnreachableError
from mqctl.protocol.requests_namesrv import GetBrokerClusterInfo
from tests.conftest import Outcome
from tests.embedded_broker.authority import Authority, Pair
from tests.live.conftest import Run

LIST = ("broker", "list", "-o", "json")
PASSWORD = "ThePassword-4711"
Listening = Callable[[Callable[[socket.socket], object]], str]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def listening() -> Iterator[Listening]:
    """Listens with a handler of one connection, which stays open until the test ends unless the handler closes it."""
    with ExitStack() as stack:

        def listen(handle: Callable[[socket.socket], object]) -> str:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            listener.settimeout(60)

            def serve() -> None:
                connection, _ = listener.accept()
                stack.enter_context(connection)
                handle(connection)

            thread = Thread(target=serve)
            thread.start()
            stack.callback(thread.join)
            return f"127.0.0.1:{listener.getsockname()[1]}"

        yield listen


def silent(connection: socket.socket) -> None:
    """Takes the connection and says nothing."""


def stops_in_the_middle(connection: socket.socket) -> None:
    """Begins a record of the handshake that never ends."""
    connection.recv(4096)
    connection.sendall(b"\x16\x03\x03\x40\x00" + b"\x02" * 100)


def breaks_off(connection: socket.socket) -> None:
    """Resets the connection, as one does that is closed before all was read."""
    connection.recv(5)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def speaks_http(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize(
    ("handle", "said"),
    [
        (silent, "did not finish the TLS handshake"),
        (stops_in_the_middle, "did not finish the TLS handshake"),
        (breaks_off, "closed the connection when TLS was proposed"),
        (speaks_http, "it does not answer with TLS"),
    ],
)
def test_a_handshake_that_fails_is_told_as_such(
    listening: Listening, authority: Authority, handle: Callable[[socket.socket], object], said: str
) -> None:
    settings = LinkSettings(tls=TlsSettings(ca_file=str(authority.file)), connect_timeout_ms=1_000)
    with closing(Link(listening(handle), settings)) as link, pytest.raises(UnreachableError) as caught:
        link.call(GetBrokerClusterInfo(), deadline=Deadline(30_000))
    assert said in caught.value.reason
    assert "leave --tls out" in caught.value.remedy


def test_who_gives_up_does_not_wait_for_the_end_of_a_handshake(listening: Listening, authority: Authority) -> None:
    """The limit of a command holds, however long a connection may take."""
    settings = LinkSettings(tls=TlsSettings(ca_file=str(authority.file)), connect_timeout_ms=3_600_000)
    link = Link(listening(silent), settings)
    with pytest.raises(DeadlineError):
        link.call(GetBrokerClusterInfo(), deadline=Deadline(200))
    link.close()


# Certificates of ours


@pytest.fixture(scope="module")
def demanding(authority: Authority) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tls=authority.server(TlsMode.ENFORCING, auth=ClientAuth.REQUIRE)) as cluster:
        yield cluster


@pytest.fixture
def asked(mqctl: Run, demanding: EmbeddedCluster, authority: Authority, tmp_path: Path) -> Callable[..., Outcome]:
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

    def run(pair: Pair, env: Mapping[str, str] | None = None) -> Outcome:
        words = ("--tls-ca", authority.file, "--tls-cert", pair.cert, "--tls-key", pair.key)
        return mqctl(*LIST, *words, env={**places, "MQCTL_NAMESRV": demanding.namesrv, **(env or {})})

    return run


def test_our_own_certificate_may_have_expired(asked: Callable[..., Outcome], authority: Authority) -> None:
    refused = asked(authority.issue("ops@example.com", expired=True))
    assert (refused.exit_code, "our certificate has expired" in refused.stderr) == (69, True), refused


def test_an_encrypted_key_is_opened_by_its_password_only(
    asked: Callable[..., Outcome], authority: Authority, tmp_path: Path
) -> None:
    from cryptography.hazmat.primitives import serialization

    pair = authority.issue("ops@example.com")
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    locked = tmp_path / "locked.key"
    lock = serialization.BestAvailableEncryption(PASSWORD.encode())
    locked.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock),
    )
    locked.chmod(0o600)
    ours = Pair(cert=pair.cert, key=locked)
    assert asked(ours, {"MQCTL_TLS_KEY_PASSWORD": PASSWORD}).exit_code == 0
    for env, said in (
        ({}, "set MQCTL_TLS_KEY_PASSWORD"),
        ({"MQCTL_TLS_KEY_PASSWORD": "guessed-it"}, "MQCTL_TLS_KEY_PASSWORD does not decrypt the key"),
    ):
        refused = asked(ours, env)
        assert (refused.exit_code, said in refused.stderr) == (78, True), refused
        assert "guessed-it" not in refused.stderr


# Versions


def hello(version: int) -> bytes:
    """A ClientHello of TLS 1.0 or 1.1, as clients of that time wrote it: no extension names a newer version."""
    suites = struct.pack(">5H", 0xC014, 0xC013, 0x0035, 0x002F, 0x000A)
    body = struct.pack(">H", version) + bytes(32) + b"\x00" + struct.pack(">H", len(suites)) + suites + b"\x01\x00"
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + struct.pack(">H", len(message)) + message


@pytest.mark.parametrize("version", [0x0301, 0x0302])
def test_versions_before_1_2_are_refused(demanding: EmbeddedCluster, version: int) -> None:
    for address in (demanding.namesrv, demanding.broker().address):
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            sock.sendall(hello(version))
            answer = sock.recv(7, socket.MSG_WAITALL)
        kind, _, _, level, description = struct.unpack(">BHHBB", answer)
        assert (kind, level, description) == (21, 2, ssl.AlertDescription.ALERT_DESCRIPTION_PROTOCOL_VERSION)


def test_a_url_with_a_password_is_not_taken(mqctl: Run) -> None:
    """What is in a URL would be shown in errors and kept in profiles."""
    for url in (f"http://ops:{PASSWORD}@127.0.0.1:1/rocketmq/nsaddr", f"http://ops:{PASSWORD}@127.0.0.1:9876"):
        for words in (("topic", "list", "-n", url), ("profile", "add", "p", "-n", url)):
            outcome = mqctl(*words)
            assert (outcome.exit_code, PASSWORD in outcome.stdout + outcome.stderr) == (64, False), outcome
            assert "leave out what is before the @" in outcome.stderr
