"""Which offset a delay level gets: by hand, and against a queue that is delivered message by message."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.changes.plan.delay_repair import LevelRepair, RepairReason, needs_rewriting, plan_repair, table_after
from mqctl.errors import UsageError
from mqctl.model.config_file import ConfigFileState, FileSource
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource
from tests.each import each


def state(*levels: DelayLevelState, file: ConfigFileState | None = None) -> DelayState:
    return DelayState(levels=levels, table_source=LevelTableSource.GIVEN, file=file)


def level(number: int = 3, recorded: int | None = 50, **queue: int | None) -> DelayLevelState:
    """A level whose queue goes from 10 to 100."""
    return DelayLevelState(
        level=number,
        delay_ms=1_000,
        recorded_offset=recorded,
        queue=DelayQueueState(**{"min_offset": 10, "max_offset": 100, **queue}),  # type: ignore[arg-type]
    )


def said(repair: LevelRepair) -> tuple[str, int | None, int, int, int, int, int, bool]:
    return (
        *(str(repair.reason), repair.old, repair.new, repair.rescued_count, repair.passed_count),
        *(repair.again_count, repair.lost_count, repair.problem is not None),
    )


BEYOND, BELOW, MISSING = str(RepairReason.BEYOND), str(RepairReason.BELOW), str(RepairReason.MISSING)
STALE, AHEAD, WISH = str(RepairReason.STALE), str(RepairReason.AHEAD), str(RepairReason.WISH)


@each(
    "given_level, repair",
    [
        (level(first_undelivered_offset=50), None),
        (level(redelivered_count=0, first_undelivered_offset=50), None),
        (level(recorded=100), None),
        (level(recorded=10, first_undelivered_offset=10), None),
        # Everything that waits has its copy: to the end of the queue.
        (level(redelivered_count=50), (STALE, 50, 100, 0, 50, 0, 0, False)),
        (level(redelivered_count=7, first_undelivered_offset=57), (STALE, 50, 57, 0, 7, 0, 0, False)),
        (level(redelivered_count=9, first_undelivered_offset=57), (STALE, 50, 57, 0, 7, 2, 0, False)),
        (level(redelivered_count=3, first_undelivered_offset=57), (STALE, 50, 57, 0, 7, 0, 0, False)),
        # Out of its queue: brought to the nearest end, and from there to the first without a copy.
        (level(recorded=101, first_undelivered_offset=None), (BEYOND, 101, 100, 0, 0, 0, 0, False)),
        (level(recorded=9, first_undelivered_offset=10), (BELOW, 9, 10, 0, 0, 0, 0, False)),
        (
            level(recorded=9, redelivered_count=4, first_undelivered_offset=14),
            (BELOW, 9, 14, 0, 4, 0, 0, False),
        ),
        # Not recorded: brokers begin at the first message, and that is right while nothing was delivered.
        (level(recorded=None, first_undelivered_offset=10), None),
        (level(recorded=None, redelivered_count=0, first_undelivered_offset=10), None),
        (
            level(recorded=None, redelivered_count=1, first_undelivered_offset=11),
            (MISSING, None, 11, 0, 1, 0, 0, False),
        ),
        # Nobody looked for copies of what is overdue.
        (level(overdue_count=1), (STALE, 50, 50, 0, 0, 0, 0, True)),
        (level(recorded=200, overdue_count=1), (BEYOND, 200, 100, 0, 0, 0, 0, True)),
        (level(recorded=None, overdue_count=1), (MISSING, None, 10, 0, 0, 0, 0, True)),
        (level(overdue_count=1, redelivered_count=0, first_undelivered_offset=50), None),
        # Passed over: back to the oldest of them, and what lies between comes again.
        (level(passed_over_count=1, first_passed_over_offset=49), (AHEAD, 50, 49, 1, 0, 0, 0, False)),
        (level(passed_over_count=2, first_passed_over_offset=40), (AHEAD, 50, 40, 2, 0, 8, 0, False)),
        (
            level(passed_over_count=2, first_passed_over_offset=40, redelivered_count=3, overdue_count=9),
            (AHEAD, 50, 40, 2, 0, 11, 0, False),
        ),
        (level(recorded=300, passed_over_count=90, first_passed_over_offset=10), (BEYOND, 300, 10, 90, 0, 0, 0, False)),
        (level(recorded=300, passed_over_count=99, first_passed_over_offset=10), (BEYOND, 300, 10, 99, 0, 0, 0, False)),
        (level(passed_over_count=0, first_passed_over_offset=40, first_undelivered_offset=50), None),
        (level(passed_over_count=2, first_undelivered_offset=50), None),
        (level(recorded=None, passed_over_count=2, first_passed_over_offset=40, first_undelivered_offset=50), None),
        (DelayLevelState(level=3, delay_ms=1_000, recorded_offset=7), None),
        (DelayLevelState(level=3, recorded_offset=7, queue=DelayQueueState(min_offset=0, max_offset=1)), None),
    ],
)
def test_what_a_level_gets_by_itself(
    given_level: DelayLevelState, repair: tuple[str, int | None, int, int, int, int, int, bool] | None
) -> None:
    repairs = plan_repair(state(given_level))
    assert [said(item) for item in repairs] == ([repair] if repair else [])
    assert [item.level for item in repairs] == ([3] if repair else [])


@each(
    "given_level, requested, repair",
    [
        (level(first_undelivered_offset=50), 50, None),
        (level(first_undelivered_offset=50), 10, (WISH, 50, 10, 0, 0, 40, 0, False)),
        (level(first_undelivered_offset=50), 49, (WISH, 50, 49, 0, 0, 1, 0, False)),
        (level(first_undelivered_offset=50), 51, (WISH, 50, 51, 0, 0, 0, 1, False)),
        (level(first_undelivered_offset=50), 100, (WISH, 50, 100, 0, 0, 0, 50, False)),
        (level(first_undelivered_offset=57), 57, (WISH, 50, 57, 0, 7, 0, 0, False)),
        (level(first_undelivered_offset=57), 55, (WISH, 50, 55, 0, 5, 2, 0, False)),
        (level(first_undelivered_offset=57), 60, (WISH, 50, 60, 0, 7, 0, 3, False)),
        (level(), 100, (WISH, 50, 100, 0, 50, 0, 0, False)),
        (level(), 60, (WISH, 50, 60, 0, 10, 40, 0, False)),
        (level(recorded=None, first_undelivered_offset=10), 10, (WISH, None, 10, 0, 0, 0, 0, False)),
        (level(recorded=None, first_undelivered_offset=10), 12, (WISH, None, 12, 0, 0, 0, 2, False)),
        (level(recorded=300), 100, (WISH, 300, 100, 0, 0, 0, 0, False)),
        (level(recorded=0, first_undelivered_offset=10), 11, (WISH, 0, 11, 0, 0, 0, 1, False)),
    ],
)
def test_what_a_wish_does(
    given_level: DelayLevelState, requested: int, repair: tuple[str, int | None, int, int, int, int, int, bool] | None
) -> None:
    assert [said(item) for item in plan_repair(state(given_level), {3: requested})] == ([repair] if repair else [])


@each("requested, possible", [(9, False), (10, True), (100, True), (101, False), (-1, False)])
def test_a_wish_lies_within_the_queue(requested: int, possible: bool) -> None:
    given_state = state(level(recorded=55))
    if possible:
        assert plan_repair(given_state, {3: requested})[0].new == requested
        return
    with pytest.raises(UsageError, match="cannot be set") as caught:
        plan_repair(given_state, {3: requested})
    assert "from 10 to 100" in (caught.value.reason or "")


@each(
    "levels, wishes, missing",
    [
        ([level(1), level(2)], {3: 1}, 3),
        ([level(1), level(2)], {9: 1, 4: 1, 1: 50}, 4),
        ([level(1), DelayLevelState(level=2, recorded_offset=1)], {2: 1}, 2),
        ([level(1), DelayLevelState(level=2, delay_ms=5)], {2: 1}, 2),
    ],
)
def test_a_level_that_the_table_lacks_cannot_be_set(
    levels: list[DelayLevelState], wishes: dict[int, int], missing: int
) -> None:
    with pytest.raises(UsageError, match=f"no delay level {missing} to set") as caught:
        plan_repair(state(*levels), wishes)
    assert f"ends at level {state(*levels).max_level}" in (caught.value.reason or "")


def test_each_level_by_itself() -> None:
    levels = (
        level(1, redelivered_count=50),
        level(2, first_undelivered_offset=50),
        level(3, recorded=101, overdue_count=1),
        level(4, recorded=None, redelivered_count=5, first_undelivered_offset=15),
        DelayLevelState(level=7, recorded_offset=70),
    )
    repairs = plan_repair(state(*levels), {2: 60})
    assert [(item.level, item.new) for item in repairs] == [(1, 100), (2, 60), (3, 100), (4, 15)]
    # What nobody knows stays as it is, and so does what the table has no level for.
    assert table_after(state(*levels), repairs) == {1: 100, 2: 60, 3: 101, 4: 15, 7: 70}
    assert table_after(state(*reversed(levels)), ()) == {1: 50, 2: 50, 3: 101, 7: 70}


@each(
    "source, problem, reason",
    [
        (FileSource.BACKUP, "it is empty", "it is empty"),
        (FileSource.MAIN, "never", None),
        (FileSource.NONE, "it is not there", None),
        (FileSource.UNREAD, "denied", None),
    ],
)
def test_a_main_file_is_written_anew_where_its_backup_counts(
    source: FileSource, problem: str, reason: str | None
) -> None:
    file = ConfigFileState(name="delayOffset.json", source=source, main_problem=problem)
    assert needs_rewriting(state(file=file)) == reason
    assert needs_rewriting(state()) is None


@settings(max_examples=50)
@given(
    low=st.integers(0, 3),
    delivered=st.lists(st.booleans(), max_size=8),
    recorded=st.none() | st.integers(0, 14),
    data=st.data(),
)
def test_counts_of_a_wish_are_counts_of_messages(
    low: int, delivered: list[bool], recorded: int | None, data: st.DataObject
) -> None:
    """Where copies were delivered in order: each message that is skipped, passed or repeated is one that counts say."""
    high = low + len(delivered)
    first_undelivered = data.draw(st.integers(low, high))
    start = min(max(low if recorded is None else recorded, low), high)
    wish = data.draw(st.integers(low, high))
    queue = DelayQueueState(
        min_offset=low,
        max_offset=high,
        first_undelivered_offset=None if first_undelivered == high else first_undelivered,
    )
    repairs = plan_repair(state(DelayLevelState(level=1, delay_ms=1, recorded_offset=recorded, queue=queue)), {1: wish})
    if recorded == wish:
        assert repairs == ()
        return
    (repair,) = repairs
    lost = [offset for offset in range(start, wish) if offset >= first_undelivered]
    passed = [offset for offset in range(start, wish) if offset < first_undelivered]
    again = range(wish, first_undelivered)
    assert (repair.lost_count, repair.passed_count, repair.again_count) == (len(lost), len(passed), len(again))
