"""Half and op messages decoded, from files and live alike, and which are pending (docs/models.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import (
    DELAY,
    KEYS,
    PRODUCER_GROUP,
    REAL_TOPIC,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    Message,
)
from mqctl.model.numbers import decimal
from mqctl.model.transaction_state import DiscardedTransaction, HalfSender, PendingTransaction

_OP_TAG = "d"


@dataclass(frozen=True, slots=True)
class Half:
    """One copy of a half message at its offset in the half queue.

    Attributes:
        prepared_offset: offset of the original that this one is a copy of, for copies made during an immunity.
    """

    offset: int
    prepared_offset: int | None
    message: Message

    @property
    def identity(self) -> object:
        """What all copies of one transaction share."""
        message = self.message
        own = (message.properties.get(PRODUCER_GROUP), message.properties.get(REAL_TOPIC), message.born_time_ms)
        return message.unique_key or (*own, message.body_crc)


def half_of(offset: int, message: Message) -> Half:
    """Reads a record of the half topic."""
    return Half(offset, _number(message.properties.get(TRAN_PREPARED_QUEUE_OFFSET, "")), message)


def ended_offsets(ops: Iterable[Message]) -> set[int]:
    """Half queue offsets that op messages name: one decimal number (4.9) or several, each followed by a comma (5.1)."""
    return {*end_times(ops)}


def end_times(ops: Iterable[Message]) -> dict[int, int]:
    """When each half queue offset was first named by an op message, by its store time."""
    times: dict[int, int] = {}
    for op in ops:
        if op.tags == _OP_TAG:
            for text in op.body.decode("utf-8", "replace").split(","):
                number = decimal(text.strip())
                if number is not None:
                    times[number] = min(op.store_time_ms, times.get(number, op.store_time_ms))
    return times


def senders_of(halves: Iterable[Half], clients: Mapping[str, Mapping[str, str]]) -> tuple[HalfSender, ...]:
    """Counts what connected clients sent; copies of check rounds keep who sent the original, and count once.

    A broker notes the address of the connection that a message came by; where clients send by another one (the VIP
    channel), the host alone names the client if it is the only one there.

    Args:
        clients: of each producer group, client ids by the address of their connection.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    seen: set[object] = set()
    hosts = {group: Counter(address.rpartition(":")[0] for address in own) for group, own in clients.items()}
    for half in halves:
        group, topic = half.message.properties.get(PRODUCER_GROUP), half.message.properties.get(REAL_TOPIC)
        if half.identity in seen or group is None or topic is None:
            continue
        seen.add(half.identity)
        own, born = clients.get(group, {}), half.message.born_host
        host = born.rpartition(":")[0]
        if born not in own and hosts.get(group, Counter())[host] == 1:
            born = next(address for address in own if address.rpartition(":")[0] == host)
        if born in own:
            counts[group, topic, own[born]] += 1
    return tuple(
        HalfSender(producer_group=group, topic=topic, client_id=client, half_count=count)
        for (group, topic, client), count in sorted(counts.items())
    )


def pending_of(halves: Iterable[Half], ended: set[int], progress: int) -> Iterable[PendingTransaction]:
    """Returns the transactions from the half queue offset `progress` on that nobody ended, the newest copy of each."""
    newest: dict[object, Half] = {}
    for half in halves:
        if half.offset >= progress and half.offset not in ended and half.prepared_offset not in ended:
            newest[half.identity] = half
    for half in newest.values():
        message = half.message
        yield PendingTransaction(
            unique_key=message.unique_key,
            topic=message.properties.get(REAL_TOPIC),
            producer_group=message.properties.get(PRODUCER_GROUP),
            half_offset=half.offset,
            physical_offset=message.physical_offset,
            born_time_ms=message.born_time_ms,
            store_time_ms=message.store_time_ms,
            check_count=check_count(message),
            delayed=bool(_number(message.properties.get(DELAY, ""))),
            keys=message.properties.get(KEYS),
        )


def discarded_of(message: Message) -> DiscardedTransaction:
    """Reads a record of the discard topic."""
    return DiscardedTransaction(
        unique_key=message.unique_key,
        topic=message.properties.get(REAL_TOPIC),
        producer_group=message.properties.get(PRODUCER_GROUP),
        discarded_time_ms=message.store_time_ms,
        born_time_ms=message.born_time_ms,
        physical_offset=message.physical_offset,
        check_count=check_count(message),
        keys=message.properties.get(KEYS),
    )


def check_count(message: Message) -> int:
    """In how many check rounds the broker came to a half message, whether or not somebody was there to be asked."""
    return _number(message.properties.get(TRANSACTION_CHECK_TIMES, "")) or 0


def _number(text: str) -> int | None:
    return decimal(text)
