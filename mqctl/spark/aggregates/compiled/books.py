"""Books: texts numbered by their bytes in order of first appearance (topics, tags, hosts), for compiled functions.

A book is a table of five numbers; its rows are where each text was first seen, so files must stay mapped.
"""

from __future__ import annotations

import ctypes
from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mqctl.store.compiled.reading import address_of, digest_of, get, is_same, put

Table: TypeAlias = NDArray[np.int64]
ROWS, ROOM, SLOTS, MASK, COUNT = range(5)
_ROW = 3  # address, size, hash
_FIRST_ROWS = 1 << 10


@njit(cache=True)
def code_of(book: int, at: int, size: int, end: int) -> int:
    """Numbers a text of `size` bytes (above 0), from 1 on; there must be room for one more."""
    slots, rows = get(book, SLOTS), get(book, ROWS)
    hashed = np.int64(digest_of(at, size, end) >> np.uint64(33))
    slot = hashed & get(book, MASK)
    while get(slots, slot) != 0:
        code = get(slots, slot)
        row = (code - 1) * _ROW
        if get(rows, row + 1) == size and is_same(get(rows, row), at, size):
            return code
        slot = (slot + 1) & get(book, MASK)
    code = get(book, COUNT) + 1
    row = (code - 1) * _ROW
    put(book, COUNT, code)
    put(rows, row, at)
    put(rows, row + 1, size)
    put(rows, row + 2, hashed)
    put(slots, slot, code)
    return code


@njit(cache=True)
def room_in(book: int) -> int:
    """Tells how many texts more fit."""
    return get(book, ROOM) - get(book, COUNT)


@njit(cache=True)
def renew(book: int) -> None:
    """Fills new slots (zeros) with the texts there are."""
    slots, rows = get(book, SLOTS), get(book, ROWS)
    for code in range(1, get(book, COUNT) + 1):
        slot = get(rows, (code - 1) * _ROW + 2) & get(book, MASK)
        while get(slots, slot) != 0:
            slot = (slot + 1) & get(book, MASK)
        put(slots, slot, code)


class Book:
    """A book that grows."""

    def __init__(self, room: int = _FIRST_ROWS) -> None:
        self._board = np.zeros(COUNT + 1, dtype=np.int64)
        self._rows = np.zeros((room, _ROW), dtype=np.int64)
        self._slots = np.zeros(0, dtype=np.int64)
        self._note()

    @property
    def address(self) -> int:
        """What compiled functions know it by."""
        return address_of(self._board)

    def __len__(self) -> int:
        return int(self._board[COUNT])

    def make_room(self, wanted: int) -> None:
        """Sees to it that `wanted` more texts fit."""
        if len(self) + wanted > len(self._rows):
            more = np.zeros((max(len(self._rows), wanted), _ROW), dtype=np.int64)
            self._rows = np.concatenate((self._rows, more))
            self._note()

    def _note(self) -> None:
        self._slots = np.zeros(1 << (2 * len(self._rows) - 1).bit_length(), dtype=np.int64)
        self._board[ROWS], self._board[ROOM] = address_of(self._rows), len(self._rows)
        self._board[SLOTS], self._board[MASK] = address_of(self._slots), len(self._slots) - 1
        renew(self.address)

    def data(self) -> list[bytes]:
        """Returns the texts, number 1 first."""
        return [ctypes.string_at(address, size) for address, size in self._rows[: len(self), :2].tolist()]

    def names(self) -> list[str]:
        """Returns the texts decoded, number 1 first."""
        return [data.decode("utf-8", "replace") for data in self.data()]
