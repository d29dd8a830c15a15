"""Plants small faults at random in pure rooms, and says which of them the tests of the same room do not notice.

Run it from the repository's root: `python -m benchmarks.mutation allocation [--count 200] [--seed N] [--minutes 30]`.
The tree is copied, with all that is not committed; nothing is planted in the checkout. Every fault has a minute: tests
that hang have noticed it. `--only PLACE` plants again what a report names; `--keep` writes the score down for
`python -m benchmarks.measures`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkResult

from benchmarks.mutation.faults import faults
from benchmarks.mutation.rooms import ROOMS, Room

REPOSITORY = Path(__file__).resolve().parents[2]
SCORES = Path(__file__).with_name("scores.json")
_FAULT_S = 60


@dataclass(frozen=True, slots=True)
class Score:
    """How many of the faults of a sample were noticed.

    Attributes:
        seed: draws the same sample from the same sources.
        missed: place, kind and difference of those that were not.
    """

    room: str
    seed: int
    planted: int
    missed: tuple[tuple[str, str], ...]

    @property
    def share(self) -> float:
        """The share that was noticed."""
        return 1 - len(self.missed) / self.planted if self.planted else 0.0


def place(fault: MutationSpec) -> str:
    """Returns how a fault is named: file, line, column, kind."""
    line, column = fault.start_pos
    return f"{fault.module_path}:{line}:{column}:{fault.operator_name.removeprefix('core/')}"


def score(name: str, room: Room, *, count: int, seed: int, minutes: float, jobs: int, only: str = "") -> Score:
    """Plants a sample and runs the room's tests for each fault.

    Args:
        count: how many faults are drawn; fewer are planted when the minutes are over, or there are no more.
        only: plants those alone whose name begins so.

    Raises:
        RuntimeError: the tests fail without any fault, or cosmic-ray could not plant one.
    """
    ends = time.monotonic() + minutes * 60
    command = f"{sys.executable} -m pytest -n0 -x -q -p no:cacheprovider {' '.join(map(repr, room.tests))}"
    missed: list[tuple[str, str]] = []
    planted = 0
    with copies(jobs) as (first, *more):
        os.chdir(first)
        every = [fault for fault in faults(first, room.modules(first)) if place(fault).startswith(only)]
        sample = random.Random(seed).sample(every, min(count, len(every)))
        for tree in (first, *more):  # compiles all modules, which runs with a fault do not
            whole = subprocess.run(command, shell=True, cwd=tree, capture_output=True, text=True, check=False)
            if whole.returncode:
                raise RuntimeError(f"the tests of {name} fail without any fault:\n{whole.stdout[-3_000:]}")
        places = [first, *more]
        with ProcessPoolExecutor(jobs) as pool:
            # Each of the copies has its share: a file is changed while its tests run.
            shares = [sample[number::jobs] for number in range(jobs)]
            running = [pool.submit(_plant, *pair, command, ends) for pair in zip(places, shares, strict=True)]
            for done in as_completed(running):
                for fault, result in done.result():
                    planted += 1
                    if result.test_outcome is TestOutcome.INCOMPETENT:
                        raise RuntimeError(f"{place(fault)} could not be planted:\n{result.output}")
                    if result.test_outcome is TestOutcome.SURVIVED:
                        missed.append((place(fault), result.diff or ""))
    return Score(name, seed, planted, tuple(sorted(missed)))


def _plant(tree: Path, sample: list[MutationSpec], command: str, ends: float) -> list[tuple[MutationSpec, WorkResult]]:
    os.chdir(tree)
    done = []
    for fault in sample:
        if time.monotonic() > ends:
            break
        done.append((fault, mutate_and_test([fault], command, _FAULT_S)))
    return done


@contextmanager
def copies(count: int) -> Iterator[list[Path]]:
    """Copies what git knows of the tree, and what it would take in, as often as asked."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    files = [Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name]
    with tempfile.TemporaryDirectory() as home:
        trees = [Path(home) / str(number) for number in range(count)]
        for tree in trees:
            for file in files:
                if (REPOSITORY / file).is_file():
                    (tree / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(REPOSITORY / file, tree / file)
        before = Path.cwd()
        try:
            yield trees
        finally:
            os.chdir(before)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=__doc__)
    parser.add_argument("rooms", nargs="+", choices=sorted(ROOMS), metavar="ROOM", help=", ".join(sorted(ROOMS)))
    parser.add_argument("--count", type=int, default=200, help="faults a room (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the sample; a new one each time without it")
    parser.add_argument("--minutes", type=float, default=30, help="a room, at most (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="copies that are tested side by side (%(default)s)")
    parser.add_argument("--only", default="", metavar="PLACE", help="faults alone whose name in a report begins so")
    parser.add_argument("--least", type=float, default=0.9, help="share to notice, else it ends with 1 (%(default)s)")
    parser.add_argument("--keep", action="store_true", help=f"write the scores down ({SCORES.name})")
    given = parser.parse_args()
    worst = 1.0
    for name in given.rooms:
        seed = secrets.randbelow(1 << 32) if given.seed is None else given.seed
        seen = score(
            name, ROOMS[name], count=given.count, seed=seed, minutes=given.minutes, jobs=given.jobs, only=given.only
        )
        worst = min(worst, seen.share)
        for where, difference in seen.missed:
            print(f"{where}\n{difference}")
        print(f"{name}: {seen.planted - len(seen.missed)} of {seen.planted} noticed ({seen.share:.1%}), seed {seed}")
        if given.keep:
            kept = json.loads(SCORES.read_text(encoding="utf-8")) if SCORES.exists() else {}
            kept[name] = {"noticed": seen.planted - len(seen.missed), "planted": seen.planted, "seed": seed}
            SCORES.write_text(json.dumps(dict(sorted(kept.items())), indent=2) + "\n", encoding="utf-8")
    return int(worst < given.least)


if __name__ == "__main__":
    sys.exit(main())
