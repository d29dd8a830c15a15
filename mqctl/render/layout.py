"""Tables and running text in the room that a terminal has: what is copied from a screen stays in one piece.

Numbers, names and client ids are never broken inside. A table that is too wide first breaks its headings and texts
between words, then shortens in the middle names that are longer than their share, unless they are wanted whole, then
says once what every row has in common; a few rows that are too wide even so, or all when they are not few, are written
by themselves, each value behind its heading. rich would fold names in the middle and costs 100 ms to import on every
command.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

COMMON = sentence("table-in-every-row", "in every row: ")
"""What is said before that which all rows of a table have in common."""

_GAP = 2
_HANGING = 2
_FEW = 4
"""One row in so many may be too wide and is written by itself."""
_SHARE = 48
"""What a name may take of any terminal: client ids are shorter."""
_SHORTER = (40, 32, 24)
_ELLIPSIS = "…"
# No line begins with these: they belong to what stands before them.
_CLOSING = frozenset("，。、；：？！）」』》”’")
_COMMAND = re.compile(r"\s*(?:[^\s:：]+[:：] ?)?(?:\$ )?mqctl ")

Segment = tuple[str, str]
"""A piece of a line with the name of its style; the empty name is none."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table whose cells are texts already.

    Attributes:
        titles: headings.
        right: whether the cells of a column stand to the right; such cells are numbers and never broken.
        rows: cells by row and column.
        styles: the style of each cell.
        common: what is said before that which all rows have in common.
    """

    titles: Sequence[str]
    right: Sequence[bool]
    rows: Sequence[Sequence[str]]
    styles: Sequence[Sequence[str]]
    common: str = COMMON

    def without(self, dropped: set[int]) -> Grid:
        """Returns the grid without some columns."""
        kept = [place for place in range(len(self.titles)) if place not in dropped]

        def pick(parts: Sequence[str]) -> list[str]:
            return [parts[place] for place in kept]

        return Grid(
            titles=pick(self.titles),
            right=[self.right[place] for place in kept],
            rows=[pick(row) for row in self.rows],
            styles=[pick(row) for row in self.styles],
            common=self.common,
        )

    def of_rows(self, kept: set[int]) -> Grid:
        """Returns the grid with some rows only."""
        return Grid(
            titles=self.titles,
            right=self.right,
            rows=[self.rows[number] for number in sorted(kept)],
            styles=[self.styles[number] for number in sorted(kept)],
            common=self.common,
        )


def width(text: str) -> int:
    """Returns how many terminal cells `text` takes; East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    combining = sum(unicodedata.combining(char) != 0 for char in text)
    return len(text) + wide - combining


def wrapped(text: str, room: int) -> list[str]:
    """Breaks `text` between words (and between wide characters) so that lines take at most `room` cells.

    A word that is longer than a line is broken where the line ends.
    """
    if width(text) <= room:
        return [text]
    lines, line = [], ""
    for piece in _pieces(text):
        if line and width(line) + width(piece.rstrip(" ")) > room:
            lines.append(line.rstrip(" "))
            line = ""
        line += piece
        while width(line.rstrip(" ")) > room:
            head = _head(line, room)
            lines.append(head)
            line = line[len(head) :]
    return [*lines, line.rstrip(" ")] if line.strip(" ") or not lines else lines


def paragraph(line: str, room: int) -> list[str]:
    """Returns a line of running text in `room` cells, its indentation kept; a line to be copied into a shell stays
    whole, and the terminal wraps it so that it is copied as one."""
    text = line.lstrip(" ")
    indent = " " * (len(line) - len(text))
    if _COMMAND.match(text) or len(indent) * 2 > room:
        return [line]
    return [indent + part for part in wrapped(text, room - len(indent))]


def table_lines(grid: Grid, room: int, *, whole: bool = False) -> Iterator[list[Segment]]:
    """Yields the lines of a table in `room` cells, headings first.

    Args:
        whole: names are not shortened, however long they are.
    """
    widths = _widths(grid, room)
    for tried in [] if widths is not None else [grid] if whole else [_shortened(grid, room), grid]:
        widths = _widths(tried, room)
        common = _common(tried, room) if widths is None else set()
        if common:
            shared = "  ".join(f"{tried.titles[place]} {tried.rows[0][place]}" for place in sorted(common))
            yield from ([(line, "dim")] for line in wrapped(f"{grid.common}{shared}", room))
            widths = _widths(tried.without(common), room)
        if widths is not None:
            grid = tried.without(common)
            break
    alone: set[int] = set()
    if widths is None:
        alone = _too_wide(grid, room)
        widths = _widths(grid.of_rows(set(range(len(grid.rows))) - alone), room) if alone else None
    if widths is None:
        yield from _cards(grid, room)
        return
    yield from _row(grid.titles, ["bold"] * len(widths), widths, grid.right, lowest=True)
    for number, (cells, styles) in enumerate(zip(grid.rows, grid.styles, strict=True)):
        if number in alone:
            yield from _cards(grid.of_rows({number}), room)
        else:
            yield from _row(cells, styles, widths, grid.right, lowest=False)


def _pieces(text: str) -> Iterable[str]:
    """Yields what stays together: a word with the space behind it, or one wide character with its punctuation."""
    if text.isascii():
        yield from re.findall(r" *[^ ]+ *", text)
        return
    piece = ""
    for char in text:
        breaks = piece and (
            (piece[-1] == " " and char != " ") or (char not in _CLOSING and (_is_wide(char) or _is_wide(piece[-1])))
        )
        if breaks and char != " ":
            yield piece
            piece = ""
        piece += char
    yield piece


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


def _head(text: str, room: int) -> str:
    kept = text[: max(room, 1)]
    while width(kept) > room and len(kept) > 1:
        kept = kept[:-1]
    return kept


def _widths(grid: Grid, room: int) -> list[int] | None:
    """Returns the columns' widths, the widest shrunk first; None when words would have to be broken."""
    columns = list(zip(grid.titles, grid.right, *grid.rows, strict=True))
    natural = _natural(grid)
    left = room - _GAP * (len(columns) - 1)
    if sum(natural) <= left:
        return natural
    least = [
        max(_longest(title), *(width(cell) if right else _longest(cell) for cell in cells))
        for title, right, *cells in columns
    ]
    if sum(least) > left:
        return None
    low, high = 0, max(natural)
    while low < high:
        cap = (low + high + 1) // 2
        low, high = (cap, high) if sum(_shrunk(natural, least, cap)) <= left else (low, cap - 1)
    widths = _shrunk(natural, least, low)
    for place, one in enumerate(natural):
        if widths[place] < one and sum(widths) < left:
            widths[place] += 1
    return [
        one if one == most else max(width(line) for cell in (title, *cells) for line in wrapped(cell, one))
        for one, most, (title, _, *cells) in zip(widths, natural, columns, strict=True)
    ]


def _shrunk(natural: Sequence[int], least: Sequence[int], cap: int) -> list[int]:
    return [max(few, min(one, cap)) for one, few in zip(natural, least, strict=True)]


def _longest(text: str) -> int:
    if width(text) <= 1:
        return 1
    return max((width(piece.strip(" ")) for piece in _pieces(text)), default=1)


def _common(grid: Grid, room: int) -> set[int]:
    """Returns columns that say the same in every row, the widest first, as many as must go for the rest to fit; none
    when it would not fit without them either."""
    same = _same(grid)
    same.sort(key=lambda place: (-max(width(grid.rows[0][place]), _longest(grid.titles[place])), place))
    dropped: set[int] = set()
    for place in same:
        dropped.add(place)
        if _widths(grid.without(dropped), room) is not None:
            return dropped
    return set()


def _same(grid: Grid) -> list[int]:
    """Returns the columns but for the first that say the same in every one of several rows."""
    if len(grid.rows) < 2:
        return []
    return [place for place in range(1, len(grid.titles)) if len({row[place] for row in grid.rows}) == 1]


def _shortened(grid: Grid, room: int) -> Grid:
    """Returns the grid with names that are longer than their share shortened, no more than the table needs to fit, nor
    than the other names of their column: they do not make it wider."""
    share = max(_SHARE, room * 2 // 5)
    kept = [right or place in _same(grid) for place, right in enumerate(grid.right)]  # what is the same is said once
    longest = [[0 if keep else _longest(cell) for cell, keep in zip(row, kept, strict=True)] for row in grid.rows]
    if all(one <= share for row in longest for one in row):
        return grid
    usual = [max((one for one in column if one <= share), default=0) for column in zip(*longest, strict=True)]
    grids = [_cut_to(grid, longest, usual, share, cap) for cap in (share, *_SHORTER)]
    flat = (one for one in grids if sum(_natural(one)) + _GAP * (len(one.titles) - 1) <= room)
    return next(flat, None) or next((one for one in grids if _widths(one, room) is not None), grids[-1])


def _cut_to(grid: Grid, longest: list[list[int]], usual: list[int], share: int, cap: int) -> Grid:
    rows = [
        [
            _with_short_words(cell, share, max(cap, one)) if most > share else cell
            for cell, most, one in zip(row, mosts, usual, strict=True)
        ]
        for row, mosts in zip(grid.rows, longest, strict=True)
    ]
    return replace(grid, rows=rows)


def _natural(grid: Grid) -> list[int]:
    return [max(width(title), *map(width, cells)) for title, *cells in zip(grid.titles, *grid.rows, strict=True)]


def _with_short_words(cell: str, share: int, cap: int) -> str:
    return "".join(middle_cut(piece, cap) if width(piece.strip(" ")) > share else piece for piece in _pieces(cell))


def middle_cut(piece: str, most: int) -> str:
    """Returns a word shortened in the middle to `most` cells, the spaces around it kept."""
    word = piece.strip(" ")
    if width(word) <= most:
        return piece
    tail = (most - 1) // 2
    head = _head(word, most - 1 - tail)
    end = word[len(word) - tail :]
    while width(end) > tail:
        end = end[1:]
    return piece.replace(word, f"{head}{_ELLIPSIS}{end}")


def _too_wide(grid: Grid, room: int) -> set[int]:
    """Returns the few rows without which the others fit, as few as can be; none when those are not few: one long name
    must not change how all rows are read."""
    need = [
        max(width(cell) if right else _longest(cell) for cell, right in zip(row, grid.right, strict=True))
        for row in grid.rows
    ]
    by_need = sorted(range(len(need)), key=lambda number: (-need[number], number))
    most = len(by_need) // _FEW
    everything = set(by_need)
    if not most or _widths(grid.of_rows(everything - set(by_need[:most])), room) is None:
        return set()
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        fits = _widths(grid.of_rows(everything - set(by_need[:middle])), room) is not None
        low, high = (low, middle) if fits else (middle + 1, high)
    return set(by_need[:low])


def _row(
    cells: Sequence[str], styles: Sequence[str], widths: Sequence[int], right: Sequence[bool], *, lowest: bool
) -> Iterator[list[Segment]]:
    """Yields the lines of one row; broken headings stand low, beside what they are about."""
    parts = [wrapped(cell, room) for cell, room in zip(cells, widths, strict=True)]
    height = max(map(len, parts))
    for number in range(height):
        line: list[Segment] = []
        gap = ""
        for part, style, room, is_right in zip(parts, styles, widths, right, strict=True):
            place = number - (height - len(part)) if lowest else number
            text = part[place] if 0 <= place < len(part) else ""
            pad = " " * (room - width(text))
            line += [(gap + pad, ""), (text, style)] if is_right else [(gap, ""), (text, style), (pad, "")]
            gap = " " * _GAP
        yield line


def _cards(grid: Grid, room: int) -> Iterator[list[Segment]]:
    """Yields each row as its values behind their headings, later lines indented."""
    for cells, styles in zip(grid.rows, grid.styles, strict=True):
        line: list[Segment] = []
        used = 0
        for title, cell, style in zip(grid.titles, cells, styles, strict=True):
            need = width(title) + 1 + width(cell)
            if line and used + _GAP + need > room:
                yield line
                line, used = [(" " * _HANGING, "")], _HANGING
            elif line:
                line.append((" " * _GAP, ""))
                used += _GAP
            head, *rest = _broken(cell, room - used - width(title) - 1, room - _HANGING)
            line += [(title, "dim"), (" ", ""), (head, style)]
            used += width(title) + 1 + width(head)
            for part in rest:
                yield line
                line, used = [(" " * _HANGING, ""), (part, style)], _HANGING + width(part)
        yield line


def _broken(cell: str, first: int, later: int) -> list[str]:
    """Breaks a cell that has `first` cells beside its heading, and `later` on the lines below."""
    if width(cell) <= first:
        return [cell]
    return ["", *wrapped(cell, later)] if _longest(cell) > first else wrapped(cell, first)
