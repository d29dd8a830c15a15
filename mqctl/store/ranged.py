"""Files whose bytes come from elsewhere: a sparse map of the whole file, filled in where it is looked at.

Positions are those of the file, so readers need not know. What was fetched lies in an unlinked temporary file and is
gone with the last reader.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 64 << 10
_LARGEST_REQUEST_BLOCKS = 512
_BRIDGED_BLOCKS = 3
"""Known or unwanted blocks between two wanted ones up to this many are fetched along: a request costs more."""
_GUARD_BLOCKS = 128
_PROBES = 16


class Ranged:
    """One file, `size_bytes` long, whose bytes `fetch(low, high)` returns."""

    def __init__(self, size_bytes: int, fetch: Callable[[int, int], bytes]) -> None:
        self._fetch = fetch
        self._size = size_bytes
        with tempfile.TemporaryFile() as file:
            file.truncate(size_bytes)
            self._data = np.frombuffer(mmap.mmap(file.fileno(), size_bytes), dtype=np.uint8)
        self.data = self._data.view()
        self.data.flags.writeable = False
        self._there = np.zeros(-(-size_bytes // BLOCK_BYTES), dtype=bool)
        self._end: int | None = None

    def cover(self, low: int, high: int) -> None:
        """Fetches what is missing of [low, high)."""
        low, high = max(low, 0), min(high, self._size)
        if low < high:
            wanted = np.zeros(len(self._there), dtype=bool)
            wanted[low // BLOCK_BYTES : -(-high // BLOCK_BYTES)] = True
            self._fill(wanted)

    def cover_all(self, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Fetches what is missing of many ranges."""
        first = np.clip(starts, 0, self._size) // BLOCK_BYTES
        last = -(-np.clip(starts + sizes, 0, self._size) // BLOCK_BYTES)
        edges = np.zeros(len(self._there) + 1, dtype=np.int64)
        np.add.at(edges, first, 1)
        np.add.at(edges, np.maximum(last, first), -1)
        self._fill(np.cumsum(edges)[:-1] > 0)

    def _fill(self, wanted: NDArray[np.bool_]) -> None:
        missing = np.flatnonzero(wanted & ~self._there)
        if not len(missing):
            return
        breaks = np.flatnonzero(np.diff(missing) > _BRIDGED_BLOCKS + 1) + 1
        for run in np.split(missing, breaks):
            for first in range(int(run[0]), int(run[-1]) + 1, _LARGEST_REQUEST_BLOCKS):
                behind = min(first + _LARGEST_REQUEST_BLOCKS, int(run[-1]) + 1)
                low, high = first * BLOCK_BYTES, min(behind * BLOCK_BYTES, self._size)
                self._data[low:high] = np.frombuffer(self._fetch(low, high), dtype=np.uint8)
                self._there[first:behind] = True

    def data_end(self) -> int:
        """Returns a position behind which there are only zeros, found by bisection over blocks.

        Files are written from the front and padded with zeros. A body of zeros may look like the end: 8 MiB behind
        it (twice what a broker accepts as a message) and 16 probes over the rest are looked at before it is believed.
        """
        if self._end is None:
            self._end = self._found_end()
        return self._end

    def _found_end(self) -> int:
        blocks = len(self._there)
        if self._used(blocks - 1):
            return self._size
        used = 0
        while True:
            low, high = used, blocks - 1  # the block at `high` is blank
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if self._used(middle) else (low, middle)
            behind = min(low + _GUARD_BLOCKS, blocks)
            self.cover(low * BLOCK_BYTES, behind * BLOCK_BYTES)
            probes = np.linspace(behind, blocks - 1, _PROBES).astype(np.int64).tolist() if behind < blocks else []
            later = [number for number in (*range(low, behind), *probes) if self._used(number)]
            if not later:
                return low * BLOCK_BYTES
            used = later[-1] + 1

    def _used(self, block: int) -> bool:
        low = block * BLOCK_BYTES
        self.cover(low, low + BLOCK_BYTES)
        return bool(self._data[low : low + BLOCK_BYTES].any())
