"""Messages that were consumed, and what the group has of it."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.commands.message.dedup_view import Deduplication, deduplication_blocks
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Document
from mqctl.render.messages_view import COLUMNS, ShownMessage, message_blocks
from mqctl.text import Sentence, sentence


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
class ShownReceipt:
    """What a popped message is acknowledged with.

    Attributes:
        lies_in: the topic that holds it: the one popped, or a retry topic.
        reconsume_times: how often it was popped in vain before.
        visible_ms: when others get it unless it is acknowledged, epoch milliseconds of the broker's clock.
    """

    message_id: str
    broker_name: str
    lies_in: str
    queue_id: int
    queue_offset: int
    reconsume_times: int
    visible_ms: int
    receipt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeReport:
    """Machine form of `message consume`.

    Attributes:
        temporary: the group was made for this command and removed.
        deduplication: how often the same thing came, where that was asked for.
        committing: the offsets are committed, or the popped messages acknowledged, after this was written; the exit
            code says whether that is confirmed.
        receipts: of popped messages; None for a group that pulls.
    """

    group: str
    client_id: str
    temporary: bool
    committing: bool
    queues: list[ConsumedQueue]
    messages: list[ShownMessage]
    deduplication: Deduplication | None = None
    receipts: list[ShownReceipt] | None = None


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


_DONE = {
    True: Sentence("consumed-acknowledged", "{shown} of group {group}, acknowledged: its members will not get them"),
    False: Sentence("consumed-committed", "{shown} of group {group}, committed: its members will not get them"),
}
_UNCONFIRMED = {
    True: Sentence(
        "consumed-acknowledgement-unconfirmed",
        "{shown} of group {group}; the acknowledgement is not confirmed for {queues}",
    ),
    False: Sentence(
        "consumed-commit-unconfirmed", "{shown} of group {group}; the commit is not confirmed for {queues}"
    ),
}
"""Of messages that were popped, and of others."""


def outcome_line(report: ConsumeReport, unconfirmed: Sequence[str]) -> str:
    """Says in words what became of the offsets, or of the popped messages.

    Args:
        unconfirmed: queues, or message ids, of which it is not sure.
    """
    shown = counted(len(report.messages), "message")
    if report.temporary:
        return sentence(
            "consumed-by-temporary-group",
            "{shown} by the temporary group {group}, which is removed; no other group is touched",
            shown=shown,
            group=report.group,
        )
    popped = report.receipts is not None
    if not report.committing:
        kept = sentence(
            "consumed-nothing-committed",
            "{shown} of group {group}, nothing committed: its members will get them (--commit commits)",
            shown=shown,
            group=report.group,
        )
        return _come_again(report, shown) if popped else kept
    if unconfirmed:
        said = _UNCONFIRMED[popped]
        return said(shown=shown, group=report.group, queues=list(unconfirmed))
    return _DONE[popped](shown=shown, group=report.group)


def _come_again(report: ConsumeReport, shown: str) -> str:
    if not report.receipts:
        return sentence("consumed-of-group", "{shown} of group {group}", shown=shown, group=report.group)
    return sentence(
        "consumed-not-acknowledged",
        "{shown} of group {group}, not acknowledged: invisible to others now; from {from_time_ms} on its "
        "members get them, "
        "as retries (--commit acknowledges)",
        shown=shown,
        group=report.group,
        from_time_ms=min(item.visible_ms for item in report.receipts),
    )
