"""Messages that were received with auto_renew: their time is lengthened while the client is there.

What a client says of the handle that it knows goes to the one that counts (`DefaultReceiptHandleManager` of 5.3.3).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embedded_broker.clock import Periodic
from embedded_broker.proxy.channels import Channel
from embedded_broker.proxy.handles import Delivered, change_time
from embedded_broker.proxy.statuses import Refused
from mqctl.model.spans import HOUR_MS

if TYPE_CHECKING:
    from embedded_broker.proxy.clients import GrpcClient
    from embedded_broker.proxy.ground import ProxyGround

log = logging.getLogger("embedded_broker")

_LONGEST_MS = 3 * HOUR_MS
_FREED_MS = 1_000
_OWN_PEER = "127.0.0.1:0"


@dataclass(slots=True)
class _Kept:
    """A message whose time is lengthened.

    Attributes:
        delivered: with the handle that counts.
        until_ms: when it is left alone.
    """

    delivered: Delivered
    until_ms: int


class KeptHandles:
    """The handles of messages that clients with auto_renew work on."""

    def __init__(self, ground: ProxyGround) -> None:
        self._ground, self._clock = ground, ground.clock
        self._kept: dict[str, dict[str, _Kept]] = {}
        self._tick: Periodic | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self, client_id: str, delivered: Delivered) -> None:
        """Has a message's time lengthened from now on."""
        until_ms = self._clock.now_ms() + _LONGEST_MS
        own = self._kept.setdefault(client_id, {})
        own[str(delivered.handle)] = _Kept(delivered, until_ms)
        if self._tick is None:
            tick_ms = self._ground.settings.renew_schedule_period_millis
            self._tick = Periodic(self._clock, tick_ms, self._renew_all, first_ms=tick_ms)

    def take(self, client_id: str, text: str) -> str:
        """Returns the handle that counts for the one a client has, and lengthens its time no more."""
        own = self._kept.get(client_id)
        kept = own.pop(text, None) if own else None
        if own is not None and not own:
            del self._kept[client_id]
        return text if kept is None else str(kept.delivered.handle)

    def held(self, client_id: str) -> list[tuple[str, int]]:
        """Returns what a client has not answered for: topic, and when it got it, of each message."""
        own = self._kept.get(client_id, {})
        return [(kept.delivered.topic, kept.until_ms - _LONGEST_MS) for kept in own.values()]

    def free(self, client: GrpcClient) -> None:
        """Has what a client that left was working on come again at once."""
        for kept in self._kept.pop(client.client_id, {}).values():
            self._start(self._change(kept, _FREED_MS))

    def _renew_all(self) -> None:
        now_ms, settings = self._clock.now_ms(), self._ground.settings
        for client_id, own in list(self._kept.items()):
            for text, kept in list(own.items()):
                due_ms = kept.delivered.handle.receipt.due_ms
                if due_ms <= now_ms or kept.until_ms <= now_ms:
                    own.pop(text)
                elif due_ms - now_ms < settings.renew_ahead_time_millis:
                    self._start(self._change(kept, settings.default_invisible_time_mills))
            if not own:
                self._kept.pop(client_id, None)
        if not self._kept and self._tick is not None:
            self._tick.cancel()
            self._tick = None

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _change(self, kept: _Kept, invisible_ms: int) -> None:
        delivered = kept.delivered
        try:
            handle = await change_time(self._ground, Channel(self._clock, _OWN_PEER), delivered, invisible_ms)
        except Refused as refused:
            log.warning("a message of group %s is not renewed: %s", delivered.group, refused.text)
        else:
            kept.delivered = delivered._replace(handle=handle)

    def stop(self) -> None:
        """Forgets all; their messages come again when their time is over."""
        if self._tick is not None:
            self._tick.cancel()
        for task in self._tasks:
            task.cancel()
        self._kept.clear()
