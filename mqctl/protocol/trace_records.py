"""What clients write into the trace topic: lines of fields that tell who sent and who consumed what, when.

Fields are parted by \\x01 and lines end with \\x02. Source: `TraceDataEncoder` of 4.9.8 and 5.3.3; releases before 4.9
wrote fewer fields, and later ones append, so that what is missing at the end is not known.
"""

from __future__ import annotations

from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass

_FIELD = "\x01"
_LINE = "\x02"


class TraceKind(StrEnum):
    """The kinds of lines, as clients spell them."""

    SENT = "Pub"
    BEFORE_CONSUMING = "SubBefore"
    AFTER_CONSUMING = "SubAfter"
    TRANSACTION_ENDED = "EndTransaction"
    RECALLED = "Recall"


MESSAGE_TYPES = ("normal", "transaction half", "transaction commit", "delayed", "ordered")
"""By their ordinal in `MessageType`."""
CONSUME_OUTCOMES = ("success", "time-out", "exception", "returned null", "failed")
"""By their ordinal in `ConsumeReturnType`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRecord:
    """One line. None means that the line does not say.

    Attributes:
        time_ms: on the client's clock: when sending or consuming began; for AFTER_CONSUMING when it ended (4.9 on).
        message_id: unique id of the message.
        request_id: joins the two lines of one call of a listener.
        cost_ms: how long the send, or the listener for each message of its batch, took.
        outcome: how consuming ended.
        retries: failed deliveries before this one.
        state: of a transaction, as the producer decided.
    """

    kind: TraceKind
    message_id: str
    time_ms: int | None = None
    region: str | None = None
    group: str | None = None
    topic: str | None = None
    tags: str | None = None
    keys: str | None = None
    store_host: str | None = None
    client_host: str | None = None
    body_bytes: int | None = None
    cost_ms: int | None = None
    message_type: str | None = None
    offset_id: str | None = None
    succeeded: bool | None = None
    request_id: str | None = None
    retries: int | None = None
    outcome: str | None = None
    transaction_id: str | None = None
    state: str | None = None
    from_check: bool | None = None


def decode_traces(body: bytes) -> tuple[list[TraceRecord], int]:
    """Decodes the body of a trace message.

    Returns:
        its records, and how many lines are none.
    """
    records: list[TraceRecord] = []
    unreadable = 0
    for line in body.decode("utf-8", "replace").split(_LINE):
        if not line:
            continue
        try:
            records.append(_READERS[TraceKind(line.partition(_FIELD)[0])](_Fields(line.split(_FIELD))))
        except (KeyError, ValueError, IndexError):
            unreadable += 1
    return records, unreadable


class _Fields:
    """The fields of a line by position. IndexError for one that must be there; None for one that may be missing."""

    def __init__(self, parts: list[str]) -> None:
        self._parts = parts
        self.count = len(parts)

    def text(self, position: int) -> str | None:
        return self._parts[position] or None

    def later(self, position: int) -> str | None:
        return self._parts[position] or None if position < self.count else None

    def number(self, position: int) -> int | None:
        return int(self._parts[position])

    def later_number(self, position: int) -> int | None:
        text = self.later(position)
        return None if text is None else int(text)

    def needed(self, position: int) -> str:
        if not self._parts[position]:
            raise ValueError(f"field {position} is empty")
        return self._parts[position]


def _sent(fields: _Fields) -> TraceRecord:
    # Since 4.5 the offset id stands before the verdict.
    verdict = 12 if fields.count == 13 else 13
    return TraceRecord(
        kind=TraceKind.SENT,
        time_ms=fields.number(1),
        region=fields.text(2),
        group=fields.text(3),
        topic=fields.text(4),
        message_id=fields.needed(5),
        tags=fields.text(6),
        keys=fields.text(7),
        store_host=fields.text(8),
        body_bytes=fields.number(9),
        cost_ms=fields.number(10),
        message_type=_named(MESSAGE_TYPES, fields.number(11)),
        offset_id=fields.later(12) if verdict == 13 else None,
        succeeded=_flag(fields.later(verdict)),
        client_host=fields.later(14),
    )


def _before(fields: _Fields) -> TraceRecord:
    return TraceRecord(
        kind=TraceKind.BEFORE_CONSUMING,
        time_ms=fields.number(1),
        region=fields.text(2),
        group=fields.text(3),
        request_id=fields.needed(4),
        message_id=fields.needed(5),
        retries=fields.number(6),
        keys=fields.later(7),
        client_host=fields.later(8),
    )


def _after(fields: _Fields) -> TraceRecord:
    return TraceRecord(
        kind=TraceKind.AFTER_CONSUMING,
        request_id=fields.needed(1),
        message_id=fields.needed(2),
        cost_ms=fields.number(3),
        succeeded=_flag(fields.text(4)),
        keys=fields.later(5),
        outcome=_named(CONSUME_OUTCOMES, fields.later_number(6)),
        time_ms=fields.later_number(7),
        group=fields.later(8),
    )


def _transaction(fields: _Fields) -> TraceRecord:
    return TraceRecord(
        kind=TraceKind.TRANSACTION_ENDED,
        time_ms=fields.number(1),
        region=fields.text(2),
        group=fields.text(3),
        topic=fields.text(4),
        message_id=fields.needed(5),
        tags=fields.text(6),
        keys=fields.text(7),
        store_host=fields.text(8),
        message_type=_named(MESSAGE_TYPES, fields.number(9)),
        transaction_id=fields.later(10),
        state=fields.later(11),
        from_check=_flag(fields.later(12)),
    )


def _recalled(fields: _Fields) -> TraceRecord:
    return TraceRecord(
        kind=TraceKind.RECALLED,
        time_ms=fields.number(1),
        region=fields.text(2),
        group=fields.text(3),
        topic=fields.text(4),
        message_id=fields.needed(5),
        succeeded=_flag(fields.later(6)),
    )


def _flag(text: str | None) -> bool | None:
    return None if text is None else text.lower() == "true"


def _named(names: tuple[str, ...], ordinal: int | None) -> str | None:
    if ordinal is None:
        return None
    return names[ordinal] if 0 <= ordinal < len(names) else str(ordinal)


_READERS = {
    TraceKind.SENT: _sent,
    TraceKind.BEFORE_CONSUMING: _before,
    TraceKind.AFTER_CONSUMING: _after,
    TraceKind.TRANSACTION_ENDED: _transaction,
    TraceKind.RECALLED: _recalled,
}
