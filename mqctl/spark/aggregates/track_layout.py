"""What a track is: the few numbers of a message with a key that are packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mqctl.spark.query import Query
from mqctl.store.kernel import Int64s
from mqctl.store.texts import digests

SHORT = np.dtype([("digest", "<u8"), ("store_ms", "<i8"), ("physical", "<i8"), ("topic", "<u4"), ("host", "<u4")])
"""Four words of eight bytes; `topic` and `host` are numbers of names."""
TRACK = np.dtype([*SHORT.descr, ("born_ms", "<i8"), ("hash", "<i4"), ("queue", "<i4")])
"""Six words: with what tells where a message was sent, and when."""
BUSINESS, UNIQUE, COVERAGE = 0, 1, 2
"""Kinds of what is packed: tracks by business key, by the client's unique key, and what of a split was read (JSON)."""
FLUSH_MESSAGES = 400_000
"""Messages of a split that a worker packs at once."""


class BucketTracks(NamedTuple):
    """Tracks of one bucket of keys of one kind, and the names that their `topic` and `host` index."""

    kind: int
    bucket: int
    rows: NDArray[np.void]
    topics: tuple[str, ...]
    hosts: tuple[str, ...]


def layout_of(kind: int, query: Query) -> np.dtype[np.void]:
    """Returns what the tracks of a kind consist of."""
    return TRACK if kind == BUSINESS and query.queues else SHORT


def topic_digests(names: Sequence[str]) -> NDArray[np.uint64]:
    """Returns what tells equal keys of different topics apart (uint64, one a name)."""
    texts = [name.encode() for name in names]
    joined = np.frombuffer(b"".join(texts).ljust(8), dtype=np.uint8)
    size = np.array([len(text) for text in texts], dtype=np.int32)
    return digests(joined, np.cumsum(size, dtype=np.int64) - size, size)


def buckets_of(digest: NDArray[np.uint64], buckets: int) -> Int64s:
    """Returns the bucket of keys by the digests of their tracks."""
    return ((digest >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


def numbered(known: dict[str, int], names: Sequence[str]) -> Int64s:
    """Numbers names in the order of their first appearance; `known` gets those that are new."""
    return np.array([known.setdefault(name, len(known)) for name in names] or [0], dtype=np.int64)


def as_bytes(rows: NDArray[np.void]) -> NDArray[np.void]:
    """Returns rows as plain bytes: by their fields they would be copied one field after the other."""
    return rows.view(f"V{rows.dtype.itemsize}")


def taken(rows: NDArray[np.void], which: Int64s) -> NDArray[np.void]:
    """Takes rows by their places."""
    return as_bytes(rows)[which].view(rows.dtype)
