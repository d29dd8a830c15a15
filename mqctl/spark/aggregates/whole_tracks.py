"""Tracks of whole keys, brought together out of what splits packed (`tracks`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.spark.aggregates.track_layout import BUSINESS, COVERAGE, layout_of, numbered
from mqctl.spark.aggregates.tracks import PackedTracks
from mqctl.spark.query import Query
from mqctl.spark.scan.log_splits import Coverage
from mqctl.store.kernel import Int64s


@dataclass(frozen=True, slots=True)
class Tracks:
    """Tracks of whole keys of one kind by columns, with what their `topic` and `host` index.

    Attributes:
        columns: by the names of `layout_of`, each of that dtype.
        store: place of each one's store in `stores`.
        coverage: of kind COVERAGE what was read, one a split; there are no tracks then.
    """

    columns: Mapping[str, NDArray[Any]]
    store: NDArray[np.uint32]
    topics: tuple[str, ...]
    hosts: tuple[str, ...]
    stores: tuple[str, ...]
    kind: int = BUSINESS
    coverage: tuple[Coverage, ...] = ()
    slice: int = -1

    def __len__(self) -> int:
        return len(self.store)


def unpacked(packed: Sequence[PackedTracks], query: Query) -> Tracks:
    """Brings the tracks of one bucket together, by time and place of storing."""
    topics, addresses = _Names(), _Names()
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
    layout = layout_of(kind, query)
    columns = {name: np.empty(sum(sizes), dtype=layout[name]) for name in layout.names or ()}
    store = np.repeat(np.array([stores[each.store] for _, each in pieces], dtype=np.uint32), sizes)
    at = 0
    for rows, each in pieces:
        own = slice(at, at + len(rows))
        for name, column in columns.items():
            column[own] = rows[name]
        topics.renumber(columns["topic"][own], each.topics)
        addresses.renumber(columns["host"][own], each.hosts)
        at += len(rows)
    order = _order_of_storing(columns["store_ms"], columns["physical"], store)
    if order is not None:
        columns, store = {name: column[order] for name, column in columns.items()}, store[order]
    return Tracks(
        columns, store, tuple(topics.known), tuple(addresses.known), tuple(stores), kind, tuple(coverage), part
    )


class _Names:
    """Numbers of names, as the names first appeared in any piece."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self._numbers: dict[tuple[str, ...], Int64s | None] = {}

    def renumber(self, column: NDArray[np.uint32], names: tuple[str, ...]) -> None:
        """Replaces the numbers of a piece's names; mostly they are what they were."""
        if names not in self._numbers:
            numbers = numbered(self.known, names)
            self._numbers[names] = None if np.array_equal(numbers, np.arange(len(numbers))) else numbers
        own = self._numbers[names]
        if own is not None:
            column[:] = own[column]


def _order_of_storing(times: Int64s, physical: Int64s, stores: NDArray[np.uint32]) -> Int64s | None:
    """Returns the order by time and place of storing; None where tracks stand in it."""
    if all(bool((column[1:] >= column[:-1]).all()) for column in (times, physical)) and not stores.any():
        return None
    order: Int64s = np.lexsort((physical, stores, times))
    return order
