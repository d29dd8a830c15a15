"""Backlog figures of many ranges of queue entries at once: the compiled twin of `aggregates.backlog_figures.behind`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from mqctl.spark.aggregates.backlog_figures import Counting, Segment, Sums, by_reader, count_missing
from mqctl.spark.aggregates.compiled import following as f
from mqctl.spark.aggregates.compiled.books import Book, Table
from mqctl.spark.scan.planning import QueueRange
from mqctl.spark.selection import EVERYTHING, Bounds
from mqctl.store.commitlog import CommitLog
from mqctl.store.compiled.reading import address_of
from mqctl.store.consumequeue import raw_entries
from mqctl.store.directory import StoreDirectory
from mqctl.store.dtypes import QUEUE_ENTRY_NATIVE
from mqctl.store.kernel import Int64s
from mqctl.store.layouts import QUEUE_ENTRY_BYTES
from mqctl.store.mapped_files import Buffer
from mqctl.store.walk import record_limit

_TAG = np.frombuffer(b"TAGS\x01", dtype=np.uint8)
_FIRST_ROWS = 4 * f.ROOM
_CHUNK_ENTRIES = 1 << 16


def behind_all(
    store: StoreDirectory,
    work: Sequence[QueueRange],
    store_time_ms: Bounds = EVERYTHING,
    *,
    arrivals_ms: int = 0,
) -> Iterator[tuple[QueueRange, str, Segment]]:
    """Yields for each range and each of its readers what of the range lies behind it, as `behind` does for one."""
    plan = _Plan(store)
    for each in work:
        plan.add(each)
    lanes = plan.lanes()
    if len(lanes):
        tables = _Tables(lanes, plan.edges, store.commit_log)
        tables.board[f.SINCE], tables.board[f.UNTIL] = store_time_ms.low, store_time_ms.high
        tables.board[f.WIDTH] = arrivals_ms
        _follow(store.commit_log, tables, int(lanes[0, f.AHEAD]))
        _count_rest(lanes, plan, tables, Counting(store.commit_log, store_time_ms, arrivals_ms))
        tables.fill(plan.segments, arrivals_ms)
    for each, (first, starts) in zip(work, plan.segments_at.values(), strict=True):
        own = plan.segments[first : first + len(starts)]
        for group, segment in by_reader(each, starts, own):
            yield each, group, segment


@dataclass
class _Plan:
    """Lanes (a range's entries in one file each) and segments (entries between two readers' offsets).

    Attributes:
        segments_at: by a range's last segment its first, and the queue offsets at which its segments begin.
    """

    store: StoreDirectory
    segments: list[Segment] = field(default_factory=list)
    segments_at: dict[int, tuple[int, Int64s]] = field(default_factory=dict)
    pieces: list[Buffer] = field(default_factory=list)
    rows: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def edges(self) -> Int64s:
        """Queue offset at which each segment begins."""
        return np.concatenate([starts for _, starts in self.segments_at.values()])

    def add(self, work: QueueRange) -> None:
        """Adds a range's lanes and segments."""
        starts = np.unique(np.array([max(start, work.low) for _, start in work.readers], dtype=np.int64))
        first = len(self.segments)
        own = [Segment() for _ in starts]
        self.segments += own
        self.segments_at[len(self.segments) - 1] = first, starts
        queue = self.store.consume_queue(work.topic, work.queue_id)
        expected, end = work.low, min(work.high, queue.max_offset)
        for file in queue.files:
            base = file.start // QUEUE_ENTRY_BYTES
            low, high = max(work.low, base), min(end, base + file.size_bytes // QUEUE_ENTRY_BYTES)
            if low >= high:
                continue
            count_missing(own, starts, expected, low)
            expected = high
            piece = raw_entries(file.buffer)[low - base : high - base].view(np.uint8)
            ahead = int.from_bytes(piece[:8].tobytes(), "big", signed=True)
            segment = first + int(np.searchsorted(starts, low, side="right")) - 1
            self.pieces.append(piece)
            self.rows.append((address_of(piece), 0, high - low, low, segment, first + len(starts) - 1, ahead))
        count_missing(own, starts, expected, work.high)

    def lanes(self) -> Table:
        """Returns the lanes by the first entry's physical offset."""
        rows = np.array(self.rows, dtype=np.int64).reshape(-1, f.LANE)
        return rows[np.argsort(rows[:, f.AHEAD], kind="stable")]


class _Tables:
    """What is counted, in tables that grow, and the board that leads to them."""

    def __init__(self, lanes: Table, edges: Int64s, log: CommitLog) -> None:
        self.board = np.zeros(f.BOARD, dtype=np.int64)
        self.tags = Book(_FIRST_ROWS)
        self.cells, self.arrivals, self.strays = (
            np.zeros((_FIRST_ROWS, width), dtype=np.int64) for width in (f.CELL, f.ARRIVAL, f.STRAY)
        )
        self.dangling, latest = np.zeros(len(edges), dtype=np.int64), np.zeros(len(edges), dtype=np.int64)
        files = np.array([(file.start, file.end) for file in log.files], dtype=np.int64)
        active, window = np.zeros(len(lanes), dtype=np.int64), np.zeros((f.SLOTS, f.STRAY), dtype=np.int64)
        self.slots = np.zeros(0, dtype=np.int64)
        self._held = (lanes, edges, files, active, window, latest)  # the board has their addresses
        for place, array in (
            (f.LANES, lanes), (f.EDGES, edges), (f.FILES, files), (f.ACTIVE, active), (f.WINDOW, window),
            (f.DANGLING, self.dangling), (f.LATEST, latest), (f.NAME, _TAG),
        ):  # fmt: skip
            self.board[place] = address_of(array)
        self.board[f.LANE_COUNT], self.board[f.FILE_COUNT], self.board[f.NAME_SIZE] = len(lanes), len(files), len(_TAG)
        self.grow()

    def grow(self) -> None:
        """Makes room for another window in every table."""
        self.tags.make_room(f.ROOM)
        self.board[f.TAGS] = self.tags.address
        self.cells = self._roomy(self.cells, f.CELLS, f.CELL_COUNT)
        self.arrivals = self._roomy(self.arrivals, f.ARRIVALS, f.ARRIVAL_COUNT)
        self.strays = self._roomy(self.strays, f.STRAYS, f.STRAY_COUNT)
        self.slots = np.zeros(4 * len(self.cells), dtype=np.int64)
        self.board[f.CELL_SLOTS], self.board[f.CELL_MASK] = address_of(self.slots), len(self.slots) - 1
        f.renew_slots(address_of(self.board))

    def _roomy(self, table: Table, place: int, counted: int) -> Table:
        """Returns a table with room, twice as long where there was none, and notes it on the board."""
        if int(self.board[counted]) + f.ROOM >= len(table):
            table = np.concatenate((table, np.zeros_like(table)))
        self.board[place], self.board[place + 1] = address_of(table), len(table)
        return table

    def used(self, table: Table, counted: int) -> Table:
        """Returns the rows of a table that are in use."""
        return table[: int(self.board[counted])]

    def fill(self, segments: Sequence[Segment], arrivals_ms: int) -> None:
        """Adds what was counted to the segments."""
        names: list[str | None] = [None, *self.tags.names()]
        for key, messages, size, oldest, newest in self.used(self.cells, f.CELL_COUNT).tolist():
            by_tag = segments[key >> 32].by_tag
            by_tag.setdefault(names[key & 0xFFFFFFFF], Sums()).add(Sums(messages, size, oldest, newest))
        for segment, bucket, messages, size in self.used(self.arrivals, f.ARRIVAL_COUNT).tolist():
            segments[segment].arrivals.setdefault(bucket * arrivals_ms, Sums()).add(Sums(messages, size))
        for number, count in enumerate(self.dangling.tolist()):
            segments[number].dangling += count


def _follow(log: CommitLog, tables: _Tables, lowest: int) -> None:
    """Counts what leads into each file, from physical offset `lowest` on."""
    board = tables.board
    for file in log.files:
        if file.end <= lowest:
            continue
        buffer = file.buffer
        start = address_of(buffer)
        board[f.LOG], board[f.LOG_END] = start, start + len(buffer)
        board[f.LIMIT] = start + record_limit(buffer, log.file_size_bytes)
        board[f.START], board[f.END], board[f.AT] = file.start, file.end, max(file.start, lowest)
        while f.follow_file(address_of(board)) == f.GROW:
            tables.grow()
        if not board[f.ACTIVE_COUNT] and board[f.STARTED] == board[f.LANE_COUNT]:
            break


def _count_rest(lanes: Table, plan: _Plan, tables: _Tables, counting: Counting) -> None:
    """Counts what was out of order: strays, and what no window reached."""
    strays = tables.used(tables.strays, f.STRAY_COUNT)
    if len(strays):
        entries = np.zeros(len(strays), dtype=QUEUE_ENTRY_NATIVE)
        entries["physical_offset"], entries["size"] = strays[:, 0], strays[:, 1]
        for begin in range(0, len(strays), _CHUNK_ENTRIES):
            chunk = slice(begin, begin + _CHUNK_ENTRIES)
            counting.add(plan.segments, strays[chunk, 2], entries[chunk])
    pieces = {address_of(piece): piece for piece in plan.pieces}
    for lane in lanes[lanes[:, f.ROW] < lanes[:, f.COUNT]]:
        left = raw_entries(pieces[int(lane[f.ADDRESS])])[int(lane[f.ROW]) :].astype(QUEUE_ENTRY_NATIVE)
        offsets = np.arange(len(left), dtype=np.int64) + int(lane[f.FIRST] + lane[f.ROW])
        first, starts = plan.segments_at[int(lane[f.LAST_SEGMENT])]
        segment_of = np.searchsorted(starts, offsets, side="right") - 1 + first
        for begin in range(0, len(left), _CHUNK_ENTRIES):
            chunk = slice(begin, begin + _CHUNK_ENTRIES)
            counting.add(plan.segments, segment_of[chunk], left[chunk])
