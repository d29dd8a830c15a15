"""Listening sockets that guard the limits of all their connections (`NettyRemotingServer`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from errno import EADDRINUSE

from embedded_broker.clock import Clock, Periodic
from embedded_broker.remoting.server import Limits, ServerConnection, Service, gone
from mqctl.errors import ExitCode, MqctlError

log = logging.getLogger("embedded_broker")

_PORT_ATTEMPTS, _PORT_WAIT_S = 20, 0.1
_LISTEN_BACKLOG = 1024
_SWEEP_MS = 1_000


class PortError(MqctlError):
    """A port that cannot be listened on."""

    exit_code = ExitCode.IO


async def listen(accept: Callable[[], asyncio.Protocol], host: str, port: int) -> asyncio.Server:
    """Listens; a port of the range for outgoing connections may be somebody's for a moment, so it tries again.

    Raises:
        OSError: the address is in use, or not ours.
    """
    loop = asyncio.get_running_loop()
    for _ in range(_PORT_ATTEMPTS - 1 if port else 0):
        try:
            return await loop.create_server(accept, host, port, backlog=_LISTEN_BACKLOG)
        except OSError as error:
            if error.errno != EADDRINUSE:
                raise
            await asyncio.sleep(_PORT_WAIT_S)
    return await loop.create_server(accept, host, port, backlog=_LISTEN_BACKLOG)


class Listener:
    """A listening socket with its connections.

    Args:
        make: makes an accepted connection; None makes plain ones.
    """

    def __init__(self, service: Service, clock: Clock, limits: Limits, make: Make | None = None) -> None:
        self.connections: set[ServerConnection] = set()
        self.port = 0
        self._service = service
        self._clock = clock
        self._limits = limits
        self._make = make or Accepted
        self._server: asyncio.Server | None = None
        self._sweep: Periodic | None = None
        self._refused = 0
        self._unfinished_bytes = 0
        self._closed = False

    async def open(self, host: str, port: int) -> None:
        """Starts to listen.

        Args:
            port: 0 for any free one; `self.port` tells which.

        Raises:
            PortError: the address is in use, or not ours.
        """
        self._closed = False
        try:
            self._server = await listen(self._accept, host, port)
        except OSError as error:
            raise PortError(
                f"could not listen on {host}:{port}", reason=error.strerror or str(error), remedy="choose another port"
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]
        self._sweep = Periodic(self._clock, _SWEEP_MS, self._close_silent, first_ms=_SWEEP_MS)

    def _accept(self) -> ServerConnection:
        connection = self._make(self._service, self._clock, self._limits)
        connection.listener = self
        return connection

    def admit(self, connection: ServerConnection) -> None:
        """Takes a new connection in, or closes it when there are too many, or when the listener was closed meanwhile.

        The loop accepts a connection some turns before it is made, so that `close` may not have seen it: a client that
        came in that moment would be served, and its messages acknowledged, by a broker that is no more.
        """
        if self._closed:
            connection.abort()
            return
        if len(self.connections) >= self._limits.connections:
            if not self._refused:
                log.warning("more than %d connections: further ones are closed", self._limits.connections)
            self._refused += 1
            connection.abort()
            return
        self._refused = 0
        self.connections.add(connection)
        connection.on_close(self.connections.discard)

    def count_unfinished(self, added_bytes: int) -> None:
        """Counts bytes that connections hold back of frames; closes those with the most when there are too many."""
        self._unfinished_bytes += added_bytes
        if added_bytes <= 0 or self._unfinished_bytes <= self._limits.unfinished_bytes:
            return
        held = sorted(((one.unfinished_bytes, one.id, one) for one in self.connections), reverse=True)
        self._unfinished_bytes = sum(size for size, _, _ in held)
        room = self._limits.unfinished_bytes * 3 // 4
        for size, _, connection in held:
            if self._unfinished_bytes <= room:
                break
            log.warning("%s: connection closed: %d bytes of a frame that has not ended", connection.peer, size)
            connection.drop()
            self._unfinished_bytes -= size

    def _close_silent(self) -> None:
        now_ms = self._clock.now_ms()
        for connection in list(self.connections):
            reason = connection.overdue(now_ms)
            if reason is not None:
                connection.refuse(reason)

    async def close(self, *, abort: bool = False) -> None:
        """Stops to listen and closes all connections; with `abort` without sending what is still to be written."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        connections = list(self.connections)
        for connection in connections:
            connection.abort() if abort else connection.close()
        if self._server is not None:
            for sock in self._server.sockets:
                asyncio.get_running_loop().remove_reader(sock)
            await asyncio.sleep(0)  # what was accepted in this turn becomes a connection, which `admit` ends
            self._server.close()
        await gone(connections)


class Accepted(ServerConnection):
    """A connection that a listener took in."""

    listener: Listener
    _counted_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.listener.admit(self)

    def _count_unfinished(self) -> None:
        unfinished = self._frames.pending_bytes
        if unfinished != self._counted_bytes:
            added, self._counted_bytes = unfinished - self._counted_bytes, unfinished
            self.listener.count_unfinished(added)

    def connection_lost(self, exc: Exception | None) -> None:
        before = self._frames.pending_bytes
        super().connection_lost(exc)
        self.listener.count_unfinished(-before)


Make = Callable[[Service, Clock, Limits], Accepted]
