"""Which track of its key comes before each one, by a hash table: the compiled twin of `key_steps` sorting digests."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mqctl.store.kernel import Int64s


@njit(cache=True, nogil=True)
def _link(
    digest: NDArray[np.uint64],
    slots: NDArray[np.int32],
    before: NDArray[np.int32],
    key: NDArray[np.int32],
    first: Int64s,
) -> int:
    """Fills `before`, `key` and `first`; returns the number of keys. `slots` are zeros, a power of two of them."""
    mask, keys = len(slots) - 1, 0
    for place in range(len(digest)):
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
