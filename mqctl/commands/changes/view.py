"""The history of all changes, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from mqctl.changes.engine.history import HistoryEntry
from mqctl.model.column import columns_of
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said, said
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.text import Word, sentence

HISTORY_COLUMNS = columns_of(
    HistoryEntry,
    "id",
    "made_at_ms",
    "kind",
    "subject",
    "part_count",
    "state",
    "undone_by",
    "back",
    "who",
    "cluster",
    "target",
    "undoes",
)
_ENDED = ("confirmed",)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Machine form of `history`.

    Attributes:
        unreadable: records that are left out, each with the reason.
    """

    changes: list[HistoryEntry]
    unreadable: list[str]
    keyed_unreadable: list[Said] = field(default_factory=list)


def history_document(entries: Iterable[HistoryEntry], unreadable: Sequence[str]) -> Document:
    """Builds the document of `history`."""
    rows = list(entries)
    some_undone = any(row.undone_by for row in rows)
    columns = [column for column in HISTORY_COLUMNS if some_undone or column.key != "undone_by"]
    blocks: list[Table | Paragraphs] = [
        Table(columns, rows, empty=sentence("no-change-made-machine", "no change was made from this machine"))
    ]
    newest = next((row for row in rows if row.back), None)
    if newest is not None and newest.state in _ENDED:
        blocks.append(Paragraphs([sentence("settings-undo-newest", "undo the newest: {back}", back=newest.back)]))
    if unfinished := [
        sentence("settings-row", "{row} is {state}: {back}", row=row.id, state=Word(row.state), back=row.back)
        for row in rows
        if row.back and row.state not in _ENDED
    ]:
        blocks.append(Paragraphs(unfinished))
    value = History(changes=rows, unreadable=list(unreadable), keyed_unreadable=said(unreadable))
    return Document(schema="history/1", value=value, records=rows, blocks=blocks)
