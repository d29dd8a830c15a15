"""Following queue entries into the commit log, all queues at once and in the order of the log.

One queue's messages lie far apart: followed queue by queue, every message is a miss of the caches. Here the queues'
entries are brought into the log's order a window at a time. Entries ascend in sound queues; those that do not are
counted where they are found, or handed back.

The functions share a board: a table of numbers and of the addresses of other tables, all of native 64-bit numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mqctl.model.spans import FAR
from mqctl.spark.aggregates.compiled.books import code_of, room_in
from mqctl.store.compiled.reading import get, i32, i64, put, record_at, texts_of, value_of
from mqctl.store.layouts import FILLER_SIZE, QUEUE_ENTRY_BYTES

DONE, GROW = 0, 1
"""Why `follow_file` came back: all of the file is counted, or some table has no room for another window."""
SLOTS = 2_048
_SLOT_BITS = 6  # no two sound records begin within 64 bytes
WINDOW_BYTES = SLOTS << _SLOT_BITS
ROOM = 2 * SLOTS
"""What a window may add to a table at most."""

# Places on the board.
LOG, START, END, LIMIT, LOG_END = range(5)
"""The file: its address, physical offsets of its ends, addresses of where no record may pass and behind its bytes."""
FILES, FILE_COUNT = 5, 6
"""Start and end of every file of the log, ascending."""
SINCE, UNTIL, WIDTH, NAME, NAME_SIZE = range(7, 12)
"""Store times asked for, width of the buckets of arrivals (0 for none), the tag's property name with its separator."""
LANES, LANE_COUNT, ACTIVE, EDGES, WINDOW, DANGLING = range(12, 18)
"""Lanes, numbers of those at work, queue offset where each segment begins, slots, misses by segment."""
TAGS = 18
"""The book of tags."""
CELLS, CELL_ROOM, CELL_SLOTS, CELL_MASK = range(19, 23)
"""Cells, and the hash table through which they are looked up."""
ARRIVALS, ARRIVAL_ROOM, STRAYS, STRAY_ROOM = range(23, 27)
AT, ACTIVE_COUNT, STARTED, CELL_COUNT, ARRIVAL_COUNT, STRAY_COUNT = range(27, 33)
"""Where the next window begins; lanes at work and begun; rows used of each table."""
LATEST = 33
"""By segment its latest row of arrivals, counted from 1."""
BOARD = 34

LANE = 7
ADDRESS, ROW, COUNT, FIRST, SEGMENT, LAST_SEGMENT, AHEAD = range(LANE)
"""A lane: address of its entries, next row, rows, queue offset of row 0, segment of the next row, the last segment,
physical offset of the next row when it was looked at last."""
CELL = 5
KEY, MESSAGES, BYTES, OLDEST, NEWEST = range(CELL)
"""A cell; its key is the segment << 32 | the number of the tag in its book, 0 without one."""
ARRIVAL, STRAY = 4, 3
"""Numbers in an arrival (segment, bucket, messages, bytes), in a stray and a slot (physical offset, size, segment)."""


@njit(cache=True)
def mixed(key: int) -> np.int64:
    """Spreads keys over a hash table."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33))


@njit(cache=True)
def cell_of(board: int, key: int) -> int:
    """Finds where the cell of a key begins, or makes one."""
    slots, cells = get(board, CELL_SLOTS), get(board, CELLS)
    slot = mixed(key) & get(board, CELL_MASK)
    while get(slots, slot) != 0:
        cell = (get(slots, slot) - 1) * CELL
        if get(cells, cell) == key:
            return cell
        slot = (slot + 1) & get(board, CELL_MASK)
    row = get(board, CELL_COUNT)
    put(board, CELL_COUNT, row + 1)
    put(slots, slot, row + 1)
    cell = row * CELL
    put(cells, cell + KEY, key)
    put(cells, cell + OLDEST, FAR)
    put(cells, cell + NEWEST, -FAR)
    return cell


@njit(cache=True)
def renew_slots(board: int) -> None:
    """Fills a new hash table (zeros) with the cells there are."""
    slots, cells = get(board, CELL_SLOTS), get(board, CELLS)
    for row in range(get(board, CELL_COUNT)):
        slot = mixed(get(cells, row * CELL)) & get(board, CELL_MASK)
        while get(slots, slot) != 0:
            slot = (slot + 1) & get(board, CELL_MASK)
        put(slots, slot, row + 1)


@njit(cache=True)
def add_arrival(board: int, segment: int, bucket: int, size: int) -> None:
    """Adds a message to its segment's latest row if that is of the same time bucket, else to a new row."""
    rows, latest = get(board, ARRIVALS), get(board, LATEST)
    at = (get(latest, segment) - 1) * ARRIVAL
    if at < 0 or get(rows, at + 1) != bucket:
        count = get(board, ARRIVAL_COUNT)
        at = count * ARRIVAL
        put(board, ARRIVAL_COUNT, count + 1)
        put(latest, segment, count + 1)
        put(rows, at, segment)
        put(rows, at + 1, bucket)
        put(rows, at + 2, 0)
        put(rows, at + 3, 0)
    put(rows, at + 2, get(rows, at + 2) + 1)
    put(rows, at + 3, get(rows, at + 3) + size)


@njit(cache=True)
def miss(board: int, segment: int) -> None:
    """Counts an entry that leads to no message."""
    table = get(board, DANGLING)
    put(table, segment, get(table, segment) + 1)


@njit(cache=True)
def count_entry(board: int, physical: int, size: int, segment: int) -> None:
    """Looks at the record that an entry leads to, and counts it."""
    at = get(board, LOG) + physical - get(board, START)
    total, born, both, body = record_at(at, physical, get(board, LIMIT))
    if total == 0 or total != size:
        miss(board, segment)
        return
    time_ms = i64(at + 56 + born)
    if time_ms < get(board, SINCE) or time_ms >= get(board, UNTIL):
        return
    _, _, begin, length = texts_of(at, both, body)
    start, length = value_of(begin, length, get(board, NAME), get(board, NAME_SIZE), get(board, LOG_END))
    code = code_of(get(board, TAGS), start, length, get(board, LOG_END)) if length else 0
    cells, cell = get(board, CELLS), cell_of(board, (segment << 32) | code)
    put(cells, cell + MESSAGES, get(cells, cell + MESSAGES) + 1)
    put(cells, cell + BYTES, get(cells, cell + BYTES) + total)
    put(cells, cell + OLDEST, min(get(cells, cell + OLDEST), time_ms))
    put(cells, cell + NEWEST, max(get(cells, cell + NEWEST), time_ms))
    if get(board, WIDTH):
        add_arrival(board, segment, time_ms // get(board, WIDTH), total)


@njit(cache=True)
def is_covered(board: int, physical: int) -> bool:
    """Tells whether a file covers a physical offset."""
    files, low, high = get(board, FILES), 0, get(board, FILE_COUNT)
    while low < high:
        middle = (low + high) // 2
        if get(files, 2 * middle) <= physical:
            low = middle + 1
        else:
            high = middle
    return low > 0 and physical < get(files, 2 * low - 1)


@njit(cache=True)
def put_row(table: int, at: int, physical: int, size: int, segment: int) -> None:
    """Writes a stray or a slot."""
    put(table, at, physical)
    put(table, at + 1, size)
    put(table, at + 2, segment)


@njit(cache=True)
def collect(board: int, lane: int, begin: int, until: int, crowd: int) -> int:
    """Puts a lane's entries that lead into [begin, until) into the slots; returns how many strays there were.

    An entry that leads into a file elsewhere, or where another one leads to, is a stray. `crowd` of them at most are
    taken; the lane waits then.
    """
    window, strays, edges = get(board, WINDOW), get(board, STRAYS), get(board, EDGES)
    at, row, count = get(lane, ADDRESS), get(lane, ROW), get(lane, COUNT)
    first, segment, last = get(lane, FIRST), get(lane, SEGMENT), get(lane, LAST_SEGMENT)
    taken, ahead = 0, FAR
    while row < count:
        physical, size = i64(at + row * QUEUE_ENTRY_BYTES), i32(at + row * QUEUE_ENTRY_BYTES + 8)
        if physical >= until or taken >= crowd:
            ahead = physical
            break
        while segment < last and first + row >= get(edges, segment + 1):
            segment += 1
        row += 1
        if size == FILLER_SIZE and physical == 0:
            continue
        slot = ((physical - begin) >> _SLOT_BITS) * STRAY
        if size <= 0:
            miss(board, segment)
        elif physical >= begin and get(window, slot + 1) == 0:
            put_row(window, slot, physical, size, segment)
        elif is_covered(board, physical):
            stray = get(board, STRAY_COUNT)
            put_row(strays, stray * STRAY, physical, size, segment)
            put(board, STRAY_COUNT, stray + 1)
            taken += 1
        else:
            miss(board, segment)
    put(lane, ROW, row)
    put(lane, SEGMENT, segment)
    put(lane, AHEAD, ahead)
    return taken


@njit(cache=True)
def is_full(board: int) -> bool:
    """Tells whether a table has no room for another window."""
    return (
        room_in(get(board, TAGS)) < ROOM
        or get(board, CELL_COUNT) + ROOM >= get(board, CELL_ROOM)
        or get(board, ARRIVAL_COUNT) + ROOM >= get(board, ARRIVAL_ROOM)
        or get(board, STRAY_COUNT) + ROOM >= get(board, STRAY_ROOM)
    )


@njit(cache=True)
def collect_all(board: int, begin: int, until: int) -> int:
    """Fills the slots from all lanes; returns where the next window may begin."""
    lanes, active = get(board, LANES), get(board, ACTIVE)
    crowd, following, kept = SLOTS, FAR, 0
    started, working = get(board, STARTED), get(board, ACTIVE_COUNT)
    while started < get(board, LANE_COUNT) and get(lanes, started * LANE + AHEAD) < until:
        put(active, working, started)
        working += 1
        started += 1
    if started < get(board, LANE_COUNT):
        following = get(lanes, started * LANE + AHEAD)
    for place in range(working):
        number = get(active, place)
        lane = lanes + number * LANE * 8
        if get(lane, AHEAD) < until:
            crowd -= collect(board, lane, begin, until, crowd)
        if get(lane, ROW) < get(lane, COUNT):
            put(active, kept, number)
            kept += 1
            following = min(following, get(lane, AHEAD))
    put(board, STARTED, started)
    put(board, ACTIVE_COUNT, kept)
    return max(until, following) if crowd > 0 else begin


@njit(cache=True, nogil=True)
def follow_file(board: int) -> int:
    """Counts all entries that lead into one file of the commit log; to be called again after GROW."""
    window, end = get(board, WINDOW), get(board, END)
    while get(board, AT) < end:
        if is_full(board):
            return GROW
        begin = get(board, AT)
        following = collect_all(board, begin, min(begin + WINDOW_BYTES, end))
        for slot in range(SLOTS):
            size = get(window, slot * STRAY + 1)
            if size != 0:
                put(window, slot * STRAY + 1, 0)
                count_entry(board, get(window, slot * STRAY), size, get(window, slot * STRAY + 2))
        put(board, AT, following)
    return DONE
