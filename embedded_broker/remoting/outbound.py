"""Connections that a broker opens: to its name servers, and to its master."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from embedded_broker.clock import Clock
from embedded_broker.remoting.server import Limits, ServerConnection, gone
from mqctl.protocol.frame import RemotingCommand

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("embedded_broker")

OnAnswer = Callable[[RemotingCommand | None], None]


class _NoService:
    """A name server asks brokers nothing that the embedded broker serves."""

    def dispatch(self, connection: ServerConnection, command: RemotingCommand) -> None:
        log.warning("%s: unexpected request %d", connection.peer, command.code)


class Outbound:
    """One connection to one address, opened when it is needed.

    Args:
        context: secures it; None leaves it plain.
    """

    def __init__(self, address: str, clock: Clock, context: ssl.SSLContext | None = None) -> None:
        self.address = address
        self._context = context
        self._clock = clock
        self._connection: ServerConnection | None = None
        self._opening: asyncio.Task[None] | None = None
        self._waiting: list[Callable[[ServerConnection | None], None]] = []

    @property
    def connected(self) -> bool:
        """Whether the connection stands; what is sent on a new one finds a peer that may know nothing."""
        return self._connection is not None and not self._connection.closed

    def call(self, command: RemotingCommand, timeout_ms: int, on_answer: OnAnswer) -> None:
        """Sends a request; `on_answer` gets the response, or None when there was none."""

        def connected(connection: ServerConnection | None) -> None:
            if connection is None:
                on_answer(None)
            else:
                connection.call(command, timeout_ms, on_answer)

        self._with_connection(connected)

    def tell(self, command: RemotingCommand) -> None:
        """Sends a request that wants no response."""

        def connected(connection: ServerConnection | None) -> None:
            if connection is not None:
                connection.tell(command)

        self._with_connection(connected)

    def _with_connection(self, use: Callable[[ServerConnection | None], None]) -> None:
        if self._connection is not None and not self._connection.closed:
            use(self._connection)
            return
        self._waiting.append(use)
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        host, _, port = self.address.rpartition(":")
        connection: ServerConnection | None = None
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: ServerConnection(_NoService(), self._clock, Limits()), host, int(port), ssl=self._context
            )
        except (OSError, ValueError) as error:
            log.warning("%s cannot be reached: %s", self.address, error)
        self._connection, self._opening = connection, None
        waiting, self._waiting = self._waiting, []
        for use in waiting:
            use(connection)

    def drop(self) -> None:
        """Closes the connection without waiting for it."""
        if self._connection is not None:
            self._connection.close()

    async def close(self, *, abort: bool = False) -> None:
        """Closes the connection."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._connection is not None:
            self._connection.abort() if abort else self._connection.close()
            await gone([self._connection])
