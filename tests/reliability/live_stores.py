"""Every command with `--store` on the store of a broker process that takes all it can, and on the same store at rest.

`python -m tests.reliability.live_stores --runs 1000` runs each of them that often beside load and each release, or as
often as `--minutes` leave time for: brokers as 4.9.8 and as 5.3.3 in turn, each with a few of the commands and until
its log is large, so that a run costs little; every third deletes its log as fast as it rolls. Runs are forked from a
process that has imported everything. `--spark` runs the reports on Spark instead. Then the load ends, and each command
looks once more:

* No run may fail: a traceback, the end by a signal, or an exit code that the command does not have at rest.
* What it finds beside load it must find at rest, too: findings by code and subject, damage by code and file, gaps,
  sentences of reports but for their numbers. What is under way is left out: advice (info), transactions, rates.
* The broker offsets of `group lag` lie between those that the broker told just before and just after; the consumer
  offsets are what was committed not longer ago than the broker takes to write them down, twice.

Where the log is deleted meanwhile, what was there is gone at rest: only failures count.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from mqctl.cli.catalog import ENTRIES, options_of
from mqctl.errors import ExitCode
from tests.conftest import Outcome, environment_of
from tests.embedded_broker.test_process import process
from tests.forked_commands import ForkedCommands
from tests.reliability.live_load import FIRST_TRANSACTION, FLUSH_MS, GROUP, SETTINGS, TOPIC, Load
from tests.reliability.results import add_save, write

_A_BROKER, _COMMANDS_A_BROKER = 20, 7
_MOST_LOG_BYTES = 128 << 20
_SPARK = "--no-spark"
_EXPIRING = (
    "mappedFileSizeCommitLog=2097152", "mappedFileSizeConsumeQueue=60000", "fileReservedTime=0",
    "deleteWhen=" + ";".join(f"{hour:02}" for hour in range(24)), "cleanResourceInterval=300",
)  # fmt: skip
WORDS = {
    "delay repair": "",
    "doctor": "-o json",
    "group describe": f"-g {GROUP} -o json",
    "group lag": "--by queue -o json",
    "ha compare": "--store {store} -o json",
    "order check": f"-t {TOPIC} -o json",
    "replay publish": f"-t {TOPIC} --to {TOPIC} --to-offset 40 --namesrv {{namesrv}}",
    "report run": f"{_SPARK} --save {{place}}/run.parquet -o json",
    "snapshot save": "{place}/store.snap --force",
    "store acknowledge": "",
    "store cat": f"-t {TOPIC} -q 1 --count 5 -o json",
    "transaction list": "--check -o json",
    "transaction show": f"{FIRST_TRANSACTION} -o json",
}
"""Words of those that take others than `-o json`."""
ELSEWHERE = {"report reconcile": "is a job on Spark alone: `--spark` runs it"}
_ON_SPARK = {"store verify": "--master local[2] -o json", "doctor": "--master local[2] -o json"}
RELEASES = ("4.9.8", "5.3.3")
_NOT_ONE_MORE = 40
_MOST_AT_REST_S = 120.0
_NO_SUCH, _NOTHING_LEFT = 66, "there is nothing to replay"
_NUMBER = re.compile(r"[0-9][0-9,.:+-]*( (ms|s|min)\b)?")


def commands() -> dict[str, str]:
    """Returns each command that takes a store, with its words."""
    names = [" ".join(entry.path) for entry in ENTRIES if "--store" in options_of(tuple(entry.path))]
    plain = {name: f"{_SPARK} -o json" if name.startswith("report ") else "-o json" for name in names}
    return {name: WORDS.get(name, plain[name]) for name in names if name not in ELSEWHERE}


@dataclass
class Figures:
    """What the runs came to; `messages` is what the brokers took while commands looked at them."""

    commands: int = 0
    runs: int = 0
    least_of_a_command: dict[str, int] = field(default_factory=dict)
    runs_while_the_log_was_deleted: int = 0
    brokers: int = 0
    messages: int = 0
    messages_per_second: int = 0
    log_mib: int = 0
    lags_compared: int = 0
    seconds_of_load: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ran:
    """One run: how it ended, what it said, and what it found."""

    name: str
    code: int
    out: str
    err: str

    def fails(self) -> str | None:
        """Returns what may never be."""
        if self.code < 0 or self.code >= 128:
            return f"ended by a signal ({self.code})"
        if "Traceback" in self.err or "has a bug" in self.err:
            return "a traceback"
        return None

    def remarks(self) -> set[tuple[str, ...]]:
        """Returns what is wrong with the store by its word: findings, damage, and what was not read or not judged."""
        if self.code >= 64 or not self.out.startswith("{"):
            return set()
        document: dict[str, Any] = json.loads(self.out)
        kinds = {
            "findings": ("code", "subject"),
            "deviations": ("code", "file"),
            "not_read": ("part", "file"),
            "not_judged": ("part", "subject"),
        }
        return {
            (kind, *(str(item.get(name, "")) for name in names))
            if isinstance(item, dict)
            else (kind, _NUMBER.sub("#", item))
            for kind, names in kinds.items()
            for item in document.get(kind) or ()
            if not _is_under_way(item)
        }


def _is_under_way(item: object) -> bool:
    """Whether a finding tells what is going on: advice without a fault, transactions that end in a moment, a rate."""
    if isinstance(item, dict):
        return item.get("severity") == "info"
    return any(words in str(item) for words in (" pending,", " at this rate,"))


class Looks:
    """Runs commands on one broker's store."""

    def __init__(self, forked: ForkedCommands, home: Path, load: Load, figures: Figures) -> None:
        self._forked = forked
        self._home = home
        self._load = load
        self._figures = figures
        self._names = {"store": load.store, "namesrv": load.namesrv, "place": home}

    def run(self, name: str, words: str) -> Ran:
        """Runs one command line on the store."""
        line = [*name.split(), "--store", str(self._load.store), *words.format(**self._names).split()]
        outcome = Outcome(*self._forked.run(line, environment_of(self._home)))
        return Ran(name, outcome.exit_code, outcome.stdout, outcome.stderr)

    def beside_load(self, name: str, words: str) -> Ran:
        """Runs one beside load, and holds what it says of the lag against the broker."""
        if name != "group lag":
            return self.run(name, words)
        since, before = self._load.committed_before(2 * FLUSH_MS), self._load.ends()
        ran = self.run(name, words)
        after, until = self._load.ends(), self._load.committed_before(0)
        self._figures.lags_compared += 1
        for row in json.loads(ran.out)["queues"] if ran.code == 0 else ():
            if (row["group"], row["topic"]) != (GROUP, TOPIC):
                continue
            queue = row["queue_id"]
            if not before[queue] <= row["broker_offset"] <= after[queue]:
                self._problem(ran, f"queue {queue}: ends at {row['broker_offset']}, {before[queue]} to {after[queue]}")
            if not since[queue] <= (row["consumer_offset"] or 0) <= until[queue]:
                self._problem(ran, f"queue {queue}: at {row['consumer_offset']}, {since[queue]} to {until[queue]}")
            if row["lag_count"] not in (None, row["broker_offset"] - (row["consumer_offset"] or 0)):
                self._problem(ran, f"queue {queue}: {row}")
        return ran

    def _problem(self, ran: Ran, what: str) -> None:
        problem = f"{ran.name}: exit {ran.code}: {what}\n{ran.err[-800:]}"
        self._figures.problems.append(problem)
        sys.stderr.write(f"{problem}\n")

    def note(self, ran: Ran, at_rest: Ran | None) -> None:
        """Judges a run by what the same command says at rest; None: only failures count."""
        self._figures.ends[str(ran.code)] += 1
        failed = ran.fails()
        if failed is not None:
            self._problem(ran, failed)
        elif ran.code == ExitCode.USAGE and _NOTHING_LEFT not in ran.err:
            self._problem(ran, "the command line is no good")
        elif at_rest is None:
            if ran.code >= 64 and ran.code != _NO_SUCH and _NOTHING_LEFT not in ran.err:
                self._problem(ran, "failed while files of the log were deleted")
        elif ran.code >= 64 and ran.code != at_rest.code:
            self._problem(ran, f"at rest it ends with {at_rest.code}")
        else:
            more = ran.remarks() - at_rest.remarks()
            if more:
                self._problem(ran, f"not at rest: {sorted(more)[:5]}")


@contextmanager
def broker(root: Path, number: int, *, expiring: bool) -> Iterator[Load]:
    """Starts a broker process of one of the releases with its load."""
    settings = [*SETTINGS, *(_EXPIRING if expiring else ()), *(["timerWheelEnable=true"] if number % 2 else [])]
    words = [word for item in settings for word in ("--set", item)]
    words = ["--as-version", RELEASES[number % 2], "--brokers", "broker-a", "--data-dir", str(root), *words]
    with process(*words) as (_, ready), Load(ready, is_v5=bool(number % 2)) as load:
        yield load


@dataclass(frozen=True)
class Wanted:
    """What to run.

    Attributes:
        runs: of each command beside brokers of each release.
        each: of each command beside one broker, at most.
        minutes: no further broker starts after that.
        only: names of commands; empty means all.
        first: the number of the first broker, which says of which release it is and whether its log is deleted.
        on_spark: whether reports run on Spark, and nothing else runs.
    """

    runs: int
    each: int = _A_BROKER
    minutes: float = 1e9
    only: Collection[str] = ()
    first: int = 0
    on_spark: bool = False

    def lines(self) -> dict[str, str]:
        """Returns the commands with their words."""
        chosen = {name: words for name, words in commands().items() if not self.only or name in self.only}
        if not self.on_spark:
            return chosen
        jobs = {name: words.replace(_SPARK, "") for name, words in chosen.items() if _SPARK in words}
        return jobs | ({} if self.only else _ON_SPARK)


def run(wanted: Wanted) -> Figures:
    """Runs commands beside one broker after another."""
    figures, lines = Figures(), wanted.lines()
    figures.commands = len(lines)
    counts = {release: Counter(dict.fromkeys(lines, 0)) for release in RELEASES}
    end = monotonic() + wanted.minutes * 60
    with TemporaryDirectory(prefix="live-stores-") as place, ExitStack() as closing:
        home = Path(place)
        forked = ForkedCommands(home, environment_of(home))
        closing.callback(forked.close)
        for number in count(wanted.first):
            done, expiring = counts[RELEASES[number % 2]], number % 3 == 2
            left = [name for name, runs in sorted(done.items(), key=itemgetter(1)) if runs < wanted.runs]
            if monotonic() > end or len(figures.problems) >= _NOT_ONE_MORE:
                break
            if left:
                chosen = {name: lines[name] for name in left[:_COMMANDS_A_BROKER]}
                with TemporaryDirectory(dir=place) as root, broker(Path(root), number, expiring=expiring) as load:
                    looks = Looks(forked, home, load, figures)
                    rounds = min(wanted.each, wanted.runs - min(done[name] for name in chosen))
                    done.update(_one_broker(looks, load, figures, chosen, rounds, expiring=expiring))
                sys.stderr.write(f"{figures.runs} runs, {len(figures.problems)} problems\n")
            elif not any(runs < wanted.runs for other in counts.values() for runs in other.values()):
                break
    figures.least_of_a_command = {release: min(done.values()) for release, done in counts.items()}
    figures.messages_per_second = figures.messages // max(1, figures.seconds_of_load)
    return figures


def _one_broker(
    looks: Looks, load: Load, figures: Figures, lines: dict[str, str], rounds: int, *, expiring: bool
) -> Counter[str]:
    """Returns how often each command ran: fewer times where the log grew too large."""
    ran: list[Ran] = []
    begun = monotonic()
    with load.running():
        for _ in range(rounds):
            ran += [looks.beside_load(*line) for line in lines.items()]
            if not expiring and log_bytes(load.store) > _MOST_LOG_BYTES:
                break
    figures.seconds_of_load += round(monotonic() - begun)
    figures.brokers += 1
    figures.messages += sum(load.ends().values())
    figures.log_mib += log_bytes(load.store) >> 20
    figures.runs += len(ran)
    at_rest: dict[str, Ran] = {}
    if expiring:
        figures.runs_while_the_log_was_deleted += len(ran)
    else:
        _until(load.is_at_rest)
        at_rest = {name: looks.run(name, words) for name, words in lines.items()}
    for one in ran:
        looks.note(one, at_rest.get(one.name))
    return Counter(one.name for one in ran)


def log_bytes(store: Path) -> int:
    """Returns what the commit log takes on the disk."""
    total = 0
    for file in store.glob("commitlog/*"):
        with suppress(FileNotFoundError):
            total += file.stat().st_blocks * 512
    return total


def _until(holds: Callable[[], bool]) -> None:
    end = monotonic() + _MOST_AT_REST_S
    while not holds():
        if monotonic() > end:
            raise TimeoutError(f"the broker does not come to rest within {_MOST_AT_REST_S:g} s")
        sleep(0.2)


def main(words: list[str]) -> int:
    """Returns 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.live_stores", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000, help="of each command and release (default %(default)s)")
    parser.add_argument("--each", type=int, default=_A_BROKER, help="runs beside one broker (default %(default)s)")
    parser.add_argument("--minutes", type=float, default=1e9, help="no further broker after that")
    parser.add_argument("--first", type=int, default=0, help="number of the first broker")
    parser.add_argument("--spark", action="store_true", help="run the reports and checks on Spark instead")
    parser.add_argument("--only", metavar="COMMAND", action="append", default=[], help="as 'group lag'; repeatable")
    add_save(parser)
    options = parser.parse_args(words)
    begun = monotonic()
    wanted = Wanted(
        options.runs, each=options.each, minutes=options.minutes, only=options.only, first=options.first,
        on_spark=options.spark,
    )  # fmt: skip
    figures = run(wanted)
    minutes = round((monotonic() - begun) / 60, 1)
    name = "live_stores_spark" if options.spark else "live_stores"
    write(name, {"minutes": minutes, **vars(figures)}, save=options.save)
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
