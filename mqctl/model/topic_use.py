"""Who reads a topic, and what of it is still unread: what stands in the way of taking queues, or the topic, away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMoves:
    """What another number of queues does to the keys of a sample.

    Attributes:
        kind: `sharding keys` or `keys`.
        message_count: messages of the sample that have a key.
        placed_count: those that lie where the hash of their key puts them: all of them, in a topic ordered by key.
        key_count, moved_count: different keys, and those that get another queue.
    """

    kind: str
    message_count: int
    placed_count: int
    key_count: int
    moved_count: int

    @property
    def moved_share(self) -> float:
        return self.moved_count / self.key_count if self.key_count else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A consumer group of a topic.

    Attributes:
        member_count: members that subscribe to it now.
        broadcasting: its members keep their offsets themselves, so that nobody can tell what they read.
        offsets: committed offsets by queue.
    """

    group: str
    member_count: int
    broadcasting: bool
    offsets: Mapping[MessageQueue, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicUse:
    """What a topic holds, and who reads it.

    Attributes:
        bounds: first and next offset by queue.
    """

    topic: str
    bounds: Mapping[MessageQueue, tuple[int, int]]
    readers: tuple[Reader, ...]

    def message_count(self, queues: Iterable[MessageQueue] | None = None) -> int:
        """Returns how many messages queues hold, all of them when none are named."""
        chosen = self.bounds if queues is None else queues
        return sum(high - low for queue in chosen for low, high in [self.bounds.get(queue, (0, 0))])

    def unread(self, queues: Iterable[MessageQueue] | None = None) -> list[str]:
        """Returns who has not read how many messages of queues, one sentence each; none when all is read."""
        chosen = list(self.bounds if queues is None else queues)
        held = self.message_count(chosen)
        if not held:
            return []
        readers = [item for item in self.readers if (item.offsets or item.member_count) and not item.broadcasting]
        if not readers:
            return [sentence("topic-use-no-group-read", "no group has read its {held}", held=counted(held, "message"))]
        left = {reader.group: sum(self._left(reader, queue) for queue in chosen) for reader in readers}
        return [
            sentence(
                "topic-use-group-not-read",
                "group {group} has not read {count}",
                group=group,
                count=counted(count, "message"),
            )
            for group, count in sorted(left.items())
            if count
        ]

    def left_count(self, reader: Reader) -> int:
        """Returns how many messages of all queues a group has not read."""
        return sum(self._left(reader, queue) for queue in self.bounds)

    def _left(self, reader: Reader, queue: MessageQueue) -> int:
        low, high = self.bounds.get(queue, (0, 0))
        return max(0, high - max(low, reader.offsets.get(queue, low)))

    def subscribed(self) -> list[str]:
        """Returns which groups subscribe to it now, one sentence each."""
        return [
            sentence(
                "topic-use-group-subscribes",
                "group {group} subscribes to it with {member_count}",
                group=reader.group,
                member_count=counted(reader.member_count, "member"),
            )
            for reader in self.readers
            if reader.member_count
        ]
