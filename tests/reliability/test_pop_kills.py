"""A few rounds of kills under pops, as the command runs them, on a store of either kind."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.reliability.pop_kills import Figures, run_store


@pytest.mark.parametrize("buffered", [False, True], ids=["written", "buffered"])
def test_rounds_of_kills_lose_no_popped_message(tmp_path: Path, buffered: bool) -> None:
    figures = Figures()
    run_store(tmp_path, 2, Random(5), figures, buffered=buffered)
    assert figures.problems == []
    assert (figures.rounds, figures.lost) == (2, 0)
    assert figures.deliveries > figures.sent > 0
    assert figures.acknowledged > 0 < figures.again_from_retry
