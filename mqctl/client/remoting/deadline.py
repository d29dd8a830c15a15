"""One point in time by which a whole operation has to be over."""

from __future__ import annotations

from time import monotonic

# Python runs what a signal asks for between two steps of the main thread: a Ctrl-C that comes just before the thread
# begins to wait is heard only when that wait is over. Who waits for long waits in parts.
LONGEST_WAIT_S = 0.25


class Deadline:
    """A moment on the monotonic clock, made from the milliseconds that remain.

    Args:
        spare_ms: how much earlier it is over, for what follows the last answer.

    Attributes:
        limit_ms: the milliseconds it was made with, for messages.
    """

    __slots__ = ("_end", "_whole", "limit_ms")

    def __init__(self, limit_ms: int, whole: Deadline | None = None, *, spare_ms: int = 0) -> None:
        self.limit_ms = limit_ms
        self._whole = whole
        self._end = monotonic() + (limit_ms - spare_ms) / 1000

    @property
    def at(self) -> float:
        """The moment in seconds of `time.monotonic`."""
        return self._end

    @property
    def remaining_s(self) -> float:
        """Seconds left, 0.0 when it has passed."""
        left = self._end - monotonic()
        return left if left > 0 else 0.0

    @property
    def remaining_ms(self) -> int:
        return int(self.remaining_s * 1000)

    @property
    def expired(self) -> bool:
        return monotonic() >= self._end

    def within(self, limit_ms: int) -> Deadline:
        """Returns the earlier of this deadline and one in `limit_ms` from now."""
        return Deadline(min(limit_ms, self.remaining_ms), self.whole)

    @property
    def whole(self) -> Deadline:
        """The deadline of the whole operation, of which this one is a part."""
        return self._whole or self
