"""Timers of one client, run one after the other on one thread (`MQClientInstance.scheduledExecutorService`)."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count
from threading import Condition, Thread, current_thread
from time import monotonic

from mqctl.client.remoting.clock import ClientClock
from mqctl.errors import MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

_KEPT_TROUBLES = 100


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something a client could not do in the background and will try again.

    Attributes:
        at_ms: when, on the client's clock.
        doing: what it was doing.
    """

    at_ms: int
    doing: str
    error: MqctlError


class ListenerError(MqctlError):
    """Code that was handed to the client raised something of its own."""


def listener_error(error: BaseException) -> ListenerError:
    """Wraps what a listener or a callback raised."""
    return ListenerError(
        sentence("client-listener-failed", "A listener failed"),
        reason=f"{type(error).__name__}: {error}",
        remedy=sentence("client-mend-listener", "fix the listener"),
    )


class Troubles:
    """The last troubles of a client, and whoever wants to hear of them."""

    def __init__(self, clock: ClientClock, listener: Callable[[Trouble], None] | None = None) -> None:
        self._clock = clock
        self._listener = listener
        self.last: deque[Trouble] = deque(maxlen=_KEPT_TROUBLES)

    def add(self, doing: str, error: MqctlError) -> None:
        """Notes a failure."""
        trouble = Trouble(self._clock.now_ms(), doing, error)
        self.last.append(trouble)
        if self._listener is not None:
            self._listener(trouble)


class Timer:
    """One task that will run, once or again and again."""

    __slots__ = ("cancelled", "doing", "period_s", "task")

    def __init__(self, doing: str, task: Callable[[], object], period_s: float | None) -> None:
        self.doing = doing
        self.task = task
        self.period_s = period_s
        self.cancelled = False

    def cancel(self) -> None:
        """Makes the task not run again."""
        self.cancelled = True


class TimerThread:
    """A thread with a list of what to do when. Durations are milliseconds of the client's clock."""

    def __init__(self, clock: ClientClock, troubles: Troubles, *, thread_name: str) -> None:
        self._clock = clock
        self._troubles = troubles
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()
        self._wake = Condition()
        self._closed = False
        self._thread = Thread(target=self._run, name=thread_name, daemon=True)
        self._thread.start()

    def every(self, first_ms: float, period_ms: float, doing: str, task: Callable[[], object]) -> Timer:
        """Runs `task` after `first_ms`, then `period_ms` after each of its ends."""
        return self._add(first_ms, Timer(doing, task, self._clock.seconds(period_ms)))

    def after(self, delay_ms: float, doing: str, task: Callable[[], object]) -> Timer:
        """Runs `task` once."""
        return self._add(delay_ms, Timer(doing, task, None))

    def _add(self, delay_ms: float, timer: Timer) -> Timer:
        with self._wake:
            heapq.heappush(self._heap, (monotonic() + self._clock.seconds(delay_ms), next(self._numbers), timer))
            if self._heap[0][2] is timer:
                self._wake.notify()
        return timer

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._closed and (not self._heap or self._heap[0][0] > monotonic()):
                    self._wake.wait(self._heap[0][0] - monotonic() if self._heap else None)
                if self._closed:
                    return
                timer = heapq.heappop(self._heap)[2]
            if timer.cancelled:
                continue
            try:
                timer.task()
            except MqctlError as error:
                self._troubles.add(timer.doing, error)
            if timer.period_s is not None and not timer.cancelled:
                with self._wake:
                    heapq.heappush(self._heap, (monotonic() + timer.period_s, next(self._numbers), timer))

    def close(self, limit_ms: float | None = None) -> None:
        """Stops; a task that runs comes to its end first, or goes on alone after `limit_ms` real milliseconds."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread is not current_thread():
            self._thread.join(None if limit_ms is None else limit_ms / 1000)
