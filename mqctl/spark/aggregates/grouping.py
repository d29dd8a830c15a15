"""Sums by several columns at once, and the heaviest keys of each group, in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mqctl.spark.aggregates.combiner import Value
from mqctl.store.kernel import Int32s, Int64s

_DENSE = 1 << 21
KEEP_ALL = 20_000
"""A split with no more different keys than this keeps them all: its counts are exact."""
_MIX = np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as small numbers: `codes` (int64, below `count`), and what each stands for."""

    codes: Int64s
    count: int
    first: int = 0
    known: tuple[Value, ...] | None = None

    @classmethod
    def of_names(cls, codes: Int64s, names: Sequence[str]) -> Coded:
        """Takes codes of names; -1 stands for None."""
        return cls(codes + 1, len(names) + 1, 0, (None, *names))

    @classmethod
    def of_numbers(cls, values: Int64s) -> Coded:
        """Takes any numbers."""
        low, high = int(values.min()), int(values.max())
        if high - low < _DENSE:
            return cls(values - low, high - low + 1, low)
        known, codes = np.unique(values, return_inverse=True)
        return cls(codes, len(known), 0, tuple(known.tolist()))

    def values(self, codes: Int64s) -> list[Value]:
        """Spells out codes."""
        if self.known is None:
            return list((codes + self.first).tolist())
        return [self.known[code] for code in codes.tolist()]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Sums by group: for each column its values, one a group; times are epoch ms."""

    values: list[list[Value]]
    messages: Int64s
    bytes: Int64s
    body_bytes: Int64s
    oldest_ms: Int64s
    newest_ms: Int64s


def grouped(columns: Sequence[Coded], sizes: Int32s, bodies: Int32s, times: Int64s) -> Grouped:
    """Sums messages, sizes and bodies by the columns' values."""
    codes, known = _joined(columns, len(sizes))
    count = len(known)
    oldest = np.full(count, np.iinfo(np.int64).max)
    newest = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(oldest, codes, times)
    np.maximum.at(newest, codes, times)
    return Grouped(
        values=_spelled(columns, known),
        messages=np.bincount(codes, minlength=count),
        bytes=_sums(codes, sizes, count),
        body_bytes=_sums(codes, bodies, count),
        oldest_ms=oldest,
        newest_ms=newest,
    )


def _joined(columns: Sequence[Coded], length: int) -> tuple[Int64s, Int64s]:
    """Joins columns into one code a row; returns small codes and what they stand for as joined numbers."""
    joined = np.zeros(length, dtype=np.int64)
    room = 1
    for column in columns:
        joined = joined * column.count + column.codes
        room *= column.count
    if room <= _DENSE:
        used = np.flatnonzero(np.bincount(joined, minlength=room))
        rank = np.empty(room, dtype=np.int64)
        rank[used] = np.arange(len(used))
        return rank[joined], used
    known, codes = np.unique(joined, return_inverse=True)
    return codes, known


def _spelled(columns: Sequence[Coded], known: Int64s) -> list[list[Value]]:
    values: list[list[Value]] = []
    rest = known
    for column in reversed(columns):
        rest, codes = np.divmod(rest, column.count)
        values.append(column.values(codes))
    return values[::-1]


def _sums(codes: Int64s, weights: Int32s | Int64s, count: int) -> Int64s:
    # Sums of sizes of one split stay far below 2**53, so float64 weights are exact.
    return np.bincount(codes, weights=weights, minlength=count).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of each message in the commit log and of its body."""

    sizes: Int32s
    bodies: Int32s


@dataclass(frozen=True, slots=True)
class Heavy:
    """The heaviest keys of each group, one row each, and for each group with more one row for the rest.

    Attributes:
        values: for each column its values.
        example: a row of the input that bears the key; -1 in rows of messages without key and in rows of a rest.
        is_rest: rows that sum over keys left out.
        keys: number of different keys of the row.
        most_messages, most_bytes: in rows of a rest what no key left out has more of; 0 otherwise.
    """

    values: list[list[Value]]
    example: Int64s
    is_rest: NDArray[np.bool_]
    messages: Int64s
    bytes: Int64s
    body_bytes: Int64s
    keys: Int64s
    most_messages: Int64s
    most_bytes: Int64s


def heavy_rows(
    columns: Sequence[Coded],
    digests: NDArray[np.uint64],
    has_key: NDArray[np.bool_],
    weights: Weights,
    kept: int,
) -> Heavy:
    """Sums by columns and key, and keeps of each group the `kept` keys with most messages and with most bytes."""
    group, known = _joined(columns, len(digests))
    mixed = np.where(has_key, (digests ^ ((group + 1).astype(np.uint64) * _MIX)) * _MIX, group.astype(np.uint64))
    _, first, codes = np.unique(mixed, return_index=True, return_inverse=True)
    count = len(first)
    rows = KeyRows(
        owner=group[first],
        example=np.where(has_key[first], first, -1),
        messages=np.bincount(codes, minlength=count),
        bytes=_sums(codes, weights.sizes, count),
        body_bytes=_sums(codes, weights.bodies, count),
    )
    kept_rows, owners = heaviest(rows, kept)
    return replace(kept_rows, values=_spelled(columns, known[owners]))


@dataclass(frozen=True, slots=True)
class KeyRows:
    """One row for each key of each group: the group (small numbers), an example (-1 without key), and sums."""

    owner: Int64s
    example: Int64s
    messages: Int64s
    bytes: Int64s
    body_bytes: Int64s


def heaviest(rows: KeyRows, kept: int) -> tuple[Heavy, Int64s]:
    """Keeps the heaviest keys of each group; returns them without the groups' values, and each row's group."""
    keyed = rows.example >= 0
    keep = ~keyed
    if len(keep) <= KEEP_ALL:
        keep[:] = True
    else:
        keep |= (_rank(rows.owner, rows.messages) < kept) | (_rank(rows.owner, rows.bytes) < kept)
    rest = np.flatnonzero(~keep)
    groups, at = np.unique(rows.owner[rest], return_inverse=True)
    more = len(groups)
    most_messages, most_bytes = np.zeros(more, dtype=np.int64), np.zeros(more, dtype=np.int64)
    np.maximum.at(most_messages, at, rows.messages[rest])
    np.maximum.at(most_bytes, at, rows.bytes[rest])
    some = np.flatnonzero(keep)

    def joined(own: Int64s, others: Int64s) -> Int64s:
        return np.concatenate((own[some], others))

    heavy = Heavy(
        values=[],
        example=joined(rows.example, np.full(more, -1)),
        is_rest=np.concatenate((np.zeros(len(some), dtype=bool), np.ones(more, dtype=bool))),
        messages=joined(rows.messages, _sums(at, rows.messages[rest], more)),
        bytes=joined(rows.bytes, _sums(at, rows.bytes[rest], more)),
        body_bytes=joined(rows.body_bytes, _sums(at, rows.body_bytes[rest], more)),
        keys=np.concatenate((keyed[some].astype(np.int64), np.bincount(at, minlength=more))),
        most_messages=np.concatenate((np.zeros(len(some), dtype=np.int64), most_messages)),
        most_bytes=np.concatenate((np.zeros(len(some), dtype=np.int64), most_bytes)),
    )
    return heavy, joined(rows.owner, groups)


def _rank(owner: Int64s, weight: Int64s) -> Int64s:
    """Returns each row's place within its owner, the heaviest first."""
    order = np.lexsort((-weight, owner))
    ordered = owner[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    place = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = place
    return rank
