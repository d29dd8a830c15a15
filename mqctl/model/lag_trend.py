"""Where lag is going: two or more looks at the same queues, as rates and a direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from mqctl.model.column import CellKind, column
from mqctl.model.lag import GroupLag, QueueLag
from mqctl.model.lazy_dataclass import dataclass

_Queue = tuple[str | None, int]
COMMIT_MS = 5_000
"""How long consumers wait between commits (Java's default): a group is about to commit a lag that is younger."""
WINDOW_MS = 3 * COMMIT_MS
"""Rates and trends look back so far: over three commits."""


class Trend(StrEnum):
    """Where a group's lag on a topic is going."""

    CAUGHT_UP = "caught-up"
    SHRINKING = "shrinking"
    STEADY = "steady"  # or younger than a commit, up or down
    GROWING = "growing"
    STUCK = "stuck"
    MOVED_BACK = "moved-back"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LagLook:
    """The state of all groups at one moment; queues by their group and topic."""

    moment_ms: int
    groups: Sequence[GroupLag]
    queues: Mapping[tuple[str, str], Mapping[_Queue, QueueLag]]


def look_at(moment_ms: int, groups: Sequence[GroupLag], rows: Sequence[QueueLag]) -> LagLook:
    """Arranges the rows of one moment for comparison."""
    parts: dict[tuple[str, str], dict[_Queue, QueueLag]] = {}
    for row in rows:
        parts.setdefault((row.group, row.topic), {})[row.broker_name, row.queue_id] = row
    return LagLook(moment_ms=moment_ms, groups=groups, queues=parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTrend:
    """One group on one topic, now and since the look before. None means not known.

    Attributes:
        round: number of the look, from 1.
        lag_change_count: how much the lag grew since the look before.
        produce_tps, consume_tps: messages per second that came, and that the group committed, over the looks that are
            kept: consumers commit every 5 s, so that a shorter span would jump.
        trend: the direction over the looks that are kept.
        caught_up_in_ms: when the lag is gone if both rates stay as they are; None when it does not shrink.
        consume_mode, ready_count, invisible_count, due_count, retry_count: as in `GroupLag`, of a topic that is popped.
    """

    observed_at_ms: int
    round: int
    group: str = field(metadata=column("group"))
    topic: str = field(metadata=column("topic"))
    lag_count: int | None = field(metadata=column("lag", CellKind.COUNT, none="?"))
    lag_ms: int | None = field(metadata=column("lag time", CellKind.DURATION_MS, none="?"))
    lost_count: int = field(metadata=column("lost", CellKind.COUNT, wide=True))
    lag_change_count: int | None = field(metadata=column("change", CellKind.CHANGE, none="?"))
    produce_tps: float | None = field(metadata=column("in/s", CellKind.RATE, none="?"))
    consume_tps: float | None = field(metadata=column("committed/s", CellKind.RATE, none="?"))
    trend: Trend = field(metadata=column("trend", CellKind.WORDS))
    caught_up_in_ms: int | None = field(metadata=column("gone in", CellKind.DURATION_MS))
    consume_mode: str | None = field(default=None, metadata=column("mode"))
    ready_count: int | None = field(default=None, metadata=column("ready", CellKind.COUNT))
    invisible_count: int | None = field(default=None, metadata=column("invisible", CellKind.COUNT))
    due_count: int | None = field(default=None, metadata=column("overdue", CellKind.COUNT))
    retry_count: int | None = field(default=None, metadata=column("retry", CellKind.COUNT))


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRound:
    """Machine form of one round of `group lag --watch`."""

    observed_at_ms: int
    round: int
    groups: list[GroupTrend]


def within_window(looks: Sequence[LagLook]) -> list[LagLook]:
    """Returns the looks that reach back over the window, and not much farther."""
    first_ms = looks[-1].moment_ms - WINDOW_MS
    old = [number for number, item in enumerate(looks) if item.moment_ms <= first_ms]
    return list(looks[old[-1] if old else 0 :])


def trends(looks: Sequence[LagLook], round_number: int) -> list[GroupTrend]:
    """Returns a row for each group and topic of the last look, in its order.

    Args:
        looks: oldest first, at least one, as `within_window` leaves them.
    """
    now = looks[-1]
    return [_trend(group, looks, round_number, now) for group in now.groups]


def _trend(group: GroupLag, looks: Sequence[LagLook], round_number: int, now: LagLook) -> GroupTrend:
    key = (group.group, group.topic)
    step = _movement(looks[-2], now, key) if len(looks) > 1 else None
    span = _movement(next((item for item in looks if key in item.queues), now), now, key)
    return GroupTrend(
        observed_at_ms=now.moment_ms,
        round=round_number,
        group=group.group,
        topic=group.topic,
        lag_count=group.lag_count,
        lag_ms=group.lag_ms,
        lost_count=group.lost_count,
        lag_change_count=step.lag_change if step else None,
        produce_tps=span.per_second(span.produced) if span else None,
        consume_tps=span.per_second(span.consumed) if span else None,
        trend=_direction(group, span),
        caught_up_in_ms=_caught_up_in_ms(group.lag_count, span),
        consume_mode=group.consume_mode,
        ready_count=group.ready_count,
        invisible_count=group.invisible_count,
        due_count=group.due_count,
        retry_count=group.retry_count,
    )


@dataclass(frozen=True, slots=True)
class _Movement:
    """What happened in the queues that two looks share."""

    elapsed_ms: int
    produced: int
    consumed: int

    @property
    def lag_change(self) -> int:
        return self.produced - self.consumed

    def per_second(self, count: int) -> float:
        return round(count * 1000 / self.elapsed_ms, 2)


def _movement(before: LagLook, after: LagLook, key: tuple[str, str]) -> _Movement | None:
    """Returns None where the two looks share no queue with known offsets."""
    elapsed_ms = after.moment_ms - before.moment_ms
    old = before.queues.get(key, {})
    produced = consumed = shared = 0
    for place, row in after.queues.get(key, {}).items():
        first = old.get(place)
        if first is None or None in (
            first.broker_offset,
            first.consumer_offset,
            row.broker_offset,
            row.consumer_offset,
        ):
            continue
        shared += 1
        produced += (row.broker_offset or 0) - (first.broker_offset or 0)
        consumed += (row.consumer_offset or 0) - (first.consumer_offset or 0)
    return _Movement(elapsed_ms, produced, consumed) if shared and elapsed_ms > 0 else None


def _direction(group: GroupLag, span: _Movement | None) -> Trend:
    if group.lag_count == 0:
        return Trend.CAUGHT_UP
    if group.lag_count is None or span is None:
        return Trend.UNKNOWN
    if span.consumed < 0:
        return Trend.MOVED_BACK
    if span.consumed == 0 and span.elapsed_ms >= WINDOW_MS:
        return Trend.STUCK
    keeps_up = span.consumed > 0 and group.lag_ms is not None and group.lag_ms < COMMIT_MS
    if span.lag_change == 0 or keeps_up:
        return Trend.STEADY
    return Trend.GROWING if span.lag_change > 0 else Trend.SHRINKING


def _caught_up_in_ms(lag: int | None, span: _Movement | None) -> int | None:
    if lag == 0:
        return 0
    if lag is None or span is None or span.lag_change >= 0:
        return None
    return round(lag * span.elapsed_ms / -span.lag_change)
