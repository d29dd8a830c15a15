"""One run of a command under lies, and what has to hold of it."""

from __future__ import annotations

import gzip
import io
import json
import re
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic, process_time

from mqctl.cli.exit import run_guarded
from mqctl.main import main
from tests.reliability.answers.commands import Command
from tests.reliability.answers.mutation import MARK, altered_text
from tests.reliability.answers.proxy import Lie, LyingCluster

TIMEOUT_MS = 800
_OVER = 1.1
_MEMORY_BYTES = 1 << 30
_HANGS_S = 20.0
_ENDS = {0, 1, 2, 3, 65, 66, 69, 74, 75, 76, 77}
"""Exit codes that a server's answer may lead to: not usage, not a bug, not configuration, not an interruption."""
_TO_CHOOSE = ("several clusters exist", "the delay levels of the brokers differ")
"""What ends with 64 because an answer made the command line ambiguous."""
_LONGEST_SAID = 4_000
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]")


class Hung(BaseException):
    """A command that does not end at all; no handler of the command's takes it."""


@dataclass
class Ran:
    """What a run showed."""

    code: int
    out: str
    err: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int


@dataclass
class Runs:
    """Runs commands of this process through a proxy, or on snapshots altered alike.

    Attributes:
        proxy: a cluster behind one.
        place: a directory of its own.
        plain: the text of a snapshot of that cluster.
        altered_answers: how many there were.
    """

    proxy: LyingCluster
    place: Path
    plain: str = ""
    altered_answers: int = 0
    _resident: object = field(default=None)

    def prepare(self) -> None:
        """Takes the snapshot that lies are made from."""
        self.proxy.tell(None)
        file = self.place / "plain.snap"
        ran = _run(["snapshot", "save", str(file), "--force"])
        assert ran.code == 0, ran.err
        self.plain = gzip.decompress(file.read_bytes()).decode()

    def once(self, command: Command, name: str) -> tuple[str | None, Ran]:
        """Runs a command under the lies of that name; returns what did not hold, if anything.

        Machines that are busy are slow: time in which others had the processor is taken off, and a run that took too
        long all the same is repeated with four times its timeout.
        """
        random = Random(name)
        pick, share = random.getrandbits(8), random.choice((0.1, 0.3, 0.3, 1.0))
        place = self.place / "run.snap"
        if command.of_snapshot:
            with suppress(OSError):
                place.unlink()
            text = altered_text(random, self.plain)
            place.write_bytes(gzip.compress(text.encode("utf-8", "surrogatepass"), compresslevel=1))
        for timeout_ms in (TIMEOUT_MS, 4 * TIMEOUT_MS):
            self.proxy.tell(None if command.of_snapshot else Lie(name, share))
            words = command.line(pick, timeout_ms=timeout_ms, place=str(place))
            ran = _run(words)
            self.altered_answers += self.proxy.tell(None)
            problem = problem_of(ran, words)
            if problem is not None:
                break
            if ran.seconds <= _OVER * timeout_ms / 1000:
                return None, ran
        problem = (
            problem or f"took {ran.seconds:.2f} s, {ran.cpu_seconds:.2f} s of the processor: {timeout_ms} ms given"
        )
        return f"{name}: {' '.join(words)}: {problem}\n{ran.err[-1500:]}", ran


def problem_of(ran: Ran, words: list[str]) -> str | None:
    """Returns what may not be, apart from the time; None when all is well."""
    said = f"{ran.out}\n{ran.err}"
    if "Traceback (most recent" in said or "has a bug" in said:
        return f"exit {ran.code}, a traceback or a bug"
    if ran.code not in _ENDS and not any(text in ran.err for text in _TO_CHOOSE):
        return f"exit {ran.code}"
    if ran.peak_bytes > _MEMORY_BYTES:
        return f"{ran.peak_bytes >> 20} MiB"
    for line in ran.err.split("\n"):
        if len(line) > _LONGEST_SAID:
            return f"a line of {len(line)} characters on standard error: {line[:200]}"
    shown = "" if {"csv", "yaml", "prometheus"} & {*words} else ran.out  # quoted values hold what they hold
    for stream, text in (("output", shown), ("error", ran.err)):
        problem = _unquoted(text)
        if problem:
            return f"{problem} on standard {stream}"
    if ran.out and "json" in words:
        try:
            json.loads(ran.out)
        except ValueError as error:
            return f"output that is no JSON: {error}"
    return None


def _unquoted(text: str) -> str | None:
    for line in text.split("\n"):
        odd = _ODD.search(line)
        if odd:
            return f"the character {odd[0]!r} in {line[:300]!r}"
        if line.strip().startswith(MARK):
            return f"a line break of a server before {line[:100]!r}"
    return None


def _run(words: list[str]) -> Ran:
    pipes = io.BytesIO(), io.BytesIO()
    streams = [io.TextIOWrapper(pipe, "utf-8", "backslashreplace", write_through=True) for pipe in pipes]
    before = sys.stdout, sys.stderr
    with suppress(OSError):  # no Linux: the peak since the start
        Path("/proc/self/clear_refs").write_text("5")
    began, cpu = monotonic() - _held_back(), process_time()
    sys.stdout, sys.stderr = streams
    try:
        with _ended():
            code = run_guarded(words, main)
    except Hung:
        code = -1
    finally:
        sys.stdout, sys.stderr = before
    took = monotonic() - _held_back() - began, process_time() - cpu
    out, err = (pipe.getvalue().decode() for pipe in pipes)
    return Ran(code, out, err, *took, _peak_bytes())


def _held_back() -> float:
    """How long this thread could have run, and the machine had others run: no fault of what is measured."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


@contextmanager
def _ended() -> Iterator[None]:
    begun = monotonic() - _held_back()

    def stop(_signal: int, _frame: object) -> None:
        if monotonic() - _held_back() - begun > _HANGS_S:
            raise Hung
        signal.setitimer(signal.ITIMER_REAL, _HANGS_S)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _HANGS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _peak_bytes() -> int:
    """The most memory this process had; where there is no Linux, also what its starter had when it forked."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return next(int(line.split()[1]) << 10 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
