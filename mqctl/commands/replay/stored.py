"""Messages of a store directory that are published again: what a recovery set aside, or a copy of a lost broker's."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from pathlib import Path

from mqctl.changes.engine.records import StretchPart
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.model.stretch import Stretch
from mqctl.store.directory import StoreDirectory
from mqctl.store.logged import logged_queues
from mqctl.text import sentence

_AT_ONCE = 32


class StoredTopic:
    """One topic of a store, by its commit log alone."""

    def __init__(self, store: Path, topic: str) -> None:
        self._store = StoreDirectory.open(store).with_logged_entries()
        self._topic = topic

    @cached_property
    def _offsets(self) -> dict[int, list[tuple[int, int]]]:
        """Queue offset and physical offset of each message by queue id, ascending."""
        logged = logged_queues(self._store.commit_log, self._topic)
        if not logged:
            raise NotFoundError(
                sentence(
                    "replay-no-message", "no message of {topic} is in {path}", topic=self._topic, path=self._store.path
                ),
                remedy=command_line("mqctl store verify"),
            )
        return {queue_id: sorted(queue.items()) for queue_id, queue in logged.items()}

    def host(self) -> str:
        """Returns the address of the broker that stored the messages."""
        return self._store.commit_log.record_at(next(iter(self._offsets.values()))[0][1]).store_host

    def stretches(
        self, broker_name: str, queue_ids: frozenset[int], first: int | None, end: int | None
    ) -> tuple[Stretch, ...]:
        """Returns from where to where each queue's messages reach.

        Args:
            queue_ids: which queues; every one when empty.
            first, end: queue offsets that bound them.

        Raises:
            UsageError: no message lies there.
            MqctlError: the store cannot be read, or has no message of the topic.
        """
        pieces = []
        for queue_id, offsets in sorted(self._offsets.items()):
            inside = [offset for offset, _ in offsets if (first or 0) <= offset and (end is None or offset < end)]
            if inside and (not queue_ids or queue_id in queue_ids):
                queue = MessageQueue(self._topic, broker_name, queue_id)
                pieces.append(Stretch(queue=queue, begin=inside[0], end=inside[-1] + 1))
        if not pieces:
            raise UsageError(
                sentence("nothing-replay", "there is nothing to replay"),
                reason=sentence("replay-no-message-lies", "no message of {topic} is there", topic=self._topic),
            )
        return tuple(pieces)

    def read(self, part: StretchPart) -> tuple[list[Message], int]:
        """Returns the next messages of a stretch, and the offset behind them. Raises MqctlError."""
        offsets = self._offsets.get(part.queue_id, [])
        begin = bisect_left(offsets, (part.next, -1))
        chosen = [item for item in offsets[begin : begin + _AT_ONCE] if item[0] < part.end]
        messages = [self._store.commit_log.record_at(physical) for _, physical in chosen]
        return messages, chosen[-1][0] + 1 if chosen else part.end
