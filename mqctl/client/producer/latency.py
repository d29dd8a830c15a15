"""Brokers that were slow or failed are avoided for a while (`LatencyFaultToleranceImpl` of 4.9.8); off by default."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from mqctl.client.remoting.clock import ClientClock
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue

_LATENCIES_MS = (50, 100, 550, 1_000, 2_000, 3_000, 15_000)
_AVOIDED_FOR_MS = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
FAILED_LATENCY_MS = 30_000


@dataclass(frozen=True, slots=True)
class _Fault:
    latency_ms: int
    until_ms: int


def avoided_for_ms(latency_ms: int) -> int:
    """Returns for how long a broker that took `latency_ms` is avoided."""
    avoided = 0
    for limit_ms, duration_ms in zip(_LATENCIES_MS, _AVOIDED_FOR_MS, strict=True):
        if latency_ms >= limit_ms:
            avoided = duration_ms
    return avoided


class LatencyFaults:
    """What is known about the brokers' latency."""

    def __init__(self, clock: ClientClock) -> None:
        self._clock = clock
        self._faults: dict[str, _Fault] = {}
        self._turns = count()

    def note(self, broker_name: str, latency_ms: int) -> None:
        """Notes how long a send took; a failed one counts as `FAILED_LATENCY_MS`."""
        self._faults[broker_name] = _Fault(latency_ms, self._clock.now_ms() + avoided_for_ms(latency_ms))

    def is_available(self, broker_name: str) -> bool:
        """Tells whether a broker may be used."""
        fault = self._faults.get(broker_name)
        return fault is None or self._clock.now_ms() >= fault.until_ms

    def choose(self, queues: Sequence[MessageQueue], start: int) -> MessageQueue:
        """Returns the first queue from `start` on whose broker may be used, else one of the better half of brokers."""
        for step in range(len(queues)):
            queue = queues[(start + step) % len(queues)]
            if self.is_available(queue.broker_name):
                return queue
        known = sorted(self._faults.items(), key=lambda item: (item[1].latency_ms, item[1].until_ms))
        better = [name for name, _ in known[: max(1, len(known) // 2)]]
        name = better[next(self._turns) % len(better)]
        candidates = [queue for queue in queues if queue.broker_name == name] or queues
        return candidates[start % len(candidates)]
