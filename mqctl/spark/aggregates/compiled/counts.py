"""The partial counts of a split: the compiled twin of `aggregates.counting.Counter` and the scan that feeds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from mqctl.model.message import KEYS, SHARDING_KEY, TAGS
from mqctl.spark.aggregates.combiner import Columns, Value
from mqctl.spark.aggregates.compiled import counting as c
from mqctl.spark.aggregates.compiled.boards import ROOM, ScanBoard
from mqctl.spark.aggregates.compiled.books import Table
from mqctl.spark.aggregates.grouping import Grouped, KeyRows, heaviest
from mqctl.spark.aggregates.rows import key_columns, row_columns
from mqctl.spark.query import Cut, Dim, Query
from mqctl.spark.scan.hosts import shown_host
from mqctl.spark.scan.keys import LONGEST_SHOWN
from mqctl.spark.scan.log_splits import Coverage, LogSplit, sound_parts
from mqctl.spark.selection import Selection
from mqctl.store.compiled.reading import address_of
from mqctl.store.kernel import Int64s, Tail
from mqctl.store.mapped_files import Buffer

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
        self._scan = ScanBoard(c.BOARD, wanted)
        self._board = self._scan.numbers
        self._cells = np.zeros((_FIRST_CELLS, c.CELL), dtype=np.int64)
        self._slots = np.zeros(0, dtype=np.int64)
        self._board[c.BUCKET], self._board[c.LONGEST_VALUE] = query.bucket_ms, LONGEST_SHOWN
        self._board[c.WANTS_HOST] = Dim.HOST in query.dims
        self._ask_names()
        cuts = np.zeros((len(query.cuts), c.CUT), dtype=np.int64)
        for row, cut in zip(cuts, query.cuts, strict=True):
            row[: len(cut.dims) + 1] = len(cut.dims), *(_DIMS[dim] for dim in cut.dims)
        self._scan.note(c.CUTS, cuts)
        self._board[c.CUT_COUNT] = len(cuts)
        self._scan.note(c.DIMS, np.zeros(len(_DIMS), dtype=np.int64))
        self._make_room()

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
        self._scan.ask_names(names)

    def _make_room(self) -> None:
        board = self._board
        self._scan.make_room()
        if (len(self._cells) - int(board[c.CELL_COUNT])) // max(1, len(self._query.cuts)) < ROOM // 4:
            self._cells = np.concatenate((self._cells, np.zeros_like(self._cells)))
        self._slots = np.zeros(2 * len(self._cells), dtype=np.int64)
        board[c.CELLS], board[c.CELL_ROOM] = address_of(self._cells), len(self._cells)
        board[c.CELL_SLOTS], board[c.CELL_MASK] = address_of(self._slots), len(self._slots) - 1
        c.renew_cells(self._scan.address)

    def read(
        self, buffer: Buffer, file_start: int, start: int, /, *, capacity: int | None
    ) -> Iterator[tuple[tuple[int, int] | None, Tail | None]]:
        """Counts the records from `start` on; yields how many were sound and their bytes, then why it stopped."""
        board = self._board
        self._scan.aim(buffer, file_start, start, capacity)
        while (why := c.count_file(self._scan.address)) != c.STOPPED:
            if why == c.GROW:
                self._make_room()
            else:
                self._judge_topics()
        yield (int(board[c.SEEN]), int(board[c.SEEN_BYTES])), None
        yield None, self._scan.tail(buffer, file_start, capacity)

    def _judge_topics(self) -> None:
        for code, name in enumerate(self._scan.books[c.TOPICS].names(), start=1):
            self._scan.verdicts[code] = 1 if self._wanted.wants_topic(name) else 2

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
        host_names = [shown_host(data, len(data)) for data in self._scan.books[c.HOSTS].data()]
        named = {Dim.TOPIC: c.TOPICS, Dim.TAG: c.TAGS, Dim.VALUE: c.VALUES}
        return {
            **dict.fromkeys((Dim.QUEUE, Dim.SIZE, Dim.TIME, Dim.TIMES), _numbers),
            **{dim: partial(_names, [None, *self._scan.books[place].names()]) for dim, place in named.items()},
            Dim.HOST: partial(_names, [None, *host_names]),
        }


_Speller = Callable[[Int64s], list[Value]]


def _numbers(codes: Int64s) -> list[Value]:
    return list(codes.tolist())


def _names(names: list[str | None], codes: Int64s) -> list[Value]:
    return [names[code] for code in codes.tolist()]
