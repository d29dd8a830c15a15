"""One pipelined connection of a bench: frames go out joined, answers come back in any order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mqctl.client.remoting.link import split_address
from mqctl.client.remoting.tls import TlsSettings, client_context
from mqctl.protocol.frame import FrameDecoder, FrameError, RemotingCommand
from mqctl.text import sentence

OnAnswers = Callable[["BenchConnection", list[RemotingCommand]], None]
OnLost = Callable[["BenchConnection", str], None]


class BenchConnection(asyncio.Protocol):
    """A connection to one broker.

    Attributes:
        is_up: whether it can be sent on.
        blocked_s: how long it took no more bytes.
        arriving_s: how long it waited for the rest of an answer of which a part was there.
        connect_s: how long the TCP connect took; None before.
    """

    def __init__(
        self, broker_name: str, on_answers: OnAnswers, on_lost: OnLost, on_writable: Callable[[], None]
    ) -> None:
        self.broker_name = broker_name
        self.is_up = False
        self.is_blocked = False
        self.blocked_s = 0.0
        self.arriving_s = 0.0
        self.connect_s: float | None = None
        self._blocked_at = 0.0
        self._arriving_at: float | None = None
        self._on_answers = on_answers
        self._on_lost = on_lost
        self._on_writable = on_writable
        self._waiting: list[bytes] = []
        self._closed = asyncio.Event()
        self._reason = ""
        self._decoder = FrameDecoder()
        self._transport: asyncio.Transport | None = None

    async def open(self, address: str, tls: TlsSettings | None, timeout_s: float) -> None:
        """Connects. Raises OSError, TimeoutError."""
        host, port = split_address(address)
        context = client_context(tls) if tls is not None else None
        name = None
        if tls is not None:
            name = tls.server_name if tls.server_name not in (None, "any") else host
        began = time.perf_counter()
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout_s):
            await loop.create_connection(lambda: self, host, port, ssl=context, server_hostname=name)
        self.connect_s = time.perf_counter() - began

    def send(self, frame: bytes) -> None:
        """Takes a frame; `flush` sends it."""
        self._waiting.append(frame)

    def flush(self) -> None:
        """Sends what was taken."""
        if self._waiting and self._transport is not None:
            self._transport.write(b"".join(self._waiting))
            self._waiting.clear()

    async def close(self, limit_s: float) -> None:
        """Closes the connection when what was written is out, and at once after so many seconds."""
        if self._transport is None:
            return
        self._transport.close()
        try:
            async with asyncio.timeout(limit_s):
                await self._closed.wait()
        except TimeoutError:
            if self._transport is not None:
                self._transport.abort()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=1 << 20)
        self._decoder = FrameDecoder()
        self._arriving_at = None
        self._closed.clear()
        self.is_up = True

    def data_received(self, data: bytes) -> None:
        if self._arriving_at is not None:
            self.arriving_s += time.perf_counter() - self._arriving_at
        try:
            commands = self._decoder.feed(data)
        except FrameError as error:
            self._reason = sentence(
                "client-no-rocketmq-frame", "its answer is not a RocketMQ frame ({reason})", reason=error.reason
            )
            if self._transport is not None:
                self._transport.abort()
            return
        self._on_answers(self, commands)
        self._arriving_at = time.perf_counter() if self._decoder.pending_bytes else None

    def pause_writing(self) -> None:
        self.is_blocked = True
        self._blocked_at = time.perf_counter()

    def resume_writing(self) -> None:
        self._unblocked()
        self._on_writable()

    def connection_lost(self, error: Exception | None) -> None:
        self._unblocked()
        self._transport = None
        self.is_up = False
        self._waiting.clear()
        self._closed.set()
        reason = (
            str(error)
            if error is not None
            else sentence("connection-closed-by-other-side", "the connection was closed by the other side")
        )
        self._on_lost(self, self._reason or reason)
        self._reason = ""

    def _unblocked(self) -> None:
        if self.is_blocked:
            self.is_blocked = False
            self.blocked_s += time.perf_counter() - self._blocked_at
