"""Rows of partial aggregates, and how those of one key become one row in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add
from typing import Protocol, cast

Value = str | int | None
Row = dict[str, Value]
"""A combined row by column name; columns that do not apply are None or absent."""
Columns = dict[str, Sequence[Value]]
"""Rows as columns of one length; a column that is left out is null."""
_Join = Callable[[int, int], int]


class Measured(Protocol):
    """How the rows of a table are combined: by which columns, and what becomes of the others."""

    @property
    def keys(self) -> dict[str, str]: ...
    @property
    def sums(self) -> tuple[str, ...]: ...
    @property
    def lows(self) -> tuple[str, ...]: ...
    @property
    def highs(self) -> tuple[str, ...]: ...


class Combiner:
    """Makes one row of the partial rows of each key, or of each combination of the keys `by`."""

    def __init__(self, part: Measured, by: Sequence[str] | None = None) -> None:
        self._keys = tuple(part.keys if by is None else by)
        joins: list[tuple[tuple[str, ...], _Join]] = [(part.sums, add), (part.lows, min), (part.highs, max)]
        self._measures = [(name, join) for names, join in joins for name in names]
        self._combined: dict[tuple[Value, ...], list[int | None]] = {}

    def add(self, columns: Columns) -> None:
        """Takes partial rows."""
        nothing = [None] * max(map(len, columns.values()), default=0)
        owners = [self._owner(key) for key in zip(*(columns.get(name, nothing) for name in self._keys), strict=True)]
        for place, (name, join) in enumerate(self._measures):
            # Columns of measures are numbers: `types` of the tables say so.
            for sums, value in zip(owners, cast("Sequence[int | None]", columns.get(name, ())), strict=name in columns):
                if value is not None:
                    known = sums[place]
                    sums[place] = value if known is None else join(known, value)

    def _owner(self, key: tuple[Value, ...]) -> list[int | None]:
        sums = self._combined.get(key)
        if sums is None:
            sums = self._combined[key] = [None] * len(self._measures)
        return sums

    def rows(self) -> list[Row]:
        """Returns a row for each key, in the order in which keys came."""
        names = (*self._keys, *(name for name, _ in self._measures))
        return [dict(zip(names, (*key, *sums), strict=True)) for key, sums in self._combined.items()]
