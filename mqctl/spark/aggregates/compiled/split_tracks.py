"""The tracks of a split: the compiled twin of `aggregates.tracks` packing with numpy, and of the scan that feeds it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import KEYS, SHARDING_KEY, UNIQ_KEY
from mqctl.model.names import group_of
from mqctl.model.own_messages import MARKS
from mqctl.spark.aggregates.compiled import counting as c
from mqctl.spark.aggregates.compiled import packing as p
from mqctl.spark.aggregates.compiled.boards import ScanBoard
from mqctl.spark.aggregates.track_layout import (
    BUSINESS,
    FLUSH_MESSAGES,
    TRACK,
    UNIQUE,
    BucketTracks,
    layout_of,
    topic_digests,
)
from mqctl.spark.query import Query
from mqctl.spark.scan.hosts import shown_host
from mqctl.spark.scan.log_splits import Coverage, LogSplit, sound_parts
from mqctl.spark.selection import Selection
from mqctl.store.compiled.reading import address_of
from mqctl.store.kernel import Tail
from mqctl.store.mapped_files import Buffer

_LEAST_ROOM = 64
"""Tracks that a bucket has room for, however many buckets there are."""
_ODD_ROOM = 4_096


def split_tracks(
    split: LogSplit, wanted: Selection, query: Query, buckets: int, covered: Coverage
) -> Iterator[BucketTracks]:
    """Yields the tracks of a split by bucket, to be used before the next are; `covered` is filled on the way."""
    packer = _Packer(wanted, query, buckets)
    for _, part in sound_parts(split, covered, packer.read):
        yield part
    covered.messages += packer.messages
    covered.bytes += packer.bytes
    covered.own_messages += packer.own_messages


class _Packer:
    """The board of `pack_file` and its tables.

    Attributes:
        messages, bytes: of the sound records that were read.
        own_messages: those among them that mqctl itself sent.
    """

    def __init__(self, wanted: Selection, query: Query, buckets: int) -> None:
        self.messages = self.bytes = self.own_messages = 0
        self._wanted, self._buckets = wanted, buckets
        self._names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._scan = ScanBoard(p.BOARD, wanted)
        board = self._board = self._scan.numbers
        names = [query.key_property] if query.key_property else [SHARDING_KEY, KEYS]
        board[c.KEY_AT], board[c.ELSE_AT] = 0, len(names) - 1 if len(names) > 1 else -1
        board[p.UNIQUE_AT] = len(names) if query.unique_keys else -1
        names += [UNIQ_KEY] if query.unique_keys else []
        board[p.FIRST_MARK] = len(names)
        self._scan.ask_names([*names, *MARKS])
        room = max(_LEAST_ROOM, FLUSH_MESSAGES // buckets)
        kinds = (BUSINESS, UNIQUE) if query.unique_keys else (BUSINESS,)
        self._rows = [rows for kind in kinds for rows in np.empty((buckets, room), dtype=layout_of(kind, query))]
        self._counts = np.zeros(len(self._rows), dtype=np.int64)
        self._odd = np.zeros((_ODD_ROOM, p.ODD_WORDS), dtype=np.int64)
        self._scan.note(p.TRACKS, np.array([address_of(rows) for rows in self._rows], dtype=np.int64))
        board[p.LONG_CELLS] = buckets if layout_of(BUSINESS, query) == TRACK else 0
        self._scan.note(p.TRACK_COUNTS, self._counts)
        self._scan.note(p.ODD, self._odd)
        board[p.BUCKETS], board[p.TRACK_ROOM], board[p.ODD_ROOM] = buckets, room, len(self._odd)
        self._make_room()

    def _make_room(self) -> None:
        self._scan.make_room()
        self._judge_topics()

    def _judge_topics(self) -> None:
        names = self._scan.books[c.TOPICS].names()
        for code, name in enumerate(names, start=1):
            # Retries and dead letters repeat keys by their nature.
            self._scan.verdicts[code] = 1 if self._wanted.wants_topic(name) and group_of(name) is None else 2
        salts = np.zeros(len(names) + 1, dtype=np.uint64)
        salts[1:] = topic_digests(names)
        self._scan.note(p.SALTS, salts)

    def read(
        self, buffer: Buffer, file_start: int, start: int, /, *, capacity: int | None
    ) -> Iterator[tuple[BucketTracks | None, Tail | None]]:
        """Packs the records from `start` on; yields full buckets, all others at last, then why it stopped."""
        board = self._board
        self._scan.aim(buffer, file_start, start, capacity)
        while (why := p.pack_file(self._scan.address)) != c.STOPPED:
            if why == p.FULL:
                yield self._taken(int(board[p.FULL_CELL])), None
            elif why == p.ODD_FULL:
                self._hash_odd()
            elif why == c.GROW:
                self._make_room()
            else:
                self._judge_topics()
        self.messages += int(board[c.SEEN])
        self.bytes += int(board[c.SEEN_BYTES])
        self.own_messages += int(board[p.OWN_COUNT])
        board[p.OWN_COUNT] = 0
        for cell in np.flatnonzero(self._counts).tolist():
            yield self._taken(cell), None
        yield None, self._scan.tail(buffer, file_start, capacity)

    def _hash_odd(self) -> None:
        """Hashes keys that are not ASCII or very long: few."""
        for cell, row, address, size in self._odd[: int(self._board[p.ODD_COUNT])].tolist():
            text = ctypes.string_at(address, size).decode("utf-8", "replace")
            self._rows[cell]["hash"][row] = java_string_hash(text)
        self._board[p.ODD_COUNT] = 0

    def _taken(self, cell: int) -> BucketTracks:
        """Takes the tracks of a cell away, while their file is mapped."""
        self._hash_odd()
        rows, self._counts[cell] = self._rows[cell][: int(self._counts[cell])], 0
        kind, bucket = divmod(cell, self._buckets)
        topics, hosts = self._scan.books[c.TOPICS], self._scan.books[c.HOSTS]
        if (len(topics), len(hosts)) != tuple(map(len, self._names)):
            addresses = tuple(shown_host(data, len(data)) for data in hosts.data())
            self._names = tuple(topics.names()), addresses
        return BucketTracks(kind, bucket, rows, *self._names)
