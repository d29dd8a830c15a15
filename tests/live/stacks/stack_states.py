"""What the listener of a consumer may be doing: one function for each state, called with the number of a message."""

from __future__ import annotations

import sys
import threading
import time
import urllib.request
from collections.abc import Callable

TOLD: dict[str, str] = {}
"""What the process was told: `url` of a slow server."""
FIRST, SECOND = threading.Lock(), threading.Lock()
MET = threading.Barrier(2)


def ready() -> None:
    """Says that the state is reached."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def sleeps(number: int) -> None:
    ready()
    time.sleep(600)


def asks_a_slow_server(number: int) -> None:
    ready()
    with urllib.request.urlopen(TOLD["url"], timeout=600) as answer:
        answer.read()


def deadlocks(number: int) -> None:
    mine, other = (FIRST, SECOND) if number % 2 else (SECOND, FIRST)
    with mine:
        MET.wait()
        ready()
        with other:
            pass


def waits_for_a_lock(number: int) -> None:
    if number == 0:
        with FIRST:
            ready()
            time.sleep(600)
    ready()
    with FIRST:
        pass


def burns(number: int) -> None:
    ready()
    end = time.monotonic() + 600
    total = 0
    while time.monotonic() < end:
        total += sum(n * n for n in range(1000))


def one_hangs(number: int) -> None:
    """The first message holds the offset; the others are done at once."""
    if number == 0:
        ready()
        threading.Event().wait(600)


def is_content(number: int) -> None:
    ready()


DOES: dict[str, Callable[[int], None]] = {
    "sleep": sleeps,
    "http": asks_a_slow_server,
    "deadlock": deadlocks,
    "lock": waits_for_a_lock,
    "burn": burns,
    "hang": one_hangs,
    "content": is_content,
}
