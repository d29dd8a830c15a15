"""Counters of a broker over the last minute, hour and day (`BrokerStatsManager` and `StatsItem` of 4.9.8).

Counting is one dictionary access; the spans come from samples: every 10 s for the minute, every 10 min for the hour,
every hour for the day.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import partial
from time import localtime

from embedded_broker.clock import Clock, Periodic
from mqctl.model.spans import MINUTE_MS

log = logging.getLogger("embedded_broker")

TOPIC_PUT_NUMS, TOPIC_PUT_SIZE = "TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE"
GROUP_GET_NUMS, GROUP_GET_SIZE = "GROUP_GET_NUMS", "GROUP_GET_SIZE"
SNDBCK_PUT_NUMS = "SNDBCK_PUT_NUMS"
BROKER_PUT_NUMS, BROKER_GET_NUMS = "BROKER_PUT_NUMS", "BROKER_GET_NUMS"
_OF_GROUPS = frozenset({GROUP_GET_NUMS, GROUP_GET_SIZE, SNDBCK_PUT_NUMS})

_MINUTE_SAMPLES, _HOUR_SAMPLES, _DAY_SAMPLES = 7, 7, 25
_SECOND_MS = 1_000
_PUT_TIMES_MS = (0, 10, 50, 100, 200, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 10_000)
_RATE_SAMPLES = 61
_RATE_PERIODS = (1, 6, 60)
_PERIODS_MS = (10 * _SECOND_MS, 600 * _SECOND_MS, 3_600 * _SECOND_MS)


@dataclass(frozen=True, slots=True)
class Span:
    """One counter over one span: its sum, per second, and per event that was counted."""

    sum: int = 0
    per_second: float = 0.0
    per_event: float = 0.0


@dataclass(slots=True)
class Counter:
    """One counter: the sum of what was added, and how often."""

    value: int = 0
    times: int = 0
    samples: tuple[deque[tuple[int, int, int]], ...] = field(
        default_factory=lambda: (
            deque(maxlen=_MINUTE_SAMPLES),
            deque(maxlen=_HOUR_SAMPLES),
            deque(maxlen=_DAY_SAMPLES),
        )
    )

    def span(self, index: int) -> Span:
        """Returns the span over the minute (0), hour (1) or day (2)."""
        samples = self.samples[index]
        if not samples:
            return Span()
        (first_ms, first_value, first_times), (last_ms, last_value, last_times) = samples[0], samples[-1]
        total, times = last_value - first_value, last_times - first_times
        elapsed_ms = last_ms - first_ms
        return Span(total, total * 1000 / elapsed_ms if elapsed_ms else 0.0, total / times if times else 0.0)


class Stats:
    """All counters of a broker, by RocketMQ's statistics name and key.

    Attributes:
        boot_ms: when the broker started.
        put_failed: messages that the store refused.
        put_times: writes of this minute by how long they took: 0 ms, under 10, 50, 100, 200, 500 ms, 1, 2, 3, 4, 5,
            10 s, longer.
        put_time_max_ms: the longest of this run.
        missed: pulls and pops that found nothing.
        mornings: messages stored and handed out at the last midnight and at the one before, of this run.
        aside: by internal topic, the records that its machine could not handle and left where they are.
    """

    def __init__(self, clock: Clock, cluster: str) -> None:
        self.boot_ms = clock.now_ms()
        self.put_failed = 0
        self.put_times = [0] * (len(_PUT_TIMES_MS) + 1)
        self.put_time_max_ms = 0
        self.missed = 0
        self.mornings: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
        self._day = _day_of(self.boot_ms)
        self._totals: deque[tuple[int, tuple[int, ...]]] = deque(maxlen=_RATE_SAMPLES)
        self.aside: dict[str, int] = {}
        self._clock = clock
        self._cluster = cluster
        self._items: dict[tuple[str, str], Counter] = {}
        self._put: dict[str, tuple[Counter, Counter, Counter]] = {}
        self._get: dict[tuple[str, str], tuple[Counter, Counter, Counter]] = {}
        self._timers = [
            Periodic(clock, period, partial(self._sample, index), first_ms=period)
            for index, period in enumerate(_PERIODS_MS)
        ]

    def stop(self) -> None:
        """Ends the sampling."""
        for timer in self._timers:
            timer.cancel()

    def set_aside(self, topic: str, record: str, reason: object) -> None:
        """Notes a record of an internal topic that its machine cannot handle; what comes behind it is handled."""
        self.aside[topic] = self.aside.get(topic, 0) + 1
        log.error("%s: %s is set aside: %s", topic, record, reason)

    def _sample(self, index: int) -> None:
        now_ms = self._clock.now_ms()
        if index == 0:
            self._sample_totals(now_ms)
        for item in self._items.values():
            samples = item.samples[index]
            if not samples:  # a counter that is new counts from nothing, one period ago
                samples.append((now_ms - _PERIODS_MS[index], 0, 0))
            samples.append((now_ms, item.value, item.times))

    def _sample_totals(self, now_ms: int) -> None:
        if not self._totals:
            self._totals.append((self.boot_ms, (0, 0, 0, 0)))
        totals = self.item(BROKER_GET_NUMS, self._cluster)
        calls = totals.times if totals is not None else 0
        self._totals.append((now_ms, (self.put_total(), calls, self.missed, self.get_total())))
        if now_ms // MINUTE_MS != self._totals[-2][0] // MINUTE_MS:
            self.put_times = [0] * len(self.put_times)
        if _day_of(now_ms) != self._day:
            self._day = _day_of(now_ms)
            self.mornings = ((self.put_total(), self.get_total()), self.mornings[0])

    def rates(self) -> list[tuple[float, ...]]:
        """Returns events a second over the last 10 s, minute and 10 minutes, as far as the broker is up so long.

        Of each: messages stored, reads that found something, reads that did not, messages handed out.
        """
        listed = []
        for periods in _RATE_PERIODS:
            if len(self._totals) > periods:
                (first_ms, first), (last_ms, last) = self._totals[-1 - periods], self._totals[-1]
                span_ms = max(1, last_ms - first_ms)
                listed.append(tuple((new - old) * 1_000 / span_ms for new, old in zip(last, first, strict=True)))
        return listed

    def item(self, name: str, key: str) -> Counter | None:
        """Returns a counter that has counted something, or None."""
        return self._items.get((name, key))

    def _counter(self, name: str, key: str) -> Counter:
        item = self._items.get((name, key))
        if item is None:
            item = self._items[(name, key)] = Counter()
        return item

    def add(self, name: str, key: str, amount: int, times: int = 1) -> None:
        """Counts `amount`, in so many events."""
        item = self._counter(name, key)
        item.value += amount
        item.times += times

    def time_put(self, ms: int) -> None:
        """Notes how long a write took."""
        if ms <= 0:
            self.put_times[0] += 1
            return
        self.put_times[bisect_right(_PUT_TIMES_MS, ms)] += 1
        self.put_time_max_ms = max(self.put_time_max_ms, ms)

    def count_put(self, topic: str, count: int, size_bytes: int) -> None:
        """Counts stored messages."""
        items = self._put.get(topic)
        if items is None:
            items = self._put[topic] = (
                self._counter(TOPIC_PUT_NUMS, topic),
                self._counter(TOPIC_PUT_SIZE, topic),
                self._counter(BROKER_PUT_NUMS, self._cluster),
            )
        nums, size, broker = items
        nums.value += count
        nums.times += 1
        size.value += size_bytes
        size.times += 1
        broker.value += count
        broker.times += 1

    def count_get(self, topic: str, group: str, count: int, size_bytes: int) -> None:
        """Counts delivered messages."""
        items = self._get.get((topic, group))
        if items is None:
            key = f"{topic}@{group}"
            items = self._get[(topic, group)] = (
                self._counter(GROUP_GET_NUMS, key),
                self._counter(GROUP_GET_SIZE, key),
                self._counter(BROKER_GET_NUMS, self._cluster),
            )
        nums, size, broker = items
        nums.value += count
        nums.times += 1
        size.value += size_bytes
        size.times += 1
        broker.value += count
        broker.times += 1

    def forget_topic(self, topic: str) -> None:
        """Drops the counters of a topic, and those of groups on it (`onTopicDeleted`)."""
        self._put.pop(topic, None)
        self._get = {key: items for key, items in self._get.items() if key[0] != topic}
        self._drop({TOPIC_PUT_NUMS, TOPIC_PUT_SIZE}, lambda key: key == topic)
        self._drop(_OF_GROUPS, lambda key: key.partition("@")[0] == topic)

    def forget_group(self, group: str) -> None:
        """Drops the counters of a group on all topics (`onGroupDeleted`)."""
        self._get = {key: items for key, items in self._get.items() if key[1] != group}
        self._drop(_OF_GROUPS, lambda key: key.partition("@")[2] == group)

    def _drop(self, names: Set[str], is_gone: Callable[[str], bool]) -> None:
        for name, key in [item for item in self._items if item[0] in names and is_gone(item[1])]:
            del self._items[name, key]

    def put_total(self) -> int:
        """Returns the messages stored since the start."""
        item = self.item(BROKER_PUT_NUMS, self._cluster)
        return item.value if item is not None else 0

    def get_total(self) -> int:
        """Returns the messages delivered since the start."""
        item = self.item(BROKER_GET_NUMS, self._cluster)
        return item.value if item is not None else 0


def _day_of(at_ms: int) -> tuple[int, int]:
    """Returns the day of a moment where the broker runs: counters of days turn over at its midnight."""
    moment = localtime(at_ms / 1_000)
    return moment.tm_year, moment.tm_yday
