"""Time as a client sees it: scenarios run clients and embedded brokers at one common multiple of real time."""

from __future__ import annotations

import time

_NS_PER_MS = 1_000_000


class ClientClock:
    """The machine's clock, perhaps faster. Timers and timestamps obey it; time-outs of the network do not.

    Args:
        scale: how many milliseconds of this clock one real millisecond is.
        origin_ms: the instant (epoch milliseconds) at which this clock and the machine's agree. Clients and brokers of
            one scenario need the same, or their timestamps drift apart; now, when not given.
    """

    def __init__(self, scale: float = 1.0, *, origin_ms: int | None = None) -> None:
        if scale <= 0:
            raise ValueError(f"a clock cannot run {scale} times as fast")
        self.scale = scale
        self._origin_ns = time.time_ns() if origin_ms is None else origin_ms * _NS_PER_MS

    def now_ms(self) -> int:
        """Returns epoch milliseconds."""
        now_ns = time.time_ns()
        if self.scale != 1.0:
            now_ns = self._origin_ns + int((now_ns - self._origin_ns) * self.scale)
        return now_ns // _NS_PER_MS

    def seconds(self, duration_ms: float) -> float:
        """Returns the real seconds that `duration_ms` of this clock take."""
        return duration_ms / 1000 / self.scale
