"""The reports over store directories as values: what the commands of `mqctl report` print as JSON."""

from __future__ import annotations

from dataclasses import field

from mqctl.model.backlog import BacklogRow
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.report_rows import (
    DuplicateGap,
    DuplicateKey,
    DuplicateProducer,
    DuplicateTime,
    DuplicateTopic,
    DuplicateWindow,
    OrderKey,
    OrderPeriod,
    OrderTime,
    OrderTopic,
    Resharded,
    SkewKey,
    SkewProducer,
    SkewQueue,
    SkewSize,
    SkewTopic,
    StoreRead,
    Unread,
)
from mqctl.model.report_rows_state import (
    BacklogArrival,
    CapacityBucket,
    CapacityStore,
    CapacityTopic,
    DelayDue,
    DelayLevel,
    LostTag,
    PendingHalf,
    ResolutionTime,
    RetryAttempt,
    RetryDelayed,
    RetryError,
    RetryFlow,
    RetryGroup,
    TagQueue,
    TagShare,
    TimerTopic,
    TransactionGroup,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewReport:
    """Machine form of `report skew`."""

    read: list[StoreRead]
    topics: list[SkewTopic]
    queues: list[SkewQueue]
    keys: list[SkewKey]
    producers: list[SkewProducer]
    sizes: list[SkewSize]
    resharded: list[Resharded]
    unread: list[Unread] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderReport:
    """Machine form of `report order`.

    Attributes:
        own_messages: what mqctl itself resent, replayed or probed with; nothing is concluded from it.
    """

    bucket_ms: int
    read: list[StoreRead]
    topics: list[OrderTopic]
    periods: list[OrderPeriod]
    times: list[OrderTime]
    keys: list[OrderKey]
    own_messages: int = 0
    unread: list[Unread] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatesReport:
    """Machine form of `report duplicates`.

    Attributes:
        own_messages: what mqctl itself resent, replayed or probed with; nothing is concluded from it.
    """

    bucket_ms: int
    topics: list[DuplicateTopic]
    windows: list[DuplicateWindow]
    times: list[DuplicateTime]
    producers: list[DuplicateProducer]
    gaps: list[DuplicateGap]
    keys: list[DuplicateKey]
    read: list[StoreRead]
    own_messages: int = 0
    unread: list[Unread] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsReport:
    """Machine form of `report tags`."""

    read: list[StoreRead]
    topics: list[TagShare]
    queues: list[TagQueue]
    lost: list[LostTag]
    unread: list[Unread] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityReport:
    """Machine form of `report capacity`."""

    bucket_ms: int
    read: list[StoreRead]
    stores: list[CapacityStore]
    topics: list[CapacityTopic]
    buckets: list[CapacityBucket]
    unread: list[Unread] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriesReport:
    """Machine form of `report retries`."""

    bucket_ms: int
    read: list[StoreRead]
    groups: list[RetryGroup]
    attempts: list[RetryAttempt]
    delayed: list[RetryDelayed]
    flow: list[RetryFlow]
    errors: list[RetryError]
    unread: list[Unread]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayReport:
    """Machine form of `report delay`."""

    at_ms: int
    bucket_ms: int
    levels: list[DelayLevel]
    timers: list[TimerTopic]
    due: list[DelayDue]
    unread: list[Unread]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionsReport:
    """Machine form of `report transactions`."""

    groups: list[TransactionGroup]
    times: list[ResolutionTime]
    pending: list[PendingHalf]
    unread: list[Unread]


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogOverview:
    """What lies behind all groups: by topic, by tag, and when it arrived."""

    bucket_ms: int
    topics: list[BacklogRow]
    tags: list[BacklogRow]
    arrivals: list[BacklogArrival]
    unread: list[Unread]
