"""Tracks: a few numbers of each message with a key, packed, so that all messages of a key can be brought together.

Nothing crosses into the JVM message by message: a split's tracks are dealt into buckets by the digests of their keys,
and each bucket of a split is one binary value. Spark brings the values of one bucket together (`reports.combining`),
where the functions of `keyed` see every message of its keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mqctl.model.message import UNIQ_KEY
from mqctl.model.names import group_of
from mqctl.model.own_messages import MARKS
from mqctl.spark.aggregates import heavy
from mqctl.spark.aggregates.heavy import HeavyKey
from mqctl.spark.aggregates.track_layout import (
    BUSINESS,
    COVERAGE,
    FLUSH_MESSAGES,
    UNIQUE,
    BucketTracks,
    as_bytes,
    buckets_of,
    layout_of,
    numbered,
    taken,
    topic_digests,
)
from mqctl.spark.aggregates.twins import settled, use_compiled
from mqctl.spark.query import Query
from mqctl.spark.scan.hosts import hosts
from mqctl.spark.scan.keys import key_hashes, spans_of_keys
from mqctl.spark.scan.log_splits import Chunk, Coverage, LogSplit, log_splits, shares_of, used_bytes
from mqctl.spark.scan.planning import open_store, queue_bounds
from mqctl.spark.selection import Selection
from mqctl.store.texts import Spans, digests

BUCKET_MESSAGES = 250_000
"""Messages of a bucket, about: what one task holds (32 or 48 bytes each, twice)."""
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


class PackedTracks(NamedTuple):
    """The tracks of one bucket of one split; `topic` and `host` in them index the names beside.

    Attributes:
        slice: number of the slice of a key that is cut (see `heavy`); -1 for whole keys.
        data: rows (see `layout_of`); a view holds until the next piece is asked for.
    """

    bucket: int
    kind: int
    slice: int
    store: str
    topics: tuple[str, ...]
    hosts: tuple[str, ...]
    data: bytes | memoryview


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
    query = settled(query, size_bytes=sum(split.high - split.low for share in shares for split in share))
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
    for chunks, _ in shares_of(heavy.sample_splits(splits, messages, limit), wanted):
        for chunk in chunks:
            for kind, rows in _tracks(chunk, query, {}, {})[0].items():
                parts.setdefault(kind, []).append(rows)
    for kind, own in parts.items():
        joined = np.concatenate(own)
        keys += heavy.heavy_keys(kind, joined["digest"], joined["store_ms"], messages, limit)
    return tuple(keys)


def read_tracks(work: TrackShare) -> Iterator[PackedTracks]:
    """Yields the packed tracks of each split, and what was read of it."""
    for parts, covered in _parts_of(work):
        for part in parts:
            yield from _pieces(part, covered.store, work)
        text = json.dumps(asdict(covered)).encode()
        yield PackedTracks(work.buckets * COVERAGE, COVERAGE, -1, covered.store, (), (), text)


def _parts_of(work: TrackShare) -> Iterator[tuple[Iterator[BucketTracks], Coverage]]:
    """Yields the tracks of each split with the coverage that is true once they are used up."""
    if use_compiled(work.query.kernels):
        from mqctl.spark.aggregates.compiled.split_tracks import split_tracks

        for split in work.splits:
            covered = Coverage(split.store, split.start)
            yield split_tracks(split, work.wanted, work.query, work.buckets, covered), covered
        return
    for chunks, covered in shares_of(work.splits, work.wanted):
        yield _dealt(chunks, work.query, work.buckets, covered), covered


def _dealt(chunks: Iterator[Chunk], query: Query, buckets: int, covered: Coverage) -> Iterator[BucketTracks]:
    """Packs the chunks of a split with numpy, and deals their tracks into buckets."""
    names: dict[str, int] = {}
    addresses: dict[str, int] = {}
    parts: dict[int, list[NDArray[np.void]]] = {kind: [] for kind in _properties(query)}
    for chunk in chunks:
        tracks, left_out = _tracks(chunk, query, names, addresses)
        covered.own_messages += left_out
        for kind, rows in tracks.items():
            parts[kind].append(rows)
            if sum(map(len, parts[kind])) >= FLUSH_MESSAGES:
                yield from _by_bucket(kind, parts, buckets, (tuple(names), tuple(addresses)))
    for kind in parts:
        yield from _by_bucket(kind, parts, buckets, (tuple(names), tuple(addresses)))


def _by_bucket(
    kind: int, parts: dict[int, list[NDArray[np.void]]], buckets: int, names: tuple[tuple[str, ...], tuple[str, ...]]
) -> Iterator[BucketTracks]:
    """Deals what was collected of one kind, and forgets it."""
    collected, parts[kind] = parts[kind], []
    if not collected:
        return
    rows = np.concatenate(collected)
    bucket = buckets_of(rows["digest"], buckets)
    order = np.argsort(bucket, kind="stable")
    edges = np.searchsorted(bucket[order], np.arange(buckets + 1))
    for number in np.unique(bucket).tolist():
        yield BucketTracks(kind, number, rows[order[edges[number] : edges[number + 1]]], *names)


def _pieces(part: BucketTracks, store: str, work: TrackShare) -> Iterator[PackedTracks]:
    """Packs the tracks of a bucket; of keys that are cut each slice is a bucket of its own, behind all others."""
    rows, bucket = part.rows, work.buckets * COVERAGE + 1
    for each in work.heavy:
        if each.kind == part.kind and (each.digest >> 32) * work.buckets >> 32 == part.bucket:
            is_own = rows["digest"] == np.uint64(each.digest)
            own = rows if is_own.all() else taken(rows, np.flatnonzero(is_own))
            for number, cut in _slices(own, each.edges_ms):
                yield PackedTracks(
                    bucket + number, part.kind, number, store, part.topics, part.hosts, as_bytes(cut).data.cast("B")
                )
            if len(own):
                rows = rows[:0] if own is rows else taken(rows, np.flatnonzero(~is_own))
        bucket += len(each.edges_ms) + 1
    if len(rows):
        number = work.buckets * part.kind + part.bucket
        yield PackedTracks(number, part.kind, -1, store, part.topics, part.hosts, as_bytes(rows).data.cast("B"))


def _slices(rows: NDArray[np.void], edges_ms: Sequence[int]) -> Iterator[tuple[int, NDArray[np.void]]]:
    """Yields the numbers of the slices that tracks of one key belong to, each with its tracks: mostly one has all."""
    number = np.searchsorted(np.array(edges_ms, dtype=np.int64), rows["store_ms"], side="right")
    there = np.flatnonzero(np.bincount(number)).tolist()
    for each in there:
        yield each, rows if len(there) == 1 else taken(rows, np.flatnonzero(number == each))


def _tracks(
    chunk: Chunk, query: Query, names: dict[str, int], addresses: dict[str, int]
) -> tuple[dict[int, NDArray[np.void]], int]:
    """Packs the messages of a chunk that have a key of each kind, and counts those that mqctl itself sent.

    Retries and dead letters repeat keys by their nature, and so does what mqctl resent, replayed or probed with.
    """
    keys, marked = spans_of_keys(chunk.buffer, chunk.found, _properties(query), MARKS)
    own = np.array([group_of(name) is None for name in chunk.topics.names], dtype=bool)[chunk.topics.codes]
    born = hosts(chunk.buffer, chunk.found, born=True, port=False)
    topic = numbered(names, chunk.topics.names)[chunk.topics.codes]
    columns: dict[str, NDArray[np.integer]] = {
        "topic": topic,
        "host": numbered(addresses, born.names)[born.codes],
        "store_ms": chunk.found.store_time_ms,
        "born_ms": chunk.found.born_time_ms,
        "physical": chunk.found.physical_offset,
        "queue": chunk.found.queue_id,
    }
    marked &= own
    own &= ~marked
    packed = {kind: _packed(chunk, spans, own, columns, layout_of(kind, query)) for kind, spans in keys.items()}
    return packed, int(marked.sum())


def _packed(
    chunk: Chunk,
    spans: Spans,
    own: NDArray[np.bool_],
    columns: Mapping[str, NDArray[np.integer]],
    layout: np.dtype[np.void],
) -> NDArray[np.void]:
    """Packs those of `own` that have a key."""
    kept = np.flatnonzero(spans.present & own)
    buffer = chunk.buffer
    keys = Spans(spans.start[kept], spans.size[kept])
    rows = np.zeros(len(kept), dtype=layout)
    digest = digests(buffer, keys.start, keys.size)
    rows["digest"] = (digest ^ (topic_digests(chunk.topics.names)[chunk.topics.codes[kept]])) * _MIX
    names = layout.names or ()
    if "hash" in names:
        rows["hash"] = key_hashes(buffer, keys)
    for column in columns.keys() & set(names):
        rows[column] = columns[column][kept]
    return rows
