"""Progress on a terminal for whatever takes longer than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[int, int], None]
_PATIENCE_S = 1.0


@contextmanager
def byte_progress(what: str) -> Iterator[Report | None]:
    """Yields a function `(done_bytes, total_bytes)` that draws a bar on stderr once a second has passed.

    Yields None where nobody watches: stderr is no terminal, or TERM=dumb.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    bar = _Bar(what)
    try:
        yield bar.report
    finally:
        bar.close()


class _Bar:
    """Imports rich only when the wait turns out to be long."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._started = time.monotonic()
        self._draw: Report | None = None
        self._stop: Callable[[], None] | None = None

    def report(self, done_bytes: int, total_bytes: int) -> None:
        if self._draw is None:
            if time.monotonic() - self._started < _PATIENCE_S:
                return
            self._open()
        if self._draw is not None:
            self._draw(done_bytes, total_bytes)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        task = progress.add_task(self._what, total=None)
        progress.start()
        self._draw = lambda done, total: progress.update(task, completed=done, total=total)
        self._stop = progress.stop

    def close(self) -> None:
        if self._stop is not None:
            self._stop()
