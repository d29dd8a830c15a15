"""The ladder of retries: RocketMQ's documented waits, limits of groups, tables with fewer levels."""

from __future__ import annotations

from itertools import pairwise

from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.retry_ladder import MOST_STEPS, RetryLadder

_WAITS_S = [10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]


def test_sixteen_retries_take_four_hours_45_minutes_and_40_seconds() -> None:
    ladder = RetryLadder(retry_max_times=16)
    assert [(ladder.wait_ms(failures) or 0) // 1000 for failures in range(1, 17)] == _WAITS_S
    # The first failure was at 0; the first retry comes 10 s later.
    times = ladder.tries_ms(1, 10_000)
    assert len(times) == ladder.left(1) == 16
    assert times[-1] == 17_140_000 == 1000 * sum(_WAITS_S)


def test_the_last_try_stands_alone() -> None:
    ladder = RetryLadder(retry_max_times=3)
    assert (ladder.left(3), ladder.tries_ms(3, 500)) == (1, (500,))
    # It failed more often than that: what the limit is, nobody told.
    assert (ladder.left(9), ladder.tries_ms(9, 500)) == (None, (500,))


def test_the_last_level_stands_for_those_that_are_not_there() -> None:
    ladder = RetryLadder(retry_max_times=16, levels=DelayLevelTable.parse("1s 5s 10s 30s"))
    assert [ladder.wait_ms(failures) for failures in (1, 2, 3, 16)] == [10_000, 30_000, 30_000, 30_000]


def test_a_limit_beyond_all_reason_is_cut() -> None:
    ladder = RetryLadder(retry_max_times=2**31 - 1)
    assert ladder.left(1) == 2**31 - 1
    assert len(ladder.tries_ms(1, 0)) == MOST_STEPS


def test_seventeen_failures_of_a_dead_letter_lie_at_least_the_whole_ladder_apart() -> None:
    ladder = RetryLadder(retry_max_times=16)
    failed = ladder.failed_by_ms(17, 20_000_000)
    assert [(after - before) // 1000 for before, after in pairwise(failed)] == _WAITS_S
    assert failed[-1] == 20_000_000 and failed[-1] - failed[0] == ladder.whole_ms() == 17_140_000
    assert ladder.failed_by_ms(1, 500) == (500,)


def test_the_whole_of_a_ladder_that_is_longer_than_its_steps() -> None:
    assert RetryLadder(retry_max_times=0).whole_ms() == 0
    # Beyond the last level each retry waits 2 hours.
    assert RetryLadder(retry_max_times=100).whole_ms() == 17_140_000 + 84 * 7_200_000
    assert len(RetryLadder(retry_max_times=1000).failed_by_ms(900, 0)) == MOST_STEPS
