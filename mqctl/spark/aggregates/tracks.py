"""Tracks: a few numbers of each message with a key, packed, so that all messages of a key can be brought together.

Nothing crosses into the JVM message by message: a split's tracks are dealt into buckets by the digests of their keys,
and each bucket of a split is one binary value. Spark brings the values of one bucket together (`reports.combining`),
where the functions of `keyed` see every message of its keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from mqctl.model.message import UNIQ_KEY
from mqctl.model.names import group_of
from mqctl.model.own_messages import MARKS
from mqctl.spark.aggregates import heavy
from mqctl.spark.aggregates.heavy import HeavyKey
from mqctl.spark.query import Query
from mqctl.spark.scan.hosts import hosts
from mqctl.spark.scan.keys import key_hashes, spans_of_keys
from mqctl.spark.scan.log_splits import Chunk, Coverage, LogSplit, log_splits, shares_of, used_bytes
from mqctl.spark.scan.planning import open_store, queue_bounds
from mqctl.spark.selection import Selection
from mqctl.store.kernel import Int64s
from mqctl.store.texts import Spans, digests

TRACK = np.dtype(
    [
        ("digest", "<u8"),
        ("store_ms", "<i8"),
        ("born_ms", "<i8"),
        ("physical", "<i8"),
        ("hash", "<i4"),
        ("queue", "<i4"),
        ("topic", "<u4"),
        ("host", "<u4"),
        ("store", "<u4"),
    ]
)
BUSINESS, UNIQUE, COVERAGE = 0, 1, 2
"""Kinds of what is packed: tracks by business key, by the client's unique key, and what of a split was read (JSON)."""
FLUSH_MESSAGES = 400_000
"""Messages of a split that a worker packs at once."""
BUCKET_MESSAGES = 250_000
"""Messages of a bucket, about: what one task sorts, and so its memory (56 bytes each, a few times)."""
_SMALL_BYTES = 300
_MIX = np.uint64(0xA0761D6478BD642F)


@dataclass(frozen=True, slots=True)
class TrackShare:
    """The work of one partition."""

    splits: tuple[LogSplit, ...]
    wanted: Selection
    query: Query
    buckets: int
    heavy: tuple[HeavyKey, ...] = ()


@dataclass(frozen=True, slots=True)
class PackedTracks:
    """The tracks of one bucket of one split; `topic` and `host` in them index the names beside.

    Attributes:
        slice: number of the slice of a key that is cut (see `heavy`); -1 for whole keys.
    """

    bucket: int
    kind: int
    slice: int
    store: str
    topics: tuple[str, ...]
    hosts: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Tracks:
    """Tracks of whole keys of one kind, with what their `topic`, `host` and `store` index.

    Attributes:
        coverage: of kind COVERAGE what was read, one a split; there are no tracks then.
    """

    rows: NDArray[np.void]
    topics: tuple[str, ...]
    hosts: tuple[str, ...]
    stores: tuple[str, ...]
    kind: int = BUSINESS
    coverage: tuple[Coverage, ...] = ()
    slice: int = -1


def plan_tracks(wanted: Selection, query: Query, count: int) -> list[object]:
    """Plans shares of like size; the number of buckets follows the number of queue entries."""
    stores = [open_store(path) for path in wanted.stores]
    entries = sum(
        queue.max_offset - queue.min_offset
        for store in stores
        for queue in queue_bounds(store, None)
        if wanted.wants_topic(queue.topic)
    )
    # A store without readable queues has no more messages than small ones would make.
    without = [store for store in stores if not store.queue_ids()]
    entries += sum(used_bytes(file) for store in without for file in store.commit_log.files) // _SMALL_BYTES
    buckets = max(1, -(-entries // BUCKET_MESSAGES))
    shares = log_splits(wanted, count)
    cut = _heavy([split for share in shares for split in share], wanted, query, entries)
    return [TrackShare(tuple(share), wanted, query, buckets, cut) for share in shares]


def _properties(query: Query) -> dict[int, str]:
    """Returns the key property of each kind of tracks that is asked for."""
    return {BUSINESS: query.key_property, **({UNIQUE: UNIQ_KEY} if query.unique_keys else {})}


def _heavy(splits: Sequence[LogSplit], wanted: Selection, query: Query, messages: int) -> tuple[HeavyKey, ...]:
    """Looks for keys that are too large for one bucket, where there are messages enough for one."""
    limit = query.heavy_messages or heavy.HEAVY_MESSAGES
    if messages <= limit:
        return ()
    keys: list[HeavyKey] = []
    parts: dict[int, list[NDArray[np.void]]] = {}
    for chunks, _ in shares_of(heavy.sample_splits(splits), wanted):
        for chunk in chunks:
            for kind, rows in _tracks(chunk, _properties(query), {}, {})[0].items():
                parts.setdefault(kind, []).append(rows)
    for kind, own in parts.items():
        joined = np.concatenate(own)
        keys += heavy.heavy_keys(kind, joined["digest"], joined["store_ms"], messages, limit)
    return tuple(keys)


def read_tracks(work: TrackShare) -> Iterator[PackedTracks]:
    """Yields the packed tracks of each split, and what was read of it."""
    properties = _properties(work.query)
    for part, covered in shares_of(work.splits, work.wanted):
        packer = _Packer(covered.store, work.buckets, work.heavy)
        for chunk in part:
            covered.own_messages += packer.add(chunk, properties)
            if packer.messages >= FLUSH_MESSAGES:
                yield from packer.packed()
        yield from packer.packed()
        text = json.dumps(asdict(covered)).encode()
        yield PackedTracks(work.buckets * COVERAGE, COVERAGE, -1, covered.store, (), (), text)


class _Packer:
    """Collects the tracks of a split and deals them into buckets; each kind has buckets of its own."""

    def __init__(self, store: str, buckets: int, cut: Sequence[HeavyKey]) -> None:
        self._store = store
        self._cut = cut
        self._buckets = buckets
        self._names: dict[str, int] = {}
        self._addresses: dict[str, int] = {}
        self._parts: dict[int, list[NDArray[np.void]]] = {}
        self.messages = 0

    def add(self, chunk: Chunk, properties: Mapping[int, str]) -> int:
        """Collects the tracks of each kind of key; returns how many messages were left out as mqctl's own."""
        tracks, left_out = _tracks(chunk, properties, self._names, self._addresses)
        for kind, rows in tracks.items():
            self._parts.setdefault(kind, []).append(rows)
            self.messages += len(rows)
        return left_out

    def packed(self) -> Iterator[PackedTracks]:
        """Yields what was collected, and forgets it."""
        parts, self._parts, self.messages = self._parts, {}, 0
        names = tuple(self._names), tuple(self._addresses)
        while parts:
            kind, part = parts.popitem()
            rows = np.concatenate(part)
            del part
            yield from self._sliced(kind, rows, names)
            whole = [each.digest for each in self._cut if each.kind == kind]
            if whole:
                rows = rows[~np.isin(rows["digest"], np.array(whole, dtype=np.uint64))]
            bucket = ((rows["digest"] >> np.uint64(32)) % np.uint64(self._buckets)).astype(np.int32)
            order = np.argsort(bucket, kind="stable")
            edges = np.searchsorted(bucket[order], np.arange(self._buckets + 1))
            for number in range(self._buckets):
                piece = rows[order[edges[number] : edges[number + 1]]]
                if len(piece):
                    yield PackedTracks(self._buckets * kind + number, kind, -1, self._store, *names, piece.tobytes())

    def _sliced(
        self, kind: int, rows: NDArray[np.void], names: tuple[tuple[str, ...], tuple[str, ...]]
    ) -> Iterator[PackedTracks]:
        """Yields the tracks of keys that are cut; each slice is a bucket of its own, behind all others."""
        bucket = self._buckets * COVERAGE + 1
        for each in self._cut:
            if each.kind == kind:
                own = rows[rows["digest"] == np.uint64(each.digest)]
                number = np.searchsorted(np.array(each.edges_ms, dtype=np.int64), own["store_ms"], side="right")
                for part in np.unique(number).tolist():
                    piece = own[number == part].tobytes()
                    yield PackedTracks(bucket + part, kind, part, self._store, *names, piece)
            bucket += len(each.edges_ms) + 1


def _tracks(
    chunk: Chunk, properties: Mapping[int, str], names: dict[str, int], addresses: dict[str, int]
) -> tuple[dict[int, NDArray[np.void]], int]:
    """Packs the messages of a chunk that have a key of each kind, and counts those that mqctl itself sent.

    Retries and dead letters repeat keys by their nature, and so does what mqctl resent, replayed or probed with.
    """
    keys, marked = spans_of_keys(chunk.buffer, chunk.found, properties, MARKS)
    own = np.array([group_of(name) is None for name in chunk.topics.names], dtype=bool)[chunk.topics.codes]
    born = hosts(chunk.buffer, chunk.found, born=True, port=False)
    topic = _numbered(names, chunk.topics.names)[chunk.topics.codes]
    columns: dict[str, NDArray[np.integer]] = {
        "topic": topic,
        "host": _numbered(addresses, born.names)[born.codes],
        "store_ms": chunk.found.store_time_ms,
        "born_ms": chunk.found.born_time_ms,
        "physical": chunk.found.physical_offset,
        "queue": chunk.found.queue_id,
    }
    marked &= own
    own &= ~marked
    return {kind: _packed(chunk, spans, own, columns) for kind, spans in keys.items()}, int(marked.sum())


def _packed(
    chunk: Chunk, spans: Spans, own: NDArray[np.bool_], columns: Mapping[str, NDArray[np.integer]]
) -> NDArray[np.void]:
    """Packs those of `own` that have a key."""
    kept = np.flatnonzero(spans.present & own)
    buffer = chunk.buffer
    keys = Spans(spans.start[kept], spans.size[kept])
    rows = np.zeros(len(kept), dtype=TRACK)
    digest = digests(buffer, keys.start, keys.size)
    rows["digest"] = (digest ^ (_topic_digests(chunk.topics.names)[chunk.topics.codes[kept]])) * _MIX
    rows["hash"] = key_hashes(buffer, keys)
    for column, values in columns.items():
        rows[column] = values[kept]
    return rows


def _numbered(known: dict[str, int], names: Sequence[str]) -> Int64s:
    return np.array([known.setdefault(name, len(known)) for name in names] or [0], dtype=np.int64)


def _topic_digests(names: Sequence[str]) -> NDArray[np.uint64]:
    texts = [name.encode() for name in names]
    joined = np.frombuffer(b"".join(texts).ljust(8), dtype=np.uint8)
    size = np.array([len(text) for text in texts], dtype=np.int32)
    return digests(joined, np.cumsum(size, dtype=np.int64) - size, size)


def unpacked(packed: Sequence[PackedTracks]) -> Tracks:
    """Brings the tracks of one bucket together, sorted by key and then by time and place of storing."""
    topics: dict[str, int] = {}
    addresses: dict[str, int] = {}
    # What was stored at one time stays in the order of the stores' names, whoever came first.
    stores = {name: number for number, name in enumerate(sorted({each.store for each in packed}))}
    parts, coverage, kind, part = [], [], BUSINESS, -1
    for each in packed:
        kind, part = each.kind, each.slice
        if kind == COVERAGE:
            document = json.loads(each.data)
            coverage.append(Coverage(**{**document, "damaged_at": tuple(document["damaged_at"])}))
            continue
        rows = np.frombuffer(each.data, dtype=TRACK).copy()
        rows["topic"] = _numbered(topics, each.topics)[rows["topic"]]
        rows["host"] = _numbered(addresses, each.hosts)[rows["host"]]
        rows["store"] = stores[each.store]
        parts.append(rows)
    joined = np.concatenate(parts) if parts else np.empty(0, dtype=TRACK)
    order = np.lexsort((joined["physical"], joined["store"], joined["store_ms"], joined["digest"]))
    # Rows are taken as plain bytes: by their fields they are copied one field after the other.
    joined = joined.view(f"V{TRACK.itemsize}")[order].view(TRACK)
    return Tracks(joined, tuple(topics), tuple(addresses), tuple(stores), kind, tuple(coverage), part)
