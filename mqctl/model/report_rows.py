"""The rows of the reports over store directories. Times are epoch milliseconds, shares between 0 and 1.

`broker` is the name of the broker whose store a row is about; None where nobody knows it.
"""

from __future__ import annotations

from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import keep_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRead:
    """What a report has read of one store's commit log.

    Attributes:
        messages, bytes: sound records, wanted or not.
        skipped_bytes: bytes that hold something but no record: damage, a torn tail, foreign data.
        damaged_at: physical offsets at which such bytes begin (the first few of each file).
    """

    store: str
    messages: int
    bytes: int
    skipped_bytes: int
    damaged_at: list[int]
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A part of a store that the report needs and cannot read: what it holds is missing from the figures.

    Attributes:
        part: path below the store.
        bytes: size of the part's files.
        messages: in the commit log of a store whose queues are not read, so that none of them is counted as behind or
            waiting; None where the part has none.
    """

    store: str
    part: str
    reason: str
    bytes: int
    messages: int | None
    broker: str | None = None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewTopic:
    """How evenly a topic's messages are spread over its queues.

    Attributes:
        gini, bytes_gini: 0 where all queues have the same, towards 1 where one has all.
        max_over_mean, bytes_max_over_mean: the largest queue against the mean; None without messages.
        hot_store, hot_queue_id, hot_share: the queue with most messages.
        hot_key, hot_key_share: the key with most messages, and its share of all of the topic's messages.
    """

    topic: str
    queues: int
    messages: int
    bytes: int
    gini: float
    bytes_gini: float
    max_over_mean: float | None
    bytes_max_over_mean: float | None
    hot_store: str | None
    hot_queue_id: int | None
    hot_share: float
    hot_key: str | None
    hot_key_share: float
    hot_broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewQueue:
    """One queue's share of its topic.

    Attributes:
        key_lanes: how many threads one for each key would keep busy: messages by those of the busiest key; None where
            no message has a key.
    """

    topic: str
    store: str
    queue_id: int
    messages: int
    bytes: int
    share: float
    bytes_share: float
    key_lanes: float | None = None
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewKey:
    """A key that is among the heaviest of its queue.

    Attributes:
        key: None for messages without one.
        share: of the queue's messages.
        missed_messages_most: how many more it may have, where a part of the log had too many keys to keep all.
        new_queue: where the asked what-if would put it.
    """

    topic: str
    store: str
    queue_id: int
    key: str | None
    messages: int
    bytes: int
    share: float
    missed_messages_most: int
    new_queue: int | None
    broker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewProducer:
    """What one born host (without port) sent to a topic."""

    topic: str
    born_host: str
    messages: int
    bytes: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewSize:
    """Messages whose bodies have at least `from_bytes` and less than twice that (0 are empty ones)."""

    topic: str
    from_bytes: int
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resharded:
    """The same messages spread by another key, selector or number of queues.

    Attributes:
        unkeyed_messages: messages that the selector has no key for; they are left out of what follows.
        moved_messages: keyed messages that would stand in another queue than now: the order of their keys would break
            at the change unless their queues are drained before it.
        busiest_queue: of the new ones.
    """

    topic: str
    queues_now: int
    new_queues: int
    selector: str
    key_property: str
    messages: int
    unkeyed_messages: int
    moved_messages: int
    moved_share: float
    gini_now: float
    gini_then: float
    max_over_mean_now: float | None
    max_over_mean_then: float | None
    busiest_queue: int | None
    busiest_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTopic:
    """Whether keys keep to one queue.

    Attributes:
        messages, keys: with a key.
        moved_keys: keys in more than one queue.
        moves: messages that stand in another queue than the one of the same key stored before.
        inversions: messages sent before the one of the same key and host stored before them in the same queue.
        queues_before, queues_after: the change of the queue count that explains most moves by hash.
        explained_moves: how many it explains, there and back; None where that is less than half of them.
        moves_back: of these, the ones from the later number of queues to the earlier.
        first_move_ms, last_move_ms: store times.
    """

    topic: str
    messages: int
    keys: int
    moved_keys: int
    moves: int
    inversions: int
    queues_before: int | None
    queues_after: int | None
    explained_moves: int | None
    moves_back: int | None
    first_move_ms: int | None
    last_move_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderPeriod:
    """A period of buckets without a quiet one between them in which keys moved or were inverted."""

    topic: str
    begin_ms: int
    end_ms: int
    moves: int
    inversions: int
    queues_in_use_before: int | None
    queues_in_use_after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTime:
    """Moves and inversions of a topic stored from `time_ms` on, for the width of a bucket."""

    topic: str
    time_ms: int
    moves: int
    inversions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderKey:
    """A key with moves or inversions, among those with most."""

    topic: str
    key: str
    messages: int
    queues: int
    moves: int
    inversions: int
    oldest_ms: int
    newest_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateTopic:
    """How often keys of a topic were stored again.

    Attributes:
        by: `unique key` (the client's message id) or `business key`.
        copies: messages beyond the first of each key.
        same_host_copies: copies sent by the host that sent the message of the key stored before.
        typical_gap_ms: lower bound of the commonest spacing class (classes double); None without copies.
    """

    by: str
    topic: str
    messages: int
    keys: int
    repeated_keys: int
    copies: int
    same_host_copies: int
    typical_gap_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateWindow:
    """A period of buckets without a quiet one between them in which copies were stored: a resend window."""

    by: str
    topic: str
    begin_ms: int
    end_ms: int
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateTime:
    """Copies stored from `time_ms` on, for the width of a bucket."""

    by: str
    topic: str
    time_ms: int
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateProducer:
    """Copies that one born host sent."""

    by: str
    topic: str
    born_host: str
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateGap:
    """Copies stored at least `from_ms` and less than twice that after the message before them (0: within 1 ms)."""

    by: str
    topic: str
    from_ms: int
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateKey:
    """A key stored more than once, among those with most copies."""

    by: str
    topic: str
    key: str
    messages: int
    hosts: int
    oldest_ms: int
    newest_ms: int
