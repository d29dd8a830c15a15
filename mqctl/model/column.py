"""How a field of a row is shown: declared beside it, so that one class is JSON, CSV, table and documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import Text, sentence, word_key


class CellKind(StrEnum):
    """How a cell is written for people; machines always get the raw value.

    SENTENCE and WORDS have their Chinese: a name may stand where a sentence may, never where words stand.
    """

    TEXT = "text"
    SENTENCE = "sentence"
    WORDS = "words"
    COUNT = "count"
    BYTES = "bytes"
    DURATION_MS = "duration_ms"
    TIME_MS = "time_ms"
    SHARE = "share"
    RATIO = "ratio"
    SEVERITY = "severity"
    FLAG = "flag"
    RATE = "rate"
    CHANGE = "change"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        key: attribute of the row, and the column's name in CSV.
        title: heading for people.
        kind: how the cell is written.
        wide: shown only with `-o wide`.
        none: what stands for None: `?` where the value is unknown, `-` where there is none.
    """

    key: str
    title: str
    kind: CellKind = CellKind.TEXT
    wide: bool = False
    none: str = "-"

    @property
    def heading(self) -> str:
        """The title as a text: it is a word or two, and its key is made of them."""
        return sentence(word_key("head", self.title), self.title)

    @property
    def absent(self) -> str:
        """What stands for None, in the same way."""
        named = isinstance(self.none, Text) or not self.none.strip("?-")
        return self.none if named else sentence(word_key("none", self.none), self.none)


_KEY = "column"


def column(
    title: str, kind: CellKind = CellKind.TEXT, *, wide: bool = False, none: str = "-", cell: str | None = None
) -> Mapping[str, tuple[str | None, str, CellKind, bool, str]]:
    """Returns the metadata of a field that has a column: `lost_count: int = field(metadata=column("lost", ...))`.

    Args:
        title, kind, wide, none: see `Column`.
        cell: the property that writes a list or an object in one cell; the field itself unless given.
    """
    return {_KEY: (cell, title, kind, wide, none)}


def columns_of(row: type, *names: str) -> tuple[Column, ...]:
    """Returns the columns of a row class: those of some fields, in this order, or of all that have one.

    Raises:
        KeyError: a name is no field with a column.
    """
    declared = {item.name: item.metadata[_KEY] for item in fields(row) if _KEY in item.metadata}
    return tuple(
        Column(cell or name, title, kind, wide, none)
        for name in names or declared
        for cell, title, kind, wide, none in (declared[name],)
    )
