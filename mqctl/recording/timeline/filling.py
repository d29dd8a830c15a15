"""Rows of numbers laid out look by look: what a key's value was at each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mqctl.recording.kinds import COLUMNS, Cell, Key, RowKind
from mqctl.recording.reader import Recording
from mqctl.recording.tables import Arrow

Numbers = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_Rows = tuple[Indices, Indices, Numbers]


class Filling:
    """One column of a kind, hour after hour. NaN stands for a key that is not there.

    Attributes:
        numbers: of the keys, in order of appearance.
    """

    def __init__(self, recording: Recording, kind: RowKind, value: str, wants: Callable[[Key], bool]) -> None:
        self.numbers: dict[Key, int] = {}
        self._recording = recording
        self._kind = kind
        self._value = value
        self._wants = wants
        self._state: Numbers = np.empty(0)
        self._read: dict[str, _Rows] = {}

    def between(self, since_ms: int, until_ms: int, moments: Indices) -> Numbers:
        """Returns the values at each of the moments, which lie within that time; stretches are asked in order."""
        rows = list(self._rows(since_ms, until_ms))
        frames = [
            look.moment_ms for look in self._recording.looks if look.keyframe and since_ms <= look.moment_ms <= until_ms
        ]
        count, width = len(self.numbers), len(moments) + 1  # the last column: what changed after the last moment
        self._state = padded(self._state, count)
        cells: Numbers = np.full((count, width), np.nan)
        written: Flags = np.zeros((count, width), dtype=bool)
        present = {frame: np.zeros(count, dtype=bool) for frame in frames}
        for ids, times, values in rows:
            places = np.searchsorted(moments, times, side="left")
            cells[ids, places] = values
            written[ids, places] = True
            for frame, there in present.items():
                there[ids[times == frame]] = True
        for frame, there in present.items():
            if there.any():  # else the file is lost, or the kind is empty: nothing is known to have gone
                place = int(np.searchsorted(moments, frame, side="left"))
                written[:, place] |= ~there
        latest = np.maximum.accumulate(np.where(written, np.arange(width), -1), axis=1)
        filled = np.where(latest >= 0, np.take_along_axis(cells, np.maximum(latest, 0), 1), self._state[:, None])
        self._state = filled[:, -1]
        return filled[:, :-1]

    def _rows(self, since_ms: int, until_ms: int) -> Iterator[_Rows]:
        """Yields numbers of keys, moments and values of that time; a file is decoded once, while it is asked for."""
        tables = self._recording.coded_tables(self._kind, since_ms, until_ms, self._read.keys())
        read = {
            name: self._read[name] if table is None and name in self._read else self._decoded(table)
            for name, table in tables
        }
        self._read = read
        for ids, times, values in read.values():
            begin, end = np.searchsorted(times, since_ms), np.searchsorted(times, until_ms, side="right")
            yield ids[begin:end], times[begin:end], values[begin:end]

    def _decoded(self, table: Arrow) -> _Rows:
        """Returns number of the key, moment and value of each wanted row, in order of time."""
        count = 0 if table is None else len(table)
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        table = table.unify_dictionaries()
        columns = [_codes(table[name].combine_chunks()) for name in COLUMNS[self._kind].key]
        begins: Flags = np.ones(count, dtype=bool)
        begins[1:] = False
        for codes, _ in columns:
            begins[1:] |= codes[1:] != codes[:-1]
        firsts = np.flatnonzero(begins)
        keys = zip(*(_cells(codes[firsts], words) for codes, words in columns), strict=True)
        ids = np.array([self._number(key) for key in keys], dtype=np.int64)
        values = table[self._value].to_numpy(zero_copy_only=False).astype(np.float64)
        values = np.where(table["gone"].to_numpy(zero_copy_only=False).astype(bool), np.nan, values)
        all_ids, times = ids[np.cumsum(begins) - 1], table["moment_ms"].to_numpy()
        order = np.argsort(times, kind="stable")
        order = order[all_ids[order] >= 0]
        return all_ids[order], times[order], values[order]

    def _number(self, key: Key) -> int:
        number = self.numbers.get(key)
        if number is None:
            number = len(self.numbers) if self._wants(key) else -1
            if number >= 0:
                self.numbers[key] = number
        return number


def padded(numbers: Numbers, count: int) -> Numbers:
    """Returns an array made longer with NaN."""
    return np.concatenate([numbers, np.full(count - len(numbers), np.nan)])


def _codes(column: Arrow) -> tuple[Indices, Sequence[str] | None]:
    """Returns a key column as numbers, and the words they stand for."""
    if hasattr(column, "dictionary"):
        return column.indices.to_numpy(zero_copy_only=False).astype(np.int64), column.dictionary.to_pylist()
    if hasattr(column, "dictionary_encode") and str(column.type) == "string":
        return _codes(column.dictionary_encode())
    return column.to_numpy(zero_copy_only=False).astype(np.int64), None


def _cells(codes: Indices, words: Sequence[str] | None) -> Iterator[Cell]:
    return iter(codes.tolist()) if words is None else (words[code] for code in codes.tolist())
