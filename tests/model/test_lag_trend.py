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
