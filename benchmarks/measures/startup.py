"""CPU of the commands that people wait for, over that of their imports alone."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measures import trips

_BASES = {
    "--version": "pass",
    "Tab": "pass",
    "live read": "import typer",
    "--store": "import typer, numpy",
}


def over_bases_ms(roots: Sequence[Path], runs: int) -> list[dict[str, float]]:
    """Returns for each tree the median CPU milliseconds of each command over those of its base.

    All commands of all trees run in turn, so that a machine whose speed drifts drifts for all of them.
    """
    with ExitStack() as stack:
        trees = [_Tree.prepared(root, stack) for root in roots]
        costs: dict[tuple[Path, str], list[float]] = defaultdict(list)
        for number in range(runs + 1):
            for tree in trees:
                for name, words in tree.commands.items():
                    cost = _cpu_ms(tree.root, tree.home, words)
                    if number:  # the first run warms the page cache and writes byte code
                        costs[tree.root, name].append(cost)
    medians = {place: statistics.median(measured) for place, measured in costs.items()}
    return [
        {f"{name} over `{base}`": round(medians[root, name] - medians[root, base], 1) for name, base in _BASES.items()}
        for root in roots
    ]


@dataclass(frozen=True, slots=True)
class _Tree:
    root: Path
    home: Path
    commands: dict[str, tuple[str, ...]]

    @classmethod
    def prepared(cls, root: Path, stack: ExitStack) -> _Tree:
        """Unpacks a store and starts a cluster of the tree, until `stack` ends."""
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = trips.recorded_store(root, home)
        namesrv, broker = stack.enter_context(trips.cluster(root, home))
        trips.prepare(root, home, namesrv, broker)
        mqctl = ("-m", "mqctl")
        commands = {
            "--version": (*mqctl, "--version"),
            "Tab": (*mqctl, "__complete", "group", "lag", "--s"),
            "live read": (*mqctl, "group", "lag", "--namesrv", namesrv),
            "--store": (*mqctl, "group", "lag", "--store", str(store)),
        }
        return cls(root, home, commands | {base: ("-c", base) for base in _BASES.values()})


def _cpu_ms(root: Path, home: Path, words: tuple[str, ...]) -> float:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
    command = (sys.executable, "-P", *words)
    child = os.posix_spawn(command[0], command, trips.environment(root, home), file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    os.close(nowhere)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return (usage.ru_utime + usage.ru_stime) * 1000
