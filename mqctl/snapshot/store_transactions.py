"""Transactions of a store: half messages, op messages and what became of them.

The algorithms are A (what the broker's check loop still has to do) and B (history) of the reference `transactions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mqctl.errors import MqctlError
from mqctl.model.message import (
    PRODUCER_GROUP,
    REAL_TOPIC,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    Message,
)
from mqctl.model.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_GROUP
from mqctl.model.transaction_state import (
    CommittedTransaction,
    DiscardedTransaction,
    PendingTransaction,
    TransactionState,
)
from mqctl.model.unavailable import Part
from mqctl.snapshot.reading import QueueBounds, Reading

_OP_TAG = "d"


@dataclass(frozen=True, slots=True)
class _Half:
    offset: int
    prepared_offset: int | None
    message: Message

    @property
    def identity(self) -> object:
        """What all copies of one transaction share."""
        message = self.message
        own = (message.properties.get(PRODUCER_GROUP), message.properties.get(REAL_TOPIC), message.born_time_ms)
        return message.unique_key or (*own, message.body_crc)


def transaction_state(reading: Reading, commits: Counter[int] | None) -> TransactionState | None:
    """Reads the transaction topics; None when the store has none.

    Args:
        commits: how often each physical offset is named as PreparedTransactionOffset by a committed message; None when
            the commit log was not scanned, the history then stays empty.
    """
    half, op = reading.bounds.get((HALF_TOPIC, 0)), reading.bounds.get((OP_TOPIC, 0))
    if half is None:
        return None
    halves = [_half(offset, message) for offset, message in _messages(reading, half)]
    ended = _ended_offsets(message for _, message in _messages(reading, op)) if op else set()
    progress = reading.offset_table.offsets.get((HALF_TOPIC, TRANSACTION_GROUP), {}).get(0)
    op_progress = reading.offset_table.offsets.get((OP_TOPIC, TRANSACTION_GROUP), {}).get(0)
    discarded = [_discarded(message) for _, message in _all_messages(reading, DISCARD_TOPIC)]
    history = _History.of(halves, ended, commits)
    return TransactionState(
        half_min_offset=half.min_offset,
        half_max_offset=half.max_offset,
        op_min_offset=op.min_offset if op else 0,
        op_max_offset=op.max_offset if op else 0,
        half_progress=progress,
        op_progress=op_progress,
        pending=tuple(_pending(halves, ended, half.min_offset if progress is None else progress)),
        discarded=tuple(discarded),
        lost_ops=tuple(history.lost_ops),
        double_commits=tuple(history.double_commits),
        committed_count=history.committed_count,
        rolled_back_count=history.rolled_back_count,
    )


def _messages(reading: Reading, bounds: QueueBounds) -> Iterable[tuple[int, Message]]:
    offsets, entries = reading.entries(bounds)
    for offset, physical in zip(offsets.tolist(), entries["physical_offset"].tolist(), strict=True):
        try:
            yield offset, reading.store.commit_log.record_at(physical)
        except MqctlError as error:
            reading.miss(Part.TRANSACTIONS, error.reason, scope=f"{bounds.queue.topic} offset {offset}")


def _all_messages(reading: Reading, topic: str) -> Iterable[tuple[int, Message]]:
    for (name, _), bounds in reading.bounds.items():
        if name == topic:
            yield from _messages(reading, bounds)


def _half(offset: int, message: Message) -> _Half:
    prepared = message.properties.get(TRAN_PREPARED_QUEUE_OFFSET, "")
    return _Half(offset, int(prepared) if prepared.isascii() and prepared.isdigit() else None, message)


def _ended_offsets(ops: Iterable[Message]) -> set[int]:
    """Half queue offsets that op messages name: one decimal number (4.9) or several, each followed by a comma (5.1)."""
    return {
        int(number)
        for op in ops
        if op.tags == _OP_TAG
        for number in op.body.decode("utf-8", "replace").split(",")
        if number.strip().isascii() and number.strip().isdigit()
    }


def _pending(halves: list[_Half], ended: set[int], progress: int) -> Iterable[PendingTransaction]:
    newest: dict[object, _Half] = {}
    for half in halves:
        if half.offset >= progress and half.offset not in ended and half.prepared_offset not in ended:
            newest[half.identity] = half
    for half in newest.values():
        message = half.message
        checks = message.properties.get(TRANSACTION_CHECK_TIMES, "0")
        yield PendingTransaction(
            unique_key=message.unique_key,
            topic=message.properties.get(REAL_TOPIC),
            producer_group=message.properties.get(PRODUCER_GROUP),
            half_offset=half.offset,
            physical_offset=message.physical_offset,
            born_time_ms=message.born_time_ms,
            store_time_ms=message.store_time_ms,
            check_count=int(checks) if checks.isascii() and checks.isdigit() else 0,
        )


def _discarded(message: Message) -> DiscardedTransaction:
    return DiscardedTransaction(
        unique_key=message.unique_key,
        topic=message.properties.get(REAL_TOPIC),
        producer_group=message.properties.get(PRODUCER_GROUP),
        discarded_time_ms=message.store_time_ms,
    )


@dataclass(frozen=True, slots=True)
class _History:
    lost_ops: list[CommittedTransaction]
    double_commits: list[CommittedTransaction]
    committed_count: int
    rolled_back_count: int

    @classmethod
    def of(cls, halves: list[_Half], ended: set[int], commits: Counter[int] | None) -> _History:
        """Groups all copies of each transaction and tells how it ended."""
        history = cls([], [], 0, 0)
        if commits is None:
            return history
        copies: dict[object, list[_Half]] = {}
        for half in halves:
            copies.setdefault(half.identity, []).append(half)
        committed = rolled_back = 0
        for group in copies.values():
            count = sum(commits[half.message.physical_offset] for half in group)
            has_op = any(half.offset in ended or half.prepared_offset in ended for half in group)
            committed += count > 0
            rolled_back += has_op and not count
            if count and not has_op:
                history.lost_ops.append(_committed(group[-1], count))
            if count > 1:
                history.double_commits.append(_committed(group[-1], count))
        return cls(history.lost_ops, history.double_commits, committed, rolled_back)


def _committed(half: _Half, count: int) -> CommittedTransaction:
    return CommittedTransaction(
        unique_key=half.message.unique_key,
        topic=half.message.properties.get(REAL_TOPIC),
        producer_group=half.message.properties.get(PRODUCER_GROUP),
        half_offset=half.offset,
        commit_count=count,
    )
