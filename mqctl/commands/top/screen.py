"""`top` on a terminal and in a pipe."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from threading import Thread
from time import monotonic, sleep

from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.gaps import tell_remedies
from mqctl.cli.language import spoken
from mqctl.cli.terminal.keyboard import Keys, single_keys
from mqctl.cli.terminal.screen import Screen, fitted_lines, plain_lines, whole_screen
from mqctl.commands.top.frames import TopFrames
from mqctl.commands.top.view import Sort, TopFrame, frame_document, sorted_groups
from mqctl.errors import ExitCode, MqctlError
from mqctl.model.gap import exit_code_of
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.cut import cut_tables
from mqctl.render.document import Document
from mqctl.text import composed, sentence

_KEYS = {"t": Sort.TIME, "l": Sort.LAG, "i": Sort.IN, "o": Sort.OUT, "m": Sort.MOVED, "n": Sort.NAME}
_HELP = "q quit   sort by: t lag time, l lag, i in/s, o out/s, m moved, n name   s next   p pause"
_FIXED_LINES = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class FramePace:
    """How often, how long one look may take, how many frames (None for no end), and how many rows in each table of a
    frame that is printed (None for all)."""

    every_ms: int
    round_ms: int
    count: int | None = None
    rows: int | None = None


def print_frames(frames: TopFrames, pace: FramePace, sort: Sort, output: Output, *, once: bool) -> int:
    """Writes frames one below the other; with `once` only the second, which knows rates.

    Raises:
        MqctlError: a look failed as a whole.
    """
    number = 0
    said: set[str] = set()
    while True:
        began = monotonic()
        frame = frames.next(pace.round_ms, sort)
        number += 1
        for problem in frame.problems:
            if problem not in said:
                said.add(problem)
                tell(composed("mqctl: {problem}", problem=problem))
        if not once or number == 2:
            if output in (Output.TABLE, Output.WIDE):
                document = frame_document(frame, sort=sort)
                shown = _spoken(document if pace.rows is None else cut_tables(document, pace.rows))
                text = "\n".join(plain_lines(shown))
                sys.stdout.write(text + ("\n" if once else "\n\n"))
            else:
                emit(frame_document(frame, sort=sort), output)
            sys.stdout.flush()
        if number == (2 if once else pace.count):
            tell_remedies(frame.unavailable)
            return exit_code_of(frame.unavailable)
        sleep(max(0.0, began + pace.every_ms / 1000 - monotonic()))


def _spoken(document: Document) -> Document:
    if spoken() is not Lang.ZH:
        return document
    from mqctl.render.spoken_document import spoken_document

    return spoken_document(document, Lang.ZH)


class _Worker:
    """Looks in the background, so that keys are answered at once."""

    def __init__(self, frames: TopFrames, keys: Keys, round_ms: int) -> None:
        self._frames = frames
        self._keys = keys
        self._round_ms = round_ms
        self.busy = False
        self.frame: TopFrame | None = None
        self.error: MqctlError | None = None
        self.fresh = False

    def begin(self, sort: Sort) -> None:
        self.busy = True
        Thread(target=self._look, args=(sort,), name="top", daemon=True).start()

    def _look(self, sort: Sort) -> None:
        try:
            self.frame = self._frames.next(self._round_ms, sort)
            self.error = None
        except MqctlError as error:
            self.error = error
        self.fresh, self.busy = True, False
        self._keys.ring()


def show_frames(frames: TopFrames, pace: FramePace, sort: Sort) -> int:
    """Draws frames over each other until `q`.

    Raises:
        MqctlError: the first look failed as a whole; later ones are shown as a problem and tried again.
    """
    with single_keys() as keys:
        worker = _Worker(frames, keys, pace.round_ms)
        worker.begin(sort)
        while not worker.fresh:
            if "q" in keys.wait(None):
                return ExitCode.OK
        if worker.error is not None:
            raise worker.error
        with whole_screen() as screen:
            return _Shown(worker, keys, screen, pace, sort).run()


class _Shown:
    """The loop on the terminal."""

    def __init__(self, worker: _Worker, keys: Keys, screen: Screen, pace: FramePace, sort: Sort) -> None:
        self._worker = worker
        self._keys = keys
        self._screen = screen
        self._pace = pace
        self._sort = sort
        self._paused = False

    def run(self) -> int:
        drawn = 0
        next_at = monotonic() + self._pace.every_ms / 1000
        while True:
            if self._worker.fresh:
                self._worker.fresh = False
                drawn += 1
            self._draw()
            if self._pace.count is not None and drawn >= self._pace.count:
                return ExitCode.OK
            typed = self._keys.wait(None if self._paused or self._worker.busy else max(0.0, next_at - monotonic()))
            if "q" in typed:
                return ExitCode.OK
            self._obey(typed)
            if not self._paused and not self._worker.busy and not self._worker.fresh and monotonic() >= next_at:
                next_at = monotonic() + self._pace.every_ms / 1000
                self._worker.begin(self._sort)

    def _obey(self, typed: str) -> None:
        for key in typed:
            if key == "s":
                orders = list(Sort)
                self._sort = orders[(orders.index(self._sort) + 1) % len(orders)]
            elif key == "p":
                self._paused = not self._paused
            else:
                self._sort = _KEYS.get(key, self._sort)

    def _draw(self) -> None:
        frame = self._worker.frame
        if frame is None:
            return
        shown = replace(frame, groups=sorted_groups(frame.groups, self._sort))
        # Two thirds of what is left go to groups.
        room = max(3, shutil.get_terminal_size().lines - _FIXED_LINES - len(frame.brokers))
        groups = max(2, room * 2 // 3)
        lines = fitted_lines(
            _spoken(frame_document(shown, sort=self._sort, groups=groups, topics=max(1, room - groups)))
        )
        note = (
            sentence("top-not-refreshed", "not refreshed: {error}", error=self._worker.error)
            if self._worker.error
            else sentence("screen-paused", "paused")
            if self._paused
            else ""
        )
        self._screen.draw(lines, [*([note] if note else []), _HELP])
