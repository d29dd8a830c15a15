"""A few rounds of mqctl commands that die or meet failing disks, and that the checks find what they are for."""

from __future__ import annotations

from random import Random

import pytest

from tests.reliability.faulty_home import ERROR, KILL, POWER
from tests.reliability.tool import Figures, home, run

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_rounds_of_commands_that_die_leave_all_in_order() -> None:
    figures = run(6, seed=2, kinds=("offset reset", "topic update", "profile add"), hows=(KILL, POWER, ERROR))
    assert figures.problems == []
    assert (figures.rounds, figures.sent_without_journal) == (6, 0)
    assert figures.kills + figures.power_losses + figures.disk_errors == 6
    assert figures.taken_back + figures.finished + figures.done + figures.untouched >= 6


@pytest.mark.long
def test_the_checks_see_a_journal_that_was_not_on_the_disk() -> None:
    """A mqctl that forgets to sync is found out: its change was sent, and the power failure took the record."""
    seeds = range(17, 57)  # the first finds it; where commands have other instants, a later one does
    runs = (run(3, seed=seed, kinds=("topic update",), hows=(POWER,), forgets=True) for seed in seeds)
    assert any(figures.problems and figures.sent_without_journal for figures in runs)


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        ("offset skip", (5, 8)),
        pytest.param("local down", (0, 1), marks=pytest.mark.long),
        pytest.param("delay repair", (2, 4), marks=pytest.mark.long),
    ],
)
def test_a_disk_that_fails_near_the_end_of_a_command(kind: str, before: tuple[int, ...]) -> None:
    """The change is done then: a skip does not end as if it were not, and `local down` says what is left to do."""
    figures = Figures()
    with home(0, Random(1), figures) as user:
        last = user.instants(kind)
        for distance in before:
            user.round(kind, ERROR, at=last - distance)
    assert (figures.problems, figures.disk_errors) == ([], len(before))
