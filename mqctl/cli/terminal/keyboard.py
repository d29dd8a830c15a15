"""Single keys of a terminal, waited for together with something else, without spinning."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Keys:
    """Keys of stdin, and a bell that other threads may ring."""

    def __init__(self, terminal: int | None) -> None:
        self._terminal = terminal
        self._heard, self._bell = os.pipe()

    def ring(self) -> None:
        """Ends a wait, from any thread."""
        os.write(self._bell, b"!")

    def wait(self, timeout_s: float | None) -> str:
        """Waits for keys, the bell, or the time; returns the keys typed, `` for none.

        An end of stdin is no key, and is not looked at again.
        """
        sources = [self._heard, *([self._terminal] if self._terminal is not None else [])]
        ready, _, _ = select.select(sources, [], [], timeout_s)
        if self._heard in ready:
            os.read(self._heard, 64)
        if self._terminal is None or self._terminal not in ready:
            return ""
        typed = os.read(self._terminal, 64)
        if not typed:
            self._terminal = None
        return typed.decode("utf-8", "replace")

    def close(self) -> None:
        os.close(self._heard)
        os.close(self._bell)


@contextmanager
def single_keys() -> Iterator[Keys]:
    """Yields keys as they are typed, without echo; the terminal is as before afterwards."""
    import termios
    import tty

    descriptor = sys.stdin.fileno() if sys.stdin.isatty() else None
    before = termios.tcgetattr(descriptor) if descriptor is not None else None
    keys = Keys(descriptor)
    try:
        if descriptor is not None:
            tty.setcbreak(descriptor)
        yield keys
    finally:
        if descriptor is not None and before is not None:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        keys.close()
