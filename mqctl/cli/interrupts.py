"""Commands that run until somebody ends them."""

from __future__ import annotations

from signal import SIGINT, SIGTERM, signal
from threading import Event


def wait_for_interrupt() -> None:
    """Waits for SIGINT or SIGTERM; to be called on the main thread. Either is the proper way to end such a command."""
    ended = Event()
    before = {number: signal(number, lambda *_: ended.set()) for number in (SIGINT, SIGTERM)}
    try:
        ended.wait()
    finally:
        for number, handler in before.items():
            signal(number, handler)
