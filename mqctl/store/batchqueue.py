"""Batch consume queues (5.x topics with `queue.type=BatchCQ`): one 46-byte unit a record that holds many messages.

Source: `BatchConsumeQueue` of 5.3.3.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.dtypes import BATCH_ENTRY
from mqctl.store.layouts import BATCH_ENTRY_BYTES
from mqctl.store.mapped_files import Buffer, MappedFile, mapped_files


def _valid(units: NDArray[Any]) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = (
        (units["physical_offset"] >= 0) & (units["size"] > 0) & (units["base_offset"] >= 0) & (units["batch_size"] > 0)
    )
    return mask


def _units(buffer: Buffer) -> NDArray[Any]:
    count = len(buffer) // BATCH_ENTRY_BYTES
    return buffer[: count * BATCH_ENTRY_BYTES].view(BATCH_ENTRY)


@dataclass(frozen=True)
class BatchConsumeQueue:
    """The batch consume queue of one (topic, queue id)."""

    directory: Path
    topic: str
    queue_id: int

    @cached_property
    def files(self) -> tuple[MappedFile, ...]:
        return mapped_files(self.directory)

    @cached_property
    def units(self) -> NDArray[Any]:
        """All units written, as native structures with the fields of `layouts.BATCH_ENTRY`.

        Reading stops at the first unit that is not valid in each file, as the broker's recovery does.
        """
        native = BATCH_ENTRY.newbyteorder("=")
        parts = [np.empty(0, dtype=native)]
        for file in self.files:
            units = _units(file.buffer)
            low, high = 0, len(units)
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if _valid(units[middle : middle + 1])[0] else (low, middle)
            sound = _valid(units[:low])
            if not sound.all():  # damage in the middle misled the search
                low = int(np.argmin(sound))
            parts.append(units[:low].astype(native))
        return np.concatenate(parts)

    @property
    def max_offset(self) -> int:
        """Logical offset of the next message: base plus size of the last batch."""
        units = self.units
        return int(units["base_offset"][-1]) + int(units["batch_size"][-1]) if len(units) else 0

    def min_offset(self, commit_log_min: int) -> int:
        """First logical offset whose record the commit log still has; `max_offset` when it has none."""
        live = self.units[self.units["physical_offset"] >= commit_log_min]
        return int(live["base_offset"][0]) if len(live) else self.max_offset
