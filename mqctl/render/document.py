"""What a command hands to `emit`: one value for machines, and the tables that show it to people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from mqctl.model.column import CellKind, Column
from mqctl.model.gap import Gap
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.layout import COMMON
from mqctl.text import sentence

__all__ = ["NOTHING", "CellKind", "Column", "Document", "Paragraphs", "Table"]

NOTHING = sentence("table-empty", "nothing to show")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for people (and CSV): each row is a value with one attribute per column."""

    columns: Sequence[Column]
    rows: Sequence[object]
    title: str = ""
    empty: str = NOTHING
    common: str = COMMON


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """Running text between tables; each line stands as it is.

    Attributes:
        severity: colours the first line on a terminal.
        stored: whether lines quote what is stored: a message's body is shown as it is, whatever it says.
    """

    lines: Sequence[str]
    severity: str = ""
    stored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The result of a command.

    Attributes:
        schema: name and version of the machine form, for instance `group.lag/1`.
        value: the machine form: a dataclass of plain values.
        records: the rows that `ndjson` writes one a line and `csv` as lines.
        blocks: what people see, in order.
        csv_columns: the columns of the CSV form; those of the first table when not given.
        gaps: what could not be asked for it: what is not there may be unknown. JSON calls them `unavailable`.
        cautions: what a plan cannot promise, one sentence each.
    """

    schema: str
    value: object
    records: Sequence[object] = ()
    blocks: Sequence[Table | Paragraphs] = ()
    csv_columns: Sequence[Column] = field(default=())
    gaps: Sequence[Gap] = ()
    cautions: Sequence[str] = ()

    def with_gaps(self, gaps: Iterable[Gap]) -> Document:
        """Returns the document of an answer that could be given in part only."""
        return replace(self, gaps=tuple(gaps))

    def with_cautions(self, cautions: Iterable[str]) -> Document:
        """Returns the document of a plan that cannot promise everything."""
        return replace(self, cautions=tuple(cautions))
