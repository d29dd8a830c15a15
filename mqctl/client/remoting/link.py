"""Connections: one blocking socket and one reader thread per address, many requests in flight on each.

A link connects in its own thread, so that asking a hundred brokers opens a hundred connections at once. An answer finds
its call by opaque. What the other side asks of us (callbacks of brokers) goes to `on_request`, which must not block.
"""

from __future__ import annotations

import socket
import struct
from _thread import allocate_lock
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from threading import Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING

from mqctl.client.remoting.answers import timed_out, unreachable
from mqctl.client.remoting.deadline import LONGEST_WAIT_S, Deadline
from mqctl.errors import ConfigurationError, MqctlError, UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.protocol.acl import UNIQUE_KEY_QUERY, Credentials, sign
from mqctl.protocol.codes import V4_9_8, Language, ResponseCode, version_ordinal
from mqctl.protocol.frame import FrameDecoder, FrameError, RemotingCommand, SerializeType, encode
from mqctl.protocol.header import Request
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.client.remoting.tls import TlsSettings, TlsSocket

OnDone = Callable[["PendingRequest"], None]
OnRequest = Callable[["Link", RemotingCommand], None]
_READ_BYTES = 256 * 1024
_OPAQUE_MASK = 0x7FFFFFFF
_CLOSED = sentence("connection-closed-by-other-side", "the connection was closed by the other side")
_MAY_WANT_TLS = sentence(
    "server-may-want-tls", "see the log of the server; one that enforces TLS says nothing to plain clients: try --tls"
)
_UNIQUE_KEY_UNSIGNED_UP_TO = version_ordinal("4.9.3")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """How connections are made and what every request carries.

    Attributes:
        connect_timeout_ms: limit of one connection attempt.
        stall_ms: a peer that takes no bytes for so long is given up.
        tls: how connections are secured; None leaves them plain.
        credentials: keys that sign every request; None sends it unsigned.
        serialize_type: form of the headers we write; answers are read in either.
        version: version ordinal we claim; 4.9.8 gives full 4.9 treatment.
        thread_name: name of the reader threads, before their number.
    """

    connect_timeout_ms: int = 3000
    stall_ms: int = 3000
    tls: TlsSettings | None = None
    credentials: Credentials | None = None
    serialize_type: SerializeType = SerializeType.JSON
    version: int = V4_9_8
    language: Language = Language.PYTHON
    thread_name: str = "NettyClientWorkerThread_"


class PendingRequest:
    """One request in flight. Either `answer` or `error` is set once it is done."""

    __slots__ = ("_gate", "address", "answer", "code", "deadline", "error", "on_done", "opaque")

    def __init__(self, code: int, opaque: int, address: str, deadline: Deadline, on_done: OnDone | None) -> None:
        self.code = code
        self.opaque = opaque
        self.address = address
        self.deadline = deadline
        self.on_done = on_done
        self.answer: RemotingCommand | None = None
        self.error: MqctlError | None = None
        self._gate = None if on_done else allocate_lock()
        if self._gate:
            self._gate.acquire()

    def finish(self) -> None:
        """Tells whoever waits; called once, by whoever took the call out of its link's table."""
        if self._gate:
            self._gate.release()
        elif self.on_done:
            self.on_done(self)

    def wait(self) -> bool:
        """Waits for the end of the call or its deadline; False when it is not done by then."""
        if self._gate is None:
            return True
        while not self._gate.acquire(timeout=min(self.deadline.remaining_s, LONGEST_WAIT_S)):
            if self.deadline.remaining_s <= 0:
                return False
        return True

    def result(self) -> RemotingCommand:
        """Returns the answer. Raises what went wrong."""
        if self.answer is None:
            raise self.error or timed_out(self.code, self.address, self.deadline)
        return self.answer


class Link:
    """One connection. It connects at the first use and never again: `links.Links` makes a new one when it has ended.

    Attributes:
        peer_version: version ordinal that the last answer bore; 0 before the first.
        granted: codes of the requests that it answered with success.
    """

    def __init__(
        self,
        address: str,
        settings: LinkSettings,
        *,
        number: int = 1,
        on_request: OnRequest | None = None,
        on_close: Callable[[Link], None] | None = None,
    ) -> None:
        self.address = address
        self.closed = False
        self.peer_version = 0
        self.granted: set[int] = set()
        self._host = ""
        self._settings = settings
        self._on_request = on_request
        self._on_close = on_close
        self._opaques = count(1)
        self._calls: dict[int, PendingRequest] = {}
        self._lock = allocate_lock()
        self._backlog: list[bytes] | None = []
        self._socket: socket.socket | TlsSocket | None = None
        self._raw: socket.socket | None = None
        self._reason = ""
        self._remedy = ""
        self._heard = False
        self._thread = Thread(target=self._run, name=f"{settings.thread_name}{number}", daemon=True)
        self._thread.start()

    # Sending

    def submit(
        self, request: Request, *, body: bytes = b"", deadline: Deadline, on_done: OnDone | None = None
    ) -> PendingRequest:
        """Sends a request; `on_done` is called in the reader thread, or else `PendingRequest.wait` waits.

        A call with `on_done` whose deadline passes is ended by `sweep`.
        """
        opaque = next(self._opaques) & _OPAQUE_MASK
        call = PendingRequest(request.code, opaque, self.address, deadline, on_done)
        frame = self._frame(request, opaque, body)
        self._calls[opaque] = call
        self._write(frame)
        if self.closed:  # it may have ended before the call was in its table
            self._fail_calls()
        return call

    def call(self, request: Request, *, body: bytes = b"", deadline: Deadline) -> RemotingCommand:
        """Sends a request and waits for the answer.

        Raises:
            UnreachableError: no connection, or it was lost.
            DeadlineError: no answer in time.
        """
        call = self.submit(request, body=body, deadline=deadline)
        if not call.wait():
            self.cancel(call)
        return call.result()

    def oneway(self, request: Request, *, body: bytes = b"", remark: str | None = None) -> None:
        """Sends a request that nobody answers; nothing is said when it does not arrive."""
        self._write(self._frame(request, next(self._opaques) & _OPAQUE_MASK, body, oneway=True, remark=remark))

    def reply(self, answer: RemotingCommand) -> None:
        """Answers a request of the other side."""
        self._write(encode(answer))

    def cancel(self, pending: PendingRequest) -> None:
        """Forgets a call; its answer will be ignored."""
        self._calls.pop(pending.opaque, None)

    def sweep(self, now: float | None = None) -> None:
        """Ends the calls whose deadline has passed (`now` in seconds of `time.monotonic`)."""
        moment = monotonic() if now is None else now
        for call in list(self._calls.values()):
            if call.deadline.at <= moment and self._calls.pop(call.opaque, None) is not None:
                call.error = timed_out(call.code, self.address, call.deadline)
                call.finish()

    @property
    def in_flight(self) -> int:
        return len(self._calls)

    def close(self) -> None:
        """Ends the connection and waits for its thread."""
        self._end(sentence("client-closed-here", "it was closed here"))
        if self._thread is not current_thread():
            self._thread.join()

    # Below

    def _frame(
        self, request: Request, opaque: int, body: bytes, *, oneway: bool = False, remark: str | None = None
    ) -> bytes:
        settings = self._settings
        command = request.command(
            opaque=opaque,
            body=body,
            oneway=oneway,
            version=settings.version,
            language=settings.language,
            serialize_type=settings.serialize_type,
            remark=remark,
        )
        if settings.credentials is not None:
            command = signed(command, settings.credentials)
        return encode(command)

    def _write(self, frame: bytes) -> None:
        with self._lock:
            if self._backlog is not None:
                self._backlog.append(frame)
                return
            sock = self._socket
            if sock is None or self.closed:
                return
            try:
                sock.sendall(frame)
                return
            except OSError as error:
                stalls = isinstance(error, BlockingIOError)
                if self._settings.tls is not None and not self._heard and not stalls:
                    return  # what the reader finds tells why
                reason = sentence("client-takes-no-bytes", "it takes no more bytes") if stalls else _reason(error)
        self._end(sentence("client-connection-lost", "the connection was lost: {reason}", reason=reason))

    def _run(self) -> None:
        try:
            self._connect()
            self._read()
        except OSError as error:
            self._remedy = getattr(error, "remedy", "")
            if self._backlog is not None or self._remedy:
                self._end(_reason(error))
            else:
                self._lost(
                    sentence("client-connection-lost", "the connection was lost: {reason}", reason=_reason(error))
                )
        except ConfigurationError as error:  # TLS files that cannot be used
            self._remedy = error.remedy
            self._end(str(error))
        except FrameError as error:
            self._end(
                sentence(
                    "client-no-rocketmq-frame", "its answer is not a RocketMQ frame ({reason})", reason=error.reason
                )
            )
        finally:
            self._lost(_CLOSED)
            if self._socket is not None:
                self._socket.close()
            if self._on_close:
                self._on_close(self)

    def _connect(self) -> None:
        if self.closed:
            return
        timeout_s = self._settings.connect_timeout_ms / 1000
        try:  # what a name server tells is not checked
            self._host, port = split_address(self.address)
            sock = socket.create_connection((self._host, port), timeout=timeout_s)
        except UsageError as error:
            raise OSError(sentence("client-no-address", "it is not an address")) from error
        except UnicodeError as error:
            raise OSError(sentence("client-no-host-name", "no host can have this name")) from error
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        seconds, rest_ms = divmod(self._settings.stall_ms, 1000)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", seconds, rest_ms * 1000))
        stream: socket.socket | TlsSocket = sock
        if self._settings.tls is not None:
            stream = self._secured(sock, self._settings.tls, timeout_s)
        self._socket = stream
        with self._lock:
            waiting, self._backlog = self._backlog or [], None
            if waiting and not self.closed:
                try:
                    stream.sendall(b"".join(waiting))
                except OSError:
                    if self._settings.tls is None:
                        raise
        if self.closed:
            _shut(stream)

    def _secured(self, sock: socket.socket, settings: TlsSettings, timeout_s: float) -> TlsSocket:
        from mqctl.client.remoting.tls import TlsSocket

        sock.settimeout(timeout_s)
        self._raw = sock  # whoever closes this link does not wait for the end of the handshake
        if self.closed:
            _shut(sock)
        try:
            stream = TlsSocket(sock, settings, self._host)
            stream.shake_hands()
        except BaseException:
            sock.close()
            raise
        sock.settimeout(None)
        return stream

    def _read(self) -> None:
        sock = self._socket
        if sock is None:
            return
        decoder = FrameDecoder()
        buffer = memoryview(bytearray(_READ_BYTES))
        while size := sock.recv_into(buffer):
            self._heard = True
            for command in decoder.feed(buffer[:size]):
                if command.is_response:
                    call = self._calls.pop(command.opaque, None)
                    if call is not None:
                        self.peer_version = command.version
                        if command.code == ResponseCode.SUCCESS:
                            self.granted.add(call.code)
                        call.answer = command
                        call.finish()
                elif self._on_request is not None:
                    self._on_request(self, command)

    def _lost(self, reason: str) -> None:
        """Ends the connection; a server that never said a word to a plain client may want TLS."""
        if self._settings.tls is None and not self._heard and not self.closed and not self._remedy:
            self._remedy = _MAY_WANT_TLS
        self._end(reason)

    def _end(self, reason: str) -> None:
        with self._lock:
            if not self.closed:
                self.closed = True
                self._reason = reason
                self._backlog = None
                stream = self._socket or self._raw
                if stream is not None:
                    _shut(stream)
        self._fail_calls()

    def _fail_calls(self) -> None:
        for opaque in list(self._calls):
            call = self._calls.pop(opaque, None)
            if call is not None:
                call.error = unreachable(call.code, self.address, self._reason, remedy=self._remedy)
                call.finish()


def split_address(address: str) -> tuple[str, int]:
    """Splits `host:port` or `[ipv6]:port`.

    Raises:
        UsageError: it is neither.
    """
    host, colon, port = address.rpartition(":")
    number = decimal(port, 0, 65_535)
    if not (colon and host) or number is None:
        raise UsageError(
            sentence("not-address", "{address!r} is not an address", address=address),
            remedy=sentence("client-write-host-port-example", "write host:port, 127.0.0.1:9876 for example"),
        )
    return host.removeprefix("[").removesuffix("]"), number


def signed(command: RemotingCommand, credentials: Credentials) -> RemotingCommand:
    """Signs a command. The unique key flag stays outside: 4.9 brokers leave it out of what they check.

    5.x brokers leave it out for requesters up to 4.9.3, so such a request says that it is one.
    """
    ext = command.ext_fields or {}
    flag = ext.get(UNIQUE_KEY_QUERY)
    if flag is None:
        return sign(command, credentials)
    rest = {name: value for name, value in ext.items() if name != UNIQUE_KEY_QUERY}
    signed = sign(replace(command, ext_fields=rest), credentials)
    return replace(
        signed,
        ext_fields={**(signed.ext_fields or {}), UNIQUE_KEY_QUERY: flag},
        version=min(command.version, _UNIQUE_KEY_UNSIGNED_UP_TO),
    )


def _shut(sock: socket.socket | TlsSocket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is not connected any more


def _reason(error: OSError) -> str:
    if getattr(error, "remedy", ""):
        return str(error)
    if isinstance(error, TimeoutError):
        return sentence("client-no-connection-in-time", "no connection in time")
    return (error.strerror or str(error)).lower()
