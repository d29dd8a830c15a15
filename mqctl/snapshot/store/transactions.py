"""Transactions of a store: half messages, op messages and what became of them.

What the broker's check still has to do, and what became of each, is told by the rules of docs/models.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.gap import GapSubject, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import PRODUCER_GROUP, REAL_TOPIC, SYSFLAG_COMMIT, SYSFLAG_TRANSACTION_MASK, Message
from mqctl.model.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_GROUP
from mqctl.model.transaction_state import CommittedTransaction, TransactionState
from mqctl.snapshot.half_messages import Half, discarded_of, ended_offsets, half_of, pending_of
from mqctl.snapshot.store.reading import QueueBounds, Reading
from mqctl.store.logged import sound_records
from mqctl.store.unread_files import why_unread
from mqctl.text import sentence

_OPS_COME_WITHIN_MS = 10_000
"""5.x writes op messages together (`transactionOpBatchInterval`, 3 s), after what they are about."""


@dataclass(frozen=True, slots=True)
class CommitMarks:
    """What committed messages name as PreparedTransactionOffset.

    Attributes:
        counts: how often each physical offset is named.
        fresh: offsets named in the last seconds of a store that is being written; their op messages may be to come.
    """

    counts: Counter[int]
    fresh: frozenset[int]


def transaction_state(reading: Reading, commits: CommitMarks | None) -> TransactionState | None:
    """Reads the transaction topics; None when the store has none.

    Args:
        commits: None when the commit log was not scanned, the history then stays empty.
    """
    half, op = reading.bounds.get((HALF_TOPIC, 0)), reading.bounds.get((OP_TOPIC, 0))
    if half is None:
        return None
    halves = [half_of(offset, message) for offset, message in _messages(reading, half)]
    ended = ended_offsets(message for _, message in _messages(reading, op)) if op else set()
    progress = reading.offset_table.offsets.get((HALF_TOPIC, TRANSACTION_GROUP), {}).get(0)
    op_progress = reading.offset_table.offsets.get((OP_TOPIC, TRANSACTION_GROUP), {}).get(0)
    discarded = [discarded_of(message) for _, message in _all_messages(reading, DISCARD_TOPIC)]
    history = _History.of(halves, ended, commits)
    return TransactionState(
        half_min_offset=half.min_offset,
        half_max_offset=half.max_offset,
        op_min_offset=op.min_offset if op else 0,
        op_max_offset=op.max_offset if op else 0,
        half_progress=progress,
        op_progress=op_progress,
        pending=tuple(pending_of(halves, ended, half.min_offset if progress is None else progress)),
        discarded=tuple(discarded),
        lost_ops=tuple(history.lost_ops),
        double_commits=tuple(history.double_commits),
        committed_count=history.committed_count,
        rolled_back_count=history.rolled_back_count,
    )


def _messages(reading: Reading, bounds: QueueBounds) -> Iterable[tuple[int, Message]]:
    topic = bounds.queue.topic
    offsets, entries = reading.entries(bounds)
    for offset, physical in zip(offsets.tolist(), entries["physical_offset"].tolist(), strict=True):
        try:
            message = reading.store.commit_log.record_at(physical)
        except MqctlError as error:
            if isinstance(error, NotFoundError) and reading.is_deleted(physical):
                continue
            reason = why_unread(reading.store, error)
        else:
            if (message.topic, message.queue_offset) == (topic, offset):
                yield offset, message
                continue
            reason = sentence(
                "snapshot-entry-of-other-queue",
                "the entry leads to a message of another queue, at physical offset {physical}",
                physical=physical,
            )
        reading.miss(Part.TRANSACTIONS, reason, subject=GapSubject(topic=topic, offset=offset))


def _all_messages(reading: Reading, topic: str) -> Iterable[tuple[int, Message]]:
    for (name, _), bounds in reading.bounds.items():
        if name == topic:
            yield from _messages(reading, bounds)


@dataclass(frozen=True, slots=True)
class _History:
    lost_ops: list[CommittedTransaction]
    double_commits: list[CommittedTransaction]
    committed_count: int
    rolled_back_count: int

    @classmethod
    def of(cls, halves: list[Half], ended: set[int], commits: CommitMarks | None) -> _History:
        """Groups all copies of each transaction and tells how it ended."""
        history = cls([], [], 0, 0)
        if commits is None:
            return history
        copies: dict[object, list[Half]] = {}
        for half in halves:
            copies.setdefault(half.identity, []).append(half)
        committed = rolled_back = 0
        for group in copies.values():
            count = sum(commits.counts[half.message.physical_offset] for half in group)
            is_fresh = any(half.message.physical_offset in commits.fresh for half in group)
            has_op = any(half.offset in ended or half.prepared_offset in ended for half in group)
            committed += count > 0
            rolled_back += has_op and not count
            if count and not has_op and not is_fresh:
                history.lost_ops.append(_committed(group[-1], count))
            if count > 1:
                history.double_commits.append(_committed(group[-1], count))
        return cls(history.lost_ops, history.double_commits, committed, rolled_back)


def _committed(half: Half, count: int) -> CommittedTransaction:
    return CommittedTransaction(
        unique_key=half.message.unique_key,
        topic=half.message.properties.get(REAL_TOPIC),
        producer_group=half.message.properties.get(PRODUCER_GROUP),
        half_offset=half.offset,
        commit_count=count,
    )


def commit_marks(reading: Reading) -> CommitMarks:
    """Collects what committed messages name; damaged spots are passed over, and verification says what stands there."""
    marks: Counter[int] = Counter()
    named: list[tuple[int, int]] = []
    newest_ms = 0
    for _, headers in sound_records(reading.store.commit_log):
        newest_ms = max(newest_ms, *headers.store_time_ms[-1:].tolist())
        committed = (headers.sys_flag & SYSFLAG_TRANSACTION_MASK) == SYSFLAG_COMMIT
        if committed.any():
            offsets = headers.prepared_offset[committed].tolist()
            marks.update(offsets)
            if reading.store.is_written:
                named += zip(headers.store_time_ms[committed].tolist(), offsets, strict=True)
    fresh = frozenset(offset for time_ms, offset in named if time_ms + _OPS_COME_WITHIN_MS > newest_ms)
    return CommitMarks(marks, fresh)
