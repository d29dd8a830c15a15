"""Time as the embedded broker sees it: one clock that every timer and timestamp of a cluster obeys.

A `SystemClock` may run faster than the wall (a scale of 20 makes a minute last three seconds, in timestamps and timers
alike); a `VirtualClock` stands still until somebody advances it.
"""

from __future__ import annotations

import heapq
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable
from itertools import count
from typing import Protocol

_NS_PER_MS = 1_000_000


class Handle(Protocol):
    """A timer that has been set."""

    def cancel(self) -> None:
        """Makes the callback not happen; harmless when it already has."""


class Clock(Protocol):
    """Epoch milliseconds and timers."""

    def now_ms(self) -> int:
        """Returns the epoch milliseconds."""

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Handle:
        """Calls `callback` on the loop's thread once `delay_ms` have passed."""


class SystemClock:
    """The machine's clock, perhaps faster.

    Args:
        loop: the event loop that runs the callbacks.
        scale: how many milliseconds of this clock one millisecond of the machine's is.
    """

    def __init__(self, loop: AbstractEventLoop, *, scale: float = 1.0) -> None:
        if scale <= 0:
            raise ValueError(f"a clock cannot run {scale} times as fast")
        self._loop = loop
        self._origin_ns = time.time_ns()
        self._jumped_ms = 0
        self.scale = scale

    @property
    def origin_ms(self) -> int:
        """The epoch milliseconds at which this clock and the machine's agree; clients at the same scale need them."""
        return self._origin_ns // _NS_PER_MS

    def now_ms(self) -> int:
        now_ns = time.time_ns()
        if self.scale != 1.0:
            now_ns = self._origin_ns + int((now_ns - self._origin_ns) * self.scale)
        return now_ns // _NS_PER_MS + self._jumped_ms

    def jump(self, ms: int) -> None:
        """Sets the clock forward, or back, as an administrator or NTP does; timers that are set keep their delay."""
        self._jumped_ms += ms

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Handle:
        return self._loop.call_later(max(0.0, delay_ms) / 1000 / self.scale, callback)


class _VirtualTimer:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class VirtualClock:
    """A clock that moves only when told; to be used on the loop's thread.

    Args:
        start_ms: the first instant, epoch milliseconds; now, when not given.
    """

    def __init__(self, start_ms: int | None = None) -> None:
        self._now_ms = time.time_ns() // _NS_PER_MS if start_ms is None else start_ms
        self._timers: list[tuple[float, int, _VirtualTimer]] = []
        self._numbers = count()

    def now_ms(self) -> int:
        return self._now_ms

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Handle:
        timer = _VirtualTimer(callback)
        heapq.heappush(self._timers, (self._now_ms + max(0.0, delay_ms), next(self._numbers), timer))
        return timer

    def advance(self, ms: int) -> None:
        """Lets `ms` milliseconds pass: timers go off in order, each at its own instant, those they set included."""
        end = self._now_ms + ms
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            self._now_ms = max(self._now_ms, int(due))
            if timer.callback is not None:
                callback, timer.callback = timer.callback, None
                callback()
        self._now_ms = max(self._now_ms, end)


class Periodic:
    """Calls a function again and again, the first time after `first_ms`.

    A call that raises ends the series: callbacks handle their own failures.
    """

    def __init__(self, clock: Clock, period_ms: int, callback: Callable[[], object], *, first_ms: int) -> None:
        self._clock = clock
        self._period_ms = period_ms
        self._callback = callback
        self._handle: Handle | None = clock.call_later(first_ms, self._run)

    def _run(self) -> None:
        self._callback()
        if self._handle is not None:
            self._handle = self._clock.call_later(self._period_ms, self._run)

    def cancel(self) -> None:
        """Ends the series."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
