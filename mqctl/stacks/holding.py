"""What a consumer holds in its queues and how far it is behind, as far as its stacks are judged by it."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lag import QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.names import group_of
from mqctl.model.queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFacts:
    """What is known of the consumer beside its stacks; all of it may be missing.

    Attributes:
        info: its running information; earlier: the same `apart_ms` before.
        lags: of its group's queues; earlier_lags: the same some time before.
    """

    now_ms: int
    info: RunningInfo | None = None
    earlier: RunningInfo | None = None
    apart_ms: int = 0
    lags: Sequence[QueueLag] = ()
    earlier_lags: Sequence[QueueLag] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackLimits:
    """Windows of the verdicts; RocketMQ's own where it has one (docs/models.md).

    Attributes:
        behind_ms: a lag time from which a group is behind; 0 for any lag at all.
        standing_ms: how far apart two looks must be for a queue that stands at one message in both to be blocked.
        commit_ms: how long an offset that a consumer knows may be on its way to the broker: three commits.
        starting_ms: how long after its start a consumer may wait for queues and brokers: a heartbeat, then rebalancing.
        unpulled_ms: how old a message may become before it is pulled: a held pull is answered at once, or within 5 s
            where that is missed, and one that failed is repeated after 3 s.
        saturated_share: share of idle threads up to which a pool has nothing to spare.
    """

    blocked_ms: int = 60_000
    pull_stopped_ms: int = 60_000
    lock_expired_ms: int = 30_000
    behind_ms: int = 0
    standing_ms: int = 10_000
    commit_ms: int = 15_000
    starting_ms: int = 60_000
    unpulled_ms: int = 10_000
    saturated_share: float = 0.25


class ConsumerSituation:
    """The numbers of one consumer of one group, put together."""

    def __init__(self, group: str | None, facts: ConsumerFacts, limits: StackLimits) -> None:
        self.held = facts
        self.limits = limits
        self.group = group if group is not None else (facts.info.group if facts.info else None)
        info = facts.info
        self.info = info if info is not None and group in (None, info.group) else None
        self.queues: tuple[HeldQueue, ...] = tuple(
            queue for queue in (self.info.queues if self.info else ()) if not queue.dropped
        )
        mine = {queue.queue for queue in self.queues}
        rows = [row for row in facts.lags if self.group is None or row.group == self.group]
        self.rows = [row for row in rows if self.info is None or _key(row) in {_name(queue) for queue in mine}]
        self.cached_count = sum(queue.cached_count for queue in self.queues) if self.info else None
        lags = [max(0, row.lag_count) for row in self.rows if row.lag_count is not None]
        self.lag_count = sum(lags) if lags else None
        ages = [row.lag_ms for row in self.rows if row.lag_ms is not None and (row.lag_count or 0) > 0]
        self.lag_ms = max(ages) if ages else None

    @property
    def idle_ms(self) -> int | None:
        """How long the queue with messages that waits longest finished none."""
        return max((self.unfinished_ms(queue) for queue in self.queues if queue.cached_count), default=None)

    def unfinished_ms(self, queue: HeldQueue) -> int:
        """Returns for how many milliseconds a queue finished none of what it holds; nothing is held longer than it
        exists."""
        row, first, arrived_ms = self.row_of(queue), queue.first_held_offset, None
        if row is not None and first is not None:
            if row.broker_offset is not None and first >= row.broker_offset:
                arrived_ms = self.held.now_ms  # came after the queue's end was asked for
            elif row.consumer_offset is not None and row.consumer_offset <= first:
                arrived_ms = row.next_store_time_ms
        return max(0, self.held.now_ms - queue.unfinished_since_ms(arrived_ms))

    @property
    def blocked(self) -> list[HeldQueue]:
        """Queues that hold messages and finished none for a while, or stood at one message in two looks."""
        limit = self.limits.blocked_ms
        apart = self.held.apart_ms >= self.limits.standing_ms
        return [
            item
            for item in self.queues
            if (item.cached_count and self.unfinished_ms(item) > limit) or (apart and self._stands(item))
        ]

    @property
    def consumes(self) -> bool:
        """Whether all its threads finish messages, by the counts of its last minute: slow, and none hangs."""
        return self.info is not None and self.info.all_threads_work

    @property
    def pressing(self) -> bool | None:
        """Whether the consumer is behind, or stands; None when nothing tells."""
        if self.blocked:
            return True
        if self.lag_count is None:
            return None if self.info is None else bool(self.cached_count) and self.limits.behind_ms == 0
        old = self.lag_ms is None or self.lag_ms >= self.limits.behind_ms
        return self.lag_count > 0 and old

    def row_of(self, queue: HeldQueue) -> QueueLag | None:
        """Returns how far the group is behind in one queue."""
        return next((row for row in self.rows if _key(row) == _name(queue.queue)), None)

    def earlier_of(self, queue: HeldQueue) -> HeldQueue | None:
        """Returns the same queue some time before."""
        before = self.held.earlier
        return next((item for item in before.queues if item.queue == queue.queue), None) if before else None

    def holds_offset(self) -> HeldQueue | None:
        """Returns the queue whose offset stands at its oldest cached message: that one holds it. Retries last.

        Of several, the one that finished nothing for the longest time.
        """
        standing = [
            queue
            for queue in self.queues
            if queue.cached_count and (queue in self.blocked or self._stands(queue)) and not group_of(queue.queue.topic)
        ]
        return max(standing, key=self.unfinished_ms, default=None)

    def starved(self) -> list[QueueLag]:
        """Returns queues in which one message has been waiting for longer than it takes to be pulled, and waited at the
        first look already.

        Ends and offsets are those of the broker, and a consumer reports what it consumed every 5 s: what counts is how
        far it says it is, which is asked after the end.
        """
        started_ms = self.info.start_time_ms if self.info is not None else None
        if started_ms is not None and self.held.now_ms - started_ms < self.limits.starting_ms:
            return []
        earlier = {_key(row): row for row in self.held.earlier_lags if row.group == self.group}
        places = {_name(queue.queue): queue for queue in self.queues}
        return [row for row in self.rows if self._waits(row, places.get(_key(row)), earlier.get(_key(row)))]

    def _waits(self, row: QueueLag, queue: HeldQueue | None, before: QueueLag | None) -> bool:
        if not row.lag_count or row.lag_count < 0 or row.broker_offset is None or row.lag_ms is None:
            return False
        if queue is not None and queue.commit_offset >= row.broker_offset:
            return False  # consumed, and not committed yet
        if before is not None and (before.consumer_offset != row.consumer_offset or not before.lag_count):
            return False
        known = self.earlier_of(queue) if queue is not None else None
        if queue is not None and known is not None and known.commit_offset != queue.commit_offset:
            return False
        return row.lag_ms > self.limits.unpulled_ms

    def _stands(self, queue: HeldQueue) -> bool:
        before = self.earlier_of(queue)
        if before is None or not (_held(queue) and _held(before)):
            return False
        return before.commit_offset == queue.commit_offset and before.cached_min_offset == queue.cached_min_offset

    def uncommitted(self) -> tuple[HeldQueue, QueueLag] | None:
        """Returns a queue that was consumed further than its broker has been told, for longer than commits take."""
        for queue in self.queues:
            row = self.row_of(queue)
            if row is None or row.consumer_offset is None or queue.commit_offset <= row.consumer_offset:
                continue
            if self.held.now_ms - queue.last_consume_time_ms > self.limits.commit_ms:
                return queue, row
        return None

    def unlocked(self) -> list[HeldQueue]:
        """Returns queues of an orderly consumer whose lock is missing or has run out (O1, O4)."""
        if self.info is None or not self.info.orderly:
            return []
        limit = self.limits.lock_expired_ms
        return [q for q in self.queues if not q.locked or self.held.now_ms - q.last_lock_time_ms > limit]

    def unpulled(self) -> list[HeldQueue]:
        """Returns queues that are no longer pulled."""
        now_ms, limit = self.held.now_ms, self.limits.pull_stopped_ms
        return [q for q in self.queues if q.last_pull_time_ms and now_ms - q.last_pull_time_ms > limit]


def _held(queue: HeldQueue) -> int:
    """Messages of a queue, with those that an orderly listener has now: they are no longer cached."""
    return queue.cached_count + queue.transaction_count


def _key(row: QueueLag) -> tuple[str, str | None, int]:
    return row.topic, row.broker_name, row.queue_id


def _name(queue: MessageQueue) -> tuple[str, str | None, int]:
    return queue.topic, queue.broker_name, queue.queue_id
