"""Message queues and committed offsets as they were at one moment. None means not known; it never means zero."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class HotKey:
    """The most frequent key among sampled messages of a queue."""

    key: str
    sampled_count: int
    key_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """One message queue.

    Attributes:
        min_offset, max_offset: first readable queue offset, and one past the last.
        first_store_time_ms, last_store_time_ms: store times at both ends; None for an empty queue or an unreadable
            record.
        message_bytes: sum of the sizes of the readable messages; None when not counted.
        hot_key: sampled when this queue holds far more than its neighbours.
    """

    topic: str
    queue_id: int
    min_offset: int
    max_offset: int
    first_store_time_ms: int | None = None
    last_store_time_ms: int | None = None
    message_bytes: int | None = None
    hot_key: HotKey | None = None

    @property
    def message_count(self) -> int:
        return max(0, self.max_offset - self.min_offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerOffsetState:
    """How far a consumer group has come in one queue.

    Attributes:
        offset: next queue offset to consume, as committed.
        next_store_time_ms: store time of the message at `offset`; None when there is none or it is unreadable.
        last_consumed_store_time_ms: store time of the message before `offset`; None likewise.
    """

    group: str
    topic: str
    queue_id: int
    offset: int
    next_store_time_ms: int | None = None
    last_consumed_store_time_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetJump:
    """A forced offset change that the broker recorded in OFFSET_MOVED_EVENT (PULL_OFFSET_MOVED answers)."""

    group: str
    topic: str
    queue_id: int
    broker_name: str | None
    requested_offset: int
    corrected_offset: int
    store_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSample:
    """The tags of some neighbouring messages of one queue.

    Attributes:
        first_offset: where the sample begins.
        counts: messages by tag; the empty text stands for none, `#` and a hash for a tag whose name is not known.
        complete: whether these are all messages of the queue, so that shares have no error.
        all_groups_known: whether every group of the topic was looked at: what none of them wants can be told.
    """

    queue: MessageQueue
    first_offset: int
    counts: Mapping[str, int]
    complete: bool = False
    all_groups_known: bool = False

    @property
    def message_count(self) -> int:
        return sum(self.counts.values())
