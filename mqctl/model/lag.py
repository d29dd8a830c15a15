"""How far consumer groups are behind, computed from a snapshot.

The rules (docs/models.md): lag is broker offset minus consumer offset; the lag time is the age of
the next message to consume; a queue without a committed offset is never-committed, which is not an offset of 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import is_system_group, is_system_topic
from mqctl.model.origin import Origin
from mqctl.model.pop_share import PopShare, summed_shares
from mqctl.model.queue_state import ConsumerOffsetState, QueueState

if TYPE_CHECKING:
    from mqctl.model.consumption import Consumption

_SECOND_MS = 1_000
_MINUTE_MS = 60_000


class LagState(StrEnum):
    """How an offset lies in its queue."""

    CAUGHT_UP = "caught-up"
    BEHIND = "behind"
    BELOW_MIN = "below-min"
    BEYOND_MAX = "beyond-max"
    NEVER_COMMITTED = "never-committed"
    NO_QUEUE = "no-queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLag:
    """One consumer group in one queue.

    Attributes:
        broker_name: None when the source does not tell it.
        broker_offset: one past the last message; None when the queue does not exist.
        consumer_offset: next message to consume; None when the group never committed one.
        lag_count: messages not consumed: broker offset minus consumer offset. Negative beyond the end; None when
            never committed or without a queue.
        lost_count: messages below the queue's minimum that the group can no longer consume.
        lag_ms: age of the next message to consume, 0 when caught up, None when unknown.
        next_store_time_ms: store time of that message.
        in_flight_count: messages handed out and not committed: pull offset minus consumer offset; None when nobody
            told.
        cached_count: messages in the caches of the instances that hold the queue; None when not known.
        owners: client ids of the instances that hold the queue; empty when none does, None when not known.
        owner_addresses: of the owners' connections with the queue's broker; None when not known.
        consume_mode: of the group on the topic, see `GroupLag`.
    """

    group: str
    topic: str
    broker_name: str | None
    queue_id: int
    min_offset: int | None
    broker_offset: int | None
    consumer_offset: int | None
    lag_count: int | None
    lost_count: int
    lag_ms: int | None
    next_store_time_ms: int | None
    state: LagState
    in_flight_count: int | None = None
    cached_count: int | None = None
    owners: tuple[str, ...] | None = None
    owner_addresses: tuple[str, ...] | None = None
    consume_mode: str | None = None

    @property
    def owner_text(self) -> str | None:
        """The owners in one cell."""
        return None if self.owners is None else ", ".join(self.owners) or "nobody"

    @property
    def address_text(self) -> str | None:
        """The owners' addresses in one cell."""
        return ", ".join(self.owner_addresses) or None if self.owner_addresses is not None else None


class HoldsOffsets(Protocol):
    """What lag is computed from: a broker's snapshot, or the part of it that `group lag` gathers."""

    @property
    def name(self) -> str | None: ...
    @property
    def queues(self) -> tuple[QueueState, ...]: ...
    @property
    def consumer_offsets(self) -> tuple[ConsumerOffsetState, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LagEvidence:
    """One broker's queues and offsets, gathered for nothing but lag.

    Attributes:
        broker_id: who told; above 0 it is a slave whose master is gone.
        consumption: what is in flight and who consumes it; None when that was not asked.
        pop: who shares messages instead of queues, and how far they are.
    """

    origin: Origin
    name: str | None = None
    broker_id: int = 0
    queues: tuple[QueueState, ...] = ()
    consumer_offsets: tuple[ConsumerOffsetState, ...] = ()
    unavailable: tuple[Gap, ...] = ()
    consumption: Consumption | None = None
    pop: tuple[PopShare, ...] = ()


def without_broker(origin: Origin, name: str) -> LagEvidence:
    """Returns what is known of a broker that belongs to the cluster and is not registered: nothing."""
    gaps = tuple(Gap.of_unregistered(name, part) for part in (Part.CONSUMER_OFFSETS, Part.QUEUES))
    return LagEvidence(origin=origin, name=name, unavailable=gaps)


def queue_lags(broker: HoldsOffsets, now_ms: int, *, system: bool = False) -> list[QueueLag]:
    """Returns the lag of every group in every queue of the topics it has offsets for, sorted by group, topic, queue.

    Args:
        now_ms: the moment all ages refer to.
        system: include RocketMQ's own groups and topics.
    """
    return sorted(_lags(broker, now_ms, system=system), key=lambda row: (row.group, row.topic, row.queue_id))


def _lags(broker: HoldsOffsets, now_ms: int, *, system: bool) -> Iterable[QueueLag]:
    queues_of: dict[str, list[QueueState]] = {}
    for held in broker.queues:
        queues_of.setdefault(held.topic, []).append(held)
    offsets: dict[tuple[str, str], dict[int, ConsumerOffsetState]] = {}
    for offset in broker.consumer_offsets:
        offsets.setdefault((offset.group, offset.topic), {})[offset.queue_id] = offset
    for (group, topic), committed in offsets.items():
        if not system and (is_system_group(group) or is_system_topic(topic)):
            continue
        by_id = {queue.queue_id: queue for queue in queues_of.get(topic, [])}
        for queue_id in by_id.keys() | committed.keys():
            state = committed.get(queue_id)
            queue = by_id.get(queue_id)
            if queue is None and state is not None and state.offset == 0:
                continue  # a queue that never held a message: offset 0 of 0
            yield _lag(broker.name, (group, topic, queue_id), state, queue, now_ms)


def _lag(
    broker_name: str | None,
    where: tuple[str, str, int],
    committed: ConsumerOffsetState | None,
    queue: QueueState | None,
    now_ms: int,
) -> QueueLag:
    group, topic, queue_id = where
    # Brokers answer -1 for no offset; a negative one is none.
    offset = committed.offset if committed and committed.offset >= 0 else None
    lag = queue.max_offset - offset if queue and offset is not None else None
    next_time = committed.next_store_time_ms if committed else None
    if lag == 0:
        age: int | None = 0
    else:
        age = max(0, now_ms - next_time) if next_time is not None else None
    return QueueLag(
        group=group,
        topic=topic,
        broker_name=broker_name,
        queue_id=queue_id,
        min_offset=queue.min_offset if queue else None,
        broker_offset=queue.max_offset if queue else None,
        consumer_offset=offset,
        lag_count=lag,
        lost_count=max(0, queue.min_offset - offset) if queue and offset is not None else 0,
        lag_ms=age,
        next_store_time_ms=next_time,
        state=_state(offset, queue),
    )


def _state(offset: int | None, queue: QueueState | None) -> LagState:
    if queue is None:
        return LagState.NO_QUEUE
    if offset is None:
        return LagState.NEVER_COMMITTED
    if offset > queue.max_offset:
        return LagState.BEYOND_MAX
    if offset == queue.max_offset:
        return LagState.CAUGHT_UP
    return LagState.BELOW_MIN if offset < queue.min_offset else LagState.BEHIND


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    """One consumer group in one topic, all queues together.

    Attributes:
        lag_count: sum over the queues with an offset; None when none has one. A queue that the group is beyond the end
            of counts as 0: it must not hide what waits in the others.
        lag_ms: the largest age among the queues; None when unknown for a queue that is behind.
        in_flight_count, cached_count: sums over the queues; None when it is not known for one.
        consumed_tps: messages consumed per second over the last minute, as all members tell together; None when one
            does not tell.
        consume_tps: messages handed out per second over the last minute, all brokers together; None when not known.
        consume_mode: `POP` or `PULL`; None where nothing is set and nothing was popped, which means PULL.
        ready_count, invisible_count, due_count, retry_count, given_up_count, blocked_queue_count, next_visible_ms,
            renewed_count, held_since_ms: of a topic that is popped (see `PopShare`): a consumer offset says only what
            was given out; None for others.
    """

    group: str
    topic: str
    queue_count: int
    never_committed_count: int
    lag_count: int | None
    lost_count: int
    lag_ms: int | None
    in_flight_count: int | None = None
    cached_count: int | None = None
    consumed_tps: float | None = None
    consume_tps: float | None = None
    consume_mode: str | None = None
    ready_count: int | None = None
    invisible_count: int | None = None
    due_count: int | None = None
    retry_count: int | None = None
    given_up_count: int | None = None
    blocked_queue_count: int | None = None
    next_visible_ms: tuple[int, ...] = ()
    renewed_count: int | None = None
    held_since_ms: int | None = None

    @property
    def back_ms(self) -> int | None:
        """When the next invisible message comes back, epoch milliseconds."""
        return self.next_visible_ms[0] if self.next_visible_ms else None


def group_lags(rows: Iterable[QueueLag]) -> list[GroupLag]:
    """Sums queue lags by group and topic, the largest lag time first, of those people read as equal the largest lag."""
    parts: dict[tuple[str, str], list[QueueLag]] = {}
    for row in rows:
        parts.setdefault((row.group, row.topic), []).append(row)
    summed = [_sum(group, topic, members) for (group, topic), members in parts.items()]
    return sorted(summed, key=lambda lag: (-coarse(lag.lag_ms or 0), -(lag.lag_count or 0), lag.group, lag.topic))


def coarse(span_ms: float) -> float:
    """Rounds a span as people compare it, to seconds, from ten minutes on to minutes: what stopped in one minute is
    then ordered by what waits."""
    step = _MINUTE_MS if span_ms >= 10 * _MINUTE_MS else _SECOND_MS
    return span_ms // step * step


def _sum(group: str, topic: str, members: list[QueueLag]) -> GroupLag:
    counts = [max(0, member.lag_count) for member in members if member.lag_count is not None]
    waiting = [member.lag_ms for member in members if (member.lag_count or 0) > 0]
    ages = [age for age in waiting if age is not None]
    unknown = len(ages) < len(waiting)
    flying = [member.in_flight_count for member in members if member.in_flight_count is not None]
    cached = [member.cached_count for member in members if member.cached_count is not None]
    return GroupLag(
        group=group,
        topic=topic,
        queue_count=len(members),
        never_committed_count=sum(member.state is LagState.NEVER_COMMITTED for member in members),
        lag_count=sum(counts) if counts else None,
        lost_count=sum(member.lost_count for member in members),
        lag_ms=None if unknown or not counts else max(ages, default=0),
        in_flight_count=sum(flying) if len(flying) == len(members) else None,
        cached_count=sum(cached) if len(cached) == len(members) else None,
    )


def lag_rows(evidence: Iterable[LagEvidence], now_ms: int, *, system: bool = False) -> list[QueueLag]:
    """Returns the rows of all brokers, each with what is in flight and its owners where that was asked."""
    rows = []
    for item in evidence:
        for row in queue_lags(item, now_ms, system=system):
            rows.append(row if item.consumption is None else _with_consumption(row, item.consumption))
    return sorted(rows, key=lambda row: (row.group, row.topic, row.broker_name or "", row.queue_id))


def _with_consumption(row: QueueLag, consumption: Consumption) -> QueueLag:
    key = (row.group, row.topic, row.queue_id)
    owners = consumption.owners.get(key)
    pulled = consumption.pull_offsets.get(key)
    flying = None
    if row.consumer_offset is not None and pulled is not None:
        flying = max(0, pulled - row.consumer_offset)
    elif owners == ():
        flying = 0
    places = [
        consumption.addresses[row.group, name] for name in owners or () if (row.group, name) in consumption.addresses
    ]
    return replace(
        row,
        in_flight_count=flying,
        owners=owners,
        owner_addresses=tuple(places) if owners is not None and len(places) == len(owners) else None,
        cached_count=consumption.cached.get(key),
    )


def with_rates(groups: Iterable[GroupLag], evidence: Iterable[LagEvidence]) -> list[GroupLag]:
    """Returns the groups with their rates: sums over the brokers; not known when a broker did not tell its own."""
    parts = [item.consumption for item in evidence]
    return [
        replace(
            group,
            consume_tps=_sum_of([part.tps.get((group.group, group.topic)) if part else None for part in parts]),
            consumed_tps=next(
                (
                    round(rate, 2)
                    for part in parts
                    if part and (rate := part.consumed_tps.get((group.group, group.topic))) is not None
                ),
                None,
            ),
        )
        for group in groups
    ]


def with_pop(groups: Iterable[GroupLag], evidence: Iterable[LagEvidence]) -> list[GroupLag]:
    """Returns the groups with the states of what they pop, all brokers together."""
    shares = summed_shares(share for item in evidence for share in item.pop)
    return [_popping(group, shares.get((group.group, group.topic))) for group in groups]


def with_modes(rows: Iterable[QueueLag], groups: Iterable[GroupLag]) -> list[QueueLag]:
    """Returns the rows of queues with how their groups consume."""
    modes = {(group.group, group.topic): group.consume_mode for group in groups}
    return [replace(row, consume_mode=modes.get((row.group, row.topic))) for row in rows]


def _popping(group: GroupLag, share: PopShare | None) -> GroupLag:
    if share is None:
        return group
    if share.mode == "PULL" and not (share.invisible_count or share.due_count or share.retry_count):
        return replace(group, consume_mode=share.mode)
    return replace(
        group,
        consume_mode=share.shown_mode,
        ready_count=share.ready_count,
        invisible_count=share.invisible_count,
        due_count=share.due_count,
        retry_count=share.retry_count,
        given_up_count=share.given_up_count,
        blocked_queue_count=share.blocked_queue_count,
        next_visible_ms=share.next_visible_ms,
        renewed_count=share.renewed_count,
        held_since_ms=share.held_since_ms,
    )


def _sum_of(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return round(sum(known), 2) if parts and len(known) == len(parts) else None
