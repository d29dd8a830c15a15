"""Runs the `console` blocks of a page: what is typed after `$ ` is run for real, and what stands below is compared.

A page prepares what its examples need in comments, `<!-- setup` and lines of shell; they run in the order of the page,
in the same empty directory and with the same empty home. `...` on a line of its own stands for any lines. What differs
from run to run (times, spans, ports, process ids, ids of messages and changes), and how many rules there are, is
compared by its place, not its value.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.docs.markdown import blocks

_SETUP = re.compile(r"^<!-- setup\n(.*?)^-->$", re.DOTALL | re.MULTILINE)
_VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), "ADDRESS"),
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b"), "CHANGE"),
    (re.compile(r"\b[0-9A-F]{24,}\b"), "ID"),
    (re.compile(r"\b1[78]\d{11}\b"), "EPOCH"),
    (re.compile(r"\bpid \d+"), "pid PID"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|min|h|d)\b( \d+ (s|min|h)\b)?"), "SPAN"),
    (re.compile(r"\(\d+(\.\d+)? (B|KiB|MiB)\)"), "(SIZE)"),
    (re.compile(r"\bfrom \d+ rules\b|\d+ 条规则"), "from COUNT rules"),  # a new rule renews no page
    (re.compile(r"\s+"), " "),
    (re.compile(r"\b\d+ SPAN \d+(\.\d+)? MiB$"), "PID SPAN SIZE"),  # a row of `local status`
)


@dataclass(frozen=True, slots=True)
class Step:
    """Something to run; `expected` is None for preparations, which must succeed."""

    line: int
    script: str
    expected: str | None


def steps(page: Path) -> Iterator[Step]:
    """Yields what a page runs, in its order."""
    text = page.read_text(encoding="utf-8")
    steps_read = [Step(text[: setup.start()].count("\n") + 1, setup[1], None) for setup in _SETUP.finditer(text)]
    for block in blocks(page):
        if block.info == "console":
            steps_read += _typed(block.line, block.text)
    yield from sorted(steps_read, key=lambda step: step.line)


def _typed(line: int, text: str) -> list[Step]:
    steps_read: list[Step] = []
    script: list[str] = []
    output: list[str] = []
    start = line
    for number, row in enumerate([*text.splitlines(), "$ "]):
        if row.startswith("$ "):
            if script:
                steps_read.append(Step(start, "\n".join(script), "\n".join(output)))
            script, output, start = [row[2:]], [], line + number
        elif script and script[-1].endswith("\\") and not output:
            script.append(row)
        else:
            output.append(row)
    return steps_read


class Session:
    """A shell that keeps its directory, its home and the last exit status between lines."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._status = 0
        program = home / ".bin" / "mqctl"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mqctl "$@"\n')
        program.chmod(0o755)
        self._env = {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "PYTHONPATH": str(REPOSITORY),
            "CHECKOUT": str(REPOSITORY),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }

    def run(self, script: str) -> str:
        """Returns what a line printed, on both streams, as a terminal shows it."""
        done = subprocess.run(
            ["bash", "-c", f"(exit {self._status})\n{script}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._env,
            cwd=self._home,
            timeout=200,
            check=False,
        )
        self._status = done.returncode
        return done.stdout

    @property
    def status(self) -> int:
        return self._status

    def close(self) -> None:
        """Ends local clusters that the page left behind."""
        self.run("mqctl local down")


def same(expected: str, found: str) -> bool:
    """Tells whether an output is the expected one, but for what differs from run to run."""
    rows = _levelled(expected)
    pattern = "".join(r"(?:[^\n]*\n)*" if row == "..." else re.escape(f"{row}\n") for row in rows)
    return re.fullmatch(pattern, "".join(f"{row}\n" for row in _levelled(found))) is not None


def _levelled(text: str) -> list[str]:
    rows = []
    for row in text.strip("\n").splitlines():
        for pattern, name in _VARYING:
            row = pattern.sub(name, row)  # noqa: PLW2901 - one after the other
        rows.append(row.rstrip())
    return rows
