"""A few commands on the store of a broker that takes all it can, as the command of the long form runs all of them."""

from __future__ import annotations

import pytest

from tests.reliability.live_stores import ELSEWHERE, WORDS, Wanted, commands, run

pytestmark = pytest.mark.slow
_ONLY = ("delay check", "doctor", "group lag", "snapshot save", "store verify", "transaction show")


def test_what_is_said_of_words_is_said_of_commands_that_there_are() -> None:
    assert WORDS.keys() <= commands().keys()
    assert not ELSEWHERE.keys() & commands().keys()
    assert len(commands()) > 20


@pytest.mark.long
def test_beside_load_nothing_fails_and_nothing_is_found_that_is_not_there_at_rest() -> None:
    figures = run(Wanted(1, each=1, only=_ONLY, first=3))
    assert figures.problems == []
    assert (figures.runs, figures.lags_compared, figures.brokers) == (2 * len(_ONLY), 2, 2)
    assert figures.least_of_a_command == {"4.9.8": 1, "5.3.3": 1}
    assert figures.messages > 100
