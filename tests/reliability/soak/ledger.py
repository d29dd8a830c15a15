"""What was acknowledged and what was delivered, in memory that does not grow with the length of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, log
from threading import Lock
from time import perf_counter

STEP = 1.08
_LEAST_MS = 0.05
_BUCKETS = 200
_PROBLEMS = 20


class Histogram:
    """Durations in buckets of 8 %, of which percentiles are asked."""

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.count = 0

    def add(self, ms: float) -> None:
        """Counts a duration."""
        bucket = ceil(log(ms / _LEAST_MS, STEP)) if ms > _LEAST_MS else 0
        self._counts[min(_BUCKETS - 1, bucket)] += 1
        self.count += 1

    def percentile(self, share: float) -> float:
        """Returns the end of the bucket (milliseconds) within which so many durations are; 0 without any."""
        wanted, seen = share * self.count, 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return float(_LEAST_MS * STEP**bucket)
        return 0.0


class Ledger:
    """Counts for one cluster.

    A message is a kind and a number. It is expected by groups from before it is sent until each of them got it; what
    comes again afterwards is a repeat, and what no group may get is wrong.

    Attributes:
        acknowledged, delivered: messages; deliveries count for each group.
        repeats: deliveries beyond the first, by group and kind.
        wrong: deliveries that no filter, end of a transaction or kind allows, by group and kind.
        problems: what failed that was not made to fail; the first ones only, with `failures` their number.
    """

    def __init__(self) -> None:
        self.acknowledged: Counter[str] = Counter()
        self.delivered = 0
        self.failures = 0
        self.repeats: Counter[tuple[str, str]] = Counter()
        self.wrong: Counter[tuple[str, str]] = Counter()
        self.problems: list[str] = []
        self.sends, self.deliveries = Histogram(), Histogram()
        self._pending: dict[tuple[str, str, int], float] = {}
        self._lock = Lock()

    def sending(self, groups: Sequence[str], kind: str, number: int) -> None:
        """Has groups wait for a message that is about to be sent."""
        now = perf_counter()
        with self._lock:
            for group in groups:
                self._pending[group, kind, number] = now

    def sent(self, kind: str, began: float, *, count: int = 1) -> None:
        """Notes an acknowledgement, and how long it took since `began` (`perf_counter`)."""
        with self._lock:
            self.acknowledged[kind] += count
            self.sends.add((perf_counter() - began) * 1_000)

    def not_sent(self, groups: Sequence[str], kind: str, number: int) -> None:
        """Takes back what was about to be sent: nobody waits for what was not acknowledged."""
        with self._lock:
            for group in groups:
                self._pending.pop((group, kind, number), None)

    def deliver(self, group: str, kind: str, number: int, *, wanted: bool, at_once: bool) -> None:
        """Notes a delivery.

        Args:
            wanted: whether the group may get this message at all.
            at_once: whether the time since it was sent is the broker's and the client's.
        """
        with self._lock:
            began = self._pending.pop((group, kind, number), None)
            self.delivered += 1
            if not wanted:
                self.wrong[group, kind] += 1
            elif began is None:
                self.repeats[group, kind] += 1
            elif at_once:
                self.deliveries.add((perf_counter() - began) * 1_000)

    def failed(self, what: str, error: object) -> None:
        """Notes what failed though nothing was made to."""
        with self._lock:
            self.failures += 1
            if len(self.problems) < _PROBLEMS:
                self.problems.append(f"{what}: {error}")

    def take_latencies(self) -> tuple[Histogram, Histogram, int]:
        """Returns the durations of sends and deliveries since the last call, and all deliveries so far."""
        with self._lock:
            taken = self.sends, self.deliveries
            self.sends, self.deliveries = Histogram(), Histogram()
            return *taken, self.delivered

    def outstanding(self) -> int:
        """Returns how many deliveries are still to come."""
        with self._lock:
            return len(self._pending)

    def missing(self) -> list[str]:
        """Names some of what was acknowledged and not delivered."""
        with self._lock:
            return [f"{group} misses {kind} {number}" for group, kind, number in list(self._pending)[:_PROBLEMS]]
