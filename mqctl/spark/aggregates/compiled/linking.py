"""Which track of its key comes before each one, by a hash table, and what differs: the compiled twin of `key_steps`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mqctl.store.compiled.reading import soon_written
from mqctl.store.kernel import Int64s

_Sent: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
_AHEAD = 16
"""How many tracks before its turn a slot is fetched: they lie anywhere."""


@njit(cache=True, nogil=True)
def _link(
    digest: NDArray[np.uint64],
    slots: NDArray[np.int32],
    before: NDArray[np.int32],
    key: NDArray[np.int32],
    first: Int64s,
) -> int:
    """Fills `before`, `key` and `first`; returns the number of keys. `slots` are zeros, a power of two of them."""
    mask, keys, last_place = len(slots) - 1, 0, len(digest) - 1
    table = slots.ctypes.data
    for place in range(len(digest)):
        soon_written(table + 4 * (np.int64(digest[min(place + _AHEAD, last_place)] >> np.uint64(24)) & mask))
        own = digest[place]
        slot = np.int64(own >> np.uint64(24)) & mask
        last = slots[slot] - 1
        while last >= 0 and digest[last] != own:
            slot = (slot + 1) & mask
            last = slots[slot] - 1
        slots[slot] = place + 1
        before[place] = last
        if last >= 0:
            key[place] = key[last]
        else:
            key[place] = keys
            first[keys] = place
            keys += 1
    return keys


def linked_by(digest: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int32], Int64s]:
    """Returns of each track the place of the one of its key before it and its key's number, and each key's first."""
    before, key = np.empty(len(digest), dtype=np.int32), np.empty(len(digest), dtype=np.int32)
    first = np.empty(len(digest), dtype=np.int64)
    slots = np.zeros(1 << (2 * len(digest)).bit_length(), dtype=np.int32)
    return before, key, first[: _link(digest, slots, before, key, first)]


@njit(cache=True, nogil=True)
def _compare(before: NDArray[np.int32], sent: _Sent, moved: Int64s, inverted: Int64s) -> tuple[int, int]:
    """Fills `moved` and `inverted`; returns how many there are of each."""
    place, born, host = sent
    moves = inversions = 0
    for own in range(len(before)):
        other = before[own]
        if other < 0:
            continue
        if place[own] != place[other]:
            moved[moves] = own
            moves += 1
        elif born[own] < born[other] and host[own] == host[other]:
            inverted[inversions] = own
            inversions += 1
    return moves, inversions


def out_of_order(before: NDArray[np.int32], sent: _Sent) -> tuple[Int64s, Int64s]:
    """Returns the tracks in another place than the one of their key before them, and those that its host sent before
    that one to the same place.

    Args:
        sent: of each track its place, when it was born (epoch ms) and its host.
    """
    moved, inverted = np.empty(len(before), dtype=np.int64), np.empty(len(before), dtype=np.int64)
    moves, inversions = _compare(before, sent, moved, inverted)
    return moved[:moves].copy(), inverted[:inversions].copy()
