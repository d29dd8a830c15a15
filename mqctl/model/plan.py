"""A change that is shown before it is made: what is, what will be, what it does to messages, and what must still hold.

Times are epoch milliseconds; offsets are queue offsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mqctl.model.queue import MessageQueue


class PlanKind(StrEnum):
    """What a plan changes."""

    OFFSET_RESET = "offset-reset"
    OFFSET_SKIP = "offset-skip"
    OFFSET_CLONE = "offset-clone"
    REPLAY_GROUP = "replay-group"
    UNDO = "undo"


class Method(StrEnum):
    """How offsets are changed.

    COMMIT writes each queue's offset at its broker (request 15); members would overwrite it, so the group must be
    offline. CALLBACK has the broker tell the members of the group (request 222 and 220), by time only. SERVER has a 5.x
    broker change its own table (request 222 with `useServerSideResetOffset`).
    """

    COMMIT = "commit"
    CALLBACK = "callback"
    SERVER = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterIdentity:
    """Which cluster a plan was made on; one made on another is refused.

    Attributes:
        cluster: cluster name.
        brokers: master address by broker name, sorted.
    """

    cluster: str
    brokers: tuple[tuple[str, str], ...]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where its masters are: clusters often share a name, and no address."""
        return tuple(address for _, address in self.brokers)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePosition:
    """Where a group stands in one queue.

    Attributes:
        min_offset, max_offset: bounds of the queue.
        old: committed offset, None when the group never committed one.
    """

    queue: MessageQueue
    min_offset: int
    max_offset: int
    old: int | None = None

    def to(self, new: int, note: str | None = None) -> OffsetChange:
        """Returns the change that moves the group there."""
        return OffsetChange(
            queue=self.queue, min_offset=self.min_offset, max_offset=self.max_offset, old=self.old, new=new, note=note
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetChange(QueuePosition):
    """One queue of a plan.

    Attributes:
        new: offset to commit.
        new_store_time_ms: store time of the message at `new`; None at the end of the queue or when unknown.
        note: why `new` is not what was literally asked for.
    """

    new: int
    new_store_time_ms: int | None = None
    note: str | None = None

    @property
    def delta(self) -> int:
        """By how much the offset moves; a group without one moves from the queue's minimum."""
        return self.new - self._from

    @property
    def _from(self) -> int:
        return self.min_offset if self.old is None else self.old

    @property
    def replayed_count(self) -> int:
        """Messages that will be consumed again. Those below the minimum are gone."""
        return max(0, min(self._from, self.max_offset) - max(self.new, self.min_offset))

    def replayed_between(self, first: int, end: int) -> int:
        """Returns how many of the messages that will be consumed again lie from one offset to before another."""
        return max(0, min(self._from, self.max_offset, end) - max(self.new, self.min_offset, first))

    @property
    def first_read_count(self) -> int:
        """Messages that a group without an offset will consume; it consumed none of the queue before."""
        return 0 if self.old is not None else max(0, self.max_offset - max(self.new, self.min_offset))

    @property
    def skipped_count(self) -> int:
        """Messages that will not be consumed."""
        return max(0, min(self.new, self.max_offset) - max(self._from, self.min_offset))

    @property
    def moves(self) -> bool:
        return self.old != self.new


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """One request 222: a broker searches a topic's queues for an instant and tells the members of the group.

    Attributes:
        time_ms: the instant that is sent; -1 means the end of each queue.
    """

    topic: str
    broker_name: str
    time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPlan:
    """A change of a consumer group's offsets.

    Attributes:
        target: the wish in words, as it was parsed.
        target_time_ms: for a reset by time, the instant.
        online: whether the group had members when the plan was made.
        changes: every queue in question, those that do not move among them.
        callbacks: for `Method.CALLBACK`, the requests that make the change.
        left_out: what the wish covers and the plan does not, each with the reason.
        creates_on: names of the brokers on which the group is created first.
        goes_back: whether the wish names a point in the past: who goes there means to consume again, not to skip.
        unskipped_count: of what will be consumed, what the change that is undone had skipped.
    """

    kind: PlanKind
    identity: ClusterIdentity
    group: str
    target: str
    method: Method
    made_at_ms: int
    online: bool
    changes: tuple[OffsetChange, ...]
    target_time_ms: int | None = None
    callbacks: tuple[Callback, ...] = ()
    left_out: tuple[str, ...] = ()
    creates_on: tuple[str, ...] = ()
    goes_back: bool = False
    unskipped_count: int = 0

    @property
    def replayed_count(self) -> int:
        return sum(change.replayed_count for change in self.changes)

    @property
    def skipped_count(self) -> int:
        return sum(change.skipped_count for change in self.changes)

    @property
    def first_read_count(self) -> int:
        return sum(change.first_read_count for change in self.changes)

    @property
    def begins(self) -> bool:
        """Whether the group has no offset in any of the queues: it consumed nothing, and nothing can be skipped."""
        return all(change.old is None for change in self.changes)

    @property
    def moving(self) -> tuple[OffsetChange, ...]:
        """The queues whose offset changes."""
        return tuple(change for change in self.changes if change.moves)
