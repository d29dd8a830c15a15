"""Which parts of a commit log hold messages of the asked topics, as the consume queues tell: the rest is not read.

The queues are believed for a commit log file only where their entries account for every byte of its records: a queue
that was not copied, or that lags behind the log, must not hide messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import StorageError
from mqctl.spark.selection import Selection
from mqctl.store.consumequeue import is_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.layouts import BLANK_BYTES, MAGIC_BLANK, SIZE_AND_MAGIC
from mqctl.store.mapped_files import MappedFile
from mqctl.store.ranged import BLOCK_BYTES


class TopicPlaces:
    """Where the wanted topics' messages begin, by ranges of `step` bytes of each commit log file."""

    def __init__(self, store: StoreDirectory, wanted: Selection, step: int) -> None:
        self._files = store.commit_log.files
        self._step = step
        ranges = [-(-max(1, file.size_bytes) // step) for file in self._files]
        self._first = np.concatenate(([0], np.cumsum(ranges)))
        self._holds = np.zeros(int(self._first[-1]), dtype=bool)
        self._bytes = np.zeros(len(self._files))
        self._starts = np.array([file.start for file in self._files], dtype=np.int64)
        for topic, queue_id in store.queue_ids():
            is_wanted = wanted.wants_topic(topic) and (not wanted.queue_ids or queue_id in wanted.queue_ids)
            for _, entries in store.consume_queue(topic, queue_id).runs():
                kept = entries[is_message(entries)]
                self._add(kept["physical_offset"].astype(np.int64), kept["size"].astype(np.int64), is_wanted=is_wanted)

    def _add(self, physical: NDArray[np.int64], sizes: NDArray[np.int64], *, is_wanted: bool) -> None:
        number = np.searchsorted(self._starts, physical, side="right") - 1
        inside = number >= 0
        number, physical, sizes = number[inside], physical[inside], sizes[inside]
        # Sums of one file stay far below 2**53, so float64 weights are exact.
        self._bytes += np.bincount(number, weights=sizes, minlength=len(self._files))
        if is_wanted:
            place = self._first[number] + (physical - self._starts[number]) // self._step
            self._holds[place[place < len(self._holds)]] = True

    def all_counted(self, used: Callable[[MappedFile], int]) -> list[bool]:
        """Tells for each file whether the queues account for all of its records."""
        return [_ends_at(file, int(size), used) for file, size in zip(self._files, self._bytes.tolist(), strict=True)]

    def may_hold(self, number: int, low: int) -> bool:
        """Tells whether a wanted message begins in the range of file `number` that begins at `low`."""
        return bool(self._holds[int(self._first[number]) + low // self._step])


def _ends_at(file: MappedFile, size: int, used: Callable[[MappedFile], int]) -> bool:
    """Tells whether the records of a file end at byte `size`: there its filler follows, or nothing."""
    if size <= 0 or size > file.size_bytes:
        return False
    head = bytes(file.view(size, size + BLANK_BYTES)[size : size + BLANK_BYTES])
    if len(head) < BLANK_BYTES:
        return size == file.size_bytes
    if not any(head):
        return used(file) <= -(-size // BLOCK_BYTES) * BLOCK_BYTES
    blank, magic = SIZE_AND_MAGIC.unpack(head)
    return bool(magic == MAGIC_BLANK and blank == file.size_bytes - size)


def topic_places(store: StoreDirectory, wanted: Selection, step: int) -> TopicPlaces | None:
    """Looks at the queues of a store; None where that tells nothing, or no topic is asked for."""
    if not wanted.topics or not store.commit_log.files or store.batch_queue_ids():
        return None
    try:
        return TopicPlaces(store, wanted, step)
    except StorageError:
        return None  # queues that cannot be read tell nothing


def ranges_left(
    places: TopicPlaces | None, files: Sequence[MappedFile], step: int, used: Callable[[MappedFile], int]
) -> dict[int, set[int]]:
    """Returns, for each file that the queues account for (by its start), where the ranges begin that must be read.

    Args:
        used: tells behind which position a file holds zeros only.
    """
    if places is None:
        return {}
    return {
        file.start: {low for low in range(0, file.size_bytes, step) if places.may_hold(number, low)}
        for number, (file, verdict) in enumerate(zip(files, places.all_counted(used), strict=True))
        if verdict
    }
