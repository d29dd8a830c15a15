"""Fuzzes the readers for a given time or number of inputs and writes what was tried.

`python -m tests.reliability.fuzz --minutes 480 --seed 7` is the nightly run; `--target NAME` takes one reader only, and
`--seed` repeats a run exactly as long as the code is the same. `--corpus DIR` keeps the inputs that reached new lines
for a later run to start from.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import sys
from pathlib import Path
from time import monotonic

from tests.reliability.fuzz import targets_live, targets_store, targets_text, targets_wire
from tests.reliability.fuzz.engine import Tally, Target, batch_of, run
from tests.reliability.results import add_save, write

TARGETS: tuple[Target, ...] = (
    *targets_wire.TARGETS,
    *targets_text.TARGETS,
    *targets_store.TARGETS,
    *targets_live.TARGETS,
)


def fuzz(targets: tuple[Target, ...], *, seconds: float, rounds: int, seed: int) -> dict[str, Tally]:
    """Gives each target its turn until time or rounds are over; one that failed has no further turn."""
    tallies = {target.name: Tally() for target in targets}
    ends = monotonic() + seconds
    for number in range(rounds):
        for target in targets:
            tally = tallies[target.name]
            if monotonic() > ends:
                return tallies
            if not tally.failures:
                run(target, inputs=batch_of(target), seed_number=seed * 1_000_003 + number, tally=tally)
                if tally.failures:
                    sys.stderr.write(f"{target.name}: {tally.failures[0]}\n")
    return tallies


def main(words: list[str]) -> int:
    """Returns 1 when a reader failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=480.0, help="how long at most (default: a night of 8 hours)")
    parser.add_argument("--rounds", type=int, default=1 << 40, help="turns of every target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", choices=[target.name for target in TARGETS])
    parser.add_argument("--corpus", type=Path, help="directory of inputs worth keeping, read and written")
    add_save(parser)
    options = parser.parse_args(words)
    faulthandler.enable()  # a reader that ends the process ends the run, and this tells which one
    chosen = tuple(target for target in TARGETS if options.target is None or target.name in options.target)
    for name in ("embedded_broker", "asyncio"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).setLevel(logging.ERROR)  # starts on damaged stores say much
        logging.getLogger(name).propagate = False
    for target in chosen if options.corpus else ():
        target.guide.load(options.corpus / target.name)
    began = monotonic()
    tallies = fuzz(chosen, seconds=options.minutes * 60, rounds=options.rounds, seed=options.seed)
    for target in chosen if options.corpus else ():
        target.guide.save(options.corpus / target.name)
    figures = {
        "seed": options.seed,
        "minutes": round((monotonic() - began) / 60, 1),
        "targets": [
            {
                "target": target.name, "inputs": tally.inputs, "refused": tally.refused,
                "seconds": round(tally.seconds, 1), "slowest_ms": round(tally.slowest_ms, 1),
                "seed_arcs": target.guide.seed_arcs, "new_arcs": len(target.guide.arcs) - target.guide.seed_arcs,
                "kept": len(target.guide.kept), "failures": len(tally.failures),
            }
            for target, tally in zip(chosen, tallies.values(), strict=True)
        ],
    }  # fmt: skip
    write("fuzz", figures, save=options.save)
    return 1 if any(tally.failures for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
