"""Documents in the language of the command line. Names and stored texts, machine forms and CSV stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.text import SpokenWord, shown_blocks
from mqctl.render.translation import spoken, words
from mqctl.text import Text

_FLAGS = {True: "yes", False: "no"}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row whose sentences and words are spoken."""

    row: object
    words: dict[str, str]

    def __getattr__(self, name: str) -> object:
        return self.words[name] if name in self.words else getattr(self.row, name)


def spoken_document(document: Document, lang: Lang | None) -> Document:
    """Returns the document with its heads, titles, sentences and words in a language, as far as it is known in it."""
    if lang is not Lang.ZH:
        return document
    blocks = [spoken_block(block, lang) for block in shown_blocks(document)]
    return replace(document, blocks=blocks, gaps=(), cautions=())  # the blocks say them already


def spoken_block(block: Table | Paragraphs, lang: Lang | None) -> Table | Paragraphs:
    """Returns one block in a language."""
    if isinstance(block, Table):
        return spoken_table(block, lang)
    return replace(block, lines=[spoken(line, lang) for line in block.lines])


def spoken_table(table: Table, lang: Lang | None) -> Table:
    """Returns a table in a language."""
    if lang is not Lang.ZH:
        return table
    return replace(
        table,
        columns=[_column(column, lang) for column in table.columns],
        rows=[_row(row, table.columns, lang) for row in table.rows],
        title=spoken(table.title, lang),
        empty=spoken(table.empty, lang),
        common=spoken(table.common, lang),
    )


def _row(row: object, columns: Sequence[Column], lang: Lang) -> object:
    cells = {column.key: _cell(getattr(row, column.key), column.kind, lang) for column in columns}
    said: Mapping[str, str] = {key: text for key, text in cells.items() if text is not None}
    return _Row(row, dict(said)) if said else row


def _cell(value: object, kind: CellKind, lang: Lang) -> str | None:
    """Returns what a cell says in a language; None for a name or a number, which stays."""
    if isinstance(value, Text):
        return spoken(value, lang)
    if kind is CellKind.SEVERITY and isinstance(value, str):
        return SpokenWord(words(value), value)
    if kind is CellKind.FLAG and isinstance(value, bool):
        return words(_FLAGS[value])
    return words(value) if kind is CellKind.WORDS and isinstance(value, str) else None


def _column(column: Column, lang: Lang) -> Column:
    kind = CellKind.TEXT if column.kind is CellKind.FLAG else column.kind  # it is a word already
    return replace(column, title=spoken(column.heading, lang), none=spoken(column.absent, lang), kind=kind)
