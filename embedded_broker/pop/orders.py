"""Ordered pops: which batch of a queue is being consumed, and how far (`ConsumerOrderInfoManager` of 5.3.3).

While a message of the batch is neither acknowledged nor visible again, nothing else of its queue is given out. There
are no checkpoints: the consumer offset moves on with the acknowledgements, and what comes again stays in its queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embedded_broker.tables.persistence import ConfigFile
from mqctl.errors import BadInputError
from mqctl.protocol.bodies_pop import OrderInfo, OrderInfos
from mqctl.protocol.declared import replaced
from mqctl.store.config_files import ORDER_INFOS, read_config

if TYPE_CHECKING:
    from embedded_broker.clock import Clock, Handle

_IDLE_MS = 24 * 3_600_000
Freed = Callable[[str, str, int], None]
Queue = tuple[str, str, int]
"""Topic, group, queue id."""


class OrderBlocks:
    """The batches of all ordered queues of one broker.

    Args:
        freed: called with topic, group and queue id when a queue is free again.
    """

    def __init__(self, clock: Clock, directory: Path, freed: Freed) -> None:
        self._clock = clock
        self._freed = freed
        self._timers: dict[Queue, Handle] = {}
        self._table = _stored(directory)
        self.file = ConfigFile(directory, ORDER_INFOS, clock, self._document, lambda: len(self._table))

    def _document(self) -> object:
        idle_before_ms = self._clock.now_ms() - _IDLE_MS
        self._table = {queue: info for queue, info in self._table.items() if info.used_ms >= idle_before_ms}
        table: dict[str, dict[int, OrderInfo]] = {}
        for (topic, group, queue_id), info in self._table.items():
            table.setdefault(f"{topic}@{group}", {})[queue_id] = info
        return OrderInfos(table=table).to_json(is_v5=True)

    def is_blocked(self, queue: Queue, attempt_id: str | None) -> bool:
        """Tells whether the batch of a queue is still being consumed, by another attempt."""
        info = self._table.get(queue)
        if info is None or (info.attempt_id is not None and info.attempt_id == attempt_id):
            return False
        now_ms = self._clock.now_ms()
        return any(now_ms < visible_ms for _, visible_ms in info.unacked())

    def begin(self, queue: Queue, offsets: Sequence[int], pop: OrderInfo) -> dict[int, int]:
        """Notes a new batch; returns how often its messages were delivered before, by queue offset.

        Args:
            pop: attempt, times; the rest is filled in.
        """
        before = self._table.get(queue)
        delivered: dict[int, int] | None = None
        if before is not None:
            known = before.delivered or {}
            again = pop.attempt_id is not None and before.attempt_id == pop.attempt_id
            earlier = set(before.offsets)
            delivered = dict(known) if again else {at: known.get(at, 0) + 1 for at in offsets if at in earlier}
        first = offsets[0]
        self._table[queue] = replaced(
            pop, differences=(first, *[offset - first for offset in offsets[1:]]), delivered=delivered or None
        )
        self._changed(queue)
        return delivered or {}

    def ack(self, queue: Queue, offset: int, pop_ms: int) -> int | None:
        """Marks a message; returns the next consumer offset, or None when another batch is being consumed.

        Raises:
            ValueError: the message is not of the batch.
        """
        info = self._table.get(queue)
        if info is None:
            return offset + 1
        if info.pop_ms != pop_ms:
            return None
        offsets = info.offsets
        bits = info.acked_bits | 1 << offsets.index(offset)
        info = self._table[queue] = replaced(info, acked_bits=bits)
        self._changed(queue)
        unacked = info.unacked()
        return unacked[0][0] if unacked else offsets[-1] + 1

    def postpone(self, queue: Queue, offset: int, pop_ms: int, visible_ms: int) -> None:
        """Sets the moment at which one message of the batch becomes visible."""
        info = self._table.get(queue)
        if info is not None and info.pop_ms == pop_ms:
            self._table[queue] = replaced(info, next_visible={**(info.next_visible or {}), offset: visible_ms})
            self._changed(queue)

    def clear(self, queue: Queue) -> None:
        """Forgets the batch of a queue: its offset was reset."""
        if self._table.pop(queue, None) is not None:
            self._changed(queue)

    def forget(self, *, topic: str | None = None, group: str | None = None) -> None:
        """Forgets the batches of a topic or of a group that is deleted."""
        for queue in [queue for queue in self._table if topic == queue[0] or group == queue[1]]:
            self.clear(queue)

    def _changed(self, queue: Queue) -> None:
        """Has the file written, and those who wait woken when the queue is free."""
        self.file.mark()
        timer = self._timers.pop(queue, None)
        if timer is not None:
            timer.cancel()
        info = self._table.get(queue)
        waits = [visible_ms for _, visible_ms in info.unacked()] if info is not None else []
        if waits:
            left_ms = max(waits) - self._clock.now_ms()
            self._timers[queue] = self._clock.call_later(left_ms, lambda: self._expired(queue))
        else:
            self._freed(*queue)

    def _expired(self, queue: Queue) -> None:
        self._timers.pop(queue, None)
        self._freed(*queue)

    def stop(self) -> None:
        """Cancels all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()


def _stored(directory: Path) -> dict[Queue, OrderInfo]:
    try:
        infos = OrderInfos.from_json(read_config(directory, ORDER_INFOS).value)
    except BadInputError:
        return {}
    orders = {}
    for key, queues in infos.table.items():
        topic, _, group = key.partition("@")
        orders.update({(topic, group, queue_id): info for queue_id, info in queues.items()})
    return orders
