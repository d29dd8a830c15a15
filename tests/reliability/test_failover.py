"""A few rounds with a master and a slave that die in turn, as the command runs them."""

from __future__ import annotations

import pytest

from tests.reliability.failover import run

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_a_master_and_a_slave_that_die_in_turn_lose_nothing_that_was_replicated() -> None:
    figures = run(3, seed=5, per_store=2)
    assert figures.problems == []
    assert (figures.rounds, figures.master_kills, figures.slave_kills) == (3, 2, 1)
    assert (figures.lost_sync, figures.lost_for_good) == (0, 0)
    assert figures.acknowledged_sync > 0 and figures.acknowledged_async > 0
    assert figures.not_replicated > 0  # sends that no slave was there for say so
    assert figures.read_from_slave > 0
