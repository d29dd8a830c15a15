"""A few rounds of kills, as the command runs them."""

from __future__ import annotations

import pytest

from tests.reliability.kills import run

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_rounds_of_kills_lose_nothing() -> None:
    figures = run(3, seed=5)
    assert figures.problems == []
    assert (figures.rounds, figures.lost) == (3, 0)
    assert (figures.repeats_outside, figures.admin_lost) == (0, 0)
    assert figures.admin_promised > 0
    assert figures.timers > figures.recalled > 0
    assert figures.acknowledged > 60
