"""Plants twenty small faults, one at a time, and reports which of them the tests notice.

Run it from the repository's root: `python benchmarks/planted_faults.py [--only N] [--whole]`. Each fault is planted
into a commit in a temporary work tree, never into the checkout. The tests of the fault's own room run first; `--whole`
runs the whole suite for a fault that they miss. A failing test counts only if it passes without the fault.

The faults were drawn without a look at the tests: of each room the modules were shuffled (seed 46), one function
of each was drawn, and the first functions in which a small slip changes what users see were taken, with the smallest
such slip. A fault is found by its text, not by its path: modules may move.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = ("mqctl", "embedded_broker")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_PASSED, _TESTS_FAILED, _INTERRUPTED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Fault:
    """A slip in one line.

    Attributes:
        function: module and function it was drawn from, for the reader; only the text is searched for.
        old: text that occurs exactly once in the packages.
        new: the text that replaces it.
        breaks: the effect that users see.
    """

    function: str
    old: str
    new: str
    breaks: str


FAULTS = (
    # store
    Fault(
        "record_writer.store_time_of",
        "_HEAD.size + (20 if wide else 8)",
        "_HEAD.size + (16 if wide else 8)",
        "the store time of a record from an IPv6 host is read four bytes too early",
    ),
    Fault(
        "commitlog.find_end",
        "end = walk.tail.position if walk.tail.stop is not Stop.BLANK else file.size_bytes",
        "end = walk.tail.position",
        "a log whose last used file is full ends at its filler instead of the file's end",
    ),
    Fault(
        "timer.chain",
        "if row >= len(positions) or int(positions[row]) != position",
        "if row > len(positions) or int(positions[row]) != position",
        "a timer slot that points behind the timer log crashes the command",
    ),
    # rules
    Fault(
        "subscriptions.mixed_clients",
        "if len(languages) > 1:",
        "if len(languages) > 2:",
        "a group with clients of two languages gets no finding",
    ),
    Fault(
        "writes.slow_writes",
        "list(slow)[-1]",
        "list(slow)[0]",
        "the finding names the fastest of the slow writes as the worst",
    ),
    Fault(
        "bound._worked",
        "return out_tps * self.consume_ms / 1000 / self.batch",
        "return out_tps * self.consume_ms / self.batch",
        "idle consumers count as busy: milliseconds are taken for seconds",
    ),
    # plan
    Fault(
        "plan_file._from_csv",
        "enumerate(reader, start=2)",
        "enumerate(reader, start=1)",
        "an error in a plan file names the line before the bad one",
    ),
    Fault(
        "reshard.key_moves",
        "placed_count=sum(chosen_by_hash(key, old) == queue for key, queue in listed)",
        "placed_count=sum(chosen_by_hash(key, new) == queue for key, queue in listed)",
        "messages count as placed by key if they lie where the key goes after the change",
    ),
    # render
    Fault(
        "findings_page._scope",
        'sentence("doctor-page-cluster", "cluster {names}"',
        'sentence("doctor-page-groups", "groups {names}"',
        "the page of doctor calls the clusters groups",
    ),
    Fault(
        "brokers.shown_columns",
        'silent = {"problem"} if all(row.problem is None',
        'silent = {"problem"} if any(row.problem is None',
        "the column of problems is missing unless every broker has one",
    ),
    # client
    Fault(
        "broker_messages.read_pull",
        "reply.next_begin_offset,",
        "reply.min_offset,",
        "a pull continues at the queue's first message instead of the next one",
    ),
    Fault(
        "access._read_files",
        'known.get("counter"), known.get("timestamp")',
        'known.get("timestamp"), known.get("counter")',
        "an access file's version and the time of its change are swapped",
    ),
    Fault(
        "simple_consumer._take",
        "round(self.instance.clock.seconds(poll_ms) * 1_000)",
        "round(self.instance.clock.seconds(poll_ms))",
        "a long pop is given up before the broker answers: seconds are taken for milliseconds",
    ),
    # embedded_broker's handlers
    Fault(
        "send_reply.pushed",
        "failed = answer is None or answer.code != ResponseCode.SUCCESS",
        "failed = answer is None",
        "a reply that the requesting client refused counts as delivered",
    ),
    Fault(
        "check_client_config.check_client_config",
        'expression_type in ("", TAG)',
        "expression_type in (TAG,)",
        "a client without an expression type is refused as an SQL filter",
    ),
    Fault(
        "consume_stats._span",
        "consumed_ms = stored(offset - 1) if offset > 0 else first_ms",
        "consumed_ms = stored(offset) if offset > 0 else first_ms",
        "the consumed time of a queue is that of the next message",
    ),
    # stacks
    Fault(
        "collecting.finish",
        "notes=(*last.notes, *self._taken_notes())",
        "notes=(*self._taken_notes(),)",
        "notes after the last thread of a dump replace its earlier ones",
    ),
    Fault(
        "java_dump._deadlock_line",
        '"Java-level deadlock" in text and circle',
        '"Java-level deadlock" in text and not circle',
        "the threads of two deadlocks of one dump become one deadlock",
    ),
    # spark
    Fault(
        "carried.delivered_error",
        "lines[:1] + lines[-1:]",
        "lines[:1]",
        "the last line of a Spark failure, its cause, is not printed",
    ),
    Fault(
        "batches.behind_in_batches",
        "whole = (last > low) & (last <= work.high)",
        "whole = (last > low) & (last < work.high)",
        "the backlog's bytes lack the last record of a batch queue",
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a test run with a fault planted.

    Attributes:
        verdict: `noticed`, `missed`, or `unclear` when the failing test fails without the fault too.
        test: first failing test.
    """

    verdict: str
    test: str | None = None


def places(root: Path, text: str) -> list[Path]:
    """Returns the modules of the packages below `root` that hold `text`, one entry an occurrence."""
    return [
        file
        for package in PACKAGES
        for file in sorted((root / package).rglob("*.py"))
        for _ in range(file.read_text(encoding="utf-8").count(text))
    ]


def place_of(root: Path, fault: Fault) -> Path:
    """Returns the module to plant `fault` into.

    Raises:
        ValueError: its old text does not occur exactly once, so that the fault needs renewing.
    """
    modules = places(root, fault.old)
    if len(modules) != 1:
        where = ", ".join(str(file.relative_to(root)) for file in modules) or "no module"
        raise ValueError(f"the fault in {fault.function} needs renewing: {fault.old!r} occurs in {where}")
    return modules[0]


@contextmanager
def planted(file: Path, fault: Fault) -> Iterator[None]:
    """Plants `fault` into `file` and restores the text afterwards."""
    sound = file.read_text(encoding="utf-8")
    changed = file.stat().st_mtime_ns
    file.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
    # Byte code is kept by a file's second and size: two texts of one second could be taken for each other.
    os.utime(file, ns=(changed, changed + 10_000_000_000))
    try:
        yield
    finally:
        file.write_text(sound, encoding="utf-8")
        os.utime(file, ns=(changed, changed + 20_000_000_000))


def room_tests(root: Path, file: Path) -> list[str]:
    """Returns the tests of the room that `file` is in; modules that name it or come by its name are first."""
    package, room, *_ = file.relative_to(root).parts
    directory = root / "tests" / (room if package == "mqctl" else package)
    if not directory.is_dir():
        return []
    word = re.compile(rf"\b(test_)?{file.stem}\b")
    likely = [
        test
        for test in sorted(directory.rglob("test_*.py"))
        if word.search(test.stem) or word.search(test.read_text(encoding="utf-8"))
    ]
    return [str(path.relative_to(root)) for path in (*likely, directory)]


def run_tests(root: Path, arguments: Sequence[str]) -> Outcome:
    """Runs pytest in `root` until a test fails.

    Raises:
        RuntimeError: pytest ran no test or could not run at all.
    """
    words = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments)
    # Commands that tests start elsewhere must not take the installed mqctl.
    environment = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "1000"}
    ran = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode == _PASSED:
        return Outcome("missed")
    failed = _FAILED.search(ran.stdout)
    if ran.returncode not in (_TESTS_FAILED, _INTERRUPTED) or failed is None:
        raise RuntimeError(f"{' '.join(words)} ended with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return Outcome("noticed", failed[1])


def judge(root: Path, file: Path, fault: Fault, arguments: Sequence[str]) -> Outcome:
    """Plants one fault, runs the tests, and has a failing test run once more without the fault."""
    with planted(file, fault):
        outcome = run_tests(root, arguments)
    if outcome.test is None or run_tests(root, ("-n0", outcome.test)).verdict == "missed":
        return outcome
    return Outcome("unclear", outcome.test)


@contextmanager
def work_tree(revision: str) -> Iterator[Path]:
    """Gives a temporary work tree of a commit, with the recordings that lie beside this one."""
    git = ("git", "-C", str(REPOSITORY))
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "tree"
        subprocess.run((*git, "worktree", "add", "--quiet", "--detach", str(root), revision), check=True)
        recordings = REPOSITORY.parent / "shared"
        if recordings.exists():
            (Path(place) / "shared").symlink_to(recordings.resolve())
        try:
            yield root
        finally:
            subprocess.run((*git, "worktree", "remove", "--force", str(root)), check=True)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="list the faults and where they would be planted")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="only this fault; may be repeated")
    parser.add_argument("--base", default="HEAD", metavar="REV", help="commit to plant into (default %(default)s)")
    parser.add_argument("--whole", action="store_true", help="run the whole suite for what the room's tests miss")
    parser.add_argument("--tests", metavar="ARGS", help="run pytest with these arguments instead of the room's tests")
    return parser.parse_args()


def _runs(options: argparse.Namespace, own: list[str]) -> list[list[str]]:
    if options.tests is not None:
        return [shlex.split(options.tests)]
    return [*([["-n0", *own]] if own else []), *([[]] if options.whole else [])]


def main() -> int:
    """Plants, tests and prints; returns 1 if a fault was missed, is unclear or needs renewing."""
    options = _parsed()
    verdicts: Counter[str] = Counter()
    with work_tree(options.base) as root:
        for number, fault in enumerate(FAULTS, start=1):
            if options.only and number not in options.only:
                continue
            try:
                file = place_of(root, fault)
            except ValueError as error:
                verdicts["renew"] += 1
                print(f"{number:2} renew    {error}", flush=True)
                continue
            print(f"{number:2} {file.relative_to(root)}, {fault.function}: {fault.breaks}", flush=True)
            if options.list:
                continue
            runs = _runs(options, room_tests(root, file))
            outcome = Outcome("missed")
            for arguments in runs:
                began = time.monotonic()
                outcome = judge(root, file, fault, arguments)
                which = arguments[-1] if arguments else "the whole suite"
                took = time.monotonic() - began
                print(f"   {outcome.verdict:8} by {which} in {took:.0f} s  {outcome.test or ''}", flush=True)
                if outcome.verdict == "noticed":
                    break
            verdicts[outcome.verdict] += 1
    if verdicts:
        print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    return int(any(verdict != "noticed" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
