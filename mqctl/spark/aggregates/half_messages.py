"""Half messages and what ended them, from the two transaction topics of a store, in numpy.

The rules are those of `mqctl.snapshot.store.transactions` (docs/models.md): a half message is ended
by an op message that names its queue offset, or that of the copy it was made from; all copies of one transaction share
the unique key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mqctl.model.message import (
    PRODUCER_GROUP,
    REAL_TOPIC,
    SYSFLAG_COMMIT,
    SYSFLAG_TRANSACTION_MASK,
    TAGS,
    TRAN_PREPARED_QUEUE_OFFSET,
    UNIQ_KEY,
)
from mqctl.model.names import HALF_TOPIC, OP_TOPIC, TRANSACTION_GROUP
from mqctl.spark.aggregates.combiner import Columns
from mqctl.spark.aggregates.extents import plan_stores, store_work
from mqctl.spark.aggregates.table import PartTable, Work
from mqctl.spark.scan.keys import key_text
from mqctl.spark.scan.planning import committed_offsets, open_store
from mqctl.store.commitlog import records_at
from mqctl.store.config_files import TOPICS, topic_configs
from mqctl.store.consumequeue import ConsumeQueue, is_filler, is_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int64s
from mqctl.store.mapped_files import Buffer, MappedFile
from mqctl.store.texts import Spans, digests, factorize, property_spans

GROUPS, TIMES, PENDING, MISSING = "groups", "times", "pending", "missing"
_PENDING_SHOWN = 20
_COMMA, _ZERO, _NINE = ord(","), ord("0"), ord("9")
_OP_TAG = "d"


@dataclass(slots=True)
class _Halves:
    """Half messages as parallel arrays, by queue offset; `group` and `topic` index the names."""

    offset: Int64s
    prepared: Int64s
    store_ms: Int64s
    identity: NDArray[np.uint64]
    group: Int64s
    topic: Int64s
    physical: Int64s
    unique: list[tuple[MappedFile, int, int]]


def _records(store: StoreDirectory, queue: ConsumeQueue) -> Iterator[tuple[MappedFile, Int64s, Headers]]:
    """Yields queue offsets and headers of the readable messages of a queue, file by file."""
    for first, entries in queue.runs(queue.min_offset(store.commit_log.min_offset), queue.max_offset):
        kept = np.flatnonzero(is_message(entries))
        physical = entries["physical_offset"][kept].astype(np.int64)
        for file, rows, headers in records_at(store.commit_log, physical):
            yield file, first + kept[rows], headers


def _halves(store: StoreDirectory, queue: ConsumeQueue, groups: dict[str, int], topics: dict[str, int]) -> _Halves:
    columns: list[tuple[Int64s, ...]] = []
    identities: list[NDArray[np.uint64]] = []
    unique: list[tuple[MappedFile, int, int]] = []
    names = [PRODUCER_GROUP, REAL_TOPIC, UNIQ_KEY, TRAN_PREPARED_QUEUE_OFFSET]
    for file, offset, headers in _records(store, queue):
        spans = property_spans(file.known, headers, names)
        key = spans[UNIQ_KEY]
        identity = digests(file.known, np.maximum(key.start, 0), key.size)
        identities.append(np.where(key.present, identity, offset.astype(np.uint64)))
        columns.append(
            (
                offset,
                _whole_numbers(file.known, spans[TRAN_PREPARED_QUEUE_OFFSET]),
                headers.store_time_ms,
                _named(file.known, spans[PRODUCER_GROUP], groups),
                _named(file.known, spans[REAL_TOPIC], topics),
                headers.physical_offset,
            )
        )
        unique += [(file, start, size) for start, size in zip(key.start.tolist(), key.size.tolist(), strict=True)]
    nothing = np.empty(0, dtype=np.int64)
    joined = [np.concatenate(part) for part in zip(*columns, strict=True)] if columns else [nothing] * 6
    identity = np.concatenate(identities) if identities else np.empty(0, dtype=np.uint64)
    offset, prepared, store_ms, group, topic, physical = joined
    return _Halves(offset, prepared, store_ms, identity, group, topic, physical, unique)


def _named(buffer: Buffer, spans: Spans, known: dict[str, int]) -> Int64s:
    alphabet = factorize(buffer, spans.start, spans.size)
    numbers = [known.setdefault(name, len(known)) for name in alphabet.names]
    return np.array([*numbers, known.setdefault("?", len(known))], dtype=np.int64)[alphabet.codes]


def _whole_numbers(buffer: Buffer, spans: Spans) -> Int64s:
    """Reads spans of digits; -1 where there is none or something else."""
    value = np.zeros(len(spans.start), dtype=np.int64)
    good = spans.present & (spans.size <= 18)
    rows = np.flatnonzero(good)
    for at in range(int(spans.size[rows].max(initial=0))):
        rows = rows[spans.size[rows] > at]
        digit = buffer[spans.start[rows] + at].astype(np.int64) - _ZERO
        value[rows] = value[rows] * 10 + digit
        good[rows[(digit < 0) | (digit > 9)]] = False
    return np.where(good, value, -1)


def _ended(store: StoreDirectory) -> tuple[Int64s, Int64s]:
    """Returns half queue offsets that op messages name, ascending, and when each was named first (epoch ms)."""
    offsets: list[Int64s] = []
    times: list[Int64s] = []
    for file, _, headers in _records(store, store.consume_queue(OP_TOPIC, 0)):
        tags = property_spans(file.known, headers, [TAGS])[TAGS]
        alphabet = factorize(file.known, tags.start, tags.size)
        ours = np.array([name == _OP_TAG for name in alphabet.names] + [False], dtype=bool)[alphabet.codes]
        some = headers.take(ours)
        named, record = _numbers_in(file.known, some)
        offsets.append(named)
        times.append(some.store_time_ms[record])
    if not offsets:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    offset, time = np.concatenate(offsets), np.concatenate(times)
    order = np.lexsort((time, offset))
    known, first = np.unique(offset[order], return_index=True)
    return known, time[order][first]


def _numbers_in(buffer: Buffer, headers: Headers) -> tuple[Int64s, Int64s]:
    """Reads the numbers in bodies: one decimal number (4.9), or several, each followed by a comma (5.1).

    Returns the numbers, and the row of the body each stands in.
    """
    sizes = headers.body_size.astype(np.int64) + 1
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    row = np.repeat(np.arange(len(headers)), sizes)
    place = np.arange(int(offsets[-1])) - offsets[row]
    data = buffer.take(headers.body_start[row] + place, mode="clip")
    data[offsets[1:] - 1] = _COMMA
    digit = (data >= _ZERO) & (data <= _NINE)
    begins = np.flatnonzero(digit & ~np.concatenate(([False], digit[:-1])))
    ends = np.flatnonzero(digit & ~np.concatenate((digit[1:], [False]))) + 1
    # What stands between commas must be digits only.
    clean = ((begins == 0) | (data[begins - 1] == _COMMA) | (place[begins] == 0)) & (data[ends] == _COMMA)
    begins, ends = begins[clean], ends[clean]
    spans = Spans(begins, (ends - begins).astype(np.int32))
    return _whole_numbers(data, spans), row[begins]


def _read_transactions(work: Work) -> Iterator[Columns]:
    path, wanted, _ = store_work(work)
    store = open_store(path)
    groups: dict[str, int] = {}
    topics: dict[str, int] = {}
    queue = store.consume_queue(HALF_TOPIC, 0)
    halves = _halves(store, queue, groups, topics)
    yield from _missing(store, queue, path, len(halves.offset))
    if not len(halves.offset):
        return
    ended, ended_ms = _ended(store)
    end_ms = _times_of(ended, ended_ms, halves)
    progress = next(
        (
            each.offset
            for each in committed_offsets(store)
            if (each.topic, each.group, each.queue_id) == (HALF_TOPIC, TRANSACTION_GROUP, 0)
        ),
        0,
    )
    transactions = _Transactions.of(halves, end_ms, progress, *_commits(store, list(topics), halves))
    mask = wanted.store_time_ms.mask(transactions.first_ms)
    if wanted.topics:
        mask &= np.isin(transactions.topic, [code for name, code in topics.items() if name in wanted.topics])
    yield from transactions.take(mask).rows(path, list(groups), list(topics), halves)


def _missing(store: StoreDirectory, queue: ConsumeQueue, path: str, read: int) -> Iterator[Columns]:
    """Tells how many entries of a queue, as far as it was read, lead to no sound record."""
    entries = sum(int((~is_filler(run)).sum()) for _, run in queue.runs(queue.min_offset(store.commit_log.min_offset)))
    if entries > read:
        yield {"cut": [MISSING], "store": [path], "topic": [queue.topic], "transactions": [entries - read]}


def _commits(
    store: StoreDirectory, topics: Sequence[str], halves: _Halves
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Marks the half messages that a committed message names, and those whose topic can be looked at for one.

    A commit writes the message to its real topic with the physical offset of the half message as its prepared offset;
    a rollback writes an op message only (`EndTransactionProcessor` of 4.9.8). A topic of the table that has no queue
    never got a message, and so no commit.
    """
    known = set(store.queue_ids())
    named_topics = {topic for topic, _ in known} | {topic.name for topic in topic_configs(store.config(TOPICS))}
    readable = np.array([name in named_topics for name in topics], dtype=bool)
    named = [np.empty(0, dtype=np.int64)]
    for topic, queue_id in sorted(known):
        if topic in topics:
            for _, _, headers in _records(store, store.consume_queue(topic, queue_id)):
                commits = (headers.sys_flag & SYSFLAG_TRANSACTION_MASK) == SYSFLAG_COMMIT
                named.append(headers.prepared_offset[commits])
    return np.isin(halves.physical, np.concatenate(named)), readable[halves.topic]


def _times_of(ended: Int64s, ended_ms: Int64s, halves: _Halves) -> Int64s:
    """Returns when each half message was ended; -1 where it was not."""
    time = np.full(len(halves.offset), -1, dtype=np.int64)
    if len(ended):
        for offsets in (halves.prepared, halves.offset):  # its own end counts before that of the copy it came from
            at = np.minimum(np.searchsorted(ended, offsets), len(ended) - 1)
            time = np.where(ended[at] == offsets, ended_ms[at], time)
    return time


@dataclass(frozen=True, slots=True)
class _Transactions:
    """Transactions as parallel arrays; `newest` is the row of the newest half message of each.

    Attributes:
        committed: a message names one of its half messages as the one it was made of.
        readable: the queues of its topic are there, so that without such a message it was rolled back.
    """

    first_ms: Int64s
    end_ms: Int64s
    pending: NDArray[np.bool_]
    newest: Int64s
    group: Int64s
    topic: Int64s
    committed: NDArray[np.bool_]
    readable: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        halves: _Halves,
        end_ms: Int64s,
        progress: int,
        committed: NDArray[np.bool_],
        readable: NDArray[np.bool_],
    ) -> _Transactions:
        _, codes = np.unique(halves.identity, return_inverse=True)
        count = int(codes.max()) + 1
        far = np.iinfo(np.int64).max
        first, end = np.full(count, far), np.full(count, far)
        np.minimum.at(first, codes, halves.store_ms)
        np.minimum.at(end, codes, np.where(end_ms >= 0, end_ms, far))
        open_rows = (halves.offset >= progress) & (end_ms < 0)
        pending = np.zeros(count, dtype=bool)
        pending[codes[open_rows]] = True
        # A copy that was ended ends the transaction, even where the broker would look at an earlier half once more.
        pending &= end == far
        newest = np.zeros(count, dtype=np.int64)
        newest[codes] = np.arange(len(codes))  # rows ascend by queue offset: the last one stays
        made = np.bincount(codes[committed], minlength=count) > 0
        ends = np.where(end == far, -1, end)
        return cls(first, ends, pending, newest, halves.group[newest], halves.topic[newest], made, readable[newest])

    def take(self, mask: NDArray[np.bool_]) -> _Transactions:
        return _Transactions(
            self.first_ms[mask],
            self.end_ms[mask],
            self.pending[mask],
            self.newest[mask],
            self.group[mask],
            self.topic[mask],
            self.committed[mask],
            self.readable[mask],
        )

    def rows(self, path: str, groups: list[str], topics: list[str], halves: _Halves) -> Iterator[Columns]:
        ended = self.end_ms >= 0
        took = np.where(ended, self.end_ms - self.first_ms, 0)
        pairs, codes = np.unique(np.stack((self.group, self.topic)), axis=1, return_inverse=True)
        codes = codes.reshape(-1)
        count = pairs.shape[1]
        oldest = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(oldest, codes[self.pending], self.first_ms[self.pending])
        waiting = np.bincount(codes[self.pending], minlength=count)
        kinds = self._kinds()
        longest = np.zeros(count, dtype=np.int64)
        np.maximum.at(longest, codes[ended], took[ended])
        where = {
            "store": [path] * count,
            "producer_group": [groups[code] for code in pairs[0].tolist()],
            "topic": [topics[code] for code in pairs[1].tolist()],
        }
        yield {
            "cut": [GROUPS] * count,
            **where,
            "transactions": np.bincount(codes, minlength=count).tolist(),
            "ended": np.bincount(codes[ended], minlength=count).tolist(),
            "pending": waiting.tolist(),
            **{name: np.bincount(codes[mask], minlength=count).tolist() for name, mask in kinds.items()},
            **{
                f"{name}_ms": np.bincount(codes[mask], weights=took[mask], minlength=count).astype(np.int64).tolist()
                for name, mask in kinds.items()
                if name != "unknown"
            },
            "resolution_ms": np.bincount(codes[ended], weights=took[ended], minlength=count).astype(np.int64).tolist(),
            "longest_ms": longest.tolist(),
            "oldest_pending_ms": [
                int(at) if number else None for at, number in zip(oldest.tolist(), waiting.tolist(), strict=True)
            ],
        }
        size = np.where(
            took > 0, np.left_shift(1, np.maximum(np.frexp(took.astype(float))[1] - 1, 0), dtype=np.int64), 0
        )
        classes, at, numbers = np.unique(
            np.stack((self.group[ended], size[ended])), axis=1, return_inverse=True, return_counts=True
        )
        yield {
            "cut": [TIMES] * len(numbers),
            "store": [path] * len(numbers),
            "producer_group": [groups[code] for code in classes[0].tolist()],
            "class_ms": classes[1].tolist(),
            "ended": numbers.tolist(),
            **{
                name: np.bincount(at.reshape(-1)[mask[ended]], minlength=len(numbers)).tolist()
                for name, mask in kinds.items()
            },
        }
        yield self._pending_rows(path, groups, topics, halves)

    def _kinds(self) -> dict[str, NDArray[np.bool_]]:
        """Marks how the ended ones ended; None knows of those whose topic's queues are not there."""
        ended = self.end_ms >= 0
        return {
            "committed": ended & self.committed,
            "rolled_back": ended & ~self.committed & self.readable,
            "unknown": ended & ~self.committed & ~self.readable,
        }

    def _pending_rows(self, path: str, groups: list[str], topics: list[str], halves: _Halves) -> Columns:
        rows = np.flatnonzero(self.pending)
        rows = rows[np.argsort(self.first_ms[rows], kind="stable")][:_PENDING_SHOWN]
        keys = []
        for newest in self.newest[rows].tolist():
            file, start, size = halves.unique[newest]
            keys.append(key_text(file.known, start, size) if start >= 0 else None)
        return {
            "cut": [PENDING] * len(rows),
            "store": [path] * len(rows),
            "producer_group": [groups[code] for code in self.group[rows].tolist()],
            "topic": [topics[code] for code in self.topic[rows].tolist()],
            "unique_key": keys,
            "half_offset": halves.offset[self.newest[rows]].tolist(),
            "oldest_pending_ms": self.first_ms[rows].tolist(),
        }


TRANSACTIONS = PartTable(
    keys={
        "cut": "string",
        "store": "string",
        "producer_group": "string",
        "topic": "string",
        "class_ms": "bigint",
        "unique_key": "string",
        "half_offset": "bigint",
    },
    sums=(
        "transactions",
        "ended",
        "pending",
        "resolution_ms",
        "committed",
        "rolled_back",
        "unknown",
        "committed_ms",
        "rolled_back_ms",
    ),
    lows=("oldest_pending_ms",),
    highs=("longest_ms",),
    plan=plan_stores,
    read=_read_transactions,
)
