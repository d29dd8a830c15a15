"""Whether a port can be reached from here, how long that takes, and who answers there: one connection a port.

Only what anybody may say is said: a question about the server itself, the beginning of HTTP/2, a TLS greeting. A port
that must not be spoken to (replication takes every word for a slave's) is connected to and closed.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from threading import Thread
from time import monotonic

from mqctl.client.remoting.link import LinkSettings, split_address
from mqctl.client.remoting.tls import TlsSettings, TlsSocket
from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.acl import sign
from mqctl.protocol.frame import encode
from mqctl.protocol.header import Request
from mqctl.text import sentence

SLOW_MS = 1_000.0
_AT_ONCE = 32
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS_FRAME = 4
_HEAD_BYTES = 9


class PortState(StrEnum):
    """How a port behaves.

    Attributes:
        ANSWERS: somebody speaks there, in the language that was expected.
        SLOW: as ANSWERS, after a second or more.
        ACCEPTS: connections are accepted; nothing was asked.
        OTHER: somebody speaks there, and something else.
        HALF_OPEN: connections are accepted, and nobody says anything.
        HANGS_UP: connections are accepted and closed at once.
        CLOSED: the host refuses connections.
        SILENT: nobody replies to the attempt: a firewall, a wrong address, a host that is down.
        UNKNOWN: there is no such host or address.
    """

    ANSWERS = "answers"
    SLOW = "slow"
    ACCEPTS = "accepts"
    OTHER = "other"
    HALF_OPEN = "half-open"
    HANGS_UP = "hangs-up"
    CLOSED = "closed"
    SILENT = "silent"
    UNKNOWN = "unknown"

    @property
    def open(self) -> bool:
        """Whether whoever needs the port can work with it."""
        return self in (PortState.ANSWERS, PortState.SLOW, PortState.ACCEPTS)


class Speech(StrEnum):
    """What is expected at a port."""

    REMOTING = "remoting"
    GRPC = "grpc"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What came of one port.

    Attributes:
        speaks: what was heard: `remoting`, `remoting over TLS`, `http`, `http/2`, `tls`, or the first bytes.
        connect_ms, answer_ms: until the connection stood, and from then until the first byte.
        reason: what the operating system says, where it says something.
    """

    state: PortState
    speaks: str | None = None
    connect_ms: float | None = None
    answer_ms: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """A port of the cluster, and what came of trying it.

    Attributes:
        name: of the broker; None where it is nobody's.
    """

    role: str
    name: str | None
    broker_id: int | None
    address: str
    reached: Reached


@dataclass(frozen=True, slots=True)
class PortQuestion:
    """A port to try, and what to say there."""

    address: str
    speech: Speech
    request: Request | None = None


def reach_ports(questions: Sequence[PortQuestion], *, timeout_ms: int, links: LinkSettings) -> list[Reached]:
    """Tries ports, 32 at a time, each for so long; the results stand in the order of the questions.

    Args:
        timeout_ms: limit of one attempt to connect, and of one answer.
        links: whether connections are secured, so that a port that speaks plainly is told as such, and by whom
            questions are signed.
    """
    results: list[Reached | None] = [None] * len(questions)

    def work(first: int) -> None:
        for number in range(first, len(questions), _AT_ONCE):
            results[number] = _reach(questions[number], timeout_ms / 1_000, links)

    threads = [Thread(target=work, args=(first,), daemon=True) for first in range(min(_AT_ONCE, len(questions)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [item for item in results if item is not None]


def _reach(question: PortQuestion, timeout_s: float, links: LinkSettings) -> Reached:
    secured = links.tls is not None and question.speech is Speech.REMOTING
    first = _attempt(question, timeout_s, links if secured else replace(links, tls=None))
    if question.speech is not Speech.REMOTING or first.state not in (PortState.HALF_OPEN, PortState.HANGS_UP):
        return first
    # Whoever enforces TLS says nothing to plain clients, and whoever knows none says nothing to a greeting.
    other = _attempt(question, timeout_s, replace(links, tls=None if secured else TlsSettings(verify=False)))
    if other.state not in (PortState.ANSWERS, PortState.SLOW, PortState.OTHER):
        return first
    said = "remoting, plain only" if secured else "remoting over TLS only"
    speaks = said if other.state is not PortState.OTHER else other.speaks
    return replace(other, state=PortState.OTHER, speaks=speaks)


def _attempt(question: PortQuestion, timeout_s: float, links: LinkSettings) -> Reached:
    begun = monotonic()
    sock = _connected(question.address, timeout_s)
    if isinstance(sock, Reached):
        return sock
    connect_ms = _since(begun)
    with sock:
        if question.speech is Speech.NOTHING:
            return Reached(state=PortState.ACCEPTS, connect_ms=connect_ms)
        begin = monotonic()
        try:
            head = _said(sock, question, links)
        except TimeoutError:
            return Reached(
                state=PortState.HALF_OPEN,
                connect_ms=connect_ms,
                reason=sentence("no-answer-in-time", "no answer in time"),
            )
        except OSError as error:
            return Reached(state=PortState.HANGS_UP, connect_ms=connect_ms, reason=error.strerror or str(error))
    if not head:
        return Reached(state=PortState.HANGS_UP, connect_ms=connect_ms)
    answer_ms = _since(begin)
    speaks, expected = _told(head, question.speech)
    state = PortState.SLOW if connect_ms + answer_ms > SLOW_MS else PortState.ANSWERS
    return Reached(
        state=state if expected else PortState.OTHER, speaks=speaks, connect_ms=connect_ms, answer_ms=answer_ms
    )


def _connected(address: str, timeout_s: float) -> socket.socket | Reached:
    try:
        return socket.create_connection(split_address(address), timeout=timeout_s)
    except (UsageError, socket.gaierror, UnicodeError) as error:
        return Reached(state=PortState.UNKNOWN, reason=getattr(error, "strerror", None) or str(error))
    except ConnectionRefusedError as error:
        return Reached(state=PortState.CLOSED, reason=error.strerror)
    except OSError as error:
        return Reached(
            state=PortState.SILENT,
            reason=error.strerror or sentence("client-no-reply-in-time", "no reply in time"),
        )


def _said(sock: socket.socket, question: PortQuestion, links: LinkSettings) -> bytes:
    """Says what is to be said, and returns the first bytes that come back; none when the other side hangs up."""
    stream = sock if links.tls is None else _greeted(sock, links.tls, split_address(question.address)[0])
    stream.sendall(_HTTP2 if question.speech is Speech.GRPC else _frame(question.request, links))
    buffer = memoryview(bytearray(_HEAD_BYTES))
    return bytes(buffer[: stream.recv_into(buffer)])


def _greeted(sock: socket.socket, tls: TlsSettings, host: str) -> TlsSocket:
    stream = TlsSocket(sock, tls, host)
    stream.shake_hands()
    return stream


def _frame(request: Request | None, links: LinkSettings) -> bytes:
    if request is None:
        return b""
    command = request.command(opaque=1)
    return encode(command if links.credentials is None else sign(command, links.credentials))


def _told(head: bytes, speech: Speech) -> tuple[str, bool]:
    """Tells from the first bytes who speaks, and whether it is who was expected."""
    if head.startswith(b"HTTP/"):
        return "http", False
    if head[:1] in (b"\x15", b"\x16") and head[1:2] == b"\x03":
        return "tls", False
    if len(head) == _HEAD_BYTES and head[3] == _SETTINGS_FRAME and head[:2] == b"\0\0" and speech is Speech.GRPC:
        return "http/2", True
    if speech is Speech.REMOTING and head[:1] == b"\0":
        return "remoting", True
    return repr(head[:8])[2:-1], False


def _since(moment: float) -> float:
    return round((monotonic() - moment) * 1_000, 1)
