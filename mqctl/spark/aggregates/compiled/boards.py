"""The board of a scan over commit log files: what records are asked for, and the file that is walked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.spark.aggregates.compiled import counting as c
from mqctl.spark.aggregates.compiled.books import Book
from mqctl.spark.selection import Selection
from mqctl.store.compiled.reading import address_of
from mqctl.store.kernel import Int64s, Tail, classify
from mqctl.store.mapped_files import Buffer
from mqctl.store.walk import record_limit

ROOM = 4_096
"""Texts that fit into each book before it is asked for more room."""


class ScanBoard:
    """Numbers and addresses that compiled functions read and write, and the tables they point at.

    Attributes:
        numbers: the places of `counting`, and what a scan of its own adds behind them.
        books: texts by the place of their book.
    """

    def __init__(self, size: int, wanted: Selection) -> None:
        self.numbers: Int64s = np.zeros(size, dtype=np.int64)
        self.books = {place: Book() for place in (c.TOPICS, c.TAGS, c.VALUES, c.HOSTS)}
        self.verdicts: Int64s = np.zeros(0, dtype=np.int64)
        self._held: list[object] = []
        for low, bounds in (
            (c.SINCE, wanted.store_time_ms),
            (c.QUEUE_LOW, wanted.queue_offset),
            (c.PHYSICAL_LOW, wanted.physical_offset),
        ):
            self.numbers[low], self.numbers[low + 1] = bounds.low, bounds.high
        self.note(c.QUEUE_IDS, np.array([*wanted.queue_ids, 0], dtype=np.int64))
        self.numbers[c.QUEUE_ID_COUNT] = len(wanted.queue_ids)

    @property
    def address(self) -> int:
        """What compiled functions know it by."""
        return address_of(self.numbers)

    def note(self, place: int, array: NDArray[Any]) -> None:
        """Puts the address of a table on the board, and keeps the table."""
        self._held.append(array)
        self.numbers[place] = address_of(array)

    def ask_names(self, names: Sequence[str]) -> None:
        """Has the values of these properties looked for."""
        table = np.zeros((len(names), c.NAME), dtype=np.int64)
        for row, name in zip(table, names, strict=True):
            text = np.frombuffer(f"{name}\x01".encode(), dtype=np.uint8)
            first = int.from_bytes(text[:8].tobytes(), "little")
            mask = (1 << (8 * min(8, len(text)))) - 1
            row[:2] = np.array([first, mask], dtype=np.uint64).view(np.int64)
            row[2:] = address_of(text), len(text)
            self._held.append(text)
        self.note(c.NAMES, table)
        self.numbers[c.NAME_COUNT] = len(names)
        letters = sum({1 << (f"{name}\x01".encode()[0] & 63) for name in names})
        self.numbers[c.LETTERS] = np.array([letters], dtype=np.uint64).view(np.int64)[0]
        self.note(c.FOUND, np.zeros((len(names), 2), dtype=np.int64))

    def make_room(self) -> None:
        """Sees to it that books and verdicts on topics have room."""
        for place, book in self.books.items():
            book.make_room(ROOM)
            self.numbers[place] = book.address
        verdicts = np.zeros(len(self.books[c.TOPICS]) + 2 * ROOM, dtype=np.int64)
        verdicts[: len(self.verdicts)] = self.verdicts[: len(verdicts)]
        self.verdicts = verdicts
        self.numbers[c.TOPIC_COUNTS] = address_of(verdicts)

    def aim(self, buffer: Buffer, file_start: int, start: int, capacity: int | None) -> None:
        """Begins a file, given by its bytes, the physical offset of the first, and the position of a record."""
        log, limit = address_of(buffer), record_limit(buffer, capacity)
        numbers = self.numbers
        numbers[c.LOG], numbers[c.START], numbers[c.AT] = log, file_start, log + start
        numbers[c.LIMIT], numbers[c.LOG_END] = log + limit, log + len(buffer)
        numbers[c.SEEN] = numbers[c.SEEN_BYTES] = 0

    def tail(self, buffer: Buffer, file_start: int, capacity: int | None) -> Tail:
        """Tells what stands where no record does."""
        position = int(self.numbers[c.AT]) - address_of(buffer)
        return classify(buffer, position, file_start, record_limit(buffer, capacity))
