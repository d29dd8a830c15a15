"""Further queues for a message: `INNER_MULTI_DISPATCH` and light queues (LMQ).

A message that names queues in its property `INNER_MULTI_DISPATCH` gets an entry in each of them beside that of its own
queue; where they stand is written into the record, `INNER_MULTI_QUEUE_OFFSET`. A name that begins with `%LMQ%` is a
light queue, whose only queue is 0. Messages of a batch are left out.

Source: `MultiDispatch` and `ConsumeQueue.multiDispatchLmqQueue`; seen on 4.9.7, 5.3.3 and 5.5.0. 4.9 gives every name
an offset (a name that is no light queue: in the record's queue id), 5.x light queues only, and dispatches nothing where
a name has none.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.names import LMQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC
from mqctl.model.numbers import decimal
from mqctl.protocol.properties import NAME_VALUE_SEPARATOR, property_of, with_properties
from mqctl.store.queue_writer import ConsumeQueues
from mqctl.store.record_writer import Incoming, is_name

_DISPATCH, _OFFSETS = "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET"
_NAMED = f"{_DISPATCH}{NAME_VALUE_SEPARATOR}"
_SYSTEM_PREFIX = "rmq_sys_"
"""Of 5.x topics whose messages get no light queues; the topic of half messages, in capitals, is none of them."""


class LightQueues:
    """Which further queues a message goes to, and where it stands in them.

    Args:
        lmq, multi_dispatch: `enableLmq` and `enableMultiDispatch`. In 5.x the first gives offsets, in 4.9 the second;
            the second fills queues.
    """

    def __init__(self, queues: ConsumeQueues, *, is_v5: bool, lmq: bool, multi_dispatch: bool) -> None:
        self._queues = queues
        self._is_v5, self._lmq = is_v5, lmq
        self._numbers = lmq if is_v5 else multi_dispatch
        self._fills = multi_dispatch and (lmq or not is_v5)
        self._next: dict[tuple[str, int], int] = {}

    def number(self, message: Incoming) -> None:
        """Writes into a message that is to be stored where it will stand in its further queues."""
        if not self._numbers or _NAMED not in message.properties or not self._allows(message.topic):
            return
        names = _split(property_of(message.properties, _DISPATCH))
        keys = [self._key(name, message.queue_id) for name in names]
        offsets = {key: self._offset(key) for key in keys if key is not None}
        if not offsets:
            return
        text = ",".join("" if key is None else str(offsets[key]) for key in keys)
        message.properties = with_properties(message.properties, {_OFFSETS: text})
        for key in keys if self._is_v5 else offsets:  # 5.x counts a name twice that is there twice
            if key is not None:
                self._next[key] = self._offset(key) + 1

    def places(self, properties: str, queue_id: int) -> Iterator[tuple[str, int, int]]:
        """Gives the further entries of a record: queue name, queue id, offset."""
        if not self._fills or _NAMED not in properties:
            return
        names, offsets = (_split(property_of(properties, name)) for name in (_DISPATCH, _OFFSETS))
        if len(names) != len(offsets):
            return
        for name, text in zip(names, offsets, strict=True):
            key, offset = self._key(name, queue_id), decimal(text)
            if key is not None and offset is not None:
                yield (*key, offset)

    def forget(self) -> None:
        """Forgets where queues end: topics were deleted, or the log is another one by now."""
        self._next.clear()

    def _allows(self, topic: str) -> bool:
        kept = topic.startswith((RETRY_PREFIX, _SYSTEM_PREFIX)) or topic == SCHEDULE_TOPIC
        return not (self._is_v5 and kept)

    def _key(self, name: str, queue_id: int) -> tuple[str, int] | None:
        is_light = name.startswith(LMQ_PREFIX)
        if not is_name(name) or (self._is_v5 and not is_light):
            return None
        return name, 0 if is_light and self._lmq else queue_id

    def _offset(self, key: tuple[str, int]) -> int:
        queue = self._queues.table.get(key)
        return max(self._next.get(key, 0), queue.max_offset if queue is not None else 0)


def _split(text: str | None) -> list[str]:
    """Splits as Java does, which leaves empty items at the end out."""
    return (text or "").rstrip(",").split(",") if text else []
