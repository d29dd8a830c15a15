"""Tables of a document with Chinese heads. What rows hold, machine forms and CSV stay as they are."""

from __future__ import annotations

from dataclasses import replace

from mqctl.render.document import Column, Document, Table
from mqctl.render.messages.zh.heads import HEADS, TITLES


def in_chinese(document: Document) -> Document:
    """Returns the document with the heads, titles and words for nothing that the catalogue has in Chinese."""
    blocks = [_table(block) if isinstance(block, Table) else block for block in document.blocks]
    return replace(document, blocks=blocks)


def _table(table: Table) -> Table:
    return replace(
        table,
        columns=tuple(map(_column, table.columns)),
        title=TITLES.get(table.title, table.title),
        empty=TITLES.get(table.empty, table.empty),
    )


def _column(column: Column) -> Column:
    none = TITLES.get(column.none, HEADS.get(column.none, column.none))
    return replace(column, title=HEADS.get(column.title, column.title), none=none)
