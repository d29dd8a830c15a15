"""A cluster as it was at one moment: gathered from a store directory, a live cluster or an archive, judged anywhere.

None means not known; it never means zero. Times are epoch milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.delay_state import DelayState
from mqctl.model.storage_state import StorageState
from mqctl.model.transaction_state import TransactionState
from mqctl.model.unavailable import Part, Unavailable


class OriginKind(StrEnum):
    """Where a snapshot was gathered."""

    STORE = "store"
    LIVE = "live"
    DELAY_FILE = "delay-file"


class ObservedFrom(StrEnum):
    """How the moment of observation was determined."""

    STORE_TIME = "newest-store-time"
    CHECKPOINT = "checkpoint"
    CONFIG_MTIME = "config-mtime"
    GIVEN = "given"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where and when a snapshot was taken.

    Attributes:
        location: store directory, file or name server addresses.
        observed_at_ms: the moment all ages refer to. A dead store's is its own last instant.
        observed_from: how that moment was determined.
        archive: the snapshot file this was loaded from, None when it comes fresh from its source.
    """

    kind: OriginKind
    location: str
    observed_at_ms: int
    observed_from: ObservedFrom
    archive: str | None = None


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
class BrokerSnapshot:
    """Everything known about one broker.

    A section that is None or empty for want of evidence has an entry in `unavailable`.

    Attributes:
        name: broker name, None when the source does not tell it.
        file_reserved_ms: retention of commit log files, None when the broker's configuration is not known.
    """

    name: str | None = None
    topics: tuple[TopicConfig, ...] = ()
    groups: tuple[SubscriptionGroupConfig, ...] = ()
    queues: tuple[QueueState, ...] = ()
    consumer_offsets: tuple[ConsumerOffsetState, ...] = ()
    offset_jumps: tuple[OffsetJump, ...] = ()
    delay: DelayState | None = None
    transactions: TransactionState | None = None
    storage: StorageState | None = None
    file_reserved_ms: int | None = None
    unavailable: tuple[Unavailable, ...] = ()

    def lacks(self, part: Part) -> Unavailable | None:
        """Returns why the whole of `part` is missing, or None when it is there."""
        return next((gap for gap in self.unavailable if gap.part is part and gap.scope is None), None)

    def queue_index(self) -> dict[tuple[str, int], QueueState]:
        """Returns the queues by (topic, queue id)."""
        return {(queue.topic, queue.queue_id): queue for queue in self.queues}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """A cluster, or the part of it that one store directory shows."""

    origin: Origin
    brokers: tuple[BrokerSnapshot, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
