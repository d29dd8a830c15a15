"""Pops that wait for messages: long polling by topic, group and queue id (`PopLongPollingService` of 5.3.3).

Queue id -1 is a key of its own: an arrival wakes one request that waits for all queues, then one that waits for its
queue. What is woken runs again from the start, and so does what has waited long enough. Nothing wakes those who could
have what arrives in a retry topic of the first name: its group and topic cannot be told apart.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Callable
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from mqctl.model.names import RETRY_PREFIX

if TYPE_CHECKING:
    from embedded_broker.clock import Clock, Handle
    from embedded_broker.log.store import Dispatched
    from embedded_broker.remoting.server import ServerConnection
    from embedded_broker.settings import BrokerSettings

_EARLIER_MS = 50
ALL_QUEUES = -1
Key = tuple[str, str, int]
"""Topic, group, queue id."""


class Polling(Enum):
    """What became of a request that wants to wait."""

    WAITS = "waits"
    FULL = "full"
    OVER = "over"


class PopRequest:
    """One request that waits.

    Attributes:
        until_ms: when it is evaluated once more, whatever happened.
        wants: tells by a queue entry whether it wants a message; None for all.
        again: evaluates it once more and answers.
    """

    __slots__ = ("again", "connection", "key", "number", "over", "until_ms", "wants")

    def __init__(
        self,
        key: Key,
        until_ms: int,
        connection: ServerConnection,
        again: Callable[[], None],
        wants: Callable[[Dispatched], bool] | None = None,
    ) -> None:
        self.key = key
        self.until_ms = until_ms - _EARLIER_MS
        self.connection = connection
        self.again = again
        self.wants = wants
        self.number = 0
        self.over = False

    def __lt__(self, other: PopRequest) -> bool:
        return (self.until_ms, self.number) < (other.until_ms, other.number)


class Polls:
    """All waiting requests of one kind.

    Attributes:
        total: how many there are.
    """

    def __init__(self, clock: Clock, settings: BrokerSettings) -> None:
        self._clock = clock
        self._settings = settings
        self._numbers = count()
        self._keys: dict[Key, list[PopRequest]] = {}
        self._groups: dict[str, dict[str, int]] = {}
        self._deadlines: list[PopRequest] = []
        self.total = 0
        self._ready: list[PopRequest] = []
        self._timer: Handle | None = None
        self._timer_ms = 0

    def count(self, key: Key) -> int:
        """Returns how many wait under one key."""
        return len(self._keys.get(key, ()))

    def wait(self, waiting: PopRequest) -> Polling:
        """Has a request wait, unless too many do or its time is over."""
        if self.total >= self._settings.max_pop_polling_size:
            return Polling.FULL
        if self._clock.now_ms() >= waiting.until_ms:
            return Polling.OVER
        own = self._keys.get(waiting.key, [])
        if len(own) > self._settings.pop_polling_size:
            return Polling.FULL
        waiting.number = next(self._numbers)
        insort(own, waiting)
        self._keys[waiting.key] = own
        topic, group, _ = waiting.key
        groups = self._groups.setdefault(topic, {})
        groups[group] = groups.get(group, 0) + 1
        self.total += 1
        heappush(self._deadlines, waiting)
        self._set_timer()
        return Polling.WAITS

    def arrived(self, entry: Dispatched) -> None:
        """Wakes those who can have a new message; to be called at every dispatch while anybody waits."""
        topic, only = entry.topic, None
        if topic.startswith(RETRY_PREFIX) and "+" in topic:
            only, _, topic = topic.removeprefix(RETRY_PREFIX).partition("+")
        for group in list(self._groups.get(topic, ())) if only is None else [only]:
            for queue_id in (ALL_QUEUES, entry.queue_id):
                own = self._keys.get((topic, group, queue_id))
                if own and (own[0].wants is None or own[0].wants(entry)):
                    self._wake(own[0])

    def wake(self, key: Key) -> None:
        """Wakes one request of a key: there is more to have."""
        own = self._keys.get(key)
        if own:
            self._wake(own[0])

    def _wake(self, waiting: PopRequest) -> None:
        self._forget(waiting)
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._run_ready)
        self._ready.append(waiting)

    def _run_ready(self) -> None:
        ready, self._ready = self._ready, []
        for waiting in ready:
            if not waiting.connection.closed:
                waiting.again()

    def _forget(self, waiting: PopRequest) -> None:
        waiting.over = True
        own = self._keys[waiting.key]
        own.remove(waiting)
        if not own:
            del self._keys[waiting.key]
        topic, group, _ = waiting.key
        groups = self._groups[topic]
        groups[group] -= 1
        if not groups[group]:
            del groups[group]
        if not groups:
            del self._groups[topic]
        self.total -= 1

    def _set_timer(self) -> None:
        while self._deadlines and self._deadlines[0].over:
            heappop(self._deadlines)
        if not self._deadlines:
            return
        until_ms = self._deadlines[0].until_ms
        if self._timer is not None and self._timer_ms <= until_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = until_ms
        self._timer = self._clock.call_later(until_ms - self._clock.now_ms(), self._expire)

    def _expire(self) -> None:
        self._timer = None
        now_ms = self._clock.now_ms()
        while self._deadlines and (self._deadlines[0].over or self._deadlines[0].until_ms <= now_ms):
            waiting = heappop(self._deadlines)
            if not waiting.over:
                self._wake(waiting)
        self._set_timer()

    def stop(self) -> None:
        """Forgets all; their clients see the connection close."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._keys.clear()
        self._groups.clear()
        self._deadlines.clear()
        self._ready.clear()
        self.total = 0
