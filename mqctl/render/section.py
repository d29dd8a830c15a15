"""A section of a report for people, and the one that tells what was read."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column
from mqctl.text import sentence


@dataclass(frozen=True, slots=True)
class Section:
    """A section: the report's attribute with its rows, a title and columns."""

    attribute: str
    title: str
    columns: tuple[Column, ...]


NO_NAME = sentence("none-in-parentheses", "(none)")
UNREAD = Section(
    "unread",
    "Not read, and missing from the figures",
    (
        Column("store", "store"),
        Column("broker", "broker", none="?"),
        Column("part", "part"),
        Column("bytes", "bytes", CellKind.BYTES),
        Column("messages", "messages in its log", CellKind.COUNT),
        Column("reason", "why"),
    ),
)
READ = Section(
    "read",
    "What was read",
    (
        Column("store", "store"),
        Column("broker", "broker", none="?"),
        Column("messages", "messages", CellKind.COUNT),
        Column("bytes", "bytes", CellKind.BYTES),
        Column("skipped_bytes", "passed over", CellKind.BYTES),
        Column("damaged_at", "damaged at", wide=True),
    ),
)
