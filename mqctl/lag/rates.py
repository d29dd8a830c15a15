"""How fast the queues of a group fill and empty, from two looks: what moves, what stands, and what will ever be done.

Source: docs/models.md. A rate is measured or it is None; a queue that was seen once has no rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.names import is_retry_topic, is_system_group, is_system_topic
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings

# One message in eleven days: less is no progress.
_STILL = 1e-6


class Movement(StrEnum):
    """What a group does in one queue between two looks.

    OK: all that waited at the first look is consumed, or nothing waits. WAITING: all threads of its owner work on other
    queues. STALLED: somebody holds the queue and does not move. STOPPED: nobody holds it. UNKNOWN: seen once, or no
    move within less time than consumers take to commit.
    """

    OK = "ok"
    CATCHING_UP = "catching-up"
    WAITING = "waits-its-turn"
    FALLING_BEHIND = "falling-behind"
    STALLED = "stalled"
    STOPPED = "stopped"
    REWINDING = "rewinding"
    UNKNOWN = "unknown"


class Outlook(StrEnum):
    """Whether a backlog ends at the measured rates."""

    KEEPS_UP = "keeps-up"
    DRAINS = "drains"
    NEVER = "never"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Drain:
    """When a backlog is gone. `after_ms` is 0 where nothing is behind, None where it never is or nobody knows."""

    outlook: Outlook
    after_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFlow:
    """One queue of a group.

    Attributes:
        owner: the instance that holds it; None when none says so.
        lag_count: broker offset minus committed offset, at least 0; None when the group never committed there.
        next_offset: as committed, or else the first message that its owner has not finished; None when nobody knows.
        waiting_count: the lag, or else what is from `next_offset` on; None when nobody knows.
        lag_ms: age of the next message to consume; None when not known or nothing waits.
        in_tps, out_tps: messages that arrive and that the group passes, a second.
        expires_in_ms: time until retention may delete the next message to consume; None when its age is not known,
            or when it outlived its retention by days.
        cached_count: pulled by the owner and not finished.
    """

    group: str
    queue: MessageQueue
    owner: str | None
    lag_count: int | None
    next_offset: int | None
    waiting_count: int | None
    lag_ms: int | None
    in_tps: float | None
    out_tps: float | None
    movement: Movement
    expires_in_ms: int | None
    cached_count: int

    @property
    def behind(self) -> bool:
        """Whether something waits, or may, that the group does not simply have in hand."""
        return self.waiting_count != 0 and self.movement is not Movement.OK

    @property
    def drain(self) -> Drain:
        """When it is empty, if it is the only one: nobody knows of a queue that waits for others to be done."""
        return Drain(Outlook.UNKNOWN, None) if self.movement is Movement.WAITING else drain_of((self,))


def drain_of(flows: Iterable[QueueFlow]) -> Drain:
    """Returns when queues that share their consumer's capacity are done."""
    listed = list(flows)
    behind = [flow for flow in listed if flow.behind]
    if not behind:
        return Drain(Outlook.KEEPS_UP, 0)
    if any(flow.movement is Movement.UNKNOWN for flow in behind):
        return Drain(Outlook.UNKNOWN, None)
    net = sum((flow.out_tps or 0.0) - (flow.in_tps or 0.0) for flow in listed)
    waiting = sum(flow.waiting_count or 0 for flow in behind)
    return Drain(Outlook.DRAINS, round(waiting / net * 1000)) if net > _STILL else Drain(Outlook.NEVER, None)


def last_of(drains: Iterable[Drain]) -> Drain:
    """Returns the drain of a whole whose parts do not help each other: the part that ends last."""
    listed = list(drains)
    for outlook in (Outlook.NEVER, Outlook.UNKNOWN):
        if any(drain.outlook is outlook for drain in listed):
            return Drain(outlook, None)
    ends = [drain.after_ms or 0 for drain in listed if drain.outlook is Outlook.DRAINS]
    return Drain(Outlook.DRAINS, max(ends)) if ends else Drain(Outlook.KEEPS_UP, 0)


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at all queues of a cluster."""

    ends: Mapping[MessageQueue, QueueState]
    offsets: Mapping[tuple[str, MessageQueue], ConsumerOffsetState]
    held: Mapping[tuple[str, MessageQueue], tuple[RunningInfo, HeldQueue]]

    def position(self, group: str, queue: MessageQueue) -> int | None:
        """Returns how far a group is: as committed, or as its owner has it in memory where that is further.

        An owner that has finished nothing yet is at the first message that it holds.
        """
        key = group, queue
        committed, owner = self.offsets.get(key), self.held.get(key)
        in_memory = owner[1].commit_offset if owner else 0
        if committed is None:
            if in_memory > 0:
                return in_memory
            return owner[1].first_held_offset if owner else None
        return max(committed.offset, in_memory) if in_memory > 0 else committed.offset


def _look(snapshot: ClusterSnapshot) -> _Look:
    return _Look(
        ends={
            MessageQueue(queue.topic, broker.name or "", queue.queue_id): queue
            for broker in snapshot.brokers
            for queue in broker.queues
        },
        offsets={
            (item.group, MessageQueue(item.topic, broker.name or "", item.queue_id)): item
            for broker in snapshot.brokers
            for item in broker.consumer_offsets
        },
        held=_held(snapshot.running),
    )


def _held(running: Iterable[RunningInfo]) -> dict[tuple[str, MessageQueue], tuple[RunningInfo, HeldQueue]]:
    return {(info.group, held.queue): (info, held) for info in running for held in info.queues if not held.dropped}


def queue_flows(snapshot: ClusterSnapshot, settings: Settings) -> list[QueueFlow]:
    """Measures every queue that a group has committed on or holds; system groups and retry topics are left out."""
    now = _look(snapshot)
    before = _look(snapshot.earlier) if snapshot.earlier is not None else None
    window_ms = snapshot.origin.observed_at_ms - snapshot.earlier.origin.observed_at_ms if snapshot.earlier else 0
    reserved = {broker.name or "": broker.file_reserved_ms for broker in snapshot.brokers}
    keys = {key for key in (*now.offsets, *now.held) if _wanted(*key) and key[1] in now.ends}
    return [
        _flow(
            key,
            (now, before, window_ms),
            snapshot.origin.observed_at_ms,
            reserved.get(key[1].broker_name) or settings.file_reserved_ms,
            settings,
            trusted=window_ms >= settings.scaled(settings.drain_window_ms),
        )
        for key in sorted(keys)
    ]


def _wanted(group: str, queue: MessageQueue) -> bool:
    return not is_system_group(group) and not is_system_topic(queue.topic) and not is_retry_topic(queue.topic)


def _flow(
    key: tuple[str, MessageQueue],
    looks: tuple[_Look, _Look | None, int],
    now_ms: int,
    reserved_ms: int,
    settings: Settings,
    *,
    trusted: bool,
) -> QueueFlow:
    now, before, window_ms = looks
    group, queue = key
    end, committed = now.ends[queue].max_offset, now.offsets.get(key)
    owner = now.held.get(key)
    stored_ms = committed.next_store_time_ms if committed else None
    lag_ms = max(0, now_ms - stored_ms) if stored_ms is not None else None
    movement, in_tps, out_tps = Movement.UNKNOWN, None, None
    earlier_end = before.ends.get(queue) if before else None
    there, here = before.position(*key) if before else None, now.position(*key)
    if earlier_end is not None and window_ms > 0:
        in_tps = max(0, end - earlier_end.max_offset) * 1000 / window_ms
        if there is not None and here is not None:
            out_tps = max(0, here - there) * 1000 / window_ms
            fresh = lag_ms is None or lag_ms * 2 <= window_ms
            movement = _movement(there, here, earlier_end.max_offset, end, holding=owner is not None, fresh=fresh)
    if here is not None and here >= end:
        movement = Movement.OK
    if movement is Movement.STALLED and owner is not None and _waits_its_turn(*owner, now_ms, settings):
        movement = Movement.WAITING
    if movement is Movement.STALLED and not trusted:
        movement = Movement.UNKNOWN
    next_offset = committed.offset if committed else here
    unread_count = 0 if now.ends[queue].min_offset == end else None
    return QueueFlow(
        group=group,
        queue=queue,
        owner=owner[0].client_id if owner else None,
        lag_count=max(0, end - committed.offset) if committed else None,
        next_offset=next_offset,
        waiting_count=unread_count if next_offset is None else max(0, end - next_offset),
        lag_ms=lag_ms,
        in_tps=in_tps,
        out_tps=out_tps,
        movement=movement,
        expires_in_ms=_expires_in_ms(lag_ms, reserved_ms, settings),
        cached_count=owner[1].cached_count if owner else 0,
    )


def _expires_in_ms(lag_ms: int | None, reserved_ms: int, settings: Settings) -> int | None:
    """Returns in how long retention may delete a message of this age. What outlived it by days lies in a file that is
    not full yet, or is not deleted: then nothing tells."""
    if lag_ms is None or lag_ms > reserved_ms + settings.outlived_ms:
        return None
    return max(0, reserved_ms - lag_ms)


def _waits_its_turn(info: RunningInfo, held: HeldQueue, now_ms: int, settings: Settings) -> bool:
    """Tells whether a queue only waits for threads that all work on other queues of its owner."""
    idle_ms = now_ms - held.last_consume_time_ms
    full_ms = info.full_caches_ms(settings.cache_limit_count)
    return bool(held.cached_count) and info.all_threads_work and idle_ms <= full_ms and not info.orderly


def _movement(there: int, here: int, end_then: int, end: int, *, holding: bool, fresh: bool) -> Movement:
    """Judges two positions; `fresh` tells that what waits came so late that nobody can be blamed for it yet."""
    if here < there:
        return Movement.REWINDING
    if here >= end_then and (here > there or fresh):
        return Movement.OK
    if here == there:
        return Movement.STALLED if holding else Movement.STOPPED
    return Movement.CATCHING_UP if here - there > end - end_then else Movement.FALLING_BEHIND
