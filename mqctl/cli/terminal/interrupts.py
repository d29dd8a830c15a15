"""Commands that somebody ends before they end by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from queue import Empty, SimpleQueue
from signal import SIGINT, SIGTERM, default_int_handler, signal
from time import monotonic

from mqctl.client.remoting.deadline import LONGEST_WAIT_S


class EndAsked:
    """Whether a signal asked for the end; on the main thread. An Event would not do: its lock may be held by the very
    thread that the handler runs on, which then waits for itself. This queue may be entered twice."""

    def __init__(self) -> None:
        self._signs: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        self._signs.put(None)

    def is_set(self) -> bool:
        return not self._signs.empty()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the end is asked for, `seconds` at most; tells whether it is."""
        end = inf if seconds is None else monotonic() + seconds
        while not self.is_set() and (left_s := end - monotonic()) > 0:
            with suppress(Empty):
                self._signs.get(timeout=min(left_s, LONGEST_WAIT_S))
                self._signs.put(None)
        return self.is_set()


@contextmanager
def end_asked() -> Iterator[EndAsked]:
    """Turns SIGINT and SIGTERM into a sign that is looked at when it suits."""
    ended = EndAsked()
    before = {number: signal(number, lambda *_: ended.set()) for number in (SIGINT, SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal(number, handler)


def wait_for_interrupt(*, every_s: float | None = None, done: Callable[[], bool] = lambda: False) -> None:
    """Waits for SIGINT or SIGTERM; to be called on the main thread. Either is the proper way to end such a command.

    Args:
        every_s: how often to ask whether there is nothing more to wait for; None for never.
        done: tells that.
    """
    with end_asked() as ended:
        while not ended.wait(every_s) and not done():
            pass


@contextmanager
def terminable() -> Iterator[None]:
    """A polite end is an interruption: what was done is said, and the exit code tells."""
    before = signal(SIGTERM, default_int_handler)
    try:
        yield
    finally:
        signal(SIGTERM, before)
