"""Chains of delay levels: exact, never early, and no shorter one exists."""

from __future__ import annotations

from itertools import count
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.errors import UsageError
from mqctl.model.delay_chain import cheapest_chain, next_level
from mqctl.model.delay_level import DEFAULT_TABLE, DelayLevelTable
from tests.each import each

DAY = 86_400_000


@pytest.mark.parametrize(
    ("remaining_ms", "levels", "rest_ms"),
    [
        (0, (), 0),
        (999, (), 999),
        (5_400, (2,), 400),
        (7_200_000, (18,), 0),
        (3 * DAY, (18,) * 36, 0),
        (3_600_000 + 1_200_000 + 7_000, (17, 15, 2, 1, 1), 0),
    ],
)
def test_chains_of_the_default_table(remaining_ms: int, levels: tuple[int, ...], rest_ms: int) -> None:
    chain = cheapest_chain(DEFAULT_TABLE, remaining_ms)
    assert (tuple(chain.levels()), chain.rest_ms) == (levels, rest_ms)


def fewest(coins: list[int], amount: int) -> tuple[int, int]:
    """The nearest sum not above `amount`, and the fewest coins that make it, by trying everything."""
    reached, level = {0}, {0}
    steps_to = {0: 0}
    for hops in count(1):
        level = {total + coin for total in level for coin in coins if total + coin <= amount} - reached
        if not level:
            return max(reached), steps_to[max(reached)]
        reached |= level
        steps_to |= dict.fromkeys(level, hops)
    raise AssertionError


@given(
    delays=st.lists(st.integers(1, 40), min_size=1, max_size=5, unique=True),
    amount=st.integers(0, 300),
    rest=st.integers(0, 999),
)
def test_no_chain_is_shorter_or_comes_nearer(delays: list[int], amount: int, rest: int) -> None:
    table = DelayLevelTable(tuple(delay * 1_000 for delay in delays))
    chain = cheapest_chain(table, amount * 1_000 + rest)
    waits = [table.delays_ms[level - 1] for level in chain.levels()]
    assert sum(waits) == chain.reached_ms == amount * 1_000 + rest - chain.rest_ms
    assert waits == sorted(waits, reverse=True)
    reach, hops = fewest(delays, amount)
    assert (chain.reached_ms // 1_000, len(waits)) == (reach, hops)
    assert chain.rest_ms < 1_000 or gcd(*delays) > 1 or reach < amount


def test_a_table_without_levels_has_no_chain() -> None:
    with pytest.raises(UsageError, match="levels"):
        cheapest_chain(DelayLevelTable(()), 1_000)
    assert next_level(DEFAULT_TABLE, 10) is None
    assert next_level(DEFAULT_TABLE, 61_000) == 5


def test_the_end_of_the_calendar_is_a_few_runs_away() -> None:
    chain = cheapest_chain(DEFAULT_TABLE, 8_000 * 365 * DAY + 5_000)
    assert (chain.runs, chain.rest_ms) == (((18, 8_000 * 365 * 12), (2, 1)), 0)
    assert chain.hop_count == 35_040_001


@pytest.mark.parametrize(("text", "remaining_ms"), [("1s 36500d", 40_000 * DAY), ("86399s 1d", 730 * DAY + 1_000)])
def test_levels_that_are_too_far_apart_are_refused_at_once(text: str, remaining_ms: int) -> None:
    with pytest.raises(UsageError) as caught:
        cheapest_chain(DelayLevelTable.parse(text), remaining_ms)
    assert "too far apart" in caught.value.reason


def test_a_level_beyond_the_moment_is_no_matter() -> None:
    assert cheapest_chain(DelayLevelTable.parse("1s 36500d"), 5_000).runs == ((1, 5),)


@each(
    "delays, remaining_ms, runs, rest_ms",
    [
        ((1,), 0, (), 0),
        ((1,), 1, ((1, 1),), 0),
        ((5,), 4, (), 4),
        ((5,), 5, ((1, 1),), 0),
        ((5,), 9, ((1, 1),), 4),
        ((5,), 10, ((1, 2),), 0),
        ((5,), -3, (), 0),
        ((0, 5, 5), 5, ((2, 1),), 0),
        ((-7, 5), 5, ((2, 1),), 0),
        ((1, 5), 4, ((1, 4),), 0),
        # The longest first is not the shortest: 9 is 5 and 4, 8 is two of 4, 12 is 5 and 5 and two of 1.
        ((1, 4, 5), 9, ((3, 1), (2, 1)), 0),
        ((1, 4, 5), 8, ((2, 2),), 0),
        ((1, 4, 6), 8, ((2, 2),), 0),
        ((1, 4, 6), 14, ((3, 1), (2, 2)), 0),
        # What no sum reaches: the nearest below it.
        ((4, 6), 9, ((1, 2),), 1),
        ((3, 5), 7, ((1, 2),), 1),
        ((3, 5), 4, ((1, 1),), 1),
        ((6, 9, 20), 19, ((2, 2),), 1),
        ((6, 9, 20), 43, ((2, 4), (1, 1)), 1),
        ((2, 4, 5), 3, ((1, 1),), 1),
        ((2, 7), 12, ((1, 6),), 0),
        ((2, 7), 13, ((2, 1), (1, 3)), 0),
    ],
)
def test_chains_by_hand(
    delays: tuple[int, ...], remaining_ms: int, runs: tuple[tuple[int, int], ...], rest_ms: int
) -> None:
    chain = cheapest_chain(DelayLevelTable(delays), remaining_ms)
    assert (chain.runs, chain.rest_ms) == (runs, rest_ms)
    assert chain.reached_ms == max(0, remaining_ms) - rest_ms
    assert next_level(DelayLevelTable(delays), remaining_ms) == (runs[0][0] if runs else None)


def test_the_most_steps_that_are_tried() -> None:
    """Three million of the smallest: what is a multiple of the longest level is found at once."""
    most = 3_000_000
    assert cheapest_chain(DelayLevelTable((1, most)), 2 * most).runs == ((2, 2),)
    with pytest.raises(UsageError) as caught:
        cheapest_chain(DelayLevelTable((1, most + 1)), 2 * most + 2)
    assert "3000001 steps" in caught.value.reason.replace(",", "")
    # No sum of 2 reaches an odd moment: then all sums are tried, of as many steps.
    unreachable = DelayLevelTable((2, most + 7))
    with pytest.raises(UsageError):
        cheapest_chain(unreachable, most + 1)
