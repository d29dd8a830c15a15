"""Consume queue extension: tags code, store time and filter bitmap of an entry, reached by an address in its tag field.

Source: `ConsumeQueueExt` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mqctl.store import layouts as lay
from mqctl.store.kernel import Int64s, unaligned
from mqctl.store.mapped_files import MappedFile, mapped_files

_TAGS_AT = 2
_STORE_TIME_AT = 10
_BITMAP_SIZE_AT = 18


def is_address(tags_codes: Int64s) -> NDArray[np.bool_]:
    """Marks the tag fields (int64) that hold the address of an extension unit; hashes and due times never match."""
    mask: NDArray[np.bool_] = tags_codes <= lay.EXT_ADDRESS_LIMIT
    return mask


@dataclass(frozen=True, slots=True)
class ExtUnits:
    """Units found at addresses; parallel arrays of one element an address.

    Attributes:
        found: whether a whole unit stands at the address; the other arrays mean nothing where it does not.
        tags_code, store_time_ms: int64.
        bitmap_start: byte address of the filter bitmap; bitmap_size: its length (int32).
    """

    found: NDArray[np.bool_]
    tags_code: Int64s
    store_time_ms: Int64s
    bitmap_start: Int64s
    bitmap_size: NDArray[np.int32]


@dataclass(frozen=True)
class ConsumeQueueExt:
    """The extension of one (topic, queue id); empty when the broker keeps none."""

    directory: Path

    @cached_property
    def files(self) -> tuple[MappedFile, ...]:
        """Its files by start address."""
        return mapped_files(self.directory)

    def resolve(self, addresses: Int64s) -> ExtUnits:
        """Reads the units that the tag fields `addresses` (int64, any order) point to."""
        places = addresses - np.int64(lay.EXT_ADDRESS_BASE)
        count = len(places)
        units = ExtUnits(
            found=np.zeros(count, dtype=bool),
            tags_code=np.zeros(count, dtype=np.int64),
            store_time_ms=np.zeros(count, dtype=np.int64),
            bitmap_start=np.zeros(count, dtype=np.int64),
            bitmap_size=np.zeros(count, dtype=np.int32),
        )
        for file in self.files:
            here = np.flatnonzero((places >= file.start) & (places <= file.end - lay.EXT_UNIT_BYTES))
            if len(here):
                self._read(file, here, places[here] - file.start, units)
        return units

    def _read(self, file: MappedFile, rows: Int64s, at: Int64s, units: ExtUnits) -> None:
        buffer = file.buffer
        short, long = unaligned(buffer, ">i2"), unaligned(buffer, ">i8")
        size = short.take(at).astype(np.int32)
        bitmap_size = short.take(at + _BITMAP_SIZE_AT).astype(np.int32)
        units.tags_code[rows] = long.take(at + _TAGS_AT)
        units.store_time_ms[rows] = long.take(at + _STORE_TIME_AT)
        units.bitmap_size[rows] = bitmap_size
        units.bitmap_start[rows] = at + file.start + lay.EXT_UNIT_BYTES
        units.found[rows] = (
            (size == lay.EXT_UNIT_BYTES + bitmap_size) & (bitmap_size >= 0) & (at + size <= len(buffer))
        )

    def bitmap(self, start: int, size: int) -> bytes:
        """Returns the `size` bytes at byte address `start`; empty when no file covers them."""
        for file in self.files:
            if file.start <= start and start + size <= file.end:
                return bytes(file.buffer[start - file.start : start - file.start + size])
        return b""
