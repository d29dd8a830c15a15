"""The HTTP service at which clients of a machine room ask for their name servers (`/rocketmq/nsaddr`).

Clients poll it every two minutes; switching its answer moves them to another room. It answers with its own room's name
server until somebody switches it by hand, or, when told to go by health, until all brokers of the room are gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from mqctl.errors import UsageError

log = logging.getLogger("embedded_broker")

PATH = "/rocketmq/nsaddr"
_HEAD_BYTES = 8 * 1024
_HEAD_SECONDS = 10


class AddressService:
    """The address service of one room.

    Args:
        room: the room whose name server it answers.
        rooms: all rooms of the cluster.
        namesrv_of: returns the address of a room's name server.
        is_healthy: tells whether a room has its name server and a broker.

    Attributes:
        address: `host:port` it listens on.
        by_health: whether it answers with another room's name server while the own room has no broker.
    """

    def __init__(
        self,
        room: str,
        rooms: Sequence[str],
        *,
        namesrv_of: Callable[[str], str],
        is_healthy: Callable[[str], bool],
    ) -> None:
        self.room = room
        self.address = ""
        self.by_health = False
        self._rooms = rooms
        self._namesrv_of = namesrv_of
        self._is_healthy = is_healthy
        self._switched_to: str | None = None
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://{self.address}{PATH}"

    async def start(self, host: str, port: int = 0) -> None:
        """Starts to listen."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=_HEAD_BYTES)
        self.address = f"{host}:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stops to listen."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def switch_to(self, room: str) -> None:
        """Sends clients to another room from now on. Raises UsageError for an unknown room."""
        if room not in self._rooms:
            raise UsageError(f"no room {room}", reason=f"there are {', '.join(self._rooms)}")
        self._switched_to = room

    def switch_back(self) -> None:
        """Undoes `switch_to`."""
        self._switched_to = None

    def target(self) -> str:
        """Returns the room whose name server is answered now."""
        if self._switched_to is not None:
            return self._switched_to
        if self.by_health and not self._is_healthy(self.room):
            return next((room for room in self._rooms if self._is_healthy(room)), self.room)
        return self.room

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
            writer.write(self._response(head.split(b"\r\n", 1)[0]))
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, OSError) as error:
            log.warning("address service of %s: request not answered: %s", self.room, error)
        finally:
            writer.close()

    def _response(self, request_line: bytes) -> bytes:
        parts = request_line.split(b" ")
        path = parts[1].split(b"?", 1)[0].decode("latin-1") if len(parts) == 3 else ""
        if parts[0] != b"GET" or not (path == PATH or path.startswith(PATH + "-")):
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        body = f"{self._namesrv_of(self.target())}\n".encode()
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body
