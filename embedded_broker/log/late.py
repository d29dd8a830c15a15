"""Dispatch that follows the log a moment behind, as a real broker's does: for tests that wait where they have to.

Source: `DefaultMessageStore.ReputMessageService`, which looks every millisecond.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from embedded_broker.clock import Clock, Handle
from embedded_broker.log.reput import Dispatched
from mqctl.store.dispatch_rules import is_consumable
from mqctl.store.queue_writer import QueueWriter

_BEHIND_MS = 1
Take = Callable[[QueueWriter, Dispatched, str, int], None]


class LateDispatch:
    """Records that are stored and answered, and in no queue yet.

    Args:
        take: puts one into its queue.
    """

    def __init__(self, clock: Clock, take: Take) -> None:
        self._clock = clock
        self._take = take
        self._waiting: list[tuple[QueueWriter, Dispatched, str, int]] = []
        self._counts: Counter[tuple[str, int]] = Counter()
        self._timer: Handle | None = None

    def next_offset(self, queue: QueueWriter) -> int:
        """Returns the offset of the next message of a queue, those that are in no queue yet among them."""
        return queue.max_offset + self._counts[queue.topic, queue.queue_id]

    def new(self, queue: QueueWriter, entry: Dispatched, properties: str, sys_flag: int) -> None:
        """Takes a record that was just appended."""
        self._waiting.append((queue, entry, properties, sys_flag))
        if is_consumable(sys_flag):
            self._counts[queue.topic, queue.queue_id] += 1
        if self._timer is None:
            self._timer = self._clock.call_later(_BEHIND_MS, self.catch_up)

    def catch_up(self) -> None:
        """Puts everything into its queue."""
        self.forget_timer()
        waiting, self._waiting = self._waiting, []
        self._counts.clear()
        for queue, entry, properties, sys_flag in waiting:
            self._take(queue, entry, properties, sys_flag)

    def forget_timer(self) -> None:
        """Dispatches nothing more by itself; what waits is found by recovery."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
