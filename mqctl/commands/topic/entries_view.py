"""Raw entries of consume queues as a table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field

import msgspec

from mqctl.model.column import CellKind, column, columns_of
from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.bodies_client import SubscriptionData
from mqctl.protocol.bodies_stats import ConsumeQueueData, ConsumeQueueEntry
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.text import sentence

# Codes up to it are places of extended units (`ConsumeQueueExt.MAX_ADDR`).
_ADDRESSES_END = -(1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """One entry of a consume queue.

    Attributes:
        tags_code: hash of the tag; where the queue has extended units, the code in the unit.
        store_time_ms: epoch milliseconds; None without extended units.
        bit_map: which filters of SQL92 subscriptions matched at storing, as the broker writes it.
        passes: whether the group's filter lets it pass; None when no group was named, it has no subscription, or the
            broker did not judge an entry of an SQL92 subscription.
        problem: what the broker said of this entry.
    """

    broker: str = field(metadata=column("broker"))
    queue_offset: int = field(metadata=column("queue offset", CellKind.COUNT))
    physical_offset: int = field(metadata=column("physical offset", CellKind.COUNT))
    size_bytes: int = field(metadata=column("size", CellKind.BYTES))
    tags_code: int = field(metadata=column("tags code"))
    store_time_ms: int | None = field(metadata=column("stored", CellKind.TIME_MS))
    bit_map: str | None = field(metadata=column("bit map", wide=True))
    passes: bool | None = field(metadata=column("passes", CellKind.FLAG, none="?"))
    problem: str | None


_COLUMNS = columns_of(EntryRow, "broker", "queue_offset", "physical_offset", "size_bytes", "tags_code", "store_time_ms")
_VERDICT = columns_of(EntryRow, "passes", "bit_map")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOfEntries:
    """Bounds of one queue, and what the broker knows of the group's subscription."""

    broker: str
    min_offset: int
    max_offset: int
    expression_type: str | None
    expression: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryList:
    """Machine form of `topic entries`."""

    topic: str
    queue_id: int
    group: str | None
    queues: list[QueueOfEntries]
    entries: list[EntryRow]


class _Extension(msgspec.Struct, rename="camel"):
    """What an extended unit holds; the broker writes it as JSON text inside JSON."""

    msg_store_time: int | None = None
    tags_code: int | None = None


def entries_document(
    answers: Mapping[str, ConsumeQueueData | None], *, topic: str, queue_id: int, offset: int, group: str | None
) -> Document:
    """Builds the document of `topic entries`.

    Args:
        answers: what each broker told, by name; None where the queue has no such offset.
        offset: queue offset of the first entry.
    """
    held = {name: data for name, data in sorted(answers.items()) if data is not None}
    queues = [
        QueueOfEntries(
            broker=name,
            min_offset=data.min_queue_index,
            max_offset=data.max_queue_index,
            expression_type=data.subscription_data.expression_type if data.subscription_data else None,
            expression=data.subscription_data.sub_string if data.subscription_data else None,
        )
        for name, data in held.items()
    ]
    rows = [
        _row(name, offset + step, entry, data.subscription_data if group is not None else None)
        for name, data in held.items()
        for step, entry in enumerate(data.queue_data)
    ]
    value = EntryList(topic=topic, queue_id=queue_id, group=group, queues=queues, entries=rows)
    lines = [
        sentence(
            "entries-queue",
            "{broker}: queue {queue_id} from {min_offset} to {max_offset}",
            broker=item.broker,
            queue_id=queue_id,
            min_offset=item.min_offset,
            max_offset=item.max_offset,
        )
        for item in queues
    ]
    lines += [
        sentence(
            "entries-queue-no-entry",
            "{name}: queue {queue_id} has no entry at {offset}",
            name=name,
            queue_id=queue_id,
            offset=offset,
        )
        for name in sorted(answers.keys() - held.keys())
    ]
    lines += [
        f"{item.broker}: "
        + (
            sentence("entries-wants", "{group} wants {expression}", group=group, expression=item.expression)
            if item.expression
            else sentence("entries-no-subscription", "no subscription of {group}", group=group)
        )
        for item in queues
        if group
    ]
    columns = (*_COLUMNS, *(_VERDICT if group else ()))
    empty = sentence("entries-no-entry-later", "no entry at {offset} or later", offset=offset)
    return Document(
        schema="topic.entries/1",
        value=value,
        records=rows,
        blocks=[Table(columns, rows, empty=empty), Paragraphs(lines)],
    )


def _row(broker: str, queue_offset: int, entry: ConsumeQueueEntry, wanted: SubscriptionData | None) -> EntryRow:
    extension = _Extension()
    if entry.extend_data_json:
        # An extension that cannot be read leaves what the entry itself says.
        with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
            extension = msgspec.json.decode(entry.extend_data_json, type=_Extension)
    code = entry.tags_code if extension.tags_code is None else extension.tags_code
    return EntryRow(
        broker=broker,
        queue_offset=queue_offset,
        physical_offset=entry.physic_offset,
        size_bytes=entry.physic_size,
        tags_code=code,
        store_time_ms=extension.msg_store_time,
        bit_map="".join(entry.bit_map.split()) if entry.bit_map else None,
        passes=None if wanted is None else _passes(entry, code, wanted),
        problem=entry.msg,
    )


def _passes(entry: ConsumeQueueEntry, code: int, wanted: SubscriptionData) -> bool | None:
    """Tells whether an entry passes a filter; None when nobody can say.

    Brokers judge only entries with extended units, and leave `eval` false beside all others: those of tags are judged
    here, by the codes that brokers compare.
    """
    if wanted.expression_type not in (None, "TAG"):
        return entry.eval if entry.extend_data_json else None
    if wanted.sub_string == "*" or not wanted.code_set:
        return True
    if code <= _ADDRESSES_END:
        return None
    return code in wanted.code_set
