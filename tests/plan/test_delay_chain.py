"""Chains of delay levels: exact, never early, and no shorter one exists."""

from __future__ import annotations

from itertools import count
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.errors import UsageError
from mqctl.model.delay_level import DEFAULT_TABLE, DelayLevelTable
from mqctl.plan.delay_chain import cheapest_chain, next_level

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
