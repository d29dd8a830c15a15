"""What the messages of one key say together: keys in several queues, order, duplicates. All of a key's tracks are here.

Each function gives partial rows, to be added up over buckets of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mqctl.model.message import UNIQ_KEY
from mqctl.spark.aggregates.combiner import Columns, Value
from mqctl.spark.aggregates.counting import coverage_rows
from mqctl.spark.aggregates.heavy import EDGE, Edge, edge_text
from mqctl.spark.aggregates.track_layout import BUSINESS, UNIQUE
from mqctl.spark.aggregates.tracks import Tracks
from mqctl.spark.query import Query
from mqctl.spark.scan.keys import key_spans, key_text
from mqctl.spark.scan.planning import open_store
from mqctl.store.kernel import Int64s, headers

KEYS_SHOWN = 20
OWN = "own"
"""Cut: messages of a store that mqctl itself sent, which nothing is concluded from."""
MOST_QUEUES = 64
"""Queue counts up to this are tried as an explanation of keys that moved."""
_SAMPLE = 1 << 11
_TRIED = 4


@dataclass(frozen=True, slots=True)
class _Steps:
    """Tracks as steps: row `i` against row `i - 1`, where both have the same key; `group` numbers the keys."""

    tracks: Tracks
    same: NDArray[np.bool_]
    group: Int64s

    @classmethod
    def of(cls, tracks: Tracks) -> _Steps:
        digest = tracks.rows["digest"]
        same = np.zeros(len(digest), dtype=bool)
        same[1:] = digest[1:] == digest[:-1]
        return cls(tracks, same, np.cumsum(~same) - 1)

    def per_topic(self, mask: NDArray[np.bool_]) -> list[int]:
        """Counts the marked rows by topic."""
        counts = np.bincount(self.tracks.rows["topic"][mask], minlength=len(self.tracks.topics))
        return [int(count) for count in counts]

    def keys_with(self, mask: NDArray[np.bool_]) -> list[int]:
        """Counts the keys with a marked row by topic."""
        _, first = np.unique(self.group[mask], return_index=True)
        topics = self.tracks.rows["topic"][mask][first]
        return [int(count) for count in np.bincount(topics, minlength=len(self.tracks.topics))]

    def timed(self, name: str, column: str, mask: NDArray[np.bool_], query: Query) -> Columns:
        """Counts the marked rows by topic and time bucket."""
        rows = self.tracks.rows[mask]
        topics, buckets, counts = self.counted(rows["topic"], rows["store_ms"] // query.bucket_ms * query.bucket_ms)
        return {"cut": [name] * len(counts), "topic": topics, "time_ms": buckets, column: counts}

    def hosted(self, mask: NDArray[np.bool_]) -> Columns:
        """Counts the marked rows by topic and born host."""
        rows = self.tracks.rows[mask]
        topics, codes, counts = self.counted(rows["topic"], rows["host"].astype(np.int64))
        hosts = [self.tracks.hosts[code] for code in codes]
        return {"cut": ["hosts"] * len(counts), "topic": topics, "born_host": hosts, "copies": counts}

    def counted(self, topic: Int64s, value: Int64s) -> tuple[list[str], list[int], list[int]]:
        """Returns each pair of topic and value there is: names of topics, values, and how often."""
        known = np.unique(value)
        if not len(known):
            return [], [], []
        # A pair as one number: sorted as two columns they take ten times as long.
        pairs = topic.astype(np.int64) * len(known) + np.searchsorted(known, value)
        there, counts = np.unique(pairs, return_counts=True)
        names = [self.tracks.topics[code] for code in (there // len(known)).tolist()]
        return names, known[there % len(known)].tolist(), counts.tolist()

    def shown_keys(self, weight: Int64s, query: Query) -> Iterator[tuple[str, NDArray[np.void]]]:
        """Yields for each topic the keys of greatest weight above 0 (one weight a key): its text and its rows."""
        starts = np.flatnonzero(~self.same)
        ends = np.append(starts[1:], len(self.same))
        topic = self.tracks.rows["topic"][starts]
        chosen: list[int] = []
        for code in range(len(self.tracks.topics)):
            members = np.flatnonzero((topic == code) & (weight > 0))
            chosen += members[np.argsort(-weight[members], kind="stable")][:KEYS_SHOWN].tolist()
        texts = self.texts(self.tracks.rows[starts[chosen]], query)
        for key, text in zip(chosen, texts, strict=True):
            yield text, self.tracks.rows[starts[key] : ends[key]]

    def texts(self, rows: NDArray[np.void], query: Query) -> list[str]:
        """Reads the keys of messages where they stand: each store is opened once, each file mapped once."""
        names = [f"key of digest {digest:016x}" for digest in rows["digest"].tolist()]  # of a file that expired
        name = UNIQ_KEY if self.tracks.kind == UNIQUE else query.key_property
        for store in np.unique(rows["store"]).tolist():
            log = open_store(self.tracks.stores[store]).commit_log
            left = np.flatnonzero(rows["store"] == store)
            left = left[np.argsort(rows["physical"][left])]
            while len(left):
                file = log.file_of(int(rows["physical"][left[0]]))
                own = 1 if file is None else int(np.searchsorted(rows["physical"][left], file.end))
                if file is not None:
                    positions = rows["physical"][left[:own]] - file.start
                    buffer = file.records_view(positions)
                    spans = key_spans(buffer, headers(buffer, positions), name)
                    ends = zip(left[:own].tolist(), spans.start.tolist(), spans.size.tolist(), strict=True)
                    for row, start, size in ends:
                        names[row] = key_text(buffer, start, size)
                left = left[own:]
        return names


def order_rows(tracks: Tracks, query: Query) -> Iterator[Columns]:
    """Tells which keys stand in several queues, when they moved, and where send and store order disagree.

    A move is a message that stands in another queue than the message of its key stored before it. An inversion is one
    that was sent (by the same host) before the message of its key stored before it in the same queue.
    """
    steps, rows = _Steps.of(tracks), tracks.rows
    if not len(rows):
        return
    place = rows["store"].astype(np.int64) << 32 | rows["queue"]
    moved = steps.same.copy()
    moved[1:] &= place[1:] != place[:-1]
    inverted = steps.same & ~moved
    inverted[1:] &= (rows["born_ms"][1:] < rows["born_ms"][:-1]) & (rows["host"][1:] == rows["host"][:-1])
    times = rows["store_ms"][moved]
    oldest = np.full(len(tracks.topics), np.iinfo(np.int64).max)
    newest = np.full(len(tracks.topics), np.iinfo(np.int64).min)
    np.minimum.at(oldest, rows["topic"][moved], times)
    np.maximum.at(newest, rows["topic"][moved], times)
    moves = steps.per_topic(moved)
    yield {
        "cut": ["topics"] * len(tracks.topics),
        "topic": list(tracks.topics),
        "messages": steps.per_topic(np.ones(len(rows), dtype=bool)),
        "keys": steps.per_topic(~steps.same),
        "moved_keys": steps.keys_with(moved),
        "moves": moves,
        "inversions": steps.per_topic(inverted),
        "oldest_ms": [int(at) if count else None for at, count in zip(oldest, moves, strict=True)],
        "newest_ms": [int(at) if count else None for at, count in zip(newest, moves, strict=True)],
    }
    yield steps.timed("moves", "moves", moved, query)
    yield steps.timed("inversions", "inversions", inverted, query)
    yield _explained(steps, moved)
    yield _order_keys(steps, moved, inverted, query)


def _explained(steps: _Steps, moved: NDArray[np.bool_]) -> Columns:
    """Finds the queue counts between which the hash selector explains most moves; those of a sample are tried.

    Producers may have gone there and back: both directions of a change count.
    """
    rows, parts = steps.tracks.rows, []
    at = np.flatnonzero(moved)
    at = at[rows["store"][at] == rows["store"][at - 1]]  # indexes of queues over several brokers are another matter
    # Columns of their own: rows are copied one field after the other.
    topics, times = rows["topic"][at], rows["store_ms"][at]
    before, after = _Sent.of(rows, at - 1), _Sent.of(rows, at)
    for topic, name in enumerate(steps.tracks.topics):
        own = np.flatnonzero(topics == topic)
        sample = own[:: max(1, len(own) // _SAMPLE)]
        counts = np.arange(1, MOST_QUEUES + 1)
        joint = _together(before.selected(sample, counts), after.selected(sample, counts))
        both = np.triu(joint + joint.T, 1)
        likely = np.argsort(-both, axis=None, kind="stable")[:_TRIED]
        pairs = np.stack(np.unravel_index(likely, both.shape), axis=1).tolist()
        for low, high in (pair for pair in pairs if 2 * both[pair[0], pair[1]] > max(1, len(sample))):
            there, back = (
                _moves(before.selected(own, np.array([one])) & after.selected(own, np.array([other])), times[own])
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
    """Counts for each pair of columns the rows that are marked in both."""
    left, right = np.packbits(before, axis=0).T, np.packbits(after, axis=0).T
    counts: Int64s = _BITS[left[:, None] & right].sum(axis=-1, dtype=np.int64)
    return counts


def _moves(explained: NDArray[np.bool_], times_ms: Int64s) -> tuple[int, int | None]:
    """Counts the moves that a change of the queue count explains, and tells when the first happened (epoch ms)."""
    times = times_ms[explained[:, 0]]
    return len(times), int(times.min()) if len(times) else None


@dataclass(frozen=True, slots=True)
class _Sent:
    """Hash of the key and queue of some messages."""

    hashes: Int64s
    queues: Int64s

    @classmethod
    def of(cls, rows: NDArray[np.void], at: Int64s) -> _Sent:
        return cls(rows["hash"][at].astype(np.int64), rows["queue"][at].astype(np.int64))

    def selected(self, which: Int64s, counts: Int64s) -> NDArray[np.bool_]:
        """Marks for each message the queue counts with which `SelectMessageQueueByHash` would choose its queue."""
        chosen = np.abs(np.fmod(self.hashes[which][:, None], counts))
        marks: NDArray[np.bool_] = chosen == self.queues[which][:, None]
        return marks


def _order_keys(steps: _Steps, moved: NDArray[np.bool_], inverted: NDArray[np.bool_], query: Query) -> Columns:
    weight = np.bincount(steps.group, weights=moved * 1_000_000.0 + inverted).astype(np.int64)
    parts = []
    for key, rows in steps.shown_keys(weight, query):
        step = np.flatnonzero(np.diff(rows["queue"]) | np.diff(rows["store"]))
        same = np.flatnonzero((np.diff(rows["queue"]) == 0) & (np.diff(rows["store"].astype(np.int64)) == 0))
        back = (rows["born_ms"][same + 1] < rows["born_ms"][same]) & (rows["host"][same + 1] == rows["host"][same])
        queues = len(np.unique(rows["store"].astype(np.int64) << 32 | rows["queue"]))
        times = rows["store_ms"]
        name = steps.tracks.topics[int(rows[0]["topic"])]
        parts.append((name, key, len(rows), queues, len(step), int(back.sum()), int(times.min()), int(times.max())))
    columns = list(zip(*parts, strict=True)) if parts else [()] * 8
    names = ("topic", "key", "messages", "queues", "moves", "inversions", "oldest_ms", "newest_ms")
    return {"cut": ["keys"] * len(parts), **dict(zip(names, columns, strict=True))}


def duplicate_rows(tracks: Tracks, query: Query) -> Iterator[Columns]:
    """Tells which keys were stored more than once: how often, how far apart, by whom, when."""
    steps, rows = _Steps.of(tracks), tracks.rows
    if not len(rows):
        return
    again = steps.same
    near = again.copy()
    near[1:] &= rows["host"][1:] == rows["host"][:-1]
    yield {
        "cut": ["topics"] * len(tracks.topics),
        "topic": list(tracks.topics),
        "messages": steps.per_topic(np.ones(len(rows), dtype=bool)),
        "keys": steps.per_topic(~again),
        "repeated_keys": steps.keys_with(again),
        "copies": steps.per_topic(again),
        "same_host_copies": steps.per_topic(near),
    }
    yield steps.timed("times", "copies", again, query)
    yield steps.hosted(again)
    gap = np.diff(rows["store_ms"], prepend=0)[again]
    exponent = np.where(gap > 0, np.left_shift(1, np.maximum(np.frexp(gap.astype(float))[1] - 1, 0), dtype=np.int64), 0)
    topics, classes, counts = steps.counted(rows["topic"][again], exponent)
    yield {"cut": ["gaps"] * len(counts), "topic": topics, "gap_class_ms": classes, "copies": counts}
    parts = []
    for key, own in steps.shown_keys(np.bincount(steps.group) - 1, query):
        times = own["store_ms"]
        name = steps.tracks.topics[int(own[0]["topic"])]
        count, addresses = len(own), len(np.unique(own["host"]))
        parts.append((name, key, count, count - 1, addresses, int(times.min()), int(times.max())))
    columns = list(zip(*parts, strict=True)) if parts else [()] * 7
    names = ("topic", "key", "messages", "copies", "hosts", "oldest_ms", "newest_ms")
    yield {"cut": ["keys"] * len(parts), **dict(zip(names, columns, strict=True))}


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
        elif columns["cut"] and columns["cut"][0] != "keys":
            yield columns
    rows = tracks.rows
    if not len(rows):
        return
    steps = _Steps.of(tracks)
    place = rows["store"].astype(np.int64) << 32 | rows["queue"]
    same = place[1:] == place[:-1]
    back = (rows["born_ms"][1:] < rows["born_ms"][:-1]) & (rows["host"][1:] == rows["host"][:-1])
    known = np.unique(np.stack((rows["store"].astype(np.int64), rows["queue"].astype(np.int64))), axis=1).T

    def end(row: NDArray[np.void]) -> list[Value]:
        host = tracks.hosts[int(row["host"])]
        return [tracks.stores[int(row["store"])], int(row["queue"]), int(row["born_ms"]), host, int(row["store_ms"])]

    edge = Edge(
        key=steps.texts(rows[:1], query)[0],
        digest=int(rows[0]["digest"]),
        number=tracks.slice,
        messages=len(rows),
        moves=int((~same).sum()),
        inversions=int((same & back).sum()),
        places=[[tracks.stores[store], queue] for store, queue in known.tolist()],
        hosts=[tracks.hosts[code] for code in np.unique(rows["host"]).tolist()],
        first=end(rows[0]),
        last=end(rows[-1]),
    )
    yield {"cut": [EDGE], "topic": [tracks.topics[int(rows[0]["topic"])]], "key": [edge_text(edge)]}


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
