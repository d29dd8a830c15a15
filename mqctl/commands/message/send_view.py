"""The outcome of a send."""

from __future__ import annotations

from typing import Any

from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import keep_texts, sentence

COLUMNS = (
    Column("status", "status"),
    Column("message_id", "unique id"),
    Column("offset_message_id", "offset id"),
    Column("broker_name", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("queue_offset", "offset", CellKind.COUNT),
    Column("way", "delivered by", none="at once"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """Machine form of `message send`.

    Attributes:
        way: `timer` or `relay` for a message that was asked to come at a moment, `level 3` for one that waits on
            that delay level; None for any other.
        recall_handle: what `message recall` takes while a timer message waits; None for any other.
        read_back: of --verify: `stored`, `not-read-back` (its broker did not say) or `gone`; None without it.
        reason: why it is not `stored`.
    """

    status: str
    message_id: str
    offset_message_id: str | None
    broker_name: str
    queue_id: int
    queue_offset: int
    way: str | None = None
    recall_handle: str | None = None
    way_key: str | None = None
    way_values: dict[str, Any] | None = None
    read_back: str | None = None
    reason: str | None = None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "way", "reason")


def sent_document(row: SentMessage) -> Document:
    """Builds the document of `message send`."""
    again = (
        [
            sentence(
                "message-recall-while-waiting",
                "{command} takes it back while it waits",
                command=command_line("mqctl message recall {}", row.recall_handle),
            )
        ]
        if row.recall_handle
        else []
    )
    columns = COLUMNS if row.read_back is None else (*COLUMNS, Column("read_back", "read back", CellKind.WORDS))
    blocks: list[Table | Paragraphs] = [
        Table(columns, [row]),
        Paragraphs([row.reason] if row.reason else []),
        Paragraphs(again),
    ]
    return Document(schema="message.send/1", value=row, records=[row], blocks=blocks)
