"""Which function answers which request code, and how well.

A handler is a plain function in a module of `embedded_broker.handlers`, registered with `@handles`; the table that
results drives dispatch and the generated list of what is supported. A code with two handlers, or a support text that
is neither `full` nor `partial: ...`, fails at import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, TypeVar

from embedded_broker.release import Release
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.remoting.server import ServerConnection
from mqctl.errors import MqctlError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import FLAG_ONEWAY, RemotingCommand
from mqctl.protocol.header import ExtHeader, Request

NO_REMARK_SET = "not set any response code"
"""What a real broker leaves in the remark of some successes (`RemotingCommand.createResponseCommand`)."""

BROKER = "broker"
NAMESRV = "namesrv"
Function = Callable[[Any, Any, "Call"], RemotingCommand | None]
Words = Callable[[Any, Refusal | MqctlError], Refusal | None]
"""From owner and error to what the answer says; None where it says what all say."""
GoOn = Callable[[], RemotingCommand | None]
F = TypeVar("F", bound=Callable[..., RemotingCommand | None])


class Call:
    """One request on its way through the server.

    Attributes:
        arrived_ms: when it was read, epoch milliseconds.
        version: version ordinal that the answer carries.
        on_resume: the dispatcher, for `resume`.
    """

    __slots__ = ("arrived_ms", "command", "connection", "on_resume", "version")

    def __init__(
        self,
        command: RemotingCommand,
        connection: ServerConnection,
        arrived_ms: int,
        version: int,
        on_resume: Callable[[Call, GoOn], None],
    ) -> None:
        self.command = command
        self.connection = connection
        self.arrived_ms = arrived_ms
        self.version = version
        self.on_resume = on_resume

    def resume(self, go_on: GoOn) -> None:
        """Answers a request that waited: with what `go_on` returns, or with what its errors become."""
        self.on_resume(self, go_on)

    def answer(
        self,
        code: int = ResponseCode.SUCCESS,
        *,
        remark: str | None = None,
        reply: ExtHeader | Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> RemotingCommand:
        """Builds the response.

        Args:
            reply: its typed header, or ext fields that are already text.
        """
        ext = reply.to_ext() if isinstance(reply, ExtHeader) else reply
        return self.command.answer(code, remark=remark, ext_fields=ext, body=body, version=self.version)

    def respond(self, command: RemotingCommand) -> None:
        """Sends a response that the handler did not return, because it came later."""
        if not self.command.flag & FLAG_ONEWAY:
            self.connection.send(command)

    def respond_frame(self, frame: bytes) -> None:
        """Sends a response that is encoded already; for the hot paths."""
        if not self.command.flag & FLAG_ONEWAY:
            self.connection.write(frame)


@dataclass(frozen=True, slots=True)
class Handler:
    """One entry of the table.

    Attributes:
        request: the declaration that reads the header.
        support: `full`, or `partial: ` and what is missing.
        fast: the function takes the ext fields as they are instead of a request.
        words: what the answer to an error says where it differs from what all say.
    """

    function: Function
    request: type[Request]
    support: str
    fast: bool
    words: Words | None


_GONE_IN_V5 = frozenset({50, 51, 52, 53, 54})
_HANDLERS: dict[str, dict[int, Handler]] = {BROKER: {}, NAMESRV: {}}


def handles(
    *requests: type[Request],
    support: str = "full",
    role: str = BROKER,
    fast: bool = False,
    words: Words | None = None,
) -> Callable[[F], F]:
    """Registers a function as the handler of `requests`.

    The function is called as `function(owner, request, call)`, with the broker or name server as owner, and returns
    the response, or None when there is none or it comes later (`call.respond`).

    Args:
        support: `full`, or `partial: ` and what is missing; ends up in SUPPORT.md.
        fast: the header is not read into a request, the function gets `call.command.ext_fields` and reads what it
            needs itself (for the hot paths).
        words: what the answer to a Refusal or MqctlError of the function says, where that is not what all say: a
            Refusal of its own, or None.
    """
    if support != "full" and not support.startswith("partial: "):
        raise ValueError(f"support is 'full' or 'partial: what is missing', not {support!r}")
    table = _HANDLERS[role]

    def register(function: F) -> F:
        for request in requests:
            if request.code in table:
                raise TypeError(f"two handlers for request code {request.code} of the {role}")
            table[request.code] = Handler(function, request, support, fast, words)
        return function

    return register


def handlers_of(role: str, release: Release | None = None) -> Mapping[int, Handler]:
    """Returns the handlers of `broker` or `namesrv` by request code; imports all of them at its first call.

    Args:
        release: leaves out the codes that this release does not have.
    """
    package = import_module("embedded_broker.handlers")
    for module in walk_packages(package.__path__, "embedded_broker.handlers."):
        import_module(module.name)
    table = _HANDLERS[role]
    if release is None:
        return table
    return {code: handler for code, handler in table.items() if _is_in(release, code, handler.request.since)}


def _is_in(release: Release, code: int, since: str) -> bool:
    return code not in _GONE_IN_V5 if release.is_v5 else not since.startswith("5.")


_CALLBACKS: set[int] = set()


def sends(*requests: type[Request]) -> None:
    """Declares that the broker itself sends these requests to clients; the list of what is supported tells."""
    _CALLBACKS.update(request.code for request in requests)


def callbacks() -> frozenset[int]:
    """Returns the codes of the requests that the broker sends to clients."""
    handlers_of(BROKER)
    return frozenset(_CALLBACKS)
