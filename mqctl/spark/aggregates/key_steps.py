"""Tracks as steps: each message against the one of its key that was stored before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mqctl.model.message import UNIQ_KEY
from mqctl.spark.aggregates.combiner import Columns
from mqctl.spark.aggregates.track_layout import UNIQUE
from mqctl.spark.aggregates.twins import use_compiled
from mqctl.spark.aggregates.whole_tracks import Tracks
from mqctl.spark.query import Query
from mqctl.spark.scan.keys import key_spans, key_text
from mqctl.spark.scan.planning import open_store
from mqctl.store.kernel import Int64s, headers

_LEAST_DENSE = 1 << 16


@dataclass(frozen=True, slots=True)
class KeySteps:
    """Tracks by their places, in the order of storing; keys are numbered as they first appear.

    Attributes:
        before: place of the track of the same key before each one; -1 for its first.
        key: number of each one's key.
        first: place of each key's first track.
    """

    tracks: Tracks
    before: NDArray[np.int32]
    key: NDArray[np.int32]
    first: Int64s
    is_compiled: bool
    _made: dict[str, NDArray[np.integer]] = field(default_factory=dict)

    @classmethod
    def of(cls, tracks: Tracks, query: Query) -> KeySteps:
        digest = tracks.columns["digest"]
        is_compiled = use_compiled(query.kernels)
        if is_compiled:
            from mqctl.spark.aggregates.compiled.linking import linked_by

            before, key, first = linked_by(digest)
        else:
            before, key, first = _linked(digest)
        return cls(tracks, before, key, first, is_compiled)

    @property
    def again(self) -> Int64s:
        """Places of the tracks that are not their key's first."""
        return np.flatnonzero(self.before >= 0)

    def out_of_order(self) -> tuple[Int64s, Int64s]:
        """Returns the tracks in another place than the one of their key before them, and those that its host sent
        before that one to the same place."""
        place, born, host = (self.column(name) for name in ("place", "born_ms", "host"))
        if self.is_compiled:
            from mqctl.spark.aggregates.compiled.linking import out_of_order

            return out_of_order(self.before, (place, born, host))
        again = self.again
        before = self.before[again]
        is_moved = place[again] != place[before]
        is_inverted = ~is_moved & (born[again] < born[before]) & (host[again] == host[before])
        return again[is_moved], again[is_inverted]

    def column(self, name: str) -> NDArray[np.integer]:
        """Returns a column, zeros where the tracks have none; `place` is store and queue in one."""
        if name in self.tracks.columns:
            return self.tracks.columns[name]
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> NDArray[np.integer]:
        store = self.tracks.store
        if name == "place":
            return store.astype(np.int64) << 32 | self.column("queue").astype(np.uint32)
        return store if name == "store" else np.zeros(len(store), dtype=np.int64)

    @property
    def times(self) -> Int64s:
        """Store times (epoch ms)."""
        return self.column("store_ms").astype(np.int64, copy=False)

    def per_topic(self, places: Int64s) -> list[int]:
        """Counts tracks by topic."""
        topics = self.column("topic")[places]
        return [int(count) for count in np.bincount(topics, minlength=len(self.tracks.topics))]

    @property
    def totals(self) -> dict[str, list[int]]:
        """Messages and keys of each topic."""
        messages = np.bincount(self.column("topic"), minlength=len(self.tracks.topics))
        keys = np.bincount(self.column("topic")[self.first], minlength=len(self.tracks.topics))
        return {"messages": messages.tolist(), "keys": keys.tolist()}

    def keys_with(self, places: Int64s) -> list[int]:
        """Counts by topic the keys that have one of these tracks."""
        return self.per_topic(self.first[self.per_key(places) > 0])

    def per_key(self, places: Int64s) -> Int64s:
        """Counts tracks by key."""
        counts: Int64s = np.bincount(self.key[places], minlength=len(self.first))
        return counts

    def copies(self) -> Int64s:
        """Counts by key the tracks behind its first."""
        counts: Int64s = np.bincount(self.key, minlength=len(self.first)) - 1
        return counts

    def timed(self, name: str, column: str, places: Int64s, query: Query) -> Columns:
        """Counts tracks by topic and time bucket."""
        topics, buckets, counts = self.counted(places, self.times[places] // query.bucket_ms)
        times = [bucket * query.bucket_ms for bucket in buckets]
        return {"cut": [name] * len(counts), "topic": topics, "time_ms": times, column: counts}

    def hosted(self, places: Int64s) -> Columns:
        """Counts tracks by topic and born host."""
        topics, codes, counts = self.counted(places, self.column("host")[places].astype(np.int64))
        hosts = [self.tracks.hosts[code] for code in codes]
        return {"cut": ["hosts"] * len(counts), "topic": topics, "born_host": hosts, "copies": counts}

    def counted(self, places: Int64s, values: Int64s) -> tuple[list[str], list[int], list[int]]:
        """Returns each pair of topic and value there is: names of topics, values, and how often."""
        if not len(values):
            return [], [], []
        low, topic = int(values.min()), self.column("topic")[places].astype(np.int64)
        span = int(values.max()) - low + 1
        if len(self.tracks.topics) * span <= max(_LEAST_DENSE, len(values)):
            tallies = np.bincount(topic * span + (values - low))
            there = np.flatnonzero(tallies)
            own, counts = there % span + low, tallies[there]
        else:
            known = distinct(values)
            span = len(known)
            # A pair as one number: sorted as two columns they take ten times as long.
            there, counts = np.unique(topic * span + np.searchsorted(known, values), return_counts=True)
            own = known[there % span]
        names = [self.tracks.topics[code] for code in (there // span).tolist()]
        return names, own.tolist(), counts.tolist()

    def heaviest(self, weight: Int64s, top: int) -> Int64s:
        """Returns for each topic the `top` keys of greatest weight above 0 (one weight a key), heaviest first."""
        weighty = np.flatnonzero(weight > 0)
        topic = self.column("topic")[self.first[weighty]]
        order = np.argsort(topic, kind="stable")
        chosen: list[int] = []
        for members in np.split(weighty[order], np.flatnonzero(np.diff(topic[order])) + 1):
            own = weight[members]
            least = np.partition(own, -top)[-top] if len(own) > top else 0
            heavy = members[own >= least]
            chosen += heavy[np.argsort(-weight[heavy], kind="stable")][:top].tolist()
        return np.array(chosen, dtype=np.int64)

    def shown(self, keys: Int64s, columns: Mapping[str, str], query: Query) -> Columns:
        """Returns what is said of single keys: topic and text, messages, when the first and the last were stored.

        Args:
            columns: by name of a figure the column whose different values it counts.
        """
        is_shown = np.zeros(len(self.first), dtype=bool)
        is_shown[keys] = True
        tracks = np.flatnonzero(is_shown[self.key]) if len(keys) else keys
        place_of = np.empty(len(self.first), dtype=np.int64)
        place_of[keys] = np.arange(len(keys))
        place, last = place_of[self.key[tracks]], np.zeros(len(keys), dtype=np.int64)
        last[place] = tracks
        values = {name: _different(place, self.column(column)[tracks], len(keys)) for name, column in columns.items()}
        first = self.first[keys]
        return {
            "cut": ["keys"] * len(keys),
            "topic": [self.tracks.topics[code] for code in self.column("topic")[first].tolist()],
            "key": self.texts(first, query),
            "messages": np.bincount(place, minlength=len(keys)).tolist(),
            "oldest_ms": self.times[first].tolist(),
            "newest_ms": self.times[last].tolist(),
            **{name: counts.tolist() for name, counts in values.items()},
        }

    def texts(self, places: Int64s, query: Query) -> list[str]:
        """Reads the keys of tracks where their messages stand: each store is opened once, each file mapped once."""
        columns, stores = self.tracks.columns, self.tracks.store[places]
        physical = columns["physical"][places]
        # Of a file that expired the digest is all there is.
        names = [f"key of digest {digest:016x}" for digest in columns["digest"][places].tolist()]
        name = UNIQ_KEY if self.tracks.kind == UNIQUE else query.key_property
        for store in np.unique(stores).tolist():
            log = open_store(self.tracks.stores[store]).commit_log
            left = np.flatnonzero(stores == store)
            left = left[np.argsort(physical[left])]
            while len(left):
                file = log.file_of(int(physical[left[0]]))
                own = 1 if file is None else int(np.searchsorted(physical[left], file.end))
                if file is not None:
                    positions = physical[left[:own]] - file.start
                    buffer = file.records_view(positions)
                    spans = key_spans(buffer, headers(buffer, positions), name)
                    ends = zip(left[:own].tolist(), spans.start.tolist(), spans.size.tolist(), strict=True)
                    for row, start, size in ends:
                        names[row] = key_text(buffer, start, size)
                left = left[own:]
        return names


def distinct(values: NDArray[np.integer]) -> NDArray[np.integer]:
    """Returns the different values, ascending."""
    if not len(values):
        return values
    low = int(values.min())
    if int(values.max()) - low < max(_LEAST_DENSE, len(values)):
        return np.flatnonzero(np.bincount(values - low)) + low
    return np.unique(values)


def _different(group: Int64s, values: NDArray[np.integer], groups: int) -> Int64s:
    """Counts the different values of each group; the groups are numbered."""
    known = distinct(values)
    pairs = np.unique(group * len(known) + np.searchsorted(known, values))
    counts: Int64s = np.bincount(pairs // max(1, len(known)), minlength=groups)
    return counts


def _linked(digest: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int32], Int64s]:
    """Returns `before`, `key` and `first` of tracks by their digests."""
    order = _order_of(digest)
    is_first = np.ones(len(digest), dtype=bool)
    is_first[1:] = digest[order[1:]] != digest[order[:-1]]
    before = np.full(len(digest), -1, dtype=np.int32)
    before[order[1:]] = np.where(is_first[1:], -1, order[:-1])
    firsts = order[is_first]
    number = np.empty(len(firsts), dtype=np.int32)
    number[np.argsort(firsts)] = np.arange(len(firsts))
    key = np.empty(len(digest), dtype=np.int32)
    key[order] = number[np.cumsum(is_first) - 1]
    return before, key, np.sort(firsts)


def _order_of(digest: NDArray[np.uint64]) -> Int64s:
    """Returns an order in which equal digests stand together, each as it stood among its equals.

    That is `np.argsort(digest, kind="stable")` in a third of its time: the low bits of each digest are replaced by its
    place, and numbers are sorted instead of places.
    """
    bits = np.uint64(max(1, len(digest) - 1).bit_length())
    place = np.arange(len(digest), dtype=np.uint64)
    packed = np.sort((digest >> bits << bits) | place)
    order = (packed & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    ordered = digest[order]
    alike = (ordered[1:] != ordered[:-1]) & (packed[1:] >> bits == packed[:-1] >> bits)
    # Two digests that differ in the low bits alone may lie among one another.
    return np.argsort(digest, kind="stable") if alike.any() else order
