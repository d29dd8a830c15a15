"""Progress on a terminal for whatever takes longer than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mqctl.cli.emit import is_overheard

Report = Callable[[str, int, int], None]
_PATIENCE_S = 1.0
_IN_BYTES = frozenset({"commitlog"})


@contextmanager
def step_progress() -> Iterator[Report | None]:
    """Yields a function `(what, done, total)` that draws a bar on stderr once a second has passed.

    Yields None where nobody watches: stderr is no terminal, or TERM=dumb.
    """
    if is_overheard() or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    bar = _Bar()
    try:
        yield bar.report
    finally:
        bar.close()


class StepProgress:
    """Progress of work in steps whose parts report by themselves: the bar is the part's, the step stands before it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._step = ""

    def step(self, what: str, done: int, total: int) -> None:
        """Begins a step."""
        self._step = f"{done + 1}/{total} {what}: "
        self._report(self._step.rstrip(": "), 0, 0)

    def part(self, what: str, done: int, total: int) -> None:
        """Tells how far the step is."""
        self._report(f"{self._step}{what}", done, total)


@contextmanager
def reported_steps() -> Iterator[StepProgress | None]:
    """Yields what shows steps and their parts; None where nobody watches."""
    with step_progress() as report:
        yield None if report is None else StepProgress(report)


def _described(what: str, done: int, total: int) -> str:
    """Says of what is counted in bytes how many they are."""
    if what not in _IN_BYTES:
        return what
    from mqctl import units

    return f"{what} {units.size(done)} of {units.size(total)}"


class _Bar:
    """Imports rich only when the wait turns out to be long."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._draw: Report | None = None
        self._stop: Callable[[], None] | None = None

    def report(self, what: str, done: int, total: int) -> None:
        if self._draw is None:
            if time.monotonic() - self._started < _PATIENCE_S:
                return
            self._open()
        if self._draw is not None:
            self._draw(what, done, total)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        task = progress.add_task("", total=None)
        progress.start()
        self._draw = lambda what, done, total: progress.update(
            task, description=_described(what, done, total), completed=done, total=total or None
        )
        self._stop = progress.stop

    def close(self) -> None:
        if self._stop is not None:
            self._stop()
