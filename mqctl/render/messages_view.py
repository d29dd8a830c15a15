"""Stored messages for people and machines; bodies as text, JSON or hex."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from mqctl import units
from mqctl.model.body_form import BodyForm
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.stored_message import PendingDelivery, StoredMessage
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.snapshot.live.tail import TailedMessage
from mqctl.text import composed, printable, sentence

COLUMNS = (
    Column("topic", "topic"),
    Column("broker_name", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("queue_offset", "offset", CellKind.COUNT),
    Column("physical_offset", "physical offset", CellKind.COUNT),
    Column("store_time_ms", "stored", CellKind.TIME_MS),
    Column("tags", "tags"),
    Column("keys", "keys"),
    Column("message_id", "id"),
    Column("body_bytes", "body bytes", CellKind.COUNT),
    Column("body", "body"),
    Column("body_encoding", "body encoding"),
)
_LINE_COLUMNS = (
    Column("broker_name", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("queue_offset", "offset", CellKind.COUNT),
    Column("store_time_ms", "stored", CellKind.TIME_MS),
    Column("tags", "tags"),
    Column("keys_short", "keys"),
    Column("body_short", "body"),
    Column("message_id", "id", wide=True),
)
_IN_FULL = 3
"""So many messages are shown in full, each in a block of its own."""
_KEYS_LENGTH = 24
_BODY_LENGTH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """A stored message.

    Attributes:
        message_id: offset message id.
        body: the unpacked body in the asked form: text (bytes that are no UTF-8 as Base64, see `body_encoding`), a
            JSON value, hex, or None.
        body_bytes: length of the unpacked body.
        waiting: of a message that was sent with a delay and is not delivered yet.
        broker_name: whose queue it is in; None for one read from a store, or where no broker has its address any more.
        body_problem: why the body could not be unpacked; `body` then shows the stored bytes as hex.
    """

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    size_bytes: int
    message_id: str
    unique_key: str | None
    tags: str | None
    keys: str | None
    flag: int
    sys_flag: int
    born_time_ms: int
    born_host: str
    store_time_ms: int
    store_host: str
    reconsume_times: int
    prepared_transaction_offset: int
    body_crc: int
    properties: Mapping[str, str]
    body_bytes: int
    body_encoding: str
    body: Any  # whatever JSON value the body holds
    body_problem: str | None = None
    waiting: PendingDelivery | None = None
    broker_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageList:
    """Machine form of `store cat` and of `message get`, `find` and `peek`."""

    messages: Sequence[ShownMessage]


def shown_message(
    stored: StoredMessage, form: BodyForm, brokers: Mapping[str, str] = MappingProxyType({})
) -> ShownMessage:
    """Returns the machine form of a message with its body in `form`.

    Args:
        brokers: names by address, as far as they are known.
    """
    message = stored.message
    encoding, body = _body(stored.body, BodyForm.HEX if stored.problem else form)
    return ShownMessage(
        topic=message.topic,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        physical_offset=message.physical_offset,
        size_bytes=message.size_bytes,
        message_id=stored.message_id,
        unique_key=message.unique_key,
        tags=message.tags,
        keys=message.properties.get("KEYS"),
        flag=message.flag,
        sys_flag=message.sys_flag,
        born_time_ms=message.born_time_ms,
        born_host=message.born_host,
        store_time_ms=message.store_time_ms,
        store_host=message.store_host,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
        body_crc=message.body_crc,
        properties=dict(message.properties),
        body_bytes=len(stored.body),
        body_encoding=encoding,
        body=body,
        body_problem=stored.problem,
        waiting=stored.waiting,
        broker_name=brokers.get(message.store_host),
    )


def _body(body: bytes, form: BodyForm) -> tuple[str, Any]:
    if form is BodyForm.NONE:
        return "none", None
    if form is BodyForm.HEX:
        return "hex", body.hex()
    try:
        text = body.decode("utf-8")
        if form is BodyForm.JSON:
            return "json", json.loads(text)
    except UnicodeDecodeError:
        return "base64", base64.b64encode(body).decode("ascii")
    except (ValueError, RecursionError):  # no JSON, or JSON that is nested beyond what can be read
        return "text", text
    return "text", text


def message_document(
    messages: Sequence[StoredMessage],
    form: BodyForm,
    *,
    schema: str = "store.cat/1",
    brokers: Mapping[str, str] = MappingProxyType({}),
    now_ms: int | None = None,
) -> Document:
    """Builds the document of a list of messages: for people one block each, for machines one record each.

    Args:
        now_ms: this moment, where it is told in how long a message is due that waits.
    """
    rows = [shown_message(message, form, brokers) for message in messages]
    return Document(
        schema=schema,
        value=MessageList(messages=rows),
        records=rows,
        csv_columns=COLUMNS,
        blocks=message_blocks(rows, now_ms),
    )


def found_document(
    messages: Sequence[StoredMessage], form: BodyForm, brokers: Mapping[str, str], *, sought: str, now_ms: int
) -> Document:
    """Builds the document of what was found by a key: for people with the next thing to ask.

    Args:
        sought: the key or the unique id, and where, in words: said where nothing was found.
    """
    document = message_document(messages, form, schema="message.list/1", brokers=brokers, now_ms=now_ms)
    if not messages:
        why = sentence(
            "message-expired-never-stored-pending",
            "it expired, was never stored, or is of a pending transaction (mqctl transaction list)",
        )
        return replace(
            document,
            blocks=[Paragraphs([sentence("no-message", "no message has {sought}: {why}", sought=sought, why=why)])],
        )
    first = messages[-1]
    if first.waiting is not None:
        return replace(
            document,
            blocks=[
                *document.blocks,
                Paragraphs(
                    [sentence("message-waits-beside-delay-backlog", "what waits beside it: mqctl delay levels")]
                ),
            ],
        )
    known = first.message.unique_key or first.message_id
    line = sentence(
        "message-who-consumed",
        "who consumed it: {value}",
        value=command_line("mqctl message trace {} -t {}", known, first.message.topic),
    )
    return replace(document, blocks=[*document.blocks, Paragraphs([line])])


def peeked_document(
    messages: Sequence[StoredMessage], form: BodyForm, brokers: Mapping[str, str], *, newest_first: bool
) -> Document:
    """Builds the document of messages of many queues: for people a line each; a block where they are few, or bodies are
    asked for in a form that has no lines.

    Args:
        newest_first: of people's lines; machines get the oldest first in any case.
    """
    document = message_document(messages, form, schema="message.list/1", brokers=brokers)
    if len(messages) <= _IN_FULL or form in (BodyForm.JSON, BodyForm.HEX):
        return document
    rows = [_PeekedLine(message=row) for row in cast("Sequence[ShownMessage]", document.records)]
    table = Table(_LINE_COLUMNS, rows[::-1] if newest_first else rows)
    first = rows[-1 if newest_first else 0].message
    broker = ["--broker", first.broker_name] if first.broker_name else []
    peek = "mqctl message peek -t {} -q {} --offset {} --count 1 {}"
    line = sentence(
        "message-full",
        "one in full: {peek}",
        peek=command_line(peek, first.topic, first.queue_id, first.queue_offset, broker),
    )
    return replace(document, blocks=[table, Paragraphs([line])])


@dataclass(frozen=True, slots=True)
class _PeekedLine:
    """A message on one line, of its body what fits there."""

    message: ShownMessage

    def __getattr__(self, name: str) -> object:
        return getattr(self.message, name)

    @property
    def keys_short(self) -> str | None:
        return self.message.keys and _short(self.message.keys, _KEYS_LENGTH)

    @property
    def body_short(self) -> str:
        row = self.message
        if row.body is None or row.body_encoding in ("hex", "base64") or row.body_problem:
            return composed("({size})", size=counted(row.body_bytes, "byte"))
        text = json.dumps(row.body, ensure_ascii=False) if row.body_encoding == "json" else str(row.body)
        return _short(text, _BODY_LENGTH)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def message_blocks(rows: Sequence[ShownMessage], now_ms: int | None = None) -> list[Paragraphs]:
    """Returns what people see: a block for each message."""
    return [Paragraphs(_lines(row, now_ms), stored=True) for row in rows] or [
        Paragraphs([sentence("no-messages", "no messages")])
    ]


def _lines(row: ShownMessage, now_ms: int | None) -> list[str]:
    lines = [_waits(row.waiting, now_ms)] if row.waiting else []
    lines += [
        sentence(
            "message-head",
            "{topic} queue {queue_id} offset {queue_offset}{broker}  (physical offset {physical_offset}, {size})",
            topic=printable(row.topic),
            queue_id=row.queue_id,
            queue_offset=row.queue_offset,
            broker=sentence("common-broker", " on {broker}", broker=printable(row.broker_name))
            if row.broker_name
            else "",
            physical_offset=row.physical_offset,
            size=counted(row.size_bytes, "byte"),
        ),
        sentence("message-id", "  id        {message_id}", message_id=row.message_id),
        sentence(
            "message-stored-at",
            "  stored    {store_time_ms} at {store_host}",
            store_time_ms=row.store_time_ms,
            store_host=row.store_host,
        ),
        sentence(
            "message-born-at",
            "  born      {born_time_ms} at {born_host}",
            born_time_ms=row.born_time_ms,
            born_host=row.born_host,
        ),
    ]
    if row.reconsume_times:
        lines.append(sentence("message-retries", "  retries   {reconsume_times}", reconsume_times=row.reconsume_times))
    lines += [f"  {printable(name)} = {printable(value)}" for name, value in sorted(row.properties.items())]
    if row.body_problem:
        lines.append(
            sentence(
                "message-body-not-unpacked", "  body      {problem}; stored bytes follow", problem=row.body_problem
            )
        )
    if row.body is not None:
        lines += _body_lines(row)
    return lines


def _waits(waiting: PendingDelivery, now_ms: int | None) -> str:
    due_ms = waiting.due_time_ms
    due = (
        sentence("message-due-time-not-known", "due time not known")
        if due_ms is None
        else sentence("delay-due", "due {due_time_ms}", due_time_ms=due_ms)
    )
    if now_ms is not None and due_ms is not None and due_ms > now_ms:
        due = sentence("message-due-in", "{due} (in {due_in_ms})", due=due, due_in_ms=due_ms - now_ms)
    topic = printable(waiting.topic)
    if waiting.level is None:
        return sentence("message-waits-in-timer", "{topic}: waiting in the timer, {due}", topic=topic, due=due)
    return sentence(
        "message-waits-on-level",
        "{topic}: waiting on level {level}, {due}",
        topic=topic,
        level=waiting.level,
        due=due,
    )


def _body_lines(row: ShownMessage) -> list[str]:
    text = json.dumps(row.body, ensure_ascii=False, indent=2) if row.body_encoding == "json" else str(row.body)
    note = "" if row.body_encoding in ("text", "json") else f", {row.body_encoding}"
    return [
        sentence("message-body", "  body      {size}{note}", size=counted(row.body_bytes, "byte"), note=note),
        *(f"    {printable(line)}" for line in text.splitlines()),
    ]


def tail_document(messages: Sequence[TailedMessage], form: BodyForm) -> Document:
    """Builds the document of some messages: for people one line each."""
    rows = [(item.queue.broker_name, shown_message(item.found, form)) for item in messages]
    return Document(
        schema="message.list/1",
        value=MessageList(messages=[row for _, row in rows]),
        records=[row for _, row in rows],
        csv_columns=COLUMNS,
        blocks=[Paragraphs([_line(broker, row) for broker, row in rows], stored=True)] if rows else [],
    )


def _line(broker: str, row: ShownMessage) -> str:
    place = f"{broker} {row.queue_id}:{row.queue_offset}"
    body = "" if row.body is None else str(row.body)
    parts = (units.instant(row.store_time_ms), place, row.tags or "-", row.keys or "-", body)
    return "  ".join(printable(part) for part in parts)
