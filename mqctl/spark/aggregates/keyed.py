"""What the messages of one key say together: keys in several queues, order, duplicates. All of a key's tracks are here.

Each function gives partial rows, to be added up over buckets of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mqctl.spark.aggregates.combiner import Columns, Value
from mqctl.spark.aggregates.counting import coverage_rows
from mqctl.spark.aggregates.heavy import EDGE, Edge, edge_text
from mqctl.spark.aggregates.key_steps import KeySteps, distinct
from mqctl.spark.aggregates.track_layout import BUSINESS
from mqctl.spark.aggregates.whole_tracks import Tracks
from mqctl.spark.query import Query
from mqctl.store.kernel import Int64s

OWN = "own"
"""Cut: messages of a store that mqctl itself sent, which nothing is concluded from."""
MOST_QUEUES = 64
"""Queue counts up to this are tried as an explanation of keys that moved."""
_SAMPLE = 1 << 11
_TRIED = 4


def order_rows(tracks: Tracks, query: Query) -> Iterator[Columns]:
    """Tells which keys stand in several queues, when they moved, and where send and store order disagree.

    A move is a message that stands in another queue than the message of its key stored before it. An inversion is one
    that was sent (by the same host) before the message of its key stored before it in the same queue.
    """
    if not len(tracks):
        return
    steps = KeySteps.of(tracks, query)
    moved, inverted = steps.out_of_order()
    oldest = np.full(len(tracks.topics), np.iinfo(np.int64).max)
    newest = np.full(len(tracks.topics), np.iinfo(np.int64).min)
    topics, times = steps.column("topic")[moved], steps.column("store_ms")[moved]
    np.minimum.at(oldest, topics, times)
    np.maximum.at(newest, topics, times)
    moves = steps.per_topic(moved)
    yield {
        "cut": ["topics"] * len(tracks.topics),
        "topic": list(tracks.topics),
        **steps.totals,
        "moved_keys": steps.keys_with(moved),
        "moves": moves,
        "inversions": steps.per_topic(inverted),
        "oldest_ms": [int(at) if count else None for at, count in zip(oldest, moves, strict=True)],
        "newest_ms": [int(at) if count else None for at, count in zip(newest, moves, strict=True)],
    }
    yield steps.timed("moves", "moves", moved, query)
    yield steps.timed("inversions", "inversions", inverted, query)
    yield _explained(steps, moved)
    if tracks.slice < 0:  # of a slice the whole key's figures are not known
        yield _order_keys(steps, moved, inverted, query)


def _explained(steps: KeySteps, moved: Int64s) -> Columns:
    """Finds the queue counts between which the hash selector explains most moves; those of a sample are tried.

    Producers may have gone there and back: both directions of a change count.
    """
    store, parts = steps.column("store"), []
    at = moved[store[moved] == store[steps.before[moved]]]  # queues of several brokers are another matter
    topics, times = steps.column("topic")[at], steps.times[at]
    before, after = _Sent.of(steps, steps.before[at]), _Sent.of(steps, at)
    for topic in distinct(topics).tolist():
        own, name = np.flatnonzero(topics == topic), steps.tracks.topics[topic]
        sample = own[:: max(1, len(own) // _SAMPLE)]
        counts = range(1, MOST_QUEUES + 1)
        joint = _together(before.selected(sample, counts), after.selected(sample, counts))
        both = np.triu(joint + joint.T, 1)
        likely = np.argsort(-both, axis=None, kind="stable")[:_TRIED]
        pairs = np.stack(np.unravel_index(likely, both.shape), axis=1).tolist()
        for low, high in (pair for pair in pairs if 2 * both[pair[0], pair[1]] > max(1, len(sample))):
            there, back = (
                _moves(before.selected(own, [one])[0] & after.selected(own, [other])[0], times[own])
                for one, other in ((low + 1, high + 1), (high + 1, low + 1))
            )
            parts.append((name, low + 1, high + 1, there[0] + back[0], there[0], there[1], back[1]))
    names, fewer, more, explained, growing, there_ms, back_ms = zip(*parts, strict=True) if parts else ((),) * 7
    return {
        "cut": ["changes"] * len(parts),
        "topic": names,
        "queues_before": fewer,
        "queues_after": more,
        "moves": explained,
        "growing": growing,
        "growing_ms": there_ms,
        "shrinking_ms": back_ms,
    }


_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


def _together(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> Int64s:
    """Counts for each pair of rows the columns that are marked in both."""
    left, right = np.packbits(before, axis=1), np.packbits(after, axis=1)
    counts: Int64s = _BITS[left[:, None] & right].sum(axis=-1, dtype=np.int64)
    return counts


def _moves(explained: NDArray[np.bool_], times_ms: Int64s) -> tuple[int, int | None]:
    """Counts the moves that a change of the queue count explains, and tells when the first happened (epoch ms)."""
    times = times_ms[explained]
    return len(times), int(times.min()) if len(times) else None


@dataclass(frozen=True, slots=True)
class _Sent:
    """Java's hash of the key, without its sign, and queue of some messages."""

    hashes: NDArray[np.uint32]
    queues: NDArray[np.uint32]

    @classmethod
    def of(cls, steps: KeySteps, at: NDArray[np.integer]) -> _Sent:
        hashes, queues = steps.column("hash")[at], steps.column("queue")[at]
        return cls(np.abs(hashes.astype(np.int64)).astype(np.uint32), queues.astype(np.uint32))

    def selected(self, which: Int64s, counts: Sequence[int]) -> NDArray[np.bool_]:
        """Marks, a row for each of some queue counts, the messages whose queue `SelectMessageQueueByHash` would choose
        with it: what is left of the hash divided by the count, without its sign."""
        hashes, queues = self.hashes[which], self.queues[which]
        marks = np.empty((len(counts), len(which)), dtype=bool)
        for number, count in enumerate(counts):
            divisor = np.uint32(count)
            marks[number] = hashes - hashes // divisor * divisor == queues  # numpy divides by one number at once
        return marks


def _order_keys(steps: KeySteps, moved: Int64s, inverted: Int64s, query: Query) -> Columns:
    moves, inversions = steps.per_key(moved), steps.per_key(inverted)
    keys = steps.heaviest(moves * 1_000_000 + inversions, query.top)
    return {
        **steps.shown(keys, {"queues": "place"}, query),
        "moves": moves[keys].tolist(),
        "inversions": inversions[keys].tolist(),
    }


def duplicate_rows(tracks: Tracks, query: Query) -> Iterator[Columns]:
    """Tells which keys were stored more than once: how often, how far apart, by whom, when."""
    if not len(tracks):
        return
    steps = KeySteps.of(tracks, query)
    again = steps.again
    before = steps.before[again]
    host, times, copies = steps.column("host"), steps.times, steps.copies()
    totals = steps.totals
    yield {
        "cut": ["topics"] * len(tracks.topics),
        "topic": list(tracks.topics),
        **totals,
        "repeated_keys": steps.per_topic(steps.first[copies > 0]),
        "copies": [messages - keys for messages, keys in zip(totals["messages"], totals["keys"], strict=True)],
        "same_host_copies": steps.per_topic(again[host[again] == host[before]]),
    }
    yield steps.timed("times", "copies", again, query)
    yield steps.hosted(again)
    topics, classes, counts = steps.counted(again, _gap_class(times[again] - times[before]))
    gaps = [1 << power - 1 if power else 0 for power in classes]
    yield {"cut": ["gaps"] * len(counts), "topic": topics, "gap_class_ms": gaps, "copies": counts}
    if tracks.slice < 0:
        keys = steps.heaviest(copies, query.top)
        yield {**steps.shown(keys, {"hosts": "host"}, query), "copies": copies[keys].tolist()}


def _gap_class(gap_ms: Int64s) -> Int64s:
    """Returns for each gap the number of bits it takes; 0 for none, and where a clock was set back."""
    # The exponent of a double is the power of two at or below it.
    power: Int64s = (np.maximum(gap_ms, 0).astype(np.float64).view(np.int64) >> 52) - 1022
    return np.maximum(power, 0)


@dataclass(frozen=True, slots=True)
class KeyedTable:
    """Partial rows made of whole keys, and how they are combined (as in `parts.PartTable`)."""

    keys: dict[str, str]
    sums: tuple[str, ...]
    lows: tuple[str, ...]
    highs: tuple[str, ...]
    judge: Callable[[Tracks, Query], Iterator[Columns]]

    @property
    def types(self) -> dict[str, str]:
        """Spark types of all columns."""
        return {**self.keys, **dict.fromkeys((*self.sums, *self.lows, *self.highs), "bigint")}


def _slice_rows(parts: Iterator[Columns], tracks: Tracks, query: Query) -> Iterator[Columns]:
    """Yields the rows of a slice of one key without what only the whole key tells, and the slice's ends."""
    for columns in parts:
        if columns["cut"] and columns["cut"][0] == "topics":
            nothing = [0] * len(columns["cut"])
            yield {**columns, **{name: nothing for name in ("keys", "moved_keys", "repeated_keys") if name in columns}}
        elif columns["cut"]:
            yield columns
    if not len(tracks):
        return
    steps = KeySteps.of(tracks, query)
    place, born, host = (steps.column(name) for name in ("place", "born_ms", "host"))
    same = place[1:] == place[:-1]
    back = (born[1:] < born[:-1]) & (host[1:] == host[:-1])

    def where(at: int) -> list[Value]:
        return [tracks.stores[at >> 32], at & 0xFFFFFFFF]

    def end(row: int) -> list[Value]:
        return [*where(int(place[row])), int(born[row]), tracks.hosts[int(host[row])], int(steps.times[row])]

    edge = Edge(
        key=steps.texts(np.zeros(1, dtype=np.int64), query)[0],
        digest=int(tracks.columns["digest"][0]),
        number=tracks.slice,
        messages=len(place),
        moves=int((~same).sum()),
        inversions=int((same & back).sum()),
        places=[where(at) for at in distinct(place).tolist()],
        hosts=[tracks.hosts[code] for code in distinct(host).tolist()],
        first=end(0),
        last=end(-1),
    )
    yield {"cut": [EDGE], "topic": [tracks.topics[int(tracks.columns["topic"][0])]], "key": [edge_text(edge)]}


ORDER, DUPLICATES = "order", "duplicates"


def judged(report: str) -> Callable[[Tracks, Query], Iterator[Columns]]:
    """Returns what makes the rows of a report, or of both for an empty name, marked with it and the kind of key."""

    def judge(tracks: Tracks, query: Query) -> Iterator[Columns]:
        if tracks.coverage:
            for covered in tracks.coverage:
                yield from coverage_rows(covered)
                if covered.own_messages:
                    yield {"cut": [OWN], "store": [covered.store], "messages": [covered.own_messages]}
            return
        judges = {ORDER: order_rows, DUPLICATES: duplicate_rows}
        for name, rows in judges.items():
            if report in (name, "") and (name == DUPLICATES or tracks.kind == BUSINESS):
                for columns in (
                    rows(tracks, query) if tracks.slice < 0 else _slice_rows(rows(tracks, query), tracks, query)
                ):
                    count = len(columns["cut"])
                    yield {**columns, "report": [name] * count, "kind": [tracks.kind] * count}

    return judge


def _table(report: str) -> KeyedTable:
    return KeyedTable(
        keys={
            "cut": "string", "report": "string", "kind": "int", "store": "string", "physical_offset": "bigint",
            "topic": "string", "key": "string", "time_ms": "bigint", "queues_before": "int", "queues_after": "int",
            "born_host": "string", "gap_class_ms": "bigint",
        },
        sums=(
            "messages", "keys", "moved_keys", "moves", "inversions", "queues", "growing", "repeated_keys", "copies",
            "same_host_copies", "hosts", "bytes", "skipped_bytes",
        ),
        lows=("oldest_ms", "growing_ms", "shrinking_ms"),
        highs=("newest_ms",),
        judge=judged(report),
    )  # fmt: skip


KEYED: dict[str, KeyedTable] = {ORDER: _table(ORDER), DUPLICATES: _table(DUPLICATES), "keyed": _table("")}
"""By report; `keyed` has the rows of both, told apart by the column `report`."""
