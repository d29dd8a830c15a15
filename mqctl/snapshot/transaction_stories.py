"""All records of one transaction by its unique id: live brokers look into their indexes, a store is read."""

from __future__ import annotations

from pathlib import Path

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import REAL_TOPIC, SYSFLAG_COMMIT, SYSFLAG_TRANSACTION_MASK, Message
from mqctl.model.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_GROUP
from mqctl.model.spans import FAR
from mqctl.model.transaction_state import TransactionStory
from mqctl.protocol.unpacking import Unpacker
from mqctl.snapshot.half_messages import check_count, end_times, half_of
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.records import OffsetRange, queue_ranges, read_records
from mqctl.text import sentence

_OPS_PAGE, _OPS_READ = 256, 20_000


def live_story(asking: Asking, broker: LiveBroker, unique_key: str) -> TransactionStory | None:
    """Looks a transaction up at one broker; None when it has no half message of it.

    Raises:
        UnreachableError, DeadlineError, AnswerError: the broker does not tell.
    """
    if HALF_TOPIC not in broker.topics:
        return None
    halves = _by_key(asking, broker, HALF_TOPIC, unique_key)
    given_up = _by_key(asking, broker, DISCARD_TOPIC, unique_key) if DISCARD_TOPIC in broker.topics else []
    if not halves and not given_up:
        return None
    topic = (halves or given_up)[0].properties.get(REAL_TOPIC)
    same_key = _by_key(asking, broker, topic, unique_key) if topic is not None and topic in broker.topics else []
    ended = end_times(_ops(asking, broker, min((half.store_time_ms for half in halves), default=0)))
    address = broker.address.address
    progress = asking.cluster.ask(address, ask.consumer_offset(TRANSACTION_GROUP, HALF_TOPIC, 0), asking.deadline)
    return _story(
        _Records(
            broker_name=broker.name,
            halves=halves,
            candidates=same_key,
            given_up=given_up,
            ended=ended,
            progress=progress or 0,
        )
    )


def _by_key(asking: Asking, broker: LiveBroker, topic: str, key: str) -> list[Message]:
    question = messages.messages_by_key(topic, key, begin_ms=0, end_ms=FAR, unique=True)
    answered = asking.cluster.ask(broker.address.address, question, asking.deadline)
    return sorted((item for item in answered if item.unique_key == key), key=lambda item: item.physical_offset)


def _ops(asking: Asking, broker: LiveBroker, since_ms: int) -> list[Message]:
    """Pulls op messages, the newest first, until they are older than the transaction."""
    (bounds,) = queue_ranges(asking, broker, OP_TOPIC)
    ops: list[Message] = []
    end = bounds.end
    while end > bounds.first and len(ops) < _OPS_READ:
        start = max(bounds.first, end - _OPS_PAGE)
        page = read_records(asking, broker, OffsetRange(OP_TOPIC, start, end))
        ops += page
        end = start
        if page and page[0].store_time_ms < since_ms:
            break
    return ops


def store_story(path: Path, unique_key: str) -> TransactionStory | None:
    """Looks a transaction up in a store directory; None when it has no half message of it.

    Raises:
        NotFoundError, BadInputError: there is no such store.
        StorageError: it has none that can be read, but a file where one may be cannot be.
    """
    from mqctl.errors import MqctlError, StorageError
    from mqctl.snapshot.store.reading import Reading
    from mqctl.store.directory import StoreDirectory

    reading = Reading(StoreDirectory.open(path))

    unread: list[StorageError] = []

    def read(topic: str) -> list[Message]:
        messages = []
        for (name, _), bounds in reading.bounds.items():
            if name == topic:
                for place in reading.entries(bounds)[1]["physical_offset"].tolist():
                    try:
                        messages.append(reading.store.commit_log.record_at(place))
                    except StorageError as error:
                        unread.append(error)
                    except MqctlError:
                        continue  # `store verify` reports it
        return messages

    halves = [item for item in read(HALF_TOPIC) if item.unique_key == unique_key]
    given_up = [item for item in read(DISCARD_TOPIC) if item.unique_key == unique_key]
    if not halves and not given_up:
        for error in unread:
            raise error
        for gap in reading.gaps:
            if gap.part is Part.TRANSACTIONS:
                raise StorageError(
                    sentence(
                        "snapshot-could-not-look-transaction",
                        "could not look for the transaction {unique_key}",
                        unique_key=unique_key,
                    ),
                    reason=gap.reason,
                    remedy=sentence(
                        "snapshot-store-verify-shows",
                        "mqctl store verify shows what else is wrong with the store",
                    ),
                )
        return None
    topic = (halves or given_up)[0].properties.get(REAL_TOPIC, "")
    progress = reading.offset_table.offsets.get((HALF_TOPIC, TRANSACTION_GROUP), {}).get(0) or 0
    return _story(
        _Records(
            broker_name=None,
            halves=halves,
            candidates=read(topic) if topic else [],
            given_up=given_up,
            ended=end_times(read(OP_TOPIC)),
            progress=progress,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    """What was found of a transaction.

    Attributes:
        candidates: what may be its committed messages.
        ended: when each half queue offset was named by an op message.
        progress: the check loop's.
    """

    broker_name: str | None
    halves: list[Message]
    candidates: list[Message]
    given_up: list[Message]
    ended: dict[int, int]
    progress: int


def _story(records: _Records) -> TransactionStory:
    halves, ended, unpacker = records.halves, records.ended, Unpacker()
    places = {half.physical_offset for half in halves}
    copies = [half_of(half.queue_offset, half) for half in halves]
    done = [copy.offset in ended or copy.prepared_offset in ended for copy in copies]
    committed = [
        item
        for item in records.candidates
        if item.sys_flag & SYSFLAG_TRANSACTION_MASK == SYSFLAG_COMMIT and item.prepared_transaction_offset in places
    ]
    ends = [
        (ended[offset], copy)
        for copy in copies
        for offset in (copy.offset, copy.prepared_offset)
        if offset is not None and offset in ended
    ]
    first = min(ends, key=lambda end: (end[0], end[1].offset), default=None)
    return TransactionStory(
        broker_name=records.broker_name,
        halves=tuple(map(unpacker.stored, halves)),
        committed=tuple(map(unpacker.stored, committed)),
        discarded=tuple(map(unpacker.stored, records.given_up)),
        ended_count=sum(done),
        ended_time_ms=first[0] if first else None,
        ended_by_check=check_count(first[1].message) > 0 if first else None,
        open_count=sum(not end and copy.offset >= records.progress for end, copy in zip(done, copies, strict=True)),
    )
