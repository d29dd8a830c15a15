"""More rows of the reports over store directories: tags, room, retries, delay levels, transactions.

Times are epoch milliseconds, shares between 0 and 1. `broker` is the name of the broker whose store a row is about;
None where nobody knows it.
"""

from __future__ import annotations

from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import keep_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class TagShare:
    """A tag's share of a topic; None stands for messages without a tag."""

    topic: str
    tag: str | None
    messages: int
    bytes: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TagQueue:
    """A tag's share of one queue."""

    topic: str
    store: str
    queue_id: int
    tag: str | None
    messages: int
    bytes: int
    share: float
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTag:
    """What members of a group that want different tags keep each other from getting.

    Attributes:
        messages: with this tag in the stores, as far as they were read.
        lost_messages: those in queues whose owner, or the broker's filter, does not let the tag through.
        queues: where, with the owner of each queue.
    """

    group: str
    topic: str
    tag: str
    messages: int
    lost_messages: int
    lost_share: float
    queues: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityStore:
    """Rates of one store and the room that is left.

    Attributes:
        messages, bytes: in the asked range.
        peak_messages_per_second, peak_bytes_per_second: of the busiest bucket.
        bytes_per_day: growth of the commit log at the mean rate; None where the range is too short to tell.
        kept_hours: how far back the commit log reaches.
        disk_bytes, free_bytes: of the disk that the directory is on now (a copy's disk is not the broker's);
            None for an object store.
        hours_to_75, hours_to_90: until that share of the disk is used: from 75 % on brokers delete files before their
            time, at 90 % they refuse sends; None without growth, 0 when it is so already.
    """

    store: str
    messages: int
    bytes: int
    first_ms: int | None
    last_ms: int | None
    messages_per_second: float | None
    bytes_per_second: float | None
    peak_messages_per_second: float | None
    peak_bytes_per_second: float | None
    peak_at_ms: int | None
    bytes_per_day: float | None
    log_bytes: int
    kept_hours: float | None
    disk_bytes: int | None
    free_bytes: int | None
    hours_to_75: float | None
    hours_to_90: float | None
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityBucket:
    """What a store took in from `time_ms` on, for the width of a bucket."""

    store: str
    time_ms: int
    messages: int
    bytes: int
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityTopic:
    """A topic's part of what was stored."""

    topic: str
    messages: int
    bytes: int
    share: float
    bytes_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryGroup:
    """Retries and dead letters of one consumer group.

    Attributes:
        retries: messages in its retry topic: one for each time a message was sent back and came there.
        first_retries: those of a first attempt, there or on delay levels: how many different messages failed.
        dead: messages in its dead-letter topic.
        most_attempts: the highest attempt seen.
        waiting: messages of the retry topic behind the group's offsets; None where none are known.
        delayed: messages on delay levels that are still to come to the retry topic; None where no queues could be read.
        first_due_ms, last_due_ms: when the first and the last of these come; None without any.
    """

    group: str
    retries: int
    first_retries: int
    dead: int
    most_attempts: int
    waiting: int | None
    delayed: int | None
    first_due_ms: int | None
    last_due_ms: int | None
    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAttempt:
    """How far messages of a group came.

    Attributes:
        retried: messages that came to the retry topic for the attempt of this number.
        delayed: messages that wait on a delay level for it.
        dead: messages that became dead letters with this count.
        ended: messages whose last seen attempt this was, and that neither died nor are on their way back: consumed, or
            waiting in the retry topic. Below zero where retention has taken earlier attempts away.
    """

    group: str
    attempt: int
    retried: int
    delayed: int
    dead: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDelayed:
    """Messages of a group that wait on a delay level to come to its retry topic for an attempt.

    Attributes:
        first_due_ms, last_due_ms: when the first and the last of them are due.
    """

    group: str
    attempt: int
    level: int
    messages: int
    first_due_ms: int
    last_due_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryFlow:
    """Retries and dead letters stored from `time_ms` on, for the width of a bucket."""

    group: str
    time_ms: int
    retries: int
    dead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryError:
    """What the asked property says in retries and dead letters of a group."""

    group: str
    value: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayLevel:
    """One delay level of one store.

    Attributes:
        delay_ms: None where the table has no such level.
        next_offset: of delayOffset.json; None where it has none, everything waits then.
        waiting: entries from `next_offset` on.
        missing: of these, entries that lead to no message.
        passed_over: entries before `next_offset` without a delivered copy; nothing will deliver them.
        overdue: due more than 2 s before the moment asked about.
        offset_state: `ok`, `unknown` (no offset), `below` the queue's first entry, `beyond` its end, or `ahead` of
            messages that were never delivered.
    """

    store: str
    level: int
    delay_ms: int | None
    min_offset: int
    max_offset: int
    next_offset: int | None
    offset_state: str
    waiting: int
    missing: int
    passed_over: int
    overdue: int
    not_due: int
    head_due_ms: int | None
    first_overdue_ms: int | None
    last_due_ms: int | None
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayDue:
    """Messages that are due from `time_ms` on, for the width of a bucket: of a delay level, or of a topic in timers."""

    store: str
    level: int | None
    topic: str | None
    time_ms: int
    waiting: int
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerTopic:
    """Messages of one topic that wait for their moment in a 5.x broker's timers.

    Attributes:
        topic: where they are to be delivered; `?` for records that are gone.
        waiting: not delivered yet; `overdue` and `not_due` of them by the report's moment, `missing` without a record.
    """

    store: str
    topic: str
    waiting: int
    missing: int
    overdue: int
    not_due: int
    head_due_ms: int | None
    first_overdue_ms: int | None
    last_due_ms: int | None
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionGroup:
    """Transactions of one producer group for one topic.

    Attributes:
        ended: committed or rolled back: `committed` with a message of the topic that names the half message,
            `rolled_back` without one, `unknown` where the topic's queues are not in the store.
        mean_resolution_ms, longest_ms: from the first half message to its op message; mean_commit_ms and
            mean_rollback_ms of these alone.
        oldest_pending_ms: store time of the first half message of the oldest one that waits.
    """

    producer_group: str
    topic: str
    transactions: int
    ended: int
    pending: int
    mean_resolution_ms: float | None
    longest_ms: int | None
    oldest_pending_ms: int | None
    committed: int
    rolled_back: int
    unknown: int
    mean_commit_ms: float | None
    mean_rollback_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionTime:
    """Transactions of a producer group that took at least `from_ms` and less than twice that to end."""

    producer_group: str
    from_ms: int
    ended: int
    committed: int
    rolled_back: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingHalf:
    """A transaction that waits, among the oldest."""

    store: str
    producer_group: str
    topic: str
    unique_key: str | None
    half_offset: int
    first_stored_ms: int
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogArrival:
    """What lies behind a group and was stored from `time_ms` on, for the width of a bucket."""

    group: str
    topic: str
    time_ms: int
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinding:
    """A sentence of a report."""

    report: str
    finding: str
    finding_key: str | None = None
    finding_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "finding")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportChange:
    """A figure that differs between two saved runs.

    Attributes:
        before, after: None where that run has no such row.
    """

    report: str
    section: str
    subject: str
    figure: str
    before: float | None
    after: float | None
    change: float | None
