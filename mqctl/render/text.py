"""Tables and paragraphs as text: plain columns for pipes, styled ones for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mqctl import units
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.layout import Grid, Segment, paragraph, table_lines, width, wrapped
from mqctl.text import Sentence, composed, printable, sentence

if TYPE_CHECKING:
    from typing import TextIO

    from mqctl.model.gap import Gap

_WRITERS: dict[CellKind, Callable[..., str]] = {
    CellKind.COUNT: units.count,
    CellKind.BYTES: units.size,
    CellKind.DURATION_MS: units.duration,
    CellKind.TIME_MS: units.instant,
    CellKind.SHARE: units.share,
    CellKind.RATE: units.rate,
    CellKind.CHANGE: units.change,
    CellKind.RATIO: units.ratio,
    CellKind.FLAG: lambda value: "yes" if value else "no",
}
_GAPS_NAMED = 3
_OUT_OF_LINE = 64
"""A longer name has its column to itself in no pipe."""
_NOT_READ = (
    Sentence("shared-incomplete-not-read", "incomplete, not read: {parts}"),
    Sentence("shared-incomplete-not-read-more", "incomplete, not read: {parts} and {more_count:,} more"),
)
_NOT_CHECKED = (
    Sentence("shared-not-checked", "not checked: {parts}"),
    Sentence("shared-not-checked-more", "not checked: {parts} and {more_count:,} more"),
)
_UNKNOWN = sentence("unknown-not-everything-could", "unknown: not everything could be asked")
_RIGHT = frozenset(
    {
        CellKind.COUNT,
        CellKind.BYTES,
        CellKind.DURATION_MS,
        CellKind.SHARE,
        CellKind.RATE,
        CellKind.CHANGE,
        CellKind.RATIO,
    }
)
_SEVERITY_STYLE = {"fatal": "bold red", "error": "red", "warning": "yellow", "info": "cyan"}
_SEVERITY_STYLE |= {"unknown": "yellow", "ok": "green"}


class SpokenWord(str):
    """A word in the language of the command line, which knows what it is in English.

    Attributes:
        word: the English.
    """

    __slots__ = ("word",)

    word: str

    def __new__(cls, shown: str, word: str) -> SpokenWord:
        made = super().__new__(cls, shown)
        made.word = word
        return made


# ECMA-48, select graphic rendition.
_STYLE_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


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


def shown_blocks(document: Document) -> Sequence[Table | Paragraphs]:
    """Returns what people see: of an answer that lacks something, first that it does; then no table is called empty.
    Before a plan stands what it cannot promise."""
    lead = [sentence("common-caution", "caution: {line}", line=caution) for caution in document.cautions]
    blocks = [Paragraphs(lead, severity="warning"), *document.blocks] if lead else document.blocks
    if not document.gaps:
        return blocks
    from mqctl.model.gap import Cause

    unproven = [gap for gap in document.gaps if gap.cause is Cause.UNPROVEN]
    unread = [gap for gap in document.gaps if gap.cause is not Cause.UNPROVEN]
    lines = [_lead(unread, _NOT_READ)] if unread else []
    lines += [_lead(unproven, _NOT_CHECKED)] if unproven else []
    shown = [replace(item, empty=_UNKNOWN) if isinstance(item, Table) else item for item in blocks]
    return [Paragraphs(lines, severity="warning"), *shown]


def _lead(gaps: Sequence[Gap], sentences: tuple[Sentence, Sentence]) -> str:
    """Returns the line that names parts, or of many the first."""
    names = list(dict.fromkeys(map(_part_in_words, gaps)))
    more = len(names) - _GAPS_NAMED
    few, many = sentences
    return many(parts=names[:_GAPS_NAMED], more_count=more) if more > 0 else few(parts=names)


def _part_in_words(gap: Gap) -> str:
    return composed("{part} ({scope})", part=gap.part, scope=gap.scope) if gap.scope else gap.part


def write_plain(document: Document, stream: TextIO, *, wide: bool) -> None:
    """Writes `document` to `stream` as aligned columns without styling."""
    for position, block in enumerate(shown_blocks(document)):
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
    widths = [_plain_width(list(map(width, parts))) for parts in zip(titles, *grid, strict=True)]
    return [*head, *(_align(parts, widths, columns) for parts in [titles, *grid])]


def _plain_width(widths: Sequence[int]) -> int:
    """Returns how wide a column is: a few names that are far longer stand out of it, and move their own rows only."""
    most = max(_OUT_OF_LINE, sorted(widths)[(len(widths) - 1) * 3 // 4])
    return max(one for one in widths if one <= most)


def _align(parts: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    padded = []
    for part, room, column in zip(parts, widths, columns, strict=True):
        gap = " " * (room - width(part))
        padded.append(gap + part if column.kind in _RIGHT else part + gap)
    return "  ".join(padded)


def write_fitted(document: Document, stream: TextIO, *, wide: bool, room: int, styled: bool) -> None:
    """Writes `document` to a terminal of `room` columns; `styled` with bold headings and coloured severities."""
    for position, block in enumerate(shown_blocks(document)):
        if position:
            stream.write("\n")
        for line in _fitted(block, wide=wide, room=room):
            stream.write("".join(_with_style(text, style if styled else "") for text, style in line).rstrip() + "\n")


def _fitted(block: Table | Paragraphs, *, wide: bool, room: int) -> Iterator[list[Segment]]:
    if isinstance(block, Paragraphs):
        for number, line in enumerate(map(printable_lines, block.lines)):
            style = "" if number else _SEVERITY_STYLE.get(block.severity, "")
            for part in line.split("\n"):
                yield from ([(text, style)] for text in paragraph(part, room))
        return
    if block.title:
        yield from ([(line, "bold")] for line in wrapped(printable(block.title), room))
    if not block.rows:
        yield from ([(line, "dim")] for line in wrapped(printable(block.empty), room))
        return
    columns = shown_columns(block, wide=wide)
    grid = Grid(
        titles=[column.title.upper() for column in columns],
        right=[is_right(column) for column in columns],
        rows=[[cell(column, row) for column in columns] for row in block.rows],
        styles=[[_style(column, row) for column in columns] for row in block.rows],
        common=printable(block.common),
    )
    yield from table_lines(grid, room, whole=wide)


def row_style(table: Table, row: object) -> str:
    """Returns the style of a row that has a severity; else the empty name."""
    return next((style for column in table.columns if (style := _style(column, row))), "")


def _with_style(text: str, style: str) -> str:
    if not style or not text:
        return text
    codes = ";".join(_STYLE_CODES[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m"


def _style(column: Column, row: object) -> str:
    if column.kind is not CellKind.SEVERITY:
        return ""
    value = getattr(row, column.key)
    return _SEVERITY_STYLE.get(value.word if isinstance(value, SpokenWord) else str(value), "")
