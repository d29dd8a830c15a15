"""Consume queue extensions: tag code, store time and filter bitmap of entries, behind addresses in the tag field.

Source: `ConsumeQueueExt` of 4.9.8.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.kernel import Int64s, gather
from mqctl.store.layouts import EXT_ADDRESS_BASE, EXT_ADDRESS_LIMIT, EXT_UNIT_BYTES
from mqctl.store.mapped_files import MappedFile, mapped_files


def is_address(tags_codes: Int64s) -> NDArray[np.bool_]:
    """Marks tag codes that are addresses of extension units; hashes and times never look like one."""
    mask: NDArray[np.bool_] = tags_codes <= EXT_ADDRESS_LIMIT
    return mask


def byte_offsets(tags_codes: Int64s) -> Int64s:
    """Turns addresses into byte offsets of the extension queue."""
    offsets: Int64s = tags_codes - np.int64(EXT_ADDRESS_BASE)
    return offsets


@dataclass(frozen=True, slots=True)
class ExtUnits:
    """Units behind addresses, one row an address.

    Attributes:
        found: whether a whole unit stands there; the other fields are 0 where not.
        tags_code, store_time_ms: int64.
        bitmap_bytes: int32, length of the filter bitmap.
    """

    found: NDArray[np.bool_]
    tags_code: Int64s
    store_time_ms: Int64s
    bitmap_bytes: NDArray[np.int32]


@dataclass(frozen=True)
class ConsumeQueueExt:
    """The extension files of one (topic, queue id); the directory may not exist."""

    directory: Path

    @cached_property
    def files(self) -> tuple[MappedFile, ...]:
        return mapped_files(self.directory)

    def resolve(self, tags_codes: Int64s) -> ExtUnits:
        """Looks up the units that `tags_codes` (int64) point to; codes that are no addresses are not found."""
        count = len(tags_codes)
        units = ExtUnits(
            np.zeros(count, bool), np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int32)
        )
        offsets = np.where(is_address(tags_codes), byte_offsets(tags_codes), -1)
        for file in self.files:
            rows = np.flatnonzero((offsets >= file.start) & (offsets <= file.end - EXT_UNIT_BYTES))
            if not len(rows):
                continue
            at = offsets[rows] - file.start
            size = gather(file.buffer, ">i2", at).astype(np.int64)
            bitmap = gather(file.buffer, ">i2", at + 18).astype(np.int32)
            whole = (size >= EXT_UNIT_BYTES) & (size == bitmap + EXT_UNIT_BYTES) & (at + size <= file.size_bytes)
            units.found[rows] = whole
            units.bitmap_bytes[rows] = np.where(whole, bitmap, 0)
            units.tags_code[rows] = np.where(whole, gather(file.buffer, ">i8", at + 2), 0)
            units.store_time_ms[rows] = np.where(whole, gather(file.buffer, ">i8", at + 10), 0)
        return units
