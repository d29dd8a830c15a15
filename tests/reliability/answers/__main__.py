"""Runs every read command, live and on snapshots, while each answer may be altered: counts, lengths, kinds, texts.

`python -m tests.reliability.answers --runs 100000 --seed 7` is the long form; `--only N` repeats the run of a number.
Nothing may end with a traceback, with an exit code that is not a documented one, later than its timeout and a tenth
(of a busy machine: twice), with more than 1 GiB of memory, or with a word of a server on more than one line.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from tests.reliability.answers.commands import commands
from tests.reliability.answers.proxy import LyingCluster
from tests.reliability.answers.run import Runs
from tests.reliability.results import add_save, write

_STUCK_S = 600
_MOST_PROBLEMS = 40
_PIECE = 2_000


@dataclass
class Tally:
    """What the runs came to."""

    runs: int = 0
    altered_answers: int = 0
    commands: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0
    most_cpu_s: float = 0.0
    most_mib: int = 0
    problems: list[str] = field(default_factory=list)


def run(numbers: range, seed: int) -> Tally:
    """Runs those of the numbers; each takes the next command."""
    tally, known = Tally(), commands()
    tally.commands = len(known)
    with (
        tempfile.TemporaryDirectory(prefix="answers-") as place,
        LyingCluster() as proxy,
    ):
        os.environ.update({f"MQCTL_{name}_DIR": place for name in ("CONFIG", "STATE", "CACHE")})
        os.environ.update(MQCTL_NAMESRV=proxy.namesrv, COLUMNS="160")
        runs = Runs(proxy, Path(place))
        runs.prepare()
        for number in numbers:
            faulthandler.dump_traceback_later(_STUCK_S, exit=True, file=sys.stderr)
            problem, ran = runs.once(known[number % len(known)], f"{seed}/{number}")
            tally.runs += 1
            tally.ends[str(ran.code)] += 1
            tally.longest_s = max(tally.longest_s, round(ran.seconds, 2))
            tally.most_cpu_s = max(tally.most_cpu_s, round(ran.cpu_seconds, 2))
            tally.most_mib = max(tally.most_mib, ran.peak_bytes >> 20)
            if problem is not None:
                tally.problems.append(problem)
                sys.stderr.write(problem + "\n\n")
            if len(tally.problems) >= _MOST_PROBLEMS:
                break
        tally.altered_answers = runs.altered_answers
        faulthandler.cancel_dump_traceback_later()
    return tally


def _piece(numbers: range, seed: int) -> Tally:
    """Runs in a process of its own: what a run leaves in one, or its end, is not the next one's."""
    words = [sys.executable, "-m", "tests.reliability.answers", "--seed", str(seed)]
    words += ["--numbers", f"{numbers.start}:{numbers.stop}"]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        figures = json.loads(done.stdout)
        return Tally(**{**figures, "ends": Counter(figures["ends"])})
    return Tally(problems=[f"the process of runs {numbers} ended with {done.returncode}"])


def _together(tallies: Iterable[Tally]) -> Tally:
    whole = Tally()
    for one in tallies:
        whole.runs += one.runs
        whole.altered_answers += one.altered_answers
        whole.commands = max(whole.commands, one.commands)
        whole.ends += one.ends
        whole.longest_s = max(whole.longest_s, one.longest_s)
        whole.most_cpu_s = max(whole.most_cpu_s, one.most_cpu_s)
        whole.most_mib = max(whole.most_mib, one.most_mib)
        whole.problems += one.problems
    return whole


def main(words: list[str]) -> int:
    """Returns 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.answers", description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes beside each other (default %(default)s)")
    parser.add_argument("--only", type=int, metavar="N", help="the run of that number, and no other")
    parser.add_argument("--numbers", help=argparse.SUPPRESS)
    add_save(parser)
    options = parser.parse_args(words)
    if options.numbers or options.only is not None:
        first, _, behind = (options.numbers or f"{options.only}:{options.only + 1}").partition(":")
        tally = run(range(int(first), int(behind)), options.seed)
        sys.stdout.write(json.dumps(vars(tally)) + "\n")
        return 0
    begun = monotonic()
    pieces = [range(at, min(at + _PIECE, options.runs)) for at in range(0, options.runs, _PIECE)]
    with ThreadPoolExecutor(options.workers) as pool:
        whole = _together(pool.map(lambda piece: _piece(piece, options.seed), pieces))
    figures = {**vars(whole), "ends": dict(sorted(whole.ends.items()))}
    minutes = round((monotonic() - begun) / 60, 1)
    write("answers", {"seed": options.seed, "minutes": minutes, **figures}, save=options.save)
    return 1 if whole.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
