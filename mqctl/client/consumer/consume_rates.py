"""Rates of a consumer over the last minute, as its running information shows them (`ConsumerStatsManager`)."""

from __future__ import annotations

from collections import deque
from threading import Lock

from mqctl.client.remoting.clock import ClientClock
from mqctl.model.spans import HOUR_MS
from mqctl.protocol.bodies_client import ConsumeStatus

_SLOT_MS = 10_000
_SLOTS = 6


class _Window:
    """Counts and sums of the last minute, in slots of ten seconds."""

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        self._slots: deque[list[float]] = deque()  # [slot number, count, sum]

    def add(self, now_ms: int, count: float, total: float) -> None:
        number = now_ms // _SLOT_MS
        if not self._slots or self._slots[-1][0] != number:
            self._slots.append([number, 0.0, 0.0])
            while self._slots[0][0] <= number - _SLOTS:
                self._slots.popleft()
        slot = self._slots[-1]
        slot[1] += count
        slot[2] += total

    def totals(self, now_ms: int) -> tuple[float, float]:
        oldest = now_ms // _SLOT_MS - _SLOTS
        recent = [slot for slot in self._slots if slot[0] > oldest]
        return sum(slot[1] for slot in recent), sum(slot[2] for slot in recent)


class _TopicRates:
    __slots__ = ("consumed", "failed", "failures", "pulls", "times")

    def __init__(self) -> None:
        self.pulls = _Window()
        self.times = _Window()
        self.consumed = _Window()
        self.failed = _Window()
        self.failures: deque[tuple[int, int]] = deque()


class ConsumeRates:
    """Rates by topic."""

    def __init__(self, clock: ClientClock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._topics: dict[str, _TopicRates] = {}

    def _of(self, topic: str) -> _TopicRates:
        return self._topics.setdefault(topic, _TopicRates())

    def pulled(self, topic: str, *, messages: int, took_ms: int) -> None:
        """Notes a pull that found messages."""
        with self._lock:
            self._of(topic).pulls.add(self._clock.now_ms(), messages, took_ms)

    def consumed(self, topic: str, *, succeeded: int, failed: int, took_ms: int) -> None:
        """Notes one call of the listener."""
        now_ms = self._clock.now_ms()
        with self._lock:
            rates = self._of(topic)
            rates.times.add(now_ms, 1, took_ms)
            if succeeded:
                rates.consumed.add(now_ms, succeeded, 0)
            if failed:
                rates.failed.add(now_ms, failed, 0)
                rates.failures.append((now_ms, failed))
                while rates.failures[0][0] < now_ms - HOUR_MS:
                    rates.failures.popleft()

    def status(self, topic: str) -> ConsumeStatus:
        """Returns the rates of a topic."""
        now_ms = self._clock.now_ms()
        span_s = _SLOT_MS * _SLOTS / 1000
        with self._lock:
            rates = self._of(topic)
            pulled, pull_ms = rates.pulls.totals(now_ms)
            calls, call_ms = rates.times.totals(now_ms)
            return ConsumeStatus(
                pull_rt=pull_ms / pulled if pulled else 0.0,
                pull_tps=pulled / span_s,
                consume_rt=call_ms / calls if calls else 0.0,
                consume_ok_tps=rates.consumed.totals(now_ms)[0] / span_s,
                consume_failed_tps=rates.failed.totals(now_ms)[0] / span_s,
                consume_failed_msgs=sum(count for at_ms, count in rates.failures if at_ms >= now_ms - HOUR_MS),
            )
