"""Threads that do something at fixed moments, whatever it took before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from mqctl.errors import MqctlError
from tests.reliability.soak.ledger import Ledger


class Pacer:
    """Runs actions in threads of their own until it is stopped.

    Attributes:
        ending: set when everything is to end; actions may wait on it instead of sleeping.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ending = threading.Event()
        self._ledger = ledger
        self._threads: list[threading.Thread] = []

    def every(self, seconds: float, name: str, action: Callable[[], object]) -> None:
        """Has `action` run every so often, not at once; what falls behind goes on from then; failures are noted."""

        def run() -> None:
            due = monotonic() + seconds
            while not self.ending.wait(max(0.0, due - monotonic())):
                try:
                    action()
                except (MqctlError, OSError, AssertionError) as error:
                    if not self.ending.is_set():
                        self._ledger.failed(name, repr(error))
                due = max(due + seconds, monotonic() - 1.0)

        thread = threading.Thread(target=run, name=f"soak {name}")
        thread.start()
        self._threads.append(thread)

    def stop(self) -> None:
        """Ends the threads after what they are doing."""
        self.ending.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), thread.name
