"""Messages that were consumed, and what the group has of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqctl.render.deduplication import Deduplication, deduplication_blocks
from mqctl.render.document import Document
from mqctl.render.messages_view import COLUMNS, ShownMessage, message_blocks
from mqctl.render.units import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedQueue:
    """One queue that messages were taken from.

    Attributes:
        next_offset: after the last message shown; what is committed.
    """

    broker_name: str
    queue_id: int
    next_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeReport:
    """Machine form of `message consume`.

    Attributes:
        temporary: the group was made for this command and removed.
        deduplication: how often the same thing came, where that was asked for.
        committing: the offsets are committed after this was written; the exit code says whether that is confirmed.
    """

    group: str
    client_id: str
    temporary: bool
    committing: bool
    queues: list[ConsumedQueue]
    messages: list[ShownMessage]
    deduplication: Deduplication | None = None


def consume_document(report: ConsumeReport) -> Document:
    """Builds the document of `message consume`."""
    return Document(
        schema="message.consume/1",
        value=report,
        records=report.messages,
        csv_columns=COLUMNS,
        blocks=[
            *message_blocks(report.messages),
            *(deduplication_blocks(report.deduplication) if report.deduplication is not None else ()),
        ],
    )


def outcome_line(report: ConsumeReport, unconfirmed: Sequence[ConsumedQueue]) -> str:
    """Says in words what became of the offsets."""
    shown = counted(len(report.messages), "message")
    if report.temporary:
        return f"{shown} by the temporary group {report.group}, which is removed; no other group is touched"
    if not report.committing:
        return f"{shown} of group {report.group}, nothing committed: its members will get them (--commit commits)"
    if unconfirmed:
        places = ", ".join(f"{item.broker_name}/{item.queue_id}" for item in unconfirmed)
        return f"{shown} of group {report.group}; the commit is not confirmed for {places}"
    return f"{shown} of group {report.group}, committed: its members will not get them"
