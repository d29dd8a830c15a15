"""Counting the messages of a split by several cuts at once, with numpy: what leaves a worker are sums, not messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mqctl.model.message import TAGS
from mqctl.spark.aggregates.combiner import Columns, Value
from mqctl.spark.aggregates.grouping import Coded, Weights, grouped, heavy_rows
from mqctl.spark.aggregates.rows import DAMAGE, READ, key_columns, row_columns
from mqctl.spark.aggregates.twins import use_compiled
from mqctl.spark.query import Cut, Dim, Query
from mqctl.spark.scan.hosts import hosts
from mqctl.spark.scan.keys import LONGEST_SHOWN, key_spans, selected_queues
from mqctl.spark.scan.log_splits import Chunk, Coverage, LogSplit, shares_of
from mqctl.spark.selection import Selection
from mqctl.store.kernel import Headers, Int32s, Int64s
from mqctl.store.mapped_files import Buffer
from mqctl.store.texts import Alphabet, digests, factorize, property_spans

_NUMBERS = (Dim.QUEUE, Dim.SIZE, Dim.TIME, Dim.NEW_QUEUE, Dim.TIMES)


@dataclass
class _Column:
    """Values of one dim for all messages so far."""

    parts: list[Int64s] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)

    def add_names(self, alphabet: Alphabet) -> None:
        numbers = [self.names.setdefault(name, len(self.names)) for name in alphabet.names]
        self.parts.append(np.array([*numbers, -1], dtype=np.int64)[alphabet.codes])

    def coded(self, dim: Dim) -> Coded:
        values = np.concatenate(self.parts)
        return Coded.of_numbers(values) if dim in _NUMBERS else Coded.of_names(values, list(self.names))


class SplitCounter:
    """Collects the messages of one split and gives their counts."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._columns = {dim: _Column() for dim in query.dims - {Dim.KEY}}
        self._sizes: list[Int32s] = []
        self._bodies: list[Int32s] = []
        self._times: list[Int64s] = []
        self._digests: list[NDArray[np.uint64]] = []
        self._key_starts: list[Int64s] = []
        self._key_sizes: list[Int32s] = []
        self._store = ""
        self._buffer: Buffer = np.empty(0, dtype=np.uint8)

    def add(self, chunk: Chunk) -> None:
        """Takes note of a chunk's messages."""
        headers, buffer = chunk.found, chunk.buffer
        self._store = chunk.store
        self._buffer = max(self._buffer, buffer, key=len)  # those of one split are slices of one file
        self._sizes.append(headers.total_size)
        self._bodies.append(headers.body_size)
        self._times.append(headers.store_time_ms)
        for dim, column in self._columns.items():
            if dim is Dim.NEW_QUEUE:
                continue
            if dim in _NUMBERS:
                column.parts.append(self._numbers(dim, headers))
            else:
                column.add_names(self._alphabet(dim, chunk))
        if Dim.KEY in self._query.dims or Dim.NEW_QUEUE in self._columns:
            self._add_keys(chunk)

    def _numbers(self, dim: Dim, headers: Headers) -> Int64s:
        if dim is Dim.SIZE:
            return size_class(headers.body_size)
        if dim is Dim.TIME:
            return headers.store_time_ms // self._query.bucket_ms * self._query.bucket_ms
        return (headers.queue_id if dim is Dim.QUEUE else headers.reconsume_times).astype(np.int64)

    def _alphabet(self, dim: Dim, chunk: Chunk) -> Alphabet:
        if dim is Dim.TOPIC:
            return chunk.topics
        if dim is Dim.HOST:
            return hosts(chunk.buffer, chunk.found, born=True, port=False)
        name = TAGS if dim is Dim.TAG else self._query.value_property
        spans = property_spans(chunk.buffer, chunk.found, [name])[name]
        size = spans.size if dim is Dim.TAG else np.minimum(spans.size, LONGEST_SHOWN)
        return factorize(chunk.buffer, spans.start, size)

    def _add_keys(self, chunk: Chunk) -> None:
        spans = key_spans(chunk.buffer, chunk.found, self._query.key_property)
        if Dim.NEW_QUEUE in self._columns:
            chosen = selected_queues(chunk.buffer, spans, self._query.new_queues, self._query.selector)
            self._columns[Dim.NEW_QUEUE].parts.append(chosen)
        if Dim.KEY in self._query.dims:
            self._digests.append(digests(chunk.buffer, np.maximum(spans.start, 0), spans.size))
            self._key_starts.append(spans.start)
            self._key_sizes.append(spans.size)

    def rows(self) -> Iterator[Columns]:
        """Yields the rows of each cut."""
        if not self._sizes:
            return
        coded = {dim: column.coded(dim) for dim, column in self._columns.items()}
        sizes, bodies, times = np.concatenate(self._sizes), np.concatenate(self._bodies), np.concatenate(self._times)
        for cut in self._query.cuts:
            plain = [dim for dim in cut.dims if dim is not Dim.KEY]
            if Dim.KEY in cut.dims:
                yield from self._key_rows(cut, [coded[dim] for dim in plain], sizes, bodies)
                continue
            groups = grouped([coded[dim] for dim in plain], sizes, bodies, times)
            names: dict[Dim, list[Value]] = dict(zip(plain, groups.values, strict=True))
            yield row_columns(cut, self._store, names, groups)

    def _key_rows(self, cut: Cut, plain: list[Coded], sizes: Int32s, bodies: Int32s) -> Iterator[Columns]:
        starts, lengths = np.concatenate(self._key_starts), np.concatenate(self._key_sizes)
        heavy = heavy_rows(plain, np.concatenate(self._digests), starts >= 0, Weights(sizes, bodies), cut.kept)
        places = [(int(starts[row]), int(lengths[row])) if row >= 0 else None for row in heavy.example.tolist()]
        yield key_columns(cut, self._store, heavy, self._buffer, places)


def size_class(body_size: Int32s) -> Int64s:
    """Returns the power of two at or below each body size; 0 for empty bodies."""
    exponent = np.frexp(body_size.astype(np.float64))[1]
    return np.where(body_size > 0, np.left_shift(1, np.maximum(exponent - 1, 0), dtype=np.int64), 0)


def count_rows(splits: Sequence[LogSplit], wanted: Selection, query: Query) -> Iterator[Columns]:
    """Yields the partial counts of some splits, and what was read of them."""
    # Selectors look at characters of keys, which compiled functions do not decode.
    if use_compiled(query.kernels) and Dim.NEW_QUEUE not in query.dims:
        from mqctl.spark.aggregates.compiled.counts import count_split

        for split in splits:
            covered = Coverage(split.store, split.start)
            yield from count_split(split, wanted, query, covered)
            yield from coverage_rows(covered)
        return
    for part, covered in shares_of(splits, wanted):
        counter = SplitCounter(query)
        for chunk in part:
            counter.add(chunk)
        yield from counter.rows()
        yield from coverage_rows(covered)


def coverage_rows(covered: Coverage) -> Iterator[Columns]:
    """Yields what was read of a split, and where it is damaged."""
    yield {
        "cut": [READ],
        "store": [covered.store],
        "messages": [covered.messages],
        "bytes": [covered.bytes],
        "skipped_bytes": [covered.skipped_bytes],
    }
    if covered.damaged_at:
        count = len(covered.damaged_at)
        yield {
            "cut": [DAMAGE] * count,
            "store": [covered.store] * count,
            "physical_offset": list(covered.damaged_at),
            "messages": [0] * count,
            "bytes": [0] * count,
        }
