"""Which offsets delayOffset.json should hold, so that nothing is delivered twice and nothing is left out.

Raising an offset passes over messages, lowering it delivers them again: a level goes to the first message that has no
delivered copy. Source: docs/models.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mqctl.errors import UsageError
from mqctl.model.config_file import FileSource
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence


class RepairReason(StrEnum):
    """Why a level's offset changes."""

    BEYOND = "beyond its queue"
    BELOW = "below its queue"
    MISSING = "not recorded"
    STALE = "older than the last deliveries"
    AHEAD = "ahead of messages never delivered"
    WISH = "as asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRepair:
    """The offset of one level.

    Attributes:
        old: recorded offset, None when there is none; new: the one to record.
        rescued_count: messages that the recorded offset had passed over and that will be delivered after all.
        passed_count: messages between that were delivered and will not be again.
        again_count: messages that will be delivered a second time.
        lost_count: messages without a delivered copy that will not be delivered.
        problem: why it is not known what to record.
    """

    level: int
    reason: RepairReason
    old: int | None
    new: int
    rescued_count: int = 0
    passed_count: int = 0
    again_count: int = 0
    lost_count: int = 0
    problem: str | None = None


def plan_repair(state: DelayState, offsets: Mapping[int, int] | None = None) -> tuple[LevelRepair, ...]:
    """Returns the levels whose recorded offset should change, ascending.

    Args:
        offsets: offsets that are asked for by level; they are taken as they are.

    Raises:
        UsageError: an offset is about no level of the table, or lies outside of its queue.
    """
    wanted = dict(offsets or {})
    repairs = []
    for level in state.levels:
        requested = wanted.pop(level.level, None)
        if level.delay_ms is None or level.queue is None:
            if requested is not None:
                raise _no_level(level.level, state)
            continue
        repair = _own(level, level.queue) if requested is None else _as_requested(level, level.queue, requested)
        if repair is not None:
            repairs.append(repair)
    if wanted:
        raise _no_level(min(wanted), state)
    return tuple(repairs)


def table_after(state: DelayState, repairs: tuple[LevelRepair, ...]) -> dict[int, int]:
    """Returns all offsets as the file will hold them, those of levels beyond the table included."""
    table = {level.level: level.recorded_offset for level in state.levels if level.recorded_offset is not None}
    changes = {repair.level: repair.new for repair in repairs if repair.problem is None}
    return dict(sorted({**table, **changes}.items()))


def needs_rewriting(state: DelayState) -> str | None:
    """Returns why the main file is of no use although its backup counts, None when the main file counts."""
    return state.file.main_problem if state.file is not None and state.file.source is FileSource.BACKUP else None


def _no_level(level: int, state: DelayState) -> UsageError:
    return UsageError(
        sentence("no-delay-level-set", "there is no delay level {level} to set", level=level),
        reason=sentence("table-ends-level", "the table ends at level {max_level}", max_level=state.max_level),
        remedy=sentence("delay-repair-name-broker-table-levels", "name the broker's table with --levels"),
    )


def _first(level: DelayLevelState, queue: DelayQueueState) -> int:
    """Where a broker of 4.9.2 or later begins: the recorded offset brought within the queue."""
    recorded = queue.min_offset if level.recorded_offset is None else level.recorded_offset
    return min(max(recorded, queue.min_offset), queue.max_offset)


def _own(level: DelayLevelState, queue: DelayQueueState) -> LevelRepair | None:
    old, first = level.recorded_offset, _first(level, queue)
    reason = RepairReason.STALE
    if old is None:
        reason = RepairReason.MISSING
    elif old != first:
        reason = RepairReason.BEYOND if old > first else RepairReason.BELOW
    rescued, oldest = queue.passed_over_count or 0, queue.first_passed_over_offset
    if old is not None and rescued and oldest is not None:
        again = max(0, first - oldest - rescued) + (queue.redelivered_count or 0)
        ahead = RepairReason.AHEAD if reason is RepairReason.STALE else reason
        return LevelRepair(
            level=level.level, reason=ahead, old=old, new=oldest, rescued_count=rescued, again_count=again
        )
    if queue.redelivered_count is None and queue.overdue_count:
        problem = sentence("too-many-overdue-messages", "too many overdue messages to look for their delivered copies")
        return LevelRepair(level=level.level, reason=reason, old=old, new=first, problem=problem)
    delivered = queue.redelivered_count or 0
    new = queue.max_offset if queue.first_undelivered_offset is None else queue.first_undelivered_offset
    if old == new or (old is None and not delivered):
        return None
    passed = max(0, new - first)
    return LevelRepair(
        level=level.level,
        reason=reason,
        old=old,
        new=new,
        passed_count=passed,
        again_count=max(0, delivered - passed),
    )


def _as_requested(level: DelayLevelState, queue: DelayQueueState, requested: int) -> LevelRepair | None:
    if not queue.min_offset <= requested <= queue.max_offset:
        raise UsageError(
            sentence(
                "delay-repair-level-cannot-set",
                "level {level} cannot be set to {requested}",
                level=level.level,
                requested=requested,
            ),
            reason=sentence(
                "delay-repair-queue-goes",
                "its queue goes from {min_offset} to {max_offset}",
                min_offset=queue.min_offset,
                max_offset=queue.max_offset,
            ),
        )
    if level.recorded_offset == requested:
        return None
    first = _first(level, queue)
    undelivered = queue.max_offset if queue.first_undelivered_offset is None else queue.first_undelivered_offset
    lost = max(0, requested - max(undelivered, first))
    return LevelRepair(
        level=level.level,
        reason=RepairReason.WISH,
        old=level.recorded_offset,
        new=requested,
        passed_count=max(0, requested - first - lost),
        again_count=max(0, min(undelivered, queue.max_offset) - requested) if requested < undelivered else 0,
        lost_count=lost,
    )
