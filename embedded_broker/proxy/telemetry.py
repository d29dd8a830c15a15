"""Telemetry: settings of clients, and what the server asks them on the same stream."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from embedded_broker.handlers.heartbeat import MOST_BYTES, MOST_GROUPS
from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.settings import SettingsRefused, merged_settings
from embedded_broker.proxy.statuses import Refused, ok
from embedded_broker.proxy.unread import MOST_UNREAD_BYTES

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.clients import GrpcClient
    from embedded_broker.proxy.parts import Parts

log = logging.getLogger("embedded_broker")

_FIRST_ANSWER_SECONDS = 0.15
"""Pause before the first settings are answered: the Node client waits for them after it has fetched the routes of all
its topics, and for ever when the answer was there before."""
_MOST_QUEUED = 1_000
Write = Callable[[pb.TelemetryCommand], Awaitable[None]]


class Session:
    """One telemetry stream."""

    def __init__(self, parts: Parts, caller: Caller) -> None:
        self._parts, self._caller = parts, caller
        self._queue: asyncio.Queue[pb.TelemetryCommand | None] = asyncio.Queue(_MOST_QUEUED)
        self._queued_bytes = 0
        self._client: GrpcClient | None = None
        self._drops = False

    async def run(self, commands: AsyncIterator[pb.TelemetryCommand], write: Write) -> None:
        """Serves the stream until the client ends it. Raises SettingsRefused."""
        writer = asyncio.get_running_loop().create_task(self._write(write))
        # Not closed it would keep the last command, in a circle with what gRPC reads it by, until it is collected.
        incoming = cast("AsyncGenerator[pb.TelemetryCommand, None]", aiter(commands))
        try:
            async with aclosing(incoming):
                async for command in incoming:
                    await self._take(command)
            if not self._is_full():  # otherwise it reads nothing, and what waits is for nobody
                self._queue.put_nowait(None)
                await writer
        finally:
            writer.cancel()
            if self._client is not None and self._client.send == self._send:
                self._client.send = None

    async def _write(self, write: Write) -> None:
        while (command := await self._queue.get()) is not None:
            await write(command)
            self._queued_bytes -= command.ByteSize()

    def _is_full(self) -> bool:
        return self._queue.full() or self._queued_bytes > MOST_UNREAD_BYTES

    def _send(self, command: pb.TelemetryCommand) -> bool:
        """Puts a command on the stream, unless the client reads none."""
        size = command.ByteSize()
        if self._is_full():
            if not self._drops:
                log.warning("client %s reads nothing of its telemetry: commands are dropped", self._caller.client_id)
            self._drops = True
            return False
        self._queue.put_nowait(command)
        self._queued_bytes += size
        return True

    async def _take(self, command: pb.TelemetryCommand) -> None:
        kind = command.WhichOneof("command")
        if kind == "settings":
            await self._settle(command.settings)
        elif kind in ("thread_stack_trace", "verify_message_result"):
            answer = getattr(command, kind)
            self._parts.questions.answered(self._send, answer.nonce, command)

    async def _settle(self, settings: pb.Settings) -> None:
        parts = self._parts
        _check_size(settings)
        try:
            parts.access.check_settings(settings, self._caller)
            answer = pb.TelemetryCommand(status=ok(), settings=merged_settings(settings, parts.ground))
            is_first = self._client is None
            self._client = parts.clients.take(self._caller, answer.settings)
        except Refused as refused:
            self._send(pb.TelemetryCommand(status=refused.status))
            return
        self._client.send = self._send
        await parts.clients.register(self._client)
        if is_first:
            await asyncio.sleep(_FIRST_ANSWER_SECONDS)
        self._send(answer)


def _check_size(settings: pb.Settings) -> None:
    """Passes when settings hold no more than a heartbeat of a remoting client may.

    Raises:
        SettingsRefused: they hold more; the stream ends, and with it goes what was received.
    """
    count = len(settings.publishing.topics) + len(settings.subscription.subscriptions)
    if count > MOST_GROUPS or settings.ByteSize() > MOST_BYTES:
        text = f"the settings name {count} topics in {settings.ByteSize()} bytes"
        raise SettingsRefused(f"{text}, at most {MOST_GROUPS} in {MOST_BYTES} are taken")
