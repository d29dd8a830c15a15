"""Index files: message keys to physical offsets, through a hash table on disk.

Source: `IndexFile`, `IndexHeader` of 4.9.8 and 5.3.3. Keys of equal hash are not told apart here: whoever asks compares KEYS and
UNIQ_KEY of the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.model.java_hash import java_string_hash
from mqctl.store import layouts as lay
from mqctl.store.mapped_files import Buffer, map_file

_SLOT_BYTES = 4
_MAX_HOPS = 1 << 20


def key_hash(topic: str, key: str) -> int:
    """Returns the hash under which `key` of `topic` is filed: never negative, 0 for Java's smallest int."""
    value = java_string_hash(f"{topic}#{key}")
    return 0 if value == -(1 << 31) else abs(value)


@dataclass(frozen=True, slots=True)
class IndexHeader:
    """Times in epoch ms, physical offsets in bytes; `entry_count` counts from 1 (entry 0 is never used)."""

    begin_time_ms: int
    end_time_ms: int
    begin_physical_offset: int
    end_physical_offset: int
    used_slots: int
    entry_count: int


@dataclass(frozen=True)
class IndexFile:
    """One index file.

    Attributes:
        slot_count, entry_capacity: size of its two tables. Files do not say; `geometry` finds what fits.
    """

    path: Path
    slot_count: int
    entry_capacity: int

    @classmethod
    def open(cls, path: Path, size_bytes: int | None = None) -> IndexFile | None:
        """Recognises an index file by its size and, where several geometries fit, by its content; None when none fits."""
        buffer = map_file(path)
        size = len(buffer) if size_bytes is None else size_bytes
        geometry = _geometry(buffer, size)
        return None if geometry is None else cls(path, *geometry)

    @cached_property
    def buffer(self) -> Buffer:
        return map_file(self.path)

    @cached_property
    def header(self) -> IndexHeader:
        """The header; counters may be older than the entries after a crash."""
        return IndexHeader(*lay.INDEX_HEADER.unpack_from(self.buffer.data))

    @property
    def _entries_at(self) -> int:
        return lay.INDEX_HEADER_BYTES + _SLOT_BYTES * self.slot_count

    @cached_property
    def entries(self) -> NDArray[Any]:
        """The entries in use, entry 0 included, as a structured big-endian view (`layouts.INDEX_ENTRY`)."""
        count = min(max(1, self.header.entry_count), self.entry_capacity)
        raw = self.buffer[self._entries_at : self._entries_at + count * lay.INDEX_ENTRY_BYTES]
        return raw[: len(raw) // lay.INDEX_ENTRY_BYTES * lay.INDEX_ENTRY_BYTES].view(lay.INDEX_ENTRY)

    def slot(self, number: int) -> int:
        """Returns the newest entry number of a slot, 0 when none."""
        at = lay.INDEX_HEADER_BYTES + _SLOT_BYTES * number
        return int.from_bytes(self.buffer[at : at + _SLOT_BYTES].tobytes(), "big", signed=True)

    def lookup(self, topic: str, key: str, limit: int = 64) -> list[int]:
        """Returns physical offsets filed under the key's hash, the newest first, at most `limit`.

        The chain ends at 0, at an entry that points to itself or forward, or beyond the entries in use.
        """
        wanted = key_hash(topic, key)
        number = self.slot(wanted % self.slot_count)
        found: list[int] = []
        for _ in range(_MAX_HOPS):
            if not 0 < number < len(self.entries) or len(found) >= limit:
                break
            entry = self.entries[number]
            if int(entry["key_hash"]) == wanted:
                found.append(int(entry["physical_offset"]))
            previous = int(entry["previous"])
            if previous >= number:
                break
            number = previous
        return found


def _geometry(buffer: Buffer, size: int) -> tuple[int, int] | None:
    """Finds slot and entry counts that fit the size; several can, so the chains decide: each entry hangs in its slot."""
    if size == lay.INDEX_FILE_BYTES:
        return lay.INDEX_SLOTS, lay.INDEX_ENTRIES
    body = size - lay.INDEX_HEADER_BYTES
    if body <= 0 or len(buffer) < lay.INDEX_HEADER_BYTES:
        return None
    header = IndexHeader(*lay.INDEX_HEADER.unpack_from(buffer.data))
    for slots in _plausible_slots(body):
        entries = (body - _SLOT_BYTES * slots) // lay.INDEX_ENTRY_BYTES
        if _fits(buffer, header, slots, entries):
            return slots, entries
    return None


def _plausible_slots(body: int) -> list[int]:
    """Slot counts whose rest divides into entries; four entries a slot, the default ratio, first, then round numbers."""
    first = body // (_SLOT_BYTES + 4 * lay.INDEX_ENTRY_BYTES)
    step = lay.INDEX_ENTRY_BYTES // _SLOT_BYTES
    every = range(body // _SLOT_BYTES % step, body // _SLOT_BYTES, step)
    round_first = sorted((slots for slots in every if slots), key=lambda slots: -len(str(slots)) + len(str(slots).rstrip("0")))
    return [slots for slots in [first, *round_first[:4096]] if slots > 0 and (body - _SLOT_BYTES * slots) % 20 == 0]


def _fits(buffer: Buffer, header: IndexHeader, slots: int, capacity: int) -> bool:
    last = header.entry_count - 1
    if last < 1:
        return True
    if last >= capacity:
        return False
    at = lay.INDEX_HEADER_BYTES + _SLOT_BYTES * slots + last * lay.INDEX_ENTRY_BYTES
    entry = buffer[at : at + lay.INDEX_ENTRY_BYTES]
    if len(entry) < lay.INDEX_ENTRY_BYTES:
        return False
    wanted = int(entry.view(lay.INDEX_ENTRY)["key_hash"][0])
    slot_at = lay.INDEX_HEADER_BYTES + _SLOT_BYTES * (wanted % slots) if wanted >= 0 else -1
    if slot_at < 0:
        return False
    return int(np.frombuffer(buffer[slot_at : slot_at + _SLOT_BYTES].tobytes(), ">i4")[0]) == last
