"""What stands for a gRPC client before a broker: a connection without a socket, whose answers come as futures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from embedded_broker.remoting.server import Limits, ServerConnection
from mqctl.protocol.frame import FrameDecoder, RemotingCommand

if TYPE_CHECKING:
    from embedded_broker.clock import Clock
    from embedded_broker.remoting.server import Service

_LIMITS = Limits()


class ChannelClosed(Exception):
    """The broker that was asked is gone, or closed the connection."""


class _NoService:
    """Nothing is read from a socket here."""

    def dispatch(self, connection: ServerConnection, command: RemotingCommand) -> None:
        raise AssertionError


class Channel(ServerConnection):
    """One client's connection to the brokers of this process.

    Args:
        peer: `ip:port` of the client.
        on_request: gets what a broker asks the client (39, 307, 309); answers by `answered`.
    """

    trusted = True

    def __init__(self, clock: Clock, peer: str, on_request: Callable[[RemotingCommand], None] | None = None) -> None:
        super().__init__(_NoService(), clock, _LIMITS)
        self.peer = peer
        self._waiting: dict[int, asyncio.Future[RemotingCommand]] = {}
        self._on_request = on_request
        self._asked = 0

    def ask(self, service: Service, command: RemotingCommand) -> asyncio.Future[RemotingCommand]:
        """Has a broker deal with a request. The future fails with ChannelClosed when the connection does."""
        from dataclasses import replace

        self._asked += 1
        future: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()
        if self.closed:
            future.set_exception(ChannelClosed())
            return future
        self.active_ms = self._clock.now_ms()
        self._waiting[self._asked] = future
        service.dispatch(self, replace(command, opaque=self._asked))
        return future

    def answered(self, request: RemotingCommand, answer: RemotingCommand | None) -> None:
        """Takes the client's answer to what a broker asked; None when it gave none."""
        self._answered(request.opaque, answer)

    def send(self, command: RemotingCommand) -> None:
        if not command.is_response:
            if self._on_request is not None:
                self._on_request(command)
            return
        future = self._waiting.pop(command.opaque, None)
        if future is not None and not future.done():
            future.set_result(command)

    def write(self, data: bytes) -> None:
        """Takes a frame that is encoded already; half a frame ends the connection as it would a client's."""
        command = FrameDecoder().whole(data)
        if command is None:
            self.close()
        else:
            self.send(command)

    def close(self) -> None:
        if not self.closed:
            waiting, self._waiting = self._waiting, {}
            self.connection_lost(None)
            for future in waiting.values():
                if not future.done():
                    future.set_exception(ChannelClosed())

    abort = drop = close
