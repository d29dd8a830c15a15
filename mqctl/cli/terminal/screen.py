"""Drawing the same place of a terminal again and again, without a library: what runs for hours must cost next to
nothing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO

from mqctl.render.document import Document

_CLEAR_BELOW = "\x1b[J"
_CLEAR_LINE_END = "\x1b[K"
_LEAST_ROWS = 4


def is_terminal() -> bool:
    """Tells whether stdout can be drawn on again."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


class Screen:
    """A block of lines that is drawn over itself.

    Args:
        whole: take the whole screen instead of the lines below the prompt.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole
        self._drawn = 0

    def draw(self, lines: Sequence[str], foot: Sequence[str] = ()) -> None:
        """Draws lines, cut to the terminal's size as it is now; what stands at the foot is there however few rows
        there are."""
        columns, rows = shutil.get_terminal_size()
        last = [_cut(part, columns) for line in foot for part in _wrapped(line, columns)]
        room = max(rows - 1 - len(last), _LEAST_ROWS)
        shown = [*_cut_rows([_cut(line, columns) for line in lines], room), *last]
        start = "\x1b[H" if self._whole else f"\x1b[{self._drawn}F" if self._drawn else ""
        body = "".join(f"{line}{_CLEAR_LINE_END}\n" for line in shown)
        sys.stdout.write(f"{start}{body}{_CLEAR_BELOW}")
        sys.stdout.flush()
        self._drawn = len(shown)


@contextmanager
def whole_screen() -> Iterator[Screen]:
    """Yields the alternate screen with the cursor hidden; the terminal is as before afterwards."""
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        yield Screen(whole=True)
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


def plain_lines(document: Document, *, wide: bool = False) -> list[str]:
    """Returns what people see of `document`, as lines."""
    from mqctl.render.text import write_plain

    text = StringIO()
    write_plain(document, text, wide=wide)
    return text.getvalue().splitlines()


def fitted_lines(document: Document, *, wide: bool = False) -> list[str]:
    """Returns what people see of `document` on the terminal as wide as it is now: no column is lost."""
    from mqctl.render.text import write_fitted

    text = StringIO()
    write_fitted(document, text, wide=wide, room=shutil.get_terminal_size().columns, styled=False)
    return text.getvalue().splitlines()


def _wrapped(line: str, columns: int) -> list[str]:
    from mqctl.render.layout import wrapped

    return wrapped(line, columns)


def _cut_rows(lines: list[str], rows: int) -> list[str]:
    if len(lines) <= rows:
        return lines
    return [*lines[: rows - 1], f"... {len(lines) - rows + 1} more lines"]


def _cut(line: str, columns: int) -> str:
    """Cuts by terminal cells, so that no line wraps."""
    from mqctl.render.layout import width

    if width(line) <= columns:
        return line
    kept = line[:columns]
    while width(kept) > columns:
        kept = kept[:-1]
    return kept
