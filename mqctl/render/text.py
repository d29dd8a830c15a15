"""Tables and paragraphs as text: plain columns for pipes, styled ones for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mqctl.render import units
from mqctl.render.document import Column, Document, Kind, Paragraphs, Table

if TYPE_CHECKING:
    from typing import TextIO

_WRITERS: dict[Kind, Callable[..., str]] = {
    Kind.COUNT: units.count,
    Kind.BYTES: units.size,
    Kind.DURATION_MS: units.duration,
    Kind.TIME_MS: units.instant,
    Kind.SHARE: units.share,
    Kind.RATE: units.rate,
    Kind.CHANGE: units.change,
    Kind.RATIO: units.ratio,
    Kind.FLAG: lambda value: "yes" if value else "no",
}
_RIGHT = frozenset({Kind.COUNT, Kind.BYTES, Kind.DURATION_MS, Kind.SHARE, Kind.RATE, Kind.CHANGE, Kind.RATIO})
_SEVERITY_STYLE = {"fatal": "bold red", "error": "red", "warning": "yellow", "info": "cyan"}


def printable(text: str) -> str:
    """Returns `text` with control characters made visible, so that stored bytes cannot drive a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_lines(text: str) -> str:
    """Returns `text` as `printable` does, its line ends kept."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def cell(column: Column, row: object) -> str:
    """Returns what people read in `column` of `row`."""
    value = getattr(row, column.key)
    if value is None:
        return column.none
    writer = _WRITERS.get(column.kind)
    return writer(value) if writer else printable(str(value))


def width(text: str) -> int:
    """Returns how many terminal cells `text` takes; East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    combining = sum(unicodedata.combining(char) != 0 for char in text)
    return len(text) + wide - combining


def write_plain(document: Document, stream: TextIO, *, wide: bool) -> None:
    """Writes `document` to `stream` as aligned columns without styling."""
    for position, block in enumerate(document.blocks):
        if position:
            stream.write("\n")
        lines = map(printable_lines, block.lines) if isinstance(block, Paragraphs) else plain_table(block, wide=wide)
        stream.writelines(f"{line.rstrip()}\n" for line in lines)


def shown_columns(table: Table, *, wide: bool) -> list[Column]:
    """Returns the columns that the `table` or `wide` format shows."""
    return [column for column in table.columns if wide or not column.wide]


def is_right(column: Column) -> bool:
    """Tells whether a column's cells stand to the right."""
    return column.kind in _RIGHT


def plain_table(table: Table, *, wide: bool) -> list[str]:
    """Returns the lines of `table`: title, heading, rows; numbers stand to the right."""
    head = [printable(table.title)] if table.title else []
    if not table.rows:
        return [*head, printable(table.empty)]
    columns = shown_columns(table, wide=wide)
    grid = [[cell(column, row) for column in columns] for row in table.rows]
    titles = [column.title.upper() for column in columns]
    widths = [max(map(width, parts)) for parts in zip(titles, *grid, strict=True)]
    return [*head, *(_align(parts, widths, columns) for parts in [titles, *grid])]


def _align(parts: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    padded = []
    for part, room, column in zip(parts, widths, columns, strict=True):
        gap = " " * (room - width(part))
        padded.append(gap + part if column.kind in _RIGHT else part + gap)
    return "  ".join(padded)


def write_styled(document: Document, stream: TextIO, *, wide: bool) -> None:
    """Writes `document` to a terminal with rich: bold headings, coloured severities, columns that fold."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for position, block in enumerate(document.blocks):
        if position:
            console.print()
        if isinstance(block, Paragraphs):
            for number, line in enumerate(map(printable_lines, block.lines)):
                text = line.lstrip(" ")
                style = "" if number else _SEVERITY_STYLE.get(block.severity, "")
                console.print(Padding(Text(text, style=style), (0, 0, 0, len(line) - len(text))))
            continue
        if block.title:
            console.print(Text(printable(block.title), style="bold"))
        if not block.rows:
            console.print(Text(printable(block.empty), style="dim"))
            continue
        columns = shown_columns(block, wide=wide)
        rich_table = RichTable(box=None, pad_edge=False, header_style="bold", show_edge=False)
        for column in columns:
            rich_table.add_column(
                column.title.upper(), justify="right" if column.kind in _RIGHT else "left", overflow="fold"
            )
        for row in block.rows:
            rich_table.add_row(*(Text(cell(column, row), style=_style(column, row)) for column in columns))
        console.print(rich_table)


def _style(column: Column, row: object) -> str:
    if column.kind is not Kind.SEVERITY:
        return ""
    return _SEVERITY_STYLE.get(str(getattr(row, column.key)), "")
