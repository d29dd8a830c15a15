"""Each attack in its short form: others are served, and the broker's memory stays where it was."""

from __future__ import annotations

import pytest

from tests.reliability.abuse import ATTACKS, running, under

MIB = 1024 * 1024


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "quiet"])
def test_others_are_served_under_an_attack(name: str) -> None:
    with running(scale=0.2) as target:
        outcome = under(ATTACKS[name], target, 0)
        assert (outcome.failed, len(outcome.answers) > 0) == (0, True)
        assert outcome.memory_bytes < 512 * MIB
