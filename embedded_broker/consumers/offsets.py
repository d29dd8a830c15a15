"""Committed consumer offsets of a broker, persisted every few seconds (`ConsumerOffsetManager` of 4.9.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from embedded_broker.clock import Clock
from embedded_broker.tables.persistence import ConfigFile
from mqctl.errors import StorageError
from mqctl.store.config_files import CONSUMER_OFFSETS, consumer_offsets, read_config


class ConsumerOffsets:
    """Next queue offset to consume, by (topic, group) and queue id."""

    def __init__(self, clock: Clock, directory: Path) -> None:
        stored = consumer_offsets(read_config(directory, CONSUMER_OFFSETS))
        self._resets: dict[tuple[str, str, int], int] = {}
        self._pulls: dict[tuple[str, str, int], int] = {}
        self._table = {key: dict(queues) for key, queues in stored.offsets.items()}
        self.file = ConfigFile(directory, CONSUMER_OFFSETS, clock, self._document, lambda: len(self._table))

    def _document(self) -> object:
        return {"offsetTable": self.by_topic_at_group()}

    def by_topic_at_group(self) -> dict[str, dict[int, int]]:
        """Returns the table in the form of the file and of code 43: `topic@group` -> queue id -> offset."""
        return {f"{topic}@{group}": queues for (topic, group), queues in self._table.items()}

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Stores an offset, forward or backward."""
        self._table.setdefault((topic, group), {})[queue_id] = offset
        self.file.mark()

    @contextmanager
    def confirmed(self, group: str, topic: str) -> Iterator[None]:
        """Has what a block changes of a group's offsets on a topic on the disk behind it, with SYNC_FLUSH.

        Raises:
            StorageError: it is not there, and the block's changes were taken back.
        """
        key = (topic, group)
        stored = self._table.get(key)
        before, resets = None if stored is None else dict(stored), dict(self._resets)
        yield
        try:
            self.file.confirm()
        except StorageError:
            self._resets = resets
            if before is None:
                self._table.pop(key, None)
            else:
                self._table[key] = before
            raise

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Stores an offset that the next pull of the queue must begin at (server-side reset of 5.x)."""
        self.commit(group, topic, queue_id, offset)
        self._resets[topic, group, queue_id] = offset

    def was_reset(self, group: str, topic: str, queue_id: int) -> bool:
        """Tells whether no pull has seen the last reset yet; commits are ignored until then."""
        return (topic, group, queue_id) in self._resets

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Returns the offset of a reset that no pull has seen yet, once."""
        return self._resets.pop((topic, group, queue_id), None)

    def note_pull(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Remembers where a group's next pull will begin (5.x, in memory): what lies before is in flight."""
        self._pulls[topic, group, queue_id] = offset

    def pulled(self, group: str, topic: str, queue_id: int) -> int:
        """Returns where the next pull will begin; without one, the stored offset, or -1."""
        offset = self._pulls.get((topic, group, queue_id))
        return self.query(group, topic, queue_id) if offset is None else offset

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """Returns the offset of a reset that no pull has seen yet, or the stored one, or -1."""
        reset = self._resets.get((topic, group, queue_id))
        return self._table.get((topic, group), {}).get(queue_id, -1) if reset is None else reset

    def queues(self, group: str, topic: str) -> Mapping[int, int]:
        """Returns the stored offsets of a topic's queues."""
        return self._table.get((topic, group), {})

    def merge(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Takes another broker's offsets, `topic@group` -> queue id -> offset; what it does not have stays."""
        for place, queues in offsets.items():
            topic, _, group = place.partition("@")
            self._table[topic, group] = dict(queues)
        self.file.mark()

    def clone(self, group: str, topic: str, target: str) -> None:
        """Stores the offsets of one group for another instead of its own; when there are none, nothing changes."""
        offsets = self._table.get((topic, group))
        if offsets is not None:
            self._table[topic, target] = dict(offsets)
            self.file.mark()

    def topics_of(self, group: str) -> list[str]:
        """Returns the topics of which the group has offsets."""
        return [topic for topic, owner in self._table if owner == group]

    def groups_of(self, topic: str) -> list[str]:
        """Returns the groups that have offsets of the topic."""
        return [group for owned, group in self._table if owned == topic]

    def forget_group(self, group: str) -> None:
        """Deletes all offsets of a group, resets and pulls that it never committed included."""
        self._forget(lambda _topic, owner: owner == group)
        self._pulls = {place: offset for place, offset in self._pulls.items() if place[1] != group}
        self._resets = {place: offset for place, offset in self._resets.items() if place[1] != group}

    def forget_topic(self, topic: str) -> None:
        """Deletes all stored offsets of a topic; resets and pulls stay (`cleanOffsetByTopic` of 5.3.3)."""
        self._forget(lambda owned, _group: owned == topic)

    def _forget(self, is_gone: Callable[[str, str], bool]) -> None:
        kept = {key: queues for key, queues in self._table.items() if not is_gone(*key)}
        if len(kept) < len(self._table):
            self.file.mark()
        self._table = kept
