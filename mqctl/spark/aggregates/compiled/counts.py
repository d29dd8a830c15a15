"""The partial counts of a split: the compiled twin of `aggregates.counting.Counter` and the scan that feeds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from mqctl.model.message import KEYS, SHARDING_KEY, TAGS
from mqctl.spark.aggregates.combiner import Columns, Value
from mqctl.spark.aggregates.compiled import counting as c
from mqctl.spark.aggregates.compiled.books import Book, Table
from mqctl.spark.aggregates.grouping import Grouped, KeyRows, heaviest
from mqctl.spark.aggregates.rows import key_columns, row_columns
from mqctl.spark.query import Cut, Dim, Query
from mqctl.spark.scan.hosts import shown_host
from mqctl.spark.scan.keys import LONGEST_SHOWN
from mqctl.spark.scan.log_splits import Coverage, LogSplit, sound_parts
from mqctl.spark.selection import Selection
from mqctl.store.compiled.reading import address_of
from mqctl.store.kernel import Int64s, Tail, classify
from mqctl.store.mapped_files import Buffer
from mqctl.store.walk import record_limit

_ROOM = 4_096
_FIRST_CELLS = 1 << 14
_DIMS = {
    Dim.TOPIC: c.TOPIC,
    Dim.QUEUE: c.QUEUE,
    Dim.TAG: c.TAG,
    Dim.KEY: c.KEY,
    Dim.HOST: c.HOST,
    Dim.SIZE: c.SIZE,
    Dim.TIME: c.TIME,
    Dim.TIMES: c.TIMES,
    Dim.VALUE: c.VALUE,
}


def count_split(split: LogSplit, wanted: Selection, query: Query, covered: Coverage) -> Iterator[Columns]:
    """Yields the partial counts of a split; `covered` is filled on the way."""
    counter = _Counter(wanted, query)
    for buffer, (messages, size) in sound_parts(split, covered, counter.read):
        covered.messages += messages
        covered.bytes += size
        counter.buffer = buffer
    yield from counter.rows(split.store)


class _Counter:
    """The board of `count_file`, its tables, and what they say at last."""

    def __init__(self, wanted: Selection, query: Query) -> None:
        self.buffer: Buffer = np.empty(0, dtype=np.uint8)
        self._wanted, self._query = wanted, query
        self._board = np.zeros(c.BOARD, dtype=np.int64)
        self._books = {place: Book() for place in (c.TOPICS, c.TAGS, c.VALUES, c.HOSTS)}
        self._verdicts = np.zeros(0, dtype=np.int64)
        self._cells = np.zeros((_FIRST_CELLS, c.CELL), dtype=np.int64)
        self._slots = np.zeros(0, dtype=np.int64)
        self._held: list[object] = []
        self._ask_ranges()
        self._ask_names()
        cuts = np.zeros((len(query.cuts), c.CUT), dtype=np.int64)
        for row, cut in zip(cuts, query.cuts, strict=True):
            row[: len(cut.dims) + 1] = len(cut.dims), *(_DIMS[dim] for dim in cut.dims)
        self._note(c.CUTS, cuts)
        self._board[c.CUT_COUNT] = len(cuts)
        self._note(c.DIMS, np.zeros(len(_DIMS), dtype=np.int64))
        self._make_room()

    def _note(self, place: int, array: Table | Int64s) -> None:
        """Puts the address of a table on the board, and keeps the table."""
        self._held.append(array)
        self._board[place] = address_of(array)

    def _ask_ranges(self) -> None:
        wanted, board = self._wanted, self._board
        for low, bounds in (
            (c.SINCE, wanted.store_time_ms),
            (c.QUEUE_LOW, wanted.queue_offset),
            (c.PHYSICAL_LOW, wanted.physical_offset),
        ):
            board[low], board[low + 1] = bounds.low, bounds.high
        self._note(c.QUEUE_IDS, np.array([*wanted.queue_ids, 0], dtype=np.int64))
        board[c.QUEUE_ID_COUNT] = len(wanted.queue_ids)
        board[c.BUCKET], board[c.LONGEST_VALUE] = self._query.bucket_ms, LONGEST_SHOWN
        board[c.WANTS_HOST] = Dim.HOST in self._query.dims

    def _ask_names(self) -> None:
        names: list[str] = []

        def place_of(name: str, *, wants_keys: bool) -> int:
            if wants_keys:
                names.append(name)
            return len(names) - 1 if wants_keys else -1

        query, board, keyed = self._query, self._board, Dim.KEY in self._query.dims
        board[c.TAG_AT] = place_of(TAGS, wants_keys=Dim.TAG in query.dims)
        board[c.VALUE_AT] = place_of(query.value_property, wants_keys=Dim.VALUE in query.dims)
        board[c.KEY_AT] = place_of(query.key_property or SHARDING_KEY, wants_keys=keyed)
        board[c.ELSE_AT] = place_of(KEYS, wants_keys=keyed and not query.key_property)
        table = np.zeros((len(names), c.NAME), dtype=np.int64)
        for row, name in zip(table, names, strict=True):
            text = np.frombuffer(f"{name}\x01".encode(), dtype=np.uint8)
            first = int.from_bytes(text[:8].tobytes(), "little")
            mask = (1 << (8 * min(8, len(text)))) - 1
            row[:2] = np.array([first, mask], dtype=np.uint64).view(np.int64)
            row[2:] = address_of(text), len(text)
            self._held.append(text)
        self._note(c.NAMES, table)
        board[c.NAME_COUNT] = len(names)
        self._note(c.FOUND, np.zeros((len(names), 2), dtype=np.int64))

    def _make_room(self) -> None:
        board = self._board
        for place, book in self._books.items():
            book.make_room(_ROOM)
            board[place] = book.address
        topics = len(self._books[c.TOPICS])
        verdicts = np.zeros(topics + 2 * _ROOM, dtype=np.int64)
        verdicts[: len(self._verdicts)] = self._verdicts[: len(verdicts)]
        self._verdicts = verdicts
        board[c.TOPIC_COUNTS] = address_of(verdicts)
        if (len(self._cells) - int(board[c.CELL_COUNT])) // max(1, len(self._query.cuts)) < _ROOM // 4:
            self._cells = np.concatenate((self._cells, np.zeros_like(self._cells)))
        self._slots = np.zeros(2 * len(self._cells), dtype=np.int64)
        board[c.CELLS], board[c.CELL_ROOM] = address_of(self._cells), len(self._cells)
        board[c.CELL_SLOTS], board[c.CELL_MASK] = address_of(self._slots), len(self._slots) - 1
        c.renew_cells(address_of(board))

    def read(
        self, buffer: Buffer, file_start: int, start: int, /, *, capacity: int | None
    ) -> Iterator[tuple[tuple[int, int] | None, Tail | None]]:
        """Counts the records from `start` on; yields how many were sound and their bytes, then why it stopped."""
        board, log = self._board, address_of(buffer)
        limit = record_limit(buffer, capacity)
        board[c.LOG], board[c.START], board[c.AT] = log, file_start, log + start
        board[c.LIMIT], board[c.LOG_END] = log + limit, log + len(buffer)
        board[c.SEEN] = board[c.SEEN_BYTES] = 0
        while (why := c.count_file(address_of(board))) != c.STOPPED:
            if why == c.GROW:
                self._make_room()
            else:
                self._judge_topics()
        yield (int(board[c.SEEN]), int(board[c.SEEN_BYTES])), None
        yield None, classify(buffer, int(board[c.AT]) - log, file_start, limit)

    def _judge_topics(self) -> None:
        for code, name in enumerate(self._books[c.TOPICS].names(), start=1):
            self._verdicts[code] = 1 if self._wanted.wants_topic(name) else 2

    def rows(self, store: str) -> Iterator[Columns]:
        """Yields the rows of each cut."""
        cells = self._cells[: int(self._board[c.CELL_COUNT])]
        if not len(cells):
            return
        spellers = self._spellers()
        for number, cut in enumerate(self._query.cuts):
            own = cells[cells[:, c.CELL_CUT] == number]
            plain: list[tuple[Dim, int]] = [
                (dim, c.CELL_DIMS + place) for place, dim in enumerate(cut.dims) if dim is not Dim.KEY
            ]
            if Dim.KEY in cut.dims:
                yield self._key_rows(cut, store, own, plain, spellers)
                continue
            names: dict[Dim, list[Value]] = {dim: spellers[dim](own[:, column]) for dim, column in plain}
            groups = Grouped([], *(own[:, place] for place in (c.MESSAGES, c.BYTES, c.BODIES, c.OLDEST, c.NEWEST)))
            yield row_columns(cut, store, names, groups)

    def _key_rows(
        self, cut: Cut, store: str, own: Table, plain: list[tuple[Dim, int]], spellers: dict[Dim, _Speller]
    ) -> Columns:
        groups, owner = np.unique(own[:, [column for _, column in plain]], axis=0, return_inverse=True)
        keyed = own[:, c.CELL_DIMS + cut.dims.index(Dim.KEY)] != 0
        rows = KeyRows(
            owner.reshape(-1),
            np.where(keyed, np.arange(len(own)), -1),
            *(own[:, column] for column in (c.MESSAGES, c.BYTES, c.BODIES)),
        )
        heavy, owners = heaviest(rows, cut.kept)
        heavy.values.extend(spellers[dim](groups[owners, place]) for place, (dim, _) in enumerate(plain))
        ends = own[:, [c.KEY_START, c.KEY_SIZE]].tolist()
        places = [(ends[row][0], ends[row][1]) if row >= 0 else None for row in heavy.example.tolist()]
        return key_columns(cut, store, heavy, self.buffer, places)

    def _spellers(self) -> dict[Dim, _Speller]:
        """Returns for each dim what spells out its codes."""
        host_names = [shown_host(data, len(data)) for data in self._books[c.HOSTS].data()]
        named = {Dim.TOPIC: c.TOPICS, Dim.TAG: c.TAGS, Dim.VALUE: c.VALUES}
        return {
            **dict.fromkeys((Dim.QUEUE, Dim.SIZE, Dim.TIME, Dim.TIMES), _numbers),
            **{dim: partial(_names, [None, *self._books[place].names()]) for dim, place in named.items()},
            Dim.HOST: partial(_names, [None, *host_names]),
        }


_Speller = Callable[[Int64s], list[Value]]


def _numbers(codes: Int64s) -> list[Value]:
    return list(codes.tolist())


def _names(names: list[str | None], codes: Int64s) -> list[Value]:
    return [names[code] for code in codes.tolist()]
