"""Answers that a client has not read yet: how much one connection may leave lying, and how much it may ask for.

Who does not read gets no more made for it: its further calls wait, as they do on remoting (`server.MOST_UNREAD_BYTES`).
gRPC itself keeps any number of answers for a connection whose window is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.statuses import Refused

MOST_UNREAD_BYTES = 4 << 20
MOST_WAITING_BYTES = 16 << 20
"""Of requests that wait for room, each with what it costs to keep one."""
_CALL_BYTES = 16 << 10
SMALL_BYTES = 16 << 10
"""Room that a call takes while it is served; only routes and assignments have longer answers."""


class _Connection:
    """What one connection has not read, and which of its calls wait, with the room that each wants."""

    __slots__ = ("calls", "unread_bytes", "waiting", "waiting_bytes")

    def __init__(self) -> None:
        self.calls = self.unread_bytes = self.waiting_bytes = 0
        self.waiting: dict[CallAnswer, tuple[asyncio.Future[None], int]] = {}

    def has_room(self, size: int) -> bool:
        return not self.unread_bytes or self.unread_bytes + size <= MOST_UNREAD_BYTES

    def wake(self) -> None:
        """Gives room to calls that wait, in the order they came."""
        while self.waiting:
            answer, (waiter, size) = next(iter(self.waiting.items()))
            if not self.has_room(size):
                return
            del self.waiting[answer]
            if not waiter.done():
                answer.set_size(size)
                waiter.set_result(None)


class UnreadAnswers:
    """The answers of all connections."""

    def __init__(self) -> None:
        self._connections: dict[str, _Connection] = {}

    def of_call(self, peer: str) -> CallAnswer:
        """Returns the answer of a call; the caller releases it when the call has ended, whether it was read or not."""
        connection = self._connections.setdefault(peer, _Connection())
        connection.calls += 1
        return CallAnswer(connection, lambda: self._forget(peer, connection))

    def _forget(self, peer: str, connection: _Connection) -> None:
        if not connection.calls:
            self._connections.pop(peer, None)

    def __len__(self) -> int:
        """How many connections have calls."""
        return len(self._connections)


class CallAnswer:
    """The room that one call's answer takes."""

    __slots__ = ("_connection", "_forget", "_released", "_size")

    def __init__(self, connection: _Connection, forget: Callable[[], None]) -> None:
        self._connection, self._forget = connection, forget
        self._size = 0
        self._released = False

    async def wait_for_room(self, size: int, request_bytes: int) -> None:
        """Waits until the connection has read enough for an answer of `size` bytes, and takes its room.

        Args:
            request_bytes: of the request, which is kept meanwhile.

        Raises:
            Refused: too many of its requests wait already.
        """
        connection = self._connection
        if not connection.waiting and connection.has_room(size):
            self.set_size(size)
            return
        kept = request_bytes + _CALL_BYTES
        if connection.waiting and connection.waiting_bytes + kept > MOST_WAITING_BYTES:
            raise Refused(pb.Code.TOO_MANY_REQUESTS, "this connection does not read its answers")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        connection.waiting[self] = waiter, size
        connection.waiting_bytes += kept
        try:
            await waiter
        finally:
            connection.waiting.pop(self, None)
            connection.waiting_bytes -= kept

    def set_size(self, size: int) -> None:
        """Notes how large the answer is that was not read yet."""
        if not self._released:
            self._change(size)

    def _change(self, size: int) -> None:
        connection, shrunk = self._connection, size < self._size
        connection.unread_bytes += size - self._size
        self._size = size
        if shrunk:
            connection.wake()

    def release(self) -> None:
        """Gives the room back: the call has ended. A second time does nothing."""
        if self._released:
            return
        self._released = True
        self._change(0)
        self._connection.calls -= 1
        self._forget()
