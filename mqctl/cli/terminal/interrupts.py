"""Commands that somebody ends before they end by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, default_int_handler, signal
from threading import Event


def wait_for_interrupt(*, every_s: float | None = None, done: Callable[[], bool] = lambda: False) -> None:
    """Waits for SIGINT or SIGTERM; to be called on the main thread. Either is the proper way to end such a command.

    Args:
        every_s: how often to ask whether there is nothing more to wait for; None for never.
        done: tells that.
    """
    ended = Event()
    before = {number: signal(number, lambda *_: ended.set()) for number in (SIGINT, SIGTERM)}
    try:
        while not ended.wait(every_s) and not done():
            pass
    finally:
        for number, handler in before.items():
            signal(number, handler)


@contextmanager
def terminable() -> Iterator[None]:
    """A polite end is an interruption: what was done is said, and the exit code tells."""
    before = signal(SIGTERM, default_int_handler)
    try:
        yield
    finally:
        signal(SIGTERM, before)
