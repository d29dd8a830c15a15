"""Index files: from (topic, key) to the records that may bear it.

Source: `IndexFile`, `IndexHeader`, `IndexService` of 4.9.8.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import BadInputError
from mqctl.model.java_hash import key_hash
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.spans import FAR
from mqctl.store import dtypes
from mqctl.store import layouts as lay
from mqctl.store.kernel import Int64s
from mqctl.store.mapped_files import Buffer, map_file
from mqctl.text import sentence


@dataclass(frozen=True, slots=True)
class IndexHeader:
    """Header counters; `entry_count` is one above the number of entries, for entry 0 is never used."""

    begin_time_ms: int
    end_time_ms: int
    begin_physical_offset: int
    end_physical_offset: int
    used_slots: int
    entry_count: int


def slot_count(size_bytes: int) -> int | None:
    """Guesses the number of slots from the file's size by RocketMQ's usual shapes (four entries a slot), or None.

    The default is 5,000,000 slots and 20,000,000 entries; configured sizes are not recorded in the file.
    """
    slots, rest = divmod(size_bytes - lay.INDEX_HEADER_BYTES, 4 + 4 * lay.INDEX_ENTRY_BYTES)
    return slots if rest == 0 and slots > 0 else None


@dataclass(frozen=True)
class IndexFile:
    """One index file.

    Attributes:
        slots: hash slots; None takes `slot_count`'s guess, which `guess_slots` corrects from the entries themselves.
    """

    path: Path
    slots: int | None = None

    @cached_property
    def buffer(self) -> Buffer:
        return map_file(self.path)

    @cached_property
    def header(self) -> IndexHeader:
        """The header.

        Raises:
            BadInputError: the file is too short to have one.
        """
        if len(self.buffer) < lay.INDEX_HEADER_BYTES:
            raise BadInputError(
                sentence("store-could-not-read-index", "could not read the index file {path}", path=self.path.name),
                reason=sentence(
                    "store-bytes-too-few-header",
                    "{buffer:byte is/are} too few for its header of {index_header_bytes:,}",
                    buffer=len(self.buffer),
                    index_header_bytes=lay.INDEX_HEADER_BYTES,
                ),
                remedy=sentence("store-ignore-broker-rebuilds-index", "ignore it: the broker rebuilds index files"),
            )
        return IndexHeader(*lay.INDEX_HEADER.unpack_from(self.buffer.data))

    @cached_property
    def slot_table_size(self) -> int:
        """Number of slots, given or found: the shape under which entry 1 is not blank and its slot leads to it."""
        if self.slots is not None:
            return self.slots
        guess = slot_count(len(self.buffer))
        if guess is not None and self._fits(guess):
            return guess
        total = len(self.buffer) - lay.INDEX_HEADER_BYTES
        tried = [total // (4 + lay.INDEX_ENTRY_BYTES * ratio) for ratio in (1, 2, 3, 5, 8, 10, 20, 40, 50, 100)]
        return next((slots for slots in tried if slots > 0 and self._fits(slots)), guess or 0)

    def _fits(self, slots: int) -> bool:
        """Whether following the slots of a few entries leads to an entry of the same slot."""
        if self.header.entry_count <= 1:
            return True
        table = self._slot_view(slots)
        used = np.flatnonzero(table)
        entries = self._entry_view(slots)
        if not len(used):
            return False
        if int(table.min()) < 0 or int(table.max()) >= min(len(entries), self.header.entry_count):
            return False
        heads = entries[table[used]]
        return bool((heads["key_hash"] % slots == used).all())

    @property
    def entry_capacity(self) -> int:
        """Entries that the file has room for, the unused entry 0 included."""
        return len(self._entry_view(self.slot_table_size))

    def _slot_view(self, slots: int) -> NDArray[np.int32]:
        raw = self.buffer[lay.INDEX_HEADER_BYTES : lay.INDEX_HEADER_BYTES + 4 * slots]
        return raw[: len(raw) // 4 * 4].view(">i4").astype(np.int32)

    def _entry_view(self, slots: int) -> NDArray[Any]:
        raw = self.buffer[lay.INDEX_HEADER_BYTES + 4 * slots :]
        return raw[: len(raw) // lay.INDEX_ENTRY_BYTES * lay.INDEX_ENTRY_BYTES].view(dtypes.INDEX_ENTRY)

    @property
    def slot_values(self) -> NDArray[np.int32]:
        """Newest entry number of every slot, 0 for none."""
        return self._slot_view(self.slot_table_size)

    @property
    def raw_entries(self) -> NDArray[Any]:
        """Views entries 1 to `entry_count - 1` as they are in the file, big-endian (row 0 is entry 1)."""
        return self._entry_view(self.slot_table_size)[1 : max(1, self.header.entry_count)]

    @property
    def entries(self) -> NDArray[Any]:
        """Copies entries 1 to `entry_count - 1` as native structures (row 0 is entry 1)."""
        return self.raw_entries.astype(dtypes.INDEX_ENTRY.newbyteorder("="))

    def lookup(self, topic: str, key: str, begin_ms: int = 0, end_ms: int = FAR) -> Int64s:
        """Returns physical offsets (int64, newest first) of records that may bear `key`.

        Different keys with one hash are not told apart: compare the record's KEYS and UNIQ_KEY. Times are stored in
        whole seconds, so the range is applied by them, as the broker does.
        """
        entries = self._entry_view(self.slot_table_size)
        wanted = key_hash(topic, key)
        limit = min(len(entries), self.header.entry_count)
        if not self.slot_table_size or limit <= 1:
            return np.empty(0, dtype=np.int64)
        at = lay.INDEX_HEADER_BYTES + 4 * (wanted % self.slot_table_size)
        number = int.from_bytes(bytes(self.buffer[at : at + 4]), "big", signed=True)
        offsets: list[int] = []
        while 0 < number < limit:
            entry = entries[number]
            time_ms = self.header.begin_time_ms + int(entry["time_diff_s"]) * 1000
            if int(entry["time_diff_s"]) < 0 or time_ms + 1000 <= begin_ms:
                break
            if int(entry["key_hash"]) == wanted and time_ms <= end_ms:
                offsets.append(int(entry["physical_offset"]))
            previous = int(entry["previous"])
            if previous >= number:
                break  # chains only lead to older entries; anything else is damage
            number = previous
        return np.array(offsets, dtype=np.int64)
