"""Signals that come while somebody waits for one."""

from __future__ import annotations

from signal import ITIMER_REAL, SIGALRM, setitimer, signal

from mqctl.cli.terminal.interrupts import EndAsked


def test_a_signal_that_comes_in_the_middle_of_waiting_is_no_dead_end() -> None:
    """An Event here waited for itself after some hundred signals."""
    ended, count = EndAsked(), 0

    def handler(*_: object) -> None:
        nonlocal count
        count += 1
        ended.set()

    before = signal(SIGALRM, handler)
    setitimer(ITIMER_REAL, 0.0002, 0.0002)
    try:
        while count < 3_000:
            ended.wait(0.0)
            before_the_look = count  # a signal may come between the two
            assert ended.is_set() or not before_the_look
    finally:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, before)
