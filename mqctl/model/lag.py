"""How far consumer groups are behind, computed from a snapshot.

The rules (docs/models.md): lag is broker offset minus consumer offset; the lag time is the age of
the next message to consume; a queue without a committed offset is never-committed, which is not an offset of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from mqctl.model.column import CellKind, column
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import LMQ_PREFIX, is_system_group, is_system_topic
from mqctl.model.origin import Origin
from mqctl.model.pop_share import PopShare, summed_shares
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.model.consumption import Consumption, QueueKey

Number = TypeVar("Number", int, float)
_SECOND_MS = 1_000
_MINUTE_MS = 60_000


POP_MODE = "POP"
"""The mode of a group that pops, as request 401 names it."""


class LagState(StrEnum):
    """How an offset lies in its queue; `removed` queues are those of a topic that was made smaller or deleted, the
    bounds of `not-read` ones were asked for in vain."""

    CAUGHT_UP = "caught-up"
    BEHIND = "behind"
    BELOW_MIN = "below-min"
    BEYOND_MAX = "beyond-max"
    NEVER_COMMITTED = "never-committed"
    NO_QUEUE = "no-queue"
    REMOVED = "removed"
    NOT_READ = "not-read"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLag:
    """One consumer group in one queue.

    Attributes:
        broker_name: None when the source does not tell it.
        broker_offset: one past the last message; None when the queue does not exist, or was not read.
        consumer_offset: next message to consume; None when the group never committed one.
        lag_count: messages not consumed: broker offset minus consumer offset. Negative beyond the end; None when
            never committed or without a queue.
        lost_count: messages below the queue's minimum that the group can no longer consume.
        lag_ms: age of the next message to consume, 0 when caught up, None when unknown.
        next_store_time_ms: store time of that message.
        in_flight_count: messages handed out and not committed: pull offset minus consumer offset; None when nobody
            told, or the group pops: `GroupLag` has what is invisible.
        cached_count: messages in the caches of the instances that hold the queue; None when not known.
        owners: client ids of the instances that hold the queue; empty when none does, as of what is popped, None when
            not known.
        owner_addresses: of the owners' connections with the queue's broker; None when not known.
        consume_mode: of the group on the topic, see `GroupLag`.
    """

    group: str = field(metadata=column("group"))
    topic: str = field(metadata=column("topic"))
    broker_name: str | None = field(metadata=column("broker"))
    queue_id: int = field(metadata=column("queue", CellKind.COUNT))
    min_offset: int | None = field(metadata=column("min offset", CellKind.COUNT, wide=True))
    broker_offset: int | None = field(metadata=column("broker offset", CellKind.COUNT, wide=True))
    consumer_offset: int | None = field(metadata=column("consumer offset", CellKind.COUNT, none="none"))
    lag_count: int | None = field(metadata=column("lag", CellKind.COUNT, none="?"))
    lost_count: int = field(metadata=column("lost", CellKind.COUNT))
    lag_ms: int | None = field(metadata=column("lag time", CellKind.DURATION_MS, none="?"))
    next_store_time_ms: int | None = field(metadata=column("next message stored", CellKind.TIME_MS, wide=True))
    state: LagState = field(metadata=column("state", CellKind.WORDS))
    in_flight_count: int | None = field(default=None, metadata=column("in flight", CellKind.COUNT, none="?"))
    cached_count: int | None = field(default=None, metadata=column("cached", CellKind.COUNT, none="?"))
    owners: tuple[str, ...] | None = field(default=None, metadata=column("owner", none="?", cell="owner_text"))
    owner_addresses: tuple[str, ...] | None = field(
        default=None, metadata=column("owner address", wide=True, cell="address_text")
    )
    consume_mode: str | None = None

    @property
    def owner_text(self) -> str | None:
        """The owners in one cell."""
        if self.owners == () and self.consume_mode == POP_MODE:
            return sentence("lag-shared-by-pops", "shared (POP)")
        return None if self.owners is None else ", ".join(self.owners) or sentence("none-nobody", "nobody")

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
    @property
    def queue_counts(self) -> Mapping[str, int] | None: ...
    @property
    def unavailable(self) -> tuple[Gap, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LagEvidence:
    """One broker's queues and offsets, gathered for nothing but lag.

    Attributes:
        broker_id: who told; above 0 it is a slave whose master is gone.
        queue_counts: how many queues topics have there by now: queues beyond it, and those of other topics, were
            removed; None where that was not asked.
        consumption: what is in flight and who consumes it; None when that was not asked.
        pop: who shares messages instead of queues, and how far they are.
    """

    origin: Origin
    name: str | None = None
    broker_id: int = 0
    queues: tuple[QueueState, ...] = ()
    consumer_offsets: tuple[ConsumerOffsetState, ...] = ()
    queue_counts: Mapping[str, int] | None = None
    unavailable: tuple[Gap, ...] = ()
    consumption: Consumption | None = None
    pop: tuple[PopShare, ...] = ()


def without_broker(origin: Origin, name: str) -> LagEvidence:
    """Returns what is known of a broker that belongs to the cluster and is not registered: nothing."""
    gaps = tuple(Gap.of_unregistered(name, part) for part in (Part.CONSUMER_OFFSETS, Part.QUEUES))
    return LagEvidence(origin=origin, name=name, unavailable=gaps)


def queue_lags(broker: HoldsOffsets, now_ms: int, *, system: bool = False, removed: bool = False) -> list[QueueLag]:
    """Returns the lag of every group in every queue of the topics it has offsets for, sorted by group, topic, queue.

    Args:
        now_ms: the moment all ages refer to.
        system: include RocketMQ's own groups and topics.
        removed: include queues that were removed: nobody writes or reads them, and a group's offsets there say nothing.
    """
    rows = (row for row in _lags(broker, now_ms, system=system) if removed or row.state is not LagState.REMOVED)
    return sorted(rows, key=lambda row: (row.group, row.topic, row.queue_id))


def lag_rows(evidence: Collection[LagEvidence], now_ms: int, *, system: bool = False) -> list[QueueLag]:
    """Returns the rows of all brokers, removed queues too, with what is in flight and owners where that was asked."""
    modes = {key: share.shown_mode for key, share in _pop_shares(evidence).items()}
    return sorted(
        (row for item in evidence for row in _lags(item, now_ms, item.consumption, modes, system=system)),
        key=lambda row: (row.group, row.topic, row.broker_name or "", row.queue_id),
    )


def _lags(
    broker: HoldsOffsets,
    now_ms: int,
    consumption: Consumption | None = None,
    modes: Mapping[tuple[str, str], str] | None = None,
    *,
    system: bool,
) -> Iterable[QueueLag]:
    queues_of: dict[str, list[QueueState]] = {}
    for held in broker.queues:
        queues_of.setdefault(held.topic, []).append(held)
    exists = _existence(broker)
    gaps = [gap for gap in broker.unavailable if gap.part is Part.QUEUES]
    offsets: dict[tuple[str, str], dict[int, ConsumerOffsetState]] = {}
    for offset in broker.consumer_offsets:
        offsets.setdefault((offset.group, offset.topic), {})[offset.queue_id] = offset
    for (group, topic), committed in offsets.items():
        if not system and (is_system_group(group) or is_system_topic(topic)):
            continue
        mode = (modes or {}).get((group, topic))
        by_id = {queue.queue_id: queue for queue in queues_of.get(topic, [])}
        for queue_id in by_id.keys() | committed.keys():
            state = committed.get(queue_id)
            queue = by_id.get(queue_id)
            unread = queue is None and any(gap.covers_queue(topic, queue_id) for gap in gaps)
            if queue is None and state is not None and state.offset == 0 and not unread:
                continue  # a queue that never held a message: offset 0 of 0
            where = (group, topic, queue_id)
            row = _lag(broker.name, where, state, queue, now_ms=now_ms, consumption=consumption, mode=mode)
            if not exists(topic, queue_id, queue):
                yield replace(row, state=LagState.REMOVED)
            else:
                yield replace(row, state=LagState.NOT_READ) if unread else row


def _existence(broker: HoldsOffsets) -> Callable[[str, int, QueueState | None], bool]:
    """Returns what tells whether a queue exists, as far as that was asked; where it is not known, it does."""
    counts = broker.queue_counts
    gaps = [gap for gap in broker.unavailable if gap.part in (Part.QUEUES, Part.TOPICS)]
    if counts is None or any(gap.topic is None for gap in gaps):
        return lambda *_: True
    not_told = {gap.topic for gap in gaps}

    def exists(topic: str, queue_id: int, queue: QueueState | None) -> bool:
        count = counts.get(topic)
        if count is None:  # light queues are in no table of topics
            return queue is not None or topic in not_told or topic.startswith(LMQ_PREFIX)
        return queue_id < count or not count  # a topic without a queue is closed, and MQ601 or MQ629 says so

    return exists


def _lag(
    broker_name: str | None,
    where: QueueKey,
    committed: ConsumerOffsetState | None,
    queue: QueueState | None,
    *,
    now_ms: int,
    consumption: Consumption | None,
    mode: str | None,
) -> QueueLag:
    group, topic, queue_id = where
    holding = consumption if mode != POP_MODE else None  # what is popped is in no queue's hands
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
        in_flight_count=holding.in_flight(where, offset) if holding else None,
        cached_count=holding.cached.get(where) if holding else None,
        owners=consumption.owners.get(where) if consumption else None,
        owner_addresses=consumption.owner_addresses(where) if consumption else None,
        consume_mode=mode,
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
        not_read_count: queues whose bounds were asked for in vain: what waits there is in no sum.
        lag_count: sum over the queues with an offset; None when none has one, or none was read. A queue that the group
            is beyond the end of counts as 0: it must not hide what waits in the others.
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

    group: str = field(metadata=column("group"))
    topic: str = field(metadata=column("topic"))
    queue_count: int = field(metadata=column("queues", CellKind.COUNT))
    never_committed_count: int = field(metadata=column("never committed", CellKind.COUNT, wide=True))
    lag_count: int | None = field(metadata=column("lag", CellKind.COUNT, none="never committed"))
    lost_count: int = field(metadata=column("lost", CellKind.COUNT))
    lag_ms: int | None = field(metadata=column("lag time", CellKind.DURATION_MS, none="?"))
    not_read_count: int = field(default=0, metadata=column("not read", CellKind.COUNT))
    in_flight_count: int | None = field(default=None, metadata=column("in flight", CellKind.COUNT, none="?"))
    cached_count: int | None = field(default=None, metadata=column("cached", CellKind.COUNT, none="?"))
    consumed_tps: float | None = field(default=None, metadata=column("consumed/s", CellKind.RATE, none="?"))
    consume_tps: float | None = field(default=None, metadata=column("handed out/s", CellKind.RATE, none="?"))
    consume_mode: str | None = field(default=None, metadata=column("mode"))
    ready_count: int | None = field(default=None, metadata=column("ready", CellKind.COUNT))
    invisible_count: int | None = field(default=None, metadata=column("invisible", CellKind.COUNT))
    due_count: int | None = field(default=None, metadata=column("overdue", CellKind.COUNT))
    retry_count: int | None = field(default=None, metadata=column("retry", CellKind.COUNT))
    given_up_count: int | None = field(default=None, metadata=column("given up", CellKind.COUNT, wide=True))
    blocked_queue_count: int | None = field(default=None, metadata=column("ordered blocks", CellKind.COUNT, wide=True))
    next_visible_ms: tuple[int, ...] = field(
        default=(), metadata=column("next back at", CellKind.TIME_MS, cell="back_ms")
    )
    renewed_count: int | None = None
    held_since_ms: int | None = field(default=None, metadata=column("held since", CellKind.TIME_MS))

    @property
    def back_ms(self) -> int | None:
        """When the next invisible message comes back, epoch milliseconds."""
        return self.next_visible_ms[0] if self.next_visible_ms else None


def group_lags(rows: Iterable[QueueLag], evidence: Collection[LagEvidence] = ()) -> list[GroupLag]:
    """Sums queue lags by group and topic, the largest lag time first, of those people read as equal the largest lag.
    Removed queues are left out, as in `queue_lags`.

    Args:
        evidence: what tells rates (sums over the brokers, not known when one did not tell its own), and what is popped.
    """
    parts: dict[tuple[str, str], list[QueueLag]] = {}
    for row in rows:
        if row.state is not LagState.REMOVED:
            parts.setdefault((row.group, row.topic), []).append(row)
    shares = _pop_shares(evidence)
    consumption = [item.consumption for item in evidence]
    groups = []
    for key, members in parts.items():
        share = shares.get(key)
        total = _sum(key, members, consumption, share)
        groups.append(_with_pops(total, share) if share is not None and share.is_of_pops else total)
    return sorted(groups, key=lambda lag: (-coarse(lag.lag_ms or 0), -(lag.lag_count or 0), lag.group, lag.topic))


def _pop_shares(evidence: Iterable[LagEvidence]) -> dict[tuple[str, str], PopShare]:
    return summed_shares(share for item in evidence for share in item.pop)


def coarse(span_ms: float) -> float:
    """Rounds a span as people compare it, to seconds, from ten minutes on to minutes: what stopped in one minute is
    then ordered by what waits."""
    step = _MINUTE_MS if span_ms >= 10 * _MINUTE_MS else _SECOND_MS
    return span_ms // step * step


def _sum(
    key: tuple[str, str], members: list[QueueLag], consumption: list[Consumption | None], share: PopShare | None
) -> GroupLag:
    counts = [max(0, member.lag_count) for member in members if member.lag_count is not None]
    ages = [member.lag_ms for member in members if (member.lag_count or 0) > 0]
    known_ages = [age for age in ages if age is not None]
    states = [member.state for member in members]
    handed_out = _known_sum([part.tps.get(key) if part else None for part in consumption])
    consumed = [part.consumed_tps[key] for part in consumption if part and key in part.consumed_tps]
    return GroupLag(
        group=key[0],
        topic=key[1],
        queue_count=len(members),
        never_committed_count=states.count(LagState.NEVER_COMMITTED) if LagState.NEVER_COMMITTED in states else 0,
        not_read_count=states.count(LagState.NOT_READ) if LagState.NOT_READ in states else 0,
        lag_count=sum(counts) if counts else None,
        lost_count=sum(member.lost_count for member in members),
        lag_ms=max(known_ages, default=0) if counts and len(known_ages) == len(ages) else None,
        in_flight_count=_known_sum([member.in_flight_count for member in members]),
        cached_count=_known_sum([member.cached_count for member in members]),
        consumed_tps=round(consumed[0], 2) if consumed else None,
        consume_tps=None if handed_out is None else round(handed_out, 2),
        consume_mode=share.shown_mode if share else None,
    )


def _with_pops(group: GroupLag, share: PopShare) -> GroupLag:
    return replace(
        group,
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


def _known_sum(parts: Sequence[Number | None]) -> Number | None:
    """Sums numbers; None when one of them is not known, or there is none."""
    known = [part for part in parts if part is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(parts) else None
