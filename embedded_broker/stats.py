"""Counters of a broker over the last minute, hour and day (`BrokerStatsManager` and `StatsItem` of 4.9.8).

Counting is one dictionary access; the spans come from samples: every 10 s for the minute, every 10 min for the hour,
every hour for the day.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import partial

from embedded_broker.clock import Clock, Periodic

log = logging.getLogger("embedded_broker")

TOPIC_PUT_NUMS, TOPIC_PUT_SIZE = "TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE"
GROUP_GET_NUMS, GROUP_GET_SIZE = "GROUP_GET_NUMS", "GROUP_GET_SIZE"
SNDBCK_PUT_NUMS = "SNDBCK_PUT_NUMS"
BROKER_PUT_NUMS, BROKER_GET_NUMS = "BROKER_PUT_NUMS", "BROKER_GET_NUMS"
_OF_GROUPS = frozenset({GROUP_GET_NUMS, GROUP_GET_SIZE, SNDBCK_PUT_NUMS})

_MINUTE_SAMPLES, _HOUR_SAMPLES, _DAY_SAMPLES = 7, 7, 25
_SECOND_MS = 1_000
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
        aside: by internal topic, the records that its machine could not handle and left where they are.
    """

    def __init__(self, clock: Clock, cluster: str) -> None:
        self.boot_ms = clock.now_ms()
        self.put_failed = 0
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
        for item in self._items.values():
            samples = item.samples[index]
            if not samples:  # a counter that is new counts from nothing, one period ago
                samples.append((now_ms - _PERIODS_MS[index], 0, 0))
            samples.append((now_ms, item.value, item.times))

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
