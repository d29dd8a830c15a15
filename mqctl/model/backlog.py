"""What lies behind consumer groups: the rows of the backlog report."""

from __future__ import annotations

from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass


class BacklogBy(StrEnum):
    """What one row of the report stands for: a group, or a group in each topic, queue, (topic and) tag or time."""

    GROUP = "group"
    TOPIC = "topic"
    QUEUE = "queue"
    TAG = "tag"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogRow:
    """What lies behind one group.

    Attributes:
        topic, store, queue_id: None where the row sums over them.
        broker: of the store; None where the row sums over them, or where nobody knows it.
        tag: None where the row sums over tags, and for messages without one.
        messages, bytes: messages behind the group and their sizes in the commit log.
        oldest_ms, newest_ms: store times of the first and last of them, epoch milliseconds; None without messages.
        lag_count: broker offset minus consumer offset, as `group lag` has it (negative beyond the end), summed over
            queues with an offset; None when none has one, and by tag.
        lost_count: expired before the group consumed them; None by tag.
        dangling_count: queue entries behind the group that lead to no message; None by tag.
        time_ms: by time, where the bucket begins in which the messages were stored.
        drain_ms: how long the group needs at the rate that was given; None without one.
        expires_ms: when the oldest message reaches the retention that was given; None without one.
        never_committed_count, beyond_max_count, no_queue_count: queues in these states; None by tag.
    """

    group: str
    topic: str | None
    store: str | None
    queue_id: int | None
    tag: str | None
    messages: int
    bytes: int
    oldest_ms: int | None
    newest_ms: int | None
    lag_count: int | None
    lost_count: int | None
    dangling_count: int | None
    never_committed_count: int | None
    beyond_max_count: int | None
    no_queue_count: int | None
    time_ms: int | None = None
    drain_ms: int | None = None
    expires_ms: int | None = None
    broker: str | None = None
