"""The consume threads of one group, named as RocketMQ names them (`ThreadFactoryImpl`)."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread, current_thread
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")
_LONGEST_GROUP = 100


class Workers(Generic[T]):
    """Threads `ConsumeMessageThread_<group>_1` and so on, which run items in the order they come."""

    def __init__(self, group: str, count: int, run: Callable[[T], None]) -> None:
        self._run = run
        self._items: SimpleQueue[T | None] = SimpleQueue()
        self._closed = False
        self.count = count
        prefix = f"ConsumeMessageThread_{group[:_LONGEST_GROUP]}_"
        self._threads = [Thread(target=self._work, name=f"{prefix}{n + 1}", daemon=True) for n in range(count)]

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    def submit(self, item: T) -> None:
        """Has a thread run an item."""
        self._items.put(item)

    def _work(self) -> None:
        while (item := self._items.get()) is not None and not self._closed:
            self._run(item)

    def close(self, wait_s: float) -> bool:
        """Drops what waits, lets what runs come to its end; False when a thread still runs after `wait_s` seconds."""
        self._closed = True
        for _ in self._threads:
            self._items.put(None)
        end = monotonic() + wait_s
        for thread in self._threads:
            if thread is not current_thread() and thread.ident is not None:
                thread.join(max(0.0, end - monotonic()))
        return not any(thread.is_alive() for thread in self._threads if thread is not current_thread())
