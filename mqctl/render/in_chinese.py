"""Documents with Chinese heads, sentences and words. Names and stored texts, machine forms and CSV stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.messages.zh.heads import HEADS, TITLES
from mqctl.render.text import shown_blocks
from mqctl.render.translation import spoken, words
from mqctl.text import Text

_WORDED = (CellKind.SENTENCE, CellKind.WORDS, CellKind.FLAG)
_YES, _NO = "是", "否"


@dataclass(frozen=True, slots=True)
class _Row:
    """A row whose words are Chinese."""

    row: object
    words: dict[str, str]

    def __getattr__(self, name: str) -> object:
        return self.words[name] if name in self.words else getattr(self.row, name)


def in_chinese(document: Document) -> Document:
    """Returns the document with the heads, titles, sentences and words that the catalogue has in Chinese."""
    blocks = [_table(block) if isinstance(block, Table) else _lines(block) for block in shown_blocks(document)]
    return replace(document, blocks=blocks, gaps=())  # the blocks say already what was not read


def _lines(block: Paragraphs) -> Paragraphs:
    if block.stored:
        return block
    return replace(block, lines=[spoken(line, Lang.ZH) for line in block.lines])


def _table(table: Table) -> Table:
    kinds = {column.key: column.kind for column in table.columns if column.kind in _WORDED}
    return replace(
        table,
        columns=tuple(map(_column, table.columns)),
        rows=[_row(row, kinds) for row in table.rows] if kinds else table.rows,
        title=_title(table.title),
        empty=_title(table.empty),
    )


def _title(text: str) -> str:
    return TITLES.get(text) or spoken(text, Lang.ZH)


def _row(row: object, kinds: Mapping[str, CellKind]) -> object:
    texts = {key: getattr(row, key) for key in kinds}
    flags = {key: _YES if value else _NO for key, value in texts.items() if isinstance(value, bool)}
    return _Row(row, {key: _cell(text, kinds[key]) for key, text in texts.items() if isinstance(text, str)} | flags)


def _cell(text: str, kind: CellKind) -> str:
    if kind is CellKind.WORDS and not isinstance(text, Text):
        return words(text)
    return spoken(text, Lang.ZH)


def _column(column: Column) -> Column:
    none = TITLES.get(column.none, HEADS.get(column.none, column.none))
    kind = CellKind.TEXT if column.kind is CellKind.FLAG else column.kind  # it is a word already
    return replace(column, title=HEADS.get(column.title, column.title), none=none, kind=kind)
