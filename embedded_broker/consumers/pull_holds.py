"""Pulls that wait for messages: long polling by queue (`PullRequestHoldService` of 4.9.8).

Theory of operation. A pull that finds nothing is held under its queue and under its deadline (buckets of 50 ms, one
timer for the earliest). It leaves both when a message arrives that its filter wants, at the sweep every 5 s when its
offset is there, whatever the filter says, or at its deadline (which a real broker notices only at the next sweep).
Then it is ready: read once more, and answered. Ready pulls are answered behind the loop's round, so that the producer
has its answer first and a batch is one answer, and for a moment at a time. Of a queue with a crowd of pulls not each
arrival asks all of them: they are looked at in portions, as the sweep looks.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from time import monotonic

from embedded_broker.clock import Clock, Handle, Periodic
from embedded_broker.log.store import Dispatched
from embedded_broker.remoting.server import ServerConnection
from embedded_broker.remoting.slices import SLICE_SECONDS

_SWEEP_MS = 5_000
_BUCKET_MS = 50
_CROWD = 256
"""Pulls of one queue that are looked at in one go."""

Wants = Callable[[int], bool]
WantsEntry = Callable[[Dispatched], bool]


class Held:
    """One pull that waits.

    Attributes:
        offset: the queue offset it wants next.
        wants: tells by the tags code whether it wants a message; None for all.
        wants_entry: tells by the message itself; None for all.
        again: evaluates it once more and answers.
    """

    __slots__ = ("again", "bucket", "connection", "key", "offset", "wants", "wants_entry")

    def __init__(
        self,
        key: tuple[str, int],
        offset: int,
        wants: Wants | None,
        connection: ServerConnection,
        again: Callable[[], None],
        *,
        wants_entry: WantsEntry | None = None,
    ) -> None:
        self.key = key
        self.offset = offset
        self.wants = wants
        self.connection = connection
        self.again = again
        self.wants_entry = wants_entry
        self.bucket = 0


class PullHolds:
    """All held pulls of a broker.

    Args:
        max_offset: asks the store for the end of a queue.
        most: how many may be held at one time.
    """

    def __init__(self, clock: Clock, max_offset: Callable[[str, int], int], most: int = 20_000) -> None:
        self._clock = clock
        self._most = most
        self._count = 0
        self._max_offset = max_offset
        self._queues: dict[tuple[str, int], dict[Held, None]] = {}
        self._buckets: dict[int, dict[Held, None]] = {}
        self._ready: deque[Held] = deque()
        self._crowded: dict[tuple[str, int], Iterator[Held]] = {}
        self._working = False
        self._timer: Handle | None = None
        self._timer_bucket = 0
        self._sweep = Periodic(clock, _SWEEP_MS, self._look_at_all, first_ms=_SWEEP_MS)

    def __len__(self) -> int:
        return self._count

    @property
    def full(self) -> bool:
        """Whether no further pull can be held."""
        return self._count >= self._most

    def hold(self, held: Held, timeout_ms: int) -> None:
        """Has a pull wait, at most `timeout_ms`."""
        self._queues.setdefault(held.key, {})[held] = None
        self._count += 1
        held.bucket = (self._clock.now_ms() + max(0, timeout_ms)) // _BUCKET_MS + 1
        self._buckets.setdefault(held.bucket, {})[held] = None
        if self._timer is None or held.bucket < self._timer_bucket:
            self._set_timer(held.bucket)

    def arrived(self, entry: Dispatched) -> None:
        """Wakes the pulls that want this message; to be called at every dispatch."""
        waiting = self._queues.get((entry.topic, entry.queue_id))
        if not waiting:
            return
        if len(waiting) > _CROWD:
            self._crowded[entry.topic, entry.queue_id] = iter(tuple(waiting))
            self._work_soon()
            return
        woken = [
            held
            for held in waiting
            if entry.queue_offset >= held.offset
            and (held.wants is None or held.wants(entry.tags_code))
            and (held.wants_entry is None or held.wants_entry(entry))
        ]
        self._wake(woken)

    def _wake(self, woken: Iterable[Held]) -> None:
        for held in woken:
            self._forget(held)
            self._ready.append(held)
        if self._ready:
            self._work_soon()

    def _work_soon(self) -> None:
        if not self._working:
            self._working = True
            asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        """Answers who was woken, looks who is to be woken of a crowd; after a moment others have a turn."""
        self._working = False
        end = monotonic() + SLICE_SECONDS
        while self._ready or self._crowded:
            if self._ready:
                held = self._ready.popleft()
                if not held.connection.closed:
                    held.again()
            else:
                self._look_at_crowd()
            if monotonic() > end:
                self._work_soon()
                return

    def _look_at_crowd(self) -> None:
        """Wakes a portion of the pulls of one queue: all whose offset is there, whatever their filter says."""
        key = next(iter(self._crowded))
        portion = tuple(islice(self._crowded[key], _CROWD))
        if not portion:
            del self._crowded[key]
            return
        waiting, end = self._queues.get(key, {}), self._max_offset(*key)
        self._wake([held for held in portion if held in waiting and (held.connection.closed or end > held.offset)])

    def _forget(self, held: Held) -> None:
        queue = self._queues[held.key]
        del queue[held]
        self._count -= 1
        if not queue:
            del self._queues[held.key]
        bucket = self._buckets[held.bucket]
        del bucket[held]
        if not bucket:
            del self._buckets[held.bucket]

    def _look_at_all(self) -> None:
        for (topic, queue_id), waiting in list(self._queues.items()):
            end = self._max_offset(topic, queue_id)
            self._wake([held for held in waiting if held.connection.closed or end > held.offset])

    def _set_timer(self, bucket: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_bucket = bucket
        self._timer = self._clock.call_later(bucket * _BUCKET_MS - self._clock.now_ms(), self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self._clock.now_ms() // _BUCKET_MS
        for bucket in [number for number in self._buckets if number <= now]:
            self._wake(list(self._buckets.get(bucket, ())))
        if self._buckets:
            self._set_timer(min(self._buckets))

    def stop(self) -> None:
        """Forgets all held pulls; their clients see the connection close."""
        self._sweep.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._queues.clear()
        self._count = 0
        self._buckets.clear()
        self._ready.clear()
        self._crowded.clear()
