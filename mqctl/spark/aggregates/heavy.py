"""Keys with more messages than one task should hold: found by samples, cut by store time, and put together again.

Buckets of keys bound a task's memory unless one key has most messages. The messages of such a key are dealt into
slices of store time instead; each slice is judged by itself and tells its ends, and what lies between two slices is
added here. A key that samples miss costs memory, nothing else.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mqctl.spark.aggregates.combiner import Row, Value
from mqctl.spark.scan.log_splits import LogSplit
from mqctl.store.kernel import Int64s

EDGE = "edge"
"""The cut of rows that tell the ends of a slice; `key` is JSON of an `Edge`."""
HEAVY_MESSAGES = 1_000_000
"""A key with more messages than this, as samples tell, is cut into slices of about half as many."""
_FEWEST_SAMPLES, _MOST_SAMPLES = 16, 64
_SAMPLE_BYTES = 256 << 10
_LEAST_SAMPLE_BYTES = 16 << 10
_FEWEST_SAMPLED = 4_096
_FEWEST_SEEN = 8


@dataclass(frozen=True, slots=True)
class HeavyKey:
    """A key by the digest of its tracks; its slices end at store times `edges_ms` (epoch ms, ascending)."""

    kind: int
    digest: int
    edges_ms: tuple[int, ...]


def sample_splits(splits: Sequence[LogSplit], messages: int, limit: int) -> list[LogSplit]:
    """Returns short pieces of splits, evenly spread over all of them: so many that a key with more than `limit` of
    `messages` is seen some dozen times."""
    total = sum(split.high - split.low for split in splits)
    wanted = max(_FEWEST_SAMPLED, 8 * _FEWEST_SEEN * messages // limit)
    # Slices end where samples stand: there are as many as the largest key has slices.
    samples = min(_MOST_SAMPLES, max(_FEWEST_SAMPLES, 2 * messages // limit))
    piece = min(_SAMPLE_BYTES, max(_LEAST_SAMPLE_BYTES, total // max(1, messages) * wanted // samples))
    step = max(piece, total // samples)
    return [
        replace(split, low=low, high=min(low + piece, split.high))
        for split in splits
        for low in range(split.low, split.high, step)
    ]


def heavy_keys(kind: int, digests: NDArray[np.uint64], times_ms: Int64s, messages: int, limit: int) -> list[HeavyKey]:
    """Returns the keys of a sample that stand for more than `limit` of all `messages`."""
    if not len(digests):
        return []
    known, counts = np.unique(digests, return_counts=True)
    keys = []
    for digest, seen in zip(known.tolist(), counts.tolist(), strict=True):
        about = messages * seen // len(digests)
        if seen >= _FEWEST_SEEN and about > limit:
            own = np.sort(times_ms[digests == digest])
            slices = -(-2 * about // limit)
            places = np.arange(1, slices) * len(own) // slices
            keys.append(HeavyKey(kind, digest, tuple(sorted(set(own[places].tolist())))))
    return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What a slice of one key tells of itself; `first` and `last` are [store, queue, born ms, host, store ms]."""

    key: str
    digest: int
    number: int
    messages: int
    moves: int
    inversions: int
    places: list[list[Value]]
    hosts: list[str]
    first: list[Value]
    last: list[Value]


def edge_text(edge: Edge) -> str:
    """Writes an edge as the `key` of its row."""
    return json.dumps({name: getattr(edge, name) for name in Edge.__slots__})


def stitches(rows: Iterable[Row], bucket_ms: int) -> Iterator[Row]:
    """Yields what is to be added to combined rows for keys that were cut: what lies between their slices."""
    slices: dict[tuple[Value, Value, Value, int], list[Edge]] = defaultdict(list)
    for row in rows:
        if row["cut"] == EDGE:
            edge = Edge(**json.loads(str(row["key"])))
            slices[(row["report"], row["kind"], row["topic"], edge.digest)].append(edge)
    for (report, kind, topic, _), own in slices.items():
        own.sort(key=lambda edge: edge.number)
        where: Row = {"report": report, "kind": kind, "topic": topic}
        make = _order_rows if report == "order" else _duplicate_rows
        yield from ({**where, **row} for row in make(own, bucket_ms))


def _pairs(own: Sequence[Edge]) -> list[tuple[list[Value], list[Value]]]:
    return [(left.last, right.first) for left, right in itertools.pairwise(own)]


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _order_rows(own: Sequence[Edge], bucket_ms: int) -> Iterator[Row]:
    moved, inverted = [], []
    for left, right in _pairs(own):
        if left[:2] != right[:2]:
            moved.append(_number(right[4]))
        elif _number(right[2]) < _number(left[2]) and right[3] == left[3]:
            inverted.append(_number(right[4]))
    moves = sum(edge.moves for edge in own) + len(moved)
    inversions = sum(edge.inversions for edge in own) + len(inverted)
    times = {"oldest_ms": min(moved), "newest_ms": max(moved)} if moved else {}
    sums = {"keys": 1, "moved_keys": int(moves > 0), "moves": len(moved), "inversions": len(inverted)}
    yield {"cut": "topics", "messages": 0, **sums, **times}
    for name, counts in (("moves", moved), ("inversions", inverted)):
        for at in counts:
            yield {"cut": name, "time_ms": at // bucket_ms * bucket_ms, name: 1}
    if moves or inversions:
        places = {(str(store), _number(queue)) for edge in own for store, queue in edge.places}
        figures = {"queues": len(places), "moves": moves, "inversions": inversions}
        yield {"cut": "keys", **_whole(own), **figures}


def _duplicate_rows(own: Sequence[Edge], bucket_ms: int) -> Iterator[Row]:
    pairs = _pairs(own)
    messages = sum(edge.messages for edge in own)
    near = sum(left[3] == right[3] for left, right in pairs)
    sums = {"keys": 1, "repeated_keys": int(messages > 1), "copies": len(pairs), "same_host_copies": near}
    yield {"cut": "topics", "messages": 0, **sums}
    for left, right in pairs:
        at, gap = _number(right[4]), _number(right[4]) - _number(left[4])
        yield {"cut": "times", "time_ms": at // bucket_ms * bucket_ms, "copies": 1}
        yield {"cut": "hosts", "born_host": right[3], "copies": 1}
        yield {"cut": "gaps", "gap_class_ms": 1 << (gap.bit_length() - 1) if gap > 0 else 0, "copies": 1}
    if messages > 1:
        hosts = {host for edge in own for host in edge.hosts}
        yield {"cut": "keys", **_whole(own), "copies": messages - 1, "hosts": len(hosts)}


def _whole(own: Sequence[Edge]) -> Row:
    return {
        "key": own[0].key,
        "messages": sum(edge.messages for edge in own),
        "oldest_ms": own[0].first[4],
        "newest_ms": own[-1].last[4],
    }
