"""Committed consumer offsets of a broker, persisted every few seconds (`ConsumerOffsetManager` of 4.9.8)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from embedded_broker.clock import Clock
from embedded_broker.release import Release
from embedded_broker.tables.persistence import ConfigFile, stored_version
from mqctl.errors import RefusedError, StorageError
from mqctl.model.config import MOST_QUEUES, DataVersion
from mqctl.protocol.bodies_cluster import ConsumerOffsetTable
from mqctl.store.config_files import CONSUMER_OFFSETS, LMQ_OFFSETS, consumer_offsets, read_config

MOST_OFFSETS = 1 << 18
"""Of all groups: each takes some 80 bytes, and its place in a file that is written whole."""
_COMMITS_PER_VERSION = 500
"""5.x counts its version up with every so many commits (`consumerOffsetUpdateVersionStep`)."""


class ConsumerOffsets:
    """Next queue offset to consume, by (topic, group) and queue id.

    Attributes:
        version: of 5.x, which a slave takes over with its master's offsets.
    """

    def __init__(self, clock: Clock, directory: Path, release: Release, *, lmq: bool = False) -> None:
        name = LMQ_OFFSETS if lmq else CONSUMER_OFFSETS  # one instead of the other, as `LmqConsumerOffsetManager`
        file = read_config(directory, name)
        stored = consumer_offsets(file)
        self._clock, self._release = clock, release
        self._commits = 0
        self.version = stored_version(file) or DataVersion(0, clock.now_ms())
        self._resets: dict[tuple[str, str, int], int] = {}
        self._pulls: dict[tuple[str, str, int], int] = {}
        self._table = {key: dict(queues) for key, queues in stored.offsets.items()}
        self._count = self._counted()
        self.file = ConfigFile(directory, name, clock, self._document, lambda: len(self._table))

    def _document(self) -> object:
        return self.table().to_json(is_v5=self._release.is_v5)

    def table(self) -> ConsumerOffsetTable:
        """Returns all of it, as the file and the answer to code 43 have it."""
        offsets = {f"{topic}@{group}": queues for (topic, group), queues in self._table.items()}
        if not self._release.is_v5:
            return ConsumerOffsetTable(offset_table=offsets)
        topics: dict[str, list[str]] = {}
        for topic, group in self._table:
            topics.setdefault(group, []).append(topic)
        return ConsumerOffsetTable(
            data_version=self.version,
            group_topic_map={group: tuple(owned) for group, owned in topics.items()},
            offset_table=offsets,
        )

    def _counted(self) -> int:
        return sum(map(len, self._table.values()))

    def has_room(self, group: str, topic: str, queue_id: int) -> bool:
        """Tells whether an offset may be stored: queue ids that clients invent are bounded, and so are all groups'."""
        queues = self._table.get((topic, group), {})
        return queue_id in queues or (len(queues) < MOST_QUEUES and self._count < MOST_OFFSETS)

    def check_room(self, group: str, topic: str, queue_ids: Collection[int]) -> None:
        """Raises RefusedError when the offsets of these queues cannot all be stored."""
        queues = self._table.get((topic, group), {})
        new = sum(queue_id not in queues for queue_id in queue_ids)
        if new and (len(queues) + new > MOST_QUEUES or self._count + new > MOST_OFFSETS):
            raise RefusedError(
                f"offsets of group {group} on topic {topic} not stored",
                reason=f"at most {MOST_QUEUES} of a group on a topic and {MOST_OFFSETS} of all groups are kept",
            )

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Stores an offset, forward or backward; who takes it from a client has looked whether there is room."""
        queues = self._table.setdefault((topic, group), {})
        self._count += queue_id not in queues
        queues[queue_id] = offset
        self._commits += 1
        if not self._commits % _COMMITS_PER_VERSION:
            self.version = DataVersion(self.version.counter + 1, self._clock.now_ms())
        self.file.mark()

    @contextmanager
    def confirmed(self, group: str, topic: str) -> Iterator[None]:
        """Has what a block changes of a group's offsets on a topic on the disk behind it, with SYNC_FLUSH.

        Raises:
            StorageError: it is not there, and the block's changes were taken back.
        """
        if not self.file.durable:  # nothing is confirmed, or taken back
            yield
            return
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
            self._count = self._counted()
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
        return self._resets.pop((topic, group, queue_id), None) if self._resets else None

    def note_pull(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Remembers where a group's next pull will begin (5.x, in memory): what lies before is in flight."""
        self._pulls[topic, group, queue_id] = offset

    def pulled(self, group: str, topic: str, queue_id: int) -> int:
        """Returns where the next pull will begin; without one, the stored offset, or -1."""
        offset = self._pulls.get((topic, group, queue_id))
        return self.query(group, topic, queue_id) if offset is None else offset

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """Returns the offset of a reset that no pull has seen yet, or the stored one, or -1."""
        if self._resets:
            reset = self._resets.get((topic, group, queue_id))
            if reset is not None:
                return reset
        queues = self._table.get((topic, group))
        return -1 if queues is None else queues.get(queue_id, -1)

    def queues(self, group: str, topic: str) -> Mapping[int, int]:
        """Returns the stored offsets of a topic's queues."""
        return self._table.get((topic, group), {})

    def merge(self, table: ConsumerOffsetTable) -> None:
        """Takes another broker's offsets, and their version if they have one; what it does not have stays."""
        self.version = table.data_version or self.version
        for place, queues in table.offset_table.items():
            topic, _, group = place.partition("@")
            self._table[topic, group] = dict(queues)
        self._count = self._counted()
        self.file.mark()

    def clone(self, group: str, topic: str, target: str) -> None:
        """Stores the offsets of one group for another instead of its own; when there are none, nothing changes.

        Raises:
            RefusedError: there is no room for them.
        """
        offsets = self._table.get((topic, group))
        if offsets is not None:
            self.check_room(target, topic, offsets)
            self._table[topic, target] = dict(offsets)
            self._count = self._counted()
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
        self._count = self._counted()
