"""Tables as the screen of `top` shows them: filtered, sorted, with the last minutes of one column drawn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from io import StringIO

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Column, Document, Table
from mqctl.render.layout import width
from mqctl.render.text import cell, is_right, row_style, write_fitted

SPAN_MS = 300_000
_CELLS = 12
_BARS = "▁▂▃▄▅▆▇█"
_GAP = "  "
_WIDEST = 60
"""Cells of a text column: bodies and sentences are read whole on the page of their row."""


@dataclass(slots=True)
class Past:
    """The last minutes of numbers."""

    _seen: dict[Hashable, deque[tuple[int, float]]] = field(default_factory=dict)

    def note(self, key: Hashable, moment_ms: int, value: float | None) -> None:
        """Adds a look; what is not known leaves a gap."""
        looks = self._seen.setdefault(key, deque())
        while looks and looks[0][0] <= moment_ms - SPAN_MS:
            looks.popleft()
        if value is not None and (not looks or looks[-1][0] < moment_ms):
            looks.append((moment_ms, value))

    def recall(self, key: Hashable, points: Sequence[tuple[int, float]]) -> None:
        """Adds looks of somebody else, as far as they are older than one's own."""
        looks = self._seen.setdefault(key, deque())
        first_ms = looks[0][0] if looks else None
        looks.extendleft(point for point in reversed(points) if first_ms is None or point[0] < first_ms)

    def drawn(self, key: Hashable, now_ms: int) -> str:
        """Returns the last five minutes as bars, the newest to the right; spaces where nothing was seen."""
        values: list[float | None] = [None] * _CELLS
        for moment_ms, value in self._seen.get(key, ()):
            place = _CELLS - 1 - (now_ms - moment_ms) * _CELLS // SPAN_MS
            if 0 <= place < _CELLS:
                values[place] = value
        return spark_bars(values)


def spark_bars(values: Sequence[float | None]) -> str:
    """Draws numbers between 0 and the largest; only 0 is the lowest bar."""
    most = max((value for value in values if value is not None), default=0)
    return "".join(" " if value is None else _bar(value, most) for value in values)


def _bar(value: float, most: float) -> str:
    if value <= 0 or most <= 0:
        return _BARS[0]
    return _BARS[1 + min(len(_BARS) - 2, round(value * (len(_BARS) - 1) // most))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """By which column rows stand; without one as the command gives them."""

    key: str | None = None
    backwards: bool = False

    def next(self, columns: Sequence[Column]) -> Sorting:
        """Returns the order by the next column; after the last, the command's own."""
        keys = [None, *(column.key for column in columns)]
        place = keys.index(self.key) if self.key in keys else 0
        return Sorting(key=keys[(place + 1) % len(keys)])


def chosen_rows(table: Table, wanted: str, sorting: Sorting) -> list[object]:
    """Returns the rows that hold `wanted` in a cell, in order: numbers largest first, texts by the alphabet, what is
    not known last."""
    text = wanted.casefold()
    rows = [
        row
        for row in table.rows
        if not text or any(text in cell(column, row).casefold() for column in table.columns if not column.wide)
    ]
    column = next((item for item in table.columns if item.key == sorting.key), None)
    if column is None:
        return rows[::-1] if sorting.backwards else rows
    name = column.key
    known = [row for row in rows if getattr(row, name) is not None]
    unknown = [row for row in rows if getattr(row, name) is None]
    numeric = all(isinstance(getattr(row, name), int | float) for row in known)

    def place(row: object) -> float | str:
        value = getattr(row, name)
        return value if numeric and isinstance(value, int | float) else str(value).casefold()

    return [*sorted(known, key=place, reverse=numeric != sorting.backwards), *unknown]


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """Lines for the screen: a heading, the rows, and the style of each."""

    heading: str
    lines: Sequence[str]
    styles: Sequence[str]


def laid_out(
    table: Table, rows: Sequence[object], sorting: Sorting, *, drawn: str = "", drawn_title: str = "", draw: Draw = None
) -> Laid:
    """Lays rows out in columns.

    Args:
        drawn: key of the column whose past is drawn beside it; `draw` draws it for a row.
    """
    columns = [column for column in table.columns if not column.wide]
    titles, right, cells = [], [], []
    for column in columns:
        mark = "" if column.key != sorting.key else "↑" if sorting.backwards else "↓"
        titles.append(f"{column.title.upper()}{mark}")
        right.append(is_right(column))
        cells.append([_cut(cell(column, row)) for row in rows])
        if draw is not None and column.key == drawn:
            titles.append(drawn_title.upper())
            right.append(False)
            cells.append([draw(row) for row in rows])
    widths = [max(map(width, (title, *texts))) for title, texts in zip(titles, cells, strict=True)]
    grid = zip(*cells, strict=True) if rows else ()
    return Laid(
        heading=_line(titles, widths, right),
        lines=[_line(parts, widths, right) for parts in grid],
        styles=[row_style(table, row) for row in rows],
    )


Draw = Callable[[object], str] | None


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _line(parts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for part, room, to_right in zip(parts, widths, right, strict=True):
        blank = " " * (room - width(part))
        padded.append(blank + part if to_right else part + blank)
    return _GAP.join(padded)


def trail(titles: Sequence[str], room: int) -> str:
    """Returns the way to a page in one line: its title, and before it as many as there is room for."""
    shown = titles[-1]
    for title in reversed(titles[:-1]):
        longer = f"{title} > {shown}"
        if width(longer) > room:
            return shown
        shown = longer
    return shown


def record_table(document: Document, keys: Sequence[str]) -> Table:
    """Returns the records of a document as a table with some of its CSV columns."""
    by_key = {column.key: column for column in document.csv_columns}
    return Table([by_key[key] for key in keys], document.records)


def text_lines(document: Document, room: int) -> list[str]:
    """Returns a document as running text in `room` cells."""
    text = StringIO()
    write_fitted(document, text, wide=False, room=room, styled=False)
    return text.getvalue().splitlines()
