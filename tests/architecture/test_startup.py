"""What a command may cost before it does its work: CPU of whole processes, over that of its base in the same rounds.

Budgets are milliseconds of a machine on which `import typer` takes 60 (`python benchmarks/startup.py` prints all); here
they grow with what it takes in the same round, for a slow or a busy machine slows both.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from benchmarks.startup import (
    TYPER,
    USUAL_TYPER_MS,
    Contender,
    bases,
    first_answers,
    live_cluster,
    live_commands,
    measure,
    store_commands,
)

_ROUNDS, _MOST_ROUNDS = 5, 11


def over_budget(contenders: list[Contender], home: Path) -> dict[str, str]:
    """Returns the commands that take more over their base than they may, in half of the rounds; what seems to is
    measured in more of them."""
    used = {TYPER, *(item.base for item in contenders)}
    everyone = [*(base for base in bases() if base.name in used), *contenders]
    for item in everyone:
        measure(item.words, home)  # writes byte code, and the table of the Tab
    shares: dict[str, list[float]] = {item.name: [] for item in contenders}
    too_much: dict[str, str] = {}
    for turn in range(1, _MOST_ROUNDS + 1):
        cost_ms = {item.name: measure(item.words, home).cpu_ms for item in everyone}
        for item in contenders:
            assert item.base is not None and item.budget_ms is not None
            allowed_ms = item.budget_ms * cost_ms[TYPER] / USUAL_TYPER_MS
            shares[item.name].append((cost_ms[item.name] - cost_ms[item.base]) / allowed_ms)
        too_much = {name: f"{median(seen):.0%} of its budget" for name, seen in shares.items() if median(seen) > 1}
        if turn >= _ROUNDS and not too_much:
            break
    return too_much


def named(contenders: list[Contender], *names: str) -> list[Contender]:
    chosen = [item for item in contenders if item.name in names]
    assert len(chosen) == len(names)
    return chosen


def test_first_answers_and_commands_on_stores_start_within_their_budgets(
    golden_store: Callable[[str], Path], tmp_path: Path
) -> None:
    first = named(first_answers(), "mqctl --version", "static Tab")
    stores = store_commands(golden_store("store-clean"))
    stores = named(stores, "mqctl group lag --store", "mqctl delay levels --store")
    assert over_budget([*first, *stores], tmp_path) == {}


def test_commands_on_a_cluster_start_within_their_budgets(tmp_path: Path) -> None:
    with live_cluster() as namesrv:
        commands = ("group lag", "group list", "topic describe -t T", "broker list")
        assert over_budget(named(live_commands(namesrv), *(f"mqctl {words}" for words in commands)), tmp_path) == {}


@pytest.mark.long
def test_every_command_that_is_measured_starts_within_its_budget(
    golden_store: Callable[[str], Path], tmp_path: Path
) -> None:
    with live_cluster() as namesrv:
        every = [*first_answers(), *store_commands(golden_store("store-clean")), *live_commands(namesrv)]
        assert over_budget([item for item in every if item.budget_ms is not None], tmp_path) == {}
