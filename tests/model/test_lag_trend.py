"""Rates and direction of lag from looks at the same queues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqctl.model.lag import LagState, QueueLag, group_lags
from mqctl.model.lag_trend import COMMIT_MS, WINDOW_MS, GroupTrend, LagLook, Trend, look_at, trends, within_window


def at(moment_ms: int, *queues: tuple[int | None, int | None]) -> LagLook:
    """A look at group g on topic T whose queues have these (broker offset, consumer offset)."""
    rows = [
        QueueLag(
            group="g",
            topic="T",
            broker_name="b",
            queue_id=number,
            min_offset=0,
            broker_offset=end,
            consumer_offset=offset,
            lag_count=end - offset if end is not None and offset is not None else None,
            lost_count=0,
            lag_ms=None,
            next_store_time_ms=None,
            state=LagState.BEHIND,
        )
        for number, (end, offset) in enumerate(queues)
    ]
    return look_at(moment_ms, group_lags(rows), rows)


def last(*looks: LagLook) -> GroupTrend:
    (row,) = trends(looks, len(looks))
    return row


def test_rates_and_the_time_until_it_is_gone() -> None:
    row = last(at(0, (100, 20), (50, 50)), at(10_000, (120, 80), (50, 50)))
    assert (row.produce_tps, row.consume_tps, row.lag_count, row.lag_change_count) == (2.0, 6.0, 40, -40)
    assert (row.trend, row.caught_up_in_ms) == (Trend.SHRINKING, 10_000)


@pytest.mark.parametrize(
    ("before", "after", "elapsed_ms", "trend"),
    [
        ((10, 5), (10, 10), 5_000, Trend.CAUGHT_UP),
        ((10, 5), (20, 6), 5_000, Trend.GROWING),
        ((10, 5), (15, 10), 5_000, Trend.STEADY),
        ((10, 5), (10, 2), 5_000, Trend.MOVED_BACK),
        ((10, 5), (10, 5), 5_000, Trend.STEADY),
        ((10, 5), (10, 5), WINDOW_MS, Trend.STUCK),
        ((10, None), (10, 5), 5_000, Trend.UNKNOWN),
    ],
)
def test_directions(
    before: tuple[int, int | None], after: tuple[int, int | None], elapsed_ms: int, trend: Trend
) -> None:
    assert last(at(0, before), at(elapsed_ms, after)).trend is trend


@pytest.mark.parametrize(
    ("lag_ms", "after", "trend"),
    [
        (41, (110, 100), Trend.STEADY),
        (41, (110, 108), Trend.STEADY),
        (COMMIT_MS, (110, 100), Trend.GROWING),
        (COMMIT_MS, (110, 108), Trend.SHRINKING),
        (41, (110, 95), Trend.GROWING),
        (None, (110, 100), Trend.GROWING),
    ],
)
def test_a_lag_that_is_younger_than_a_commit_goes_nowhere(
    lag_ms: int | None, after: tuple[int, int], trend: Trend
) -> None:
    """Ten messages more or less within five seconds say nothing of a group that had all but the last 41 ms of them."""
    looks = [at(0, (102, 95)), at(5_000, after)]
    aged = [replace(look, groups=[replace(group, lag_ms=lag_ms) for group in look.groups]) for look in looks]
    assert last(*aged).trend is trend


def test_the_first_look_knows_no_rates() -> None:
    row = last(at(0, (10, 5)))
    assert (row.produce_tps, row.consume_tps, row.lag_change_count, row.trend) == (None, None, None, Trend.UNKNOWN)


def test_a_queue_that_appears_later_does_not_count_as_produced() -> None:
    row = last(at(0, (10, 5)), at(10_000, (10, 5), (1_000, 0)))
    assert (row.produce_tps, row.lag_count) == (0.0, 1_005)


def test_looks_older_than_the_window_go() -> None:
    looks = [at(moment, (10, 5)) for moment in range(0, 60_000, 5_000)]
    assert [item.moment_ms for item in within_window(looks)] == [40_000, 45_000, 50_000, 55_000]


@pytest.mark.parametrize(
    ("before", "after", "elapsed_ms", "trend", "gone_ms"),
    [
        # One message more or less decides; so does the last millisecond of the window.
        ((10, 5), (10, 5), WINDOW_MS - 1, Trend.STEADY, None),
        ((10, 5), (11, 5), WINDOW_MS - 1, Trend.GROWING, None),
        ((10, 5), (11, 5), WINDOW_MS, Trend.STUCK, None),
        ((10, 5), (10, 6), WINDOW_MS, Trend.SHRINKING, 4 * WINDOW_MS),
        ((10, 5), (11, 6), WINDOW_MS, Trend.STEADY, None),
        ((10, 5), (12, 6), WINDOW_MS, Trend.GROWING, None),
        ((10, 5), (11, 7), 3_000, Trend.SHRINKING, 12_000),
        ((10, 5), (10, 4), 1, Trend.MOVED_BACK, None),
        ((10, 5), (10, 9), 1, Trend.SHRINKING, 0),
        ((10, 5), (10, 7), 1_001, Trend.SHRINKING, 1_502),
        ((10, 5), (12, 12), 1, Trend.CAUGHT_UP, 0),
        ((10, 5), (None, 5), WINDOW_MS, Trend.UNKNOWN, None),
        ((None, 5), (10, 5), WINDOW_MS, Trend.UNKNOWN, None),
        ((10, 5), (10, None), WINDOW_MS, Trend.UNKNOWN, None),
        ((0, 0), (5, 0), WINDOW_MS, Trend.STUCK, None),
        ((10, 5), (10, 6), 0, Trend.UNKNOWN, None),
        ((10, 5), (10, 6), -1, Trend.UNKNOWN, None),
    ],
)
def test_the_last_value_of_each_direction(
    before: tuple[int | None, int | None],
    after: tuple[int | None, int | None],
    elapsed_ms: int,
    trend: Trend,
    gone_ms: int | None,
) -> None:
    row = last(at(0, before), at(elapsed_ms, after))
    assert (row.trend, row.caught_up_in_ms) == (trend, gone_ms)


def test_a_young_lag_of_which_nothing_was_consumed_is_no_steady_one() -> None:
    looks = [at(0, (10, 5)), at(5_000, (11, 5))]
    looks[1] = replace(looks[1], groups=[replace(group, lag_ms=0) for group in looks[1].groups])
    assert last(*looks).trend is Trend.GROWING
    consumed = [at(0, (10, 5)), at(5_000, (12, 6))]
    for lag_ms, trend in ((COMMIT_MS - 1, Trend.STEADY), (COMMIT_MS, Trend.GROWING)):
        aged = replace(consumed[1], groups=[replace(group, lag_ms=lag_ms) for group in consumed[1].groups])
        assert last(consumed[0], aged).trend is trend


def test_rates_are_over_all_looks_and_the_change_since_the_last_one() -> None:
    looks = (at(1_000, (100, 0), (50, 0)), at(2_000, (110, 30), (50, 1)), at(4_000, (112, 33), (51, 3)))
    row = last(*looks)
    assert (row.produce_tps, row.consume_tps, row.lag_change_count) == (4.33, 12.0, -2)
    assert (row.lag_count, row.caught_up_in_ms, row.observed_at_ms, row.round) == (127, 16_565, 4_000, 3)
    # A group that appears later is measured from where it was seen first.
    late = last(replace(looks[0], queues={}), *looks[1:])
    assert (late.produce_tps, late.consume_tps, late.lag_change_count) == (1.5, 2.5, -2)


def test_a_queue_without_a_known_offset_takes_no_part() -> None:
    row = last(at(0, (100, 20), (50, None), (9, 9)), at(1_000, (101, 22), (90, 40), (9, 9)))
    assert (row.produce_tps, row.consume_tps, row.lag_change_count) == (1.0, 2.0, -1)


def test_a_row_has_what_its_group_has() -> None:
    """Each of another value: nothing is taken for anything else."""
    look = at(7, (10, 5))
    names = ("lag_ms", "lost_count", "ready_count", "invisible_count", "due_count", "retry_count")
    values = dict(zip(names, range(31, 37), strict=True))
    group = replace(look.groups[0], consume_mode="POP", **values)  # type: ignore[arg-type]
    row = last(replace(look, groups=[group]))
    assert {name: getattr(row, name) for name in names} == values
    assert (row.group, row.topic, row.consume_mode, row.lag_count) == ("g", "T", "POP", 5)


@pytest.mark.parametrize(
    ("moments", "kept"),
    [
        ([0], [0]),
        ([0, WINDOW_MS - 1], [0, WINDOW_MS - 1]),
        ([0, WINDOW_MS], [0, WINDOW_MS]),
        ([0, 1, WINDOW_MS], [0, 1, WINDOW_MS]),
        ([0, 1, WINDOW_MS + 1], [1, WINDOW_MS + 1]),
        ([0, 1, WINDOW_MS + 9], [1, WINDOW_MS + 9]),
    ],
)
def test_the_look_before_the_window_stays(moments: list[int], kept: list[int]) -> None:
    assert [item.moment_ms for item in within_window([at(moment, (10, 5)) for moment in moments])] == kept
