"""Long answers cut to what people read, and machine forms to what was asked for."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from mqctl.render.document import Document, Paragraphs, Table
from mqctl.text import sentence

ROWS = 50
"""So many rows of a table are shown to people who do not ask for more."""

_LINES = 96
"""Two screens of 50 lines, and what a prompt takes of them."""
_LEAST = 5
_BESIDE_ROWS = 3  # of a table: an empty line, its title, its heads

_Value = TypeVar("_Value")


def rows_that_fit(document: Document) -> int:
    """Returns how many rows each table may have so that all of them together fit two screens, at most `ROWS`."""
    sizes = [len(block.rows) for block in document.blocks if isinstance(block, Table)]
    lines = sum(len(block.lines) + 1 for block in document.blocks if isinstance(block, Paragraphs))
    lines += _BESIDE_ROWS * len(sizes)
    for rows in range(ROWS, _LEAST, -1):
        if lines + sum(min(size, rows + 2) for size in sizes) <= _LINES:
            return rows
    return _LEAST


def cut_tables(document: Document, limit: int) -> Document:
    """Returns the document with at most `limit` rows in each table, and below a table that is cut how many it has; the
    machine form stays whole."""
    blocks: list[Table | Paragraphs] = []
    for block in document.blocks:
        if not isinstance(block, Table) or len(block.rows) <= limit:
            blocks.append(block)
            continue
        blocks.append(replace(block, rows=block.rows[:limit]))
        blocks.append(
            Paragraphs(
                [
                    sentence(
                        "cut-shown-limit-all",
                        "{shown:,} of {total:,} shown; --limit all",
                        shown=limit,
                        total=len(block.rows),
                    )
                ]
            )
        )
    return replace(document, blocks=blocks)


def cut_value(document: Document, limit: int) -> Document:
    """Returns the document with at most `limit` rows in each list of its machine form."""
    return replace(document, value=_cut(document.value, limit), records=document.records[:limit])


def _cut(value: _Value, limit: int) -> _Value:
    if not is_dataclass(value) or isinstance(value, type):
        return value
    lists = {item.name: getattr(value, item.name) for item in fields(value)}
    return replace(value, **{name: rows[:limit] for name, rows in lists.items() if isinstance(rows, list)})
