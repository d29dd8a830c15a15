"""Messages as they come, one a line."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.body_form import BodyForm
from mqctl.render import units
from mqctl.render.document import Document, Paragraphs
from mqctl.render.messages_view import COLUMNS, MessageList, ShownMessage, shown_message
from mqctl.render.text import printable
from mqctl.snapshot.live.tail import TailedMessage


def tail_document(messages: Sequence[TailedMessage], form: BodyForm) -> Document:
    """Builds the document of some messages: for people one line each."""
    rows = [(item.queue.broker_name, shown_message(item.found, form)) for item in messages]
    return Document(
        schema="message.list/1",
        value=MessageList(messages=[row for _, row in rows]),
        records=[row for _, row in rows],
        csv_columns=COLUMNS,
        blocks=[Paragraphs([_line(broker, row) for broker, row in rows])] if rows else [],
    )


def _line(broker: str, row: ShownMessage) -> str:
    place = f"{broker} {row.queue_id}:{row.queue_offset}"
    body = "" if row.body is None else str(row.body)
    parts = (units.instant(row.store_time_ms), place, row.tags or "-", row.keys or "-", body)
    return "  ".join(printable(part) for part in parts)
