"""From a frame to its handler and back: faults, request log, typed headers, and what errors become on the wire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from embedded_broker.acl.control import AccessControl
from embedded_broker.acl.rules import AccessDenied
from embedded_broker.clock import Clock
from embedded_broker.release import Release
from embedded_broker.remoting.faults import Control
from embedded_broker.remoting.handler_table import Call, GoOn, Handler
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.remoting.server import ServerConnection
from mqctl.errors import MqctlError
from mqctl.protocol.body import BodyError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand, SerializeType
from mqctl.protocol.header import HeaderFieldError

log = logging.getLogger("embedded_broker")

_SCATTERED_SECONDS = 0.002


class Dispatcher:
    """The service behind the connections of one broker or name server.

    Args:
        owner: what handlers get as their first argument.
        name: how the request log and the faults call it.
        handlers: by request code.
        silent_on_unknown: whether a code without handler gets no answer, as from a 4.x name server.
        access: who may ask what; None lets everybody ask.
        scatters: requests of one connection are dealt with in any order, as a pool of threads does.
        closed: returns what a request code is answered that the owner does not serve as what it is now.
    """

    def __init__(
        self,
        owner: Any,
        name: str,
        handlers: Mapping[int, Handler],
        *,
        clock: Clock,
        release: Release,
        control: Control,
        silent_on_unknown: bool = False,
        access: AccessControl | None = None,
        scatters: bool = False,
        closed: Callable[[int], Refusal | None] = lambda _code: None,
    ) -> None:
        self._owner = owner
        self._name = name
        self._handlers = handlers
        self._clock = clock
        self._release = release
        self._control = control
        self._silent_on_unknown = silent_on_unknown
        self._access = access
        self._draws = Random(1) if scatters else None
        self._closed = closed

    def dispatch(self, connection: ServerConnection, command: RemotingCommand) -> None:
        """Answers one request."""
        call = Call(command, connection, connection.active_ms, self._release.ordinal, self.resume)
        if self._control.active and self._control.intercept(self._name, call, self.handle):
            return
        if self._draws is None:
            self.handle(call)
        else:
            asyncio.get_running_loop().call_later(self._draws.random() * _SCATTERED_SECONDS, self._handle_late, call)

    def _handle_late(self, call: Call) -> None:
        if not call.connection.closed:
            self.handle(call)

    def handle(self, call: Call) -> None:
        """Answers one request that no fault has taken."""
        answer = self._denied(call) or self._answer(call)
        if answer is not None:
            call.respond(answer)

    def _denied(self, call: Call) -> RemotingCommand | None:
        """Returns the answer to a request that access control stops, which is JSON whatever the request's form."""
        if self._access is None or call.connection.trusted:
            return None
        try:
            self._access.check(call.command, call.connection.peer)
        except AccessDenied as error:
            log.warning("%s: request %d of %s: %s", self._name, call.command.code, call.connection.peer, error.reason)
            answer = call.answer(error.code, remark=error.remark)
            return replace(answer, serialize_type=SerializeType.JSON)
        return None

    def resume(self, call: Call, go_on: GoOn) -> None:
        """Answers a request that waited: with what `go_on` returns, or with what its errors become."""
        answer = self._answer(call, go_on)
        if answer is not None:
            call.respond(answer)

    def _answer(self, call: Call, go_on: GoOn | None = None) -> RemotingCommand | None:
        """Asks the handler, or goes on where it stopped; the one place where errors become answers."""
        command = call.command
        handler = self._handlers.get(command.code)
        if handler is None:
            return self._unknown(call)
        try:
            if go_on is not None:
                return go_on()
            refusal = self._closed(command.code)
            if refusal is not None:
                return call.answer(refusal.code, remark=refusal.remark)
            header = command.ext_fields or {} if handler.fast else handler.request.from_ext(command.ext_fields)
            return handler.function(self._owner, header, call)
        except (Refusal, MqctlError) as error:
            refusal = self._refusal(call, handler, error)
        except Exception as error:  # the last line of defence: the peer gets code 1, the server goes on
            log.exception("%s: request %d of %s failed", self._name, command.code, call.connection.peer)
            refusal = Refusal(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")
        return call.answer(refusal.code, remark=refusal.remark, reply=refusal.fields)

    def _refusal(self, call: Call, handler: Handler, error: Refusal | MqctlError) -> Refusal:
        """Returns what is answered to an error: the handler's own words, or those of all."""
        if isinstance(error, MqctlError):
            log.warning("%s: request %d of %s refused: %s", self._name, call.command.code, call.connection.peer, error)
        own = handler.words(self._owner, error) if handler.words is not None else None
        return own or (error if isinstance(error, Refusal) else _plainly(error))

    def _unknown(self, call: Call) -> RemotingCommand | None:
        code = call.command.code
        log.warning("%s: %s asks for unknown code %d", self._name, call.connection.peer, code)
        if self._silent_on_unknown:
            return None
        return call.answer(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f" request type {code} not supported")


def _plainly(error: MqctlError) -> Refusal:
    """Returns what all requests are answered for an error of ours."""
    if isinstance(error, HeaderFieldError):
        return Refusal(ResponseCode.SYSTEM_ERROR, error.remark)
    if isinstance(error, BodyError):
        return Refusal(ResponseCode.SYSTEM_ERROR, f"com.alibaba.fastjson.JSONException: {error}")
    return Refusal(ResponseCode.SYSTEM_ERROR, str(error))
