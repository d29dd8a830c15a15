"""Tracks of whole keys, brought together out of what splits packed (`tracks`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mqctl.spark.aggregates.track_layout import BUSINESS, COVERAGE, as_bytes, layout_of, numbered, taken
from mqctl.spark.aggregates.tracks import PackedTracks
from mqctl.spark.query import Query
from mqctl.spark.scan.log_splits import Coverage
from mqctl.store.kernel import Int64s


@dataclass(frozen=True, slots=True)
class Tracks:
    """Tracks of whole keys of one kind, with what their `topic` and `host` index.

    Attributes:
        store: place of each one's store in `stores`.
        coverage: of kind COVERAGE what was read, one a split; there are no tracks then.
    """

    rows: NDArray[np.void]
    store: NDArray[np.uint32]
    topics: tuple[str, ...]
    hosts: tuple[str, ...]
    stores: tuple[str, ...]
    kind: int = BUSINESS
    coverage: tuple[Coverage, ...] = ()
    slice: int = -1


def unpacked(packed: Sequence[PackedTracks], query: Query) -> Tracks:
    """Brings the tracks of one bucket together, by time and place of storing."""
    topics: dict[str, int] = {}
    addresses: dict[str, int] = {}
    # What was stored at one time stays in the order of the stores' names, whoever came first.
    stores = {name: number for number, name in enumerate(sorted({each.store for each in packed}))}
    pieces, coverage, kind, part = [], [], BUSINESS, -1
    for each in packed:
        kind, part = each.kind, each.slice
        if kind == COVERAGE:
            document = json.loads(bytes(each.data))
            coverage.append(Coverage(**{**document, "damaged_at": tuple(document["damaged_at"])}))
            continue
        pieces.append((np.frombuffer(each.data, dtype=layout_of(kind, query)), each))
    # In the order of the log nearly all are in order already.
    pieces.sort(key=lambda piece: (stores[piece[1].store], int(piece[0]["physical"][0])))
    sizes = [len(rows) for rows, _ in pieces]
    joined = np.empty(sum(sizes), dtype=layout_of(kind, query))
    store = np.repeat(np.array([stores[each.store] for _, each in pieces], dtype=np.uint32), sizes)
    at = 0
    for rows, each in pieces:
        own = joined[at : at + len(rows)]
        at += len(rows)
        as_bytes(own)[:] = as_bytes(rows)
        _renumber(own, "topic", numbered(topics, each.topics))
        _renumber(own, "host", numbered(addresses, each.hosts))
    order = _order_of_storing(joined, store)
    if order is not None:
        joined, store = taken(joined, order), store[order]
    return Tracks(joined, store, tuple(topics), tuple(addresses), tuple(stores), kind, tuple(coverage), part)


def _renumber(rows: NDArray[np.void], column: str, numbers: Int64s) -> None:
    """Replaces the numbers of names; mostly they are what they were."""
    if not np.array_equal(numbers, np.arange(len(numbers))):
        rows[column] = numbers[rows[column]]


def _order_of_storing(rows: NDArray[np.void], stores: NDArray[np.uint32]) -> Int64s | None:
    """Returns the order by time and place of storing; None where rows stand in it."""
    times, physical = rows["store_ms"], rows["physical"]
    if (
        bool((stores == stores[:1]).all())
        and bool((np.diff(times) >= 0).all())
        and bool((np.diff(physical) >= 0).all())
    ):
        return None
    order: Int64s = np.lexsort((physical, stores, times))
    return order
