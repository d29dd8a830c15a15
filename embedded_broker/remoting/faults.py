"""Faults on demand and a log of requests: what a test needs to do to a broker, and to know about it.

A fault waits for a request code and does one thing to the requests that match, as often as it was told. The request
log is off until somebody asks for it, and bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from embedded_broker.clock import Clock
from embedded_broker.remoting.handler_table import Call
from mqctl.protocol.frame import FrameDecoder, RemotingCommand, encode

_LOGGED_REQUESTS = 10_000
_SECRET = "secretKey"
_LOGGED_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer with this instead of asking the handler."""

    code: int
    remark: str | None = None
    ext_fields: Mapping[str, str] | None = None
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Delay:
    """Let the handler run this much later, by the cluster's clock."""

    ms: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Read the request and do nothing."""


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """Close the connection instead of answering."""


@dataclass(frozen=True, slots=True)
class CutFrame:
    """Do what the request asks, send the first half of the answer, close the connection."""


def _same(command: RemotingCommand) -> RemotingCommand:
    return command


@dataclass(frozen=True, slots=True)
class Alter:
    """Lie: the handler gets what `request` makes of the request, the client what `answer` makes of the answer.

    Both run on the loop's thread and must not block. Only for brokers of the own process.
    """

    request: Callable[[RemotingCommand], RemotingCommand] = _same
    answer: Callable[[RemotingCommand, RemotingCommand], RemotingCommand] = lambda _, answer: answer


Action = Answer | Delay | Drop | CloseConnection | CutFrame | Alter


@dataclass(slots=True)
class Fault:
    """One fault.

    Attributes:
        code: request code it waits for; None for every code.
        action: what happens to the request.
        times: how often; None for ever.
        server: name of the broker, or `namesrv`, it is for; None for all.
        where: ext fields that must have these values.
        hits: how often it has struck.
    """

    code: int | None
    action: Action
    times: int | None = None
    server: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    hits: int = 0

    def matches(self, server: str, command: RemotingCommand) -> bool:
        """Tells whether the fault is for this request."""
        if self.times is not None and self.hits >= self.times:
            return False
        if self.code not in (None, command.code) or self.server not in (None, server):
            return False
        return all(command.ext(name) == value for name, value in self.where.items())


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request as the server read it."""

    server: str
    code: int
    peer: str
    at_ms: int
    ext_fields: Mapping[str, str]
    body: bytes
    oneway: bool


def _logged(command: RemotingCommand) -> dict[str, str]:
    """Returns the ext fields of a request for the log, which anybody with the control socket's token reads."""
    ext = dict(command.ext_fields or {})
    if _SECRET in ext:
        ext[_SECRET] = "***"
    return ext


class _CutCall(Call):
    __slots__ = ()

    def respond(self, command: RemotingCommand) -> None:
        self.respond_frame(encode(command))

    def respond_frame(self, frame: bytes) -> None:
        self.connection.write(frame[: len(frame) // 2])
        self.connection.close()


class _AlteredCall(Call):
    __slots__ = ("alter",)

    def __init__(self, call: Call, alter: Alter) -> None:
        super().__init__(alter.request(call.command), call.connection, call.arrived_ms, call.version, call.on_resume)
        self.alter = alter

    def respond(self, command: RemotingCommand) -> None:
        super().respond(self.alter.answer(self.command, command))

    def respond_frame(self, frame: bytes) -> None:
        for command in FrameDecoder().feed(frame):
            self.respond(command)


class Control:
    """Faults and request log of a cluster; everything happens on the loop's thread.

    Attributes:
        active: whether anything here wants to see requests at all.
    """

    def __init__(self, clock: Clock) -> None:
        self.active = False
        self._clock = clock
        self._faults: list[Fault] = []
        self._log: deque[LoggedRequest] | None = None
        self._logged_bytes = 0

    def add(self, fault: Fault) -> Fault:
        """Puts a fault in place; earlier ones go first."""
        self._faults.append(fault)
        self.active = True
        return fault

    def clear(self) -> None:
        """Removes all faults."""
        self._faults.clear()
        self.active = self._log is not None

    def record(self, *, on: bool = True) -> None:
        """Switches the request log on, empty, or off."""
        self._log = deque() if on else None
        self._logged_bytes = 0
        self.active = on or bool(self._faults)

    def requests(self, code: int | None = None, *, server: str | None = None) -> list[LoggedRequest]:
        """Returns the logged requests, oldest first, perhaps only those of one code or one server."""
        return [
            request for request in self._log or () if code in (None, request.code) and server in (None, request.server)
        ]

    def intercept(self, server: str, call: Call, proceed: Callable[[Call], None]) -> bool:
        """Logs a request and lets a fault have it; returns whether one took it."""
        command = call.command
        if self._log is not None:
            self._note(
                LoggedRequest(
                    server,
                    command.code,
                    call.connection.peer,
                    call.arrived_ms,
                    _logged(command),
                    command.body,
                    command.is_oneway,
                )
            )
        for fault in self._faults:
            if fault.matches(server, command):
                fault.hits += 1
                self._strike(fault.action, call, proceed)
                return True
        return False

    def _note(self, request: LoggedRequest) -> None:
        log = self._log
        if log is None:
            return
        log.append(request)
        self._logged_bytes += len(request.body)
        while len(log) > _LOGGED_REQUESTS or (self._logged_bytes > _LOGGED_BYTES and len(log) > 1):
            self._logged_bytes -= len(log.popleft().body)

    def _strike(self, action: Action, call: Call, proceed: Callable[[Call], None]) -> None:
        if isinstance(action, Answer):
            answer = call.answer(action.code, remark=action.remark, reply=action.ext_fields, body=action.body)
            call.respond(answer)
        elif isinstance(action, Delay):
            self._clock.call_later(action.ms, lambda: proceed(call))
        elif isinstance(action, CloseConnection):
            call.connection.close()
        elif isinstance(action, Alter):
            proceed(_AlteredCall(call, action))
        elif isinstance(action, CutFrame):
            proceed(_CutCall(call.command, call.connection, call.arrived_ms, call.version, call.on_resume))
