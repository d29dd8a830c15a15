"""Walking a commit log file record by record and summing by several cuts at once, in one pass over the bytes.

The functions share a board, as those of `following` do. A cut counts by up to four dims; its cells are found through a
hash table over the cut and the values of its dims, which are compared as a whole: only keys stand for themselves by a
digest of 64 bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mqctl.model.spans import FAR
from mqctl.spark.aggregates.compiled.books import code_of, room_in
from mqctl.store.compiled.reading import (
    byte,
    digest_of,
    get,
    i32,
    i64,
    is_same,
    put,
    record_at,
    separator_from,
    short_word,
    texts_of,
)

STOPPED, GROW, NEW_TOPIC = 0, 1, 2
"""Why `count_file` came back: no acceptable record stands at AT; a table is full; it must be told if a topic counts."""

# Places on the board.
LOG, START, LIMIT, LOG_END, AT = range(5)
"""The file's address, physical offset of its first byte, addresses of where no record may pass, behind its bytes, and
of the next record."""
SINCE, UNTIL, QUEUE_LOW, QUEUE_HIGH, PHYSICAL_LOW, PHYSICAL_HIGH = range(5, 11)
QUEUE_IDS, QUEUE_ID_COUNT = 11, 12
"""Ranges of store time, queue offset and physical offset, and queue ids (none for all) that count."""
TOPICS, TAGS, VALUES, HOSTS, TOPIC_COUNTS = range(13, 18)
"""Books, and by topic 1 where it counts, 2 where not, 0 where nobody has said so."""
BUCKET, LONGEST_VALUE = 18, 19
NAMES, NAME_COUNT, FOUND = 20, 21, 22
"""Properties to find, and address and size of each one's value in the record at hand."""
TAG_AT, VALUE_AT, KEY_AT, ELSE_AT = range(23, 27)
"""Places of tag, value, key, and the property whose first word is the key otherwise among them; -1 where not asked."""
CUTS, CUT_COUNT, DIMS = 27, 28, 29
"""Dims of each cut, and the values of all dims of the record at hand."""
CELLS, CELL_ROOM, CELL_SLOTS, CELL_MASK, CELL_COUNT = range(30, 35)
SEEN, SEEN_BYTES = 35, 36
WANTS_HOST = 37
LETTERS = 38
"""The first letters of the names: bit `letter & 63` of each."""
BOARD = 39

NAME = 4
"""A name: its first eight bytes as a word, a mask of those it has, its address, its size; the separator is part."""
CUT_DIMS = 4
CUT = 1 + CUT_DIMS
"""A cut: number of dims, and which."""
TOPIC, QUEUE, TAG, KEY, HOST, SIZE, TIME, TIMES, VALUE = range(9)
"""Dims."""
CELL = 12
CELL_CUT, CELL_DIMS, MESSAGES, BYTES, BODIES, OLDEST, NEWEST, KEY_START, KEY_SIZE = 0, 1, 5, 6, 7, 8, 9, 10, 11


@njit(cache=True)
def find_properties(board: int, at: int, size: int) -> None:
    """Notes address and size of the value of every asked name, size 0 without one; of duplicates the last."""
    names, count, places, end = get(board, NAMES), get(board, NAME_COUNT), get(board, FOUND), get(board, LOG_END)
    letters = np.uint64(get(board, LETTERS))
    for place in range(count):
        put(places, 2 * place + 1, 0)
    last = at + size
    while at < last:
        stop = separator_from(at, last, end)
        if stop > at and letters >> np.uint64(byte(at) & 63) & np.uint64(1) != 0:
            first = short_word(at, stop - at, end)
            for place in range(count):
                name = names + place * NAME * 8
                length = get(name, 3)
                if (
                    first & np.uint64(get(name, 1)) == np.uint64(get(name, 0))
                    and stop - at > length
                    and (length <= 8 or is_same(at + 8, get(name, 2) + 8, length - 8))
                ):
                    put(places, 2 * place, at + length)
                    put(places, 2 * place + 1, stop - at - length)
        at = stop + 1


@njit(cache=True)
def first_word(at: int, size: int) -> int:
    """Counts the bytes before the first blank."""
    for i in range(size):
        if byte(at + i) == 32:
            return i
    return size


@njit(cache=True)
def key_of(board: int) -> tuple[int, int]:
    """Returns address and size of the key of the record at hand, size 0 without one."""
    places, place, other = get(board, FOUND), get(board, KEY_AT), get(board, ELSE_AT)
    size = get(places, 2 * place + 1)
    if size > 0 or other < 0:
        return get(places, 2 * place), size
    return get(places, 2 * other), first_word(get(places, 2 * other), get(places, 2 * other + 1))


@njit(cache=True)
def coded(board: int, book: int, place: int) -> int:
    """Numbers the value of a property; 0 without one."""
    places = get(board, FOUND)
    size = get(places, 2 * place + 1)
    if place == get(board, VALUE_AT) and place != get(board, TAG_AT):
        size = min(size, get(board, LONGEST_VALUE))
    return code_of(get(board, book), get(places, 2 * place), size, get(board, LOG_END)) if size > 0 else 0


@njit(cache=True)
def size_class(body: int) -> int:
    """Returns the power of two at or below a size; 0 for none."""
    power = 0 if body == 0 else 1
    while body > 1:
        body >>= 1
        power <<= 1
    return power


@njit(cache=True)
def fill_dims(board: int, at: int, both: int, body: int, time_ms: int) -> tuple[int, int]:
    """Notes the values of all dims of a record but the topic; returns address and size of its key."""
    dims, key, size = get(board, DIMS), 0, 0
    put(dims, QUEUE, i32(at + 12))
    put(dims, SIZE, size_class(body))
    put(dims, TIME, time_ms // get(board, BUCKET) * get(board, BUCKET))
    put(dims, TIMES, i32(at + 72 + both))
    if get(board, WANTS_HOST):
        wide = (i32(at + 36) >> 4) & 1
        put(dims, HOST, code_of(get(board, HOSTS), at + 48, 16 if wide else 4, get(board, LOG_END)))
    if get(board, NAME_COUNT):
        _, _, properties, length = texts_of(at, both, body)
        find_properties(board, properties, length)
        if get(board, TAG_AT) >= 0:
            put(dims, TAG, coded(board, TAGS, get(board, TAG_AT)))
        if get(board, VALUE_AT) >= 0:
            put(dims, VALUE, coded(board, VALUES, get(board, VALUE_AT)))
        if get(board, KEY_AT) >= 0:
            key, size = key_of(board)
            digest = np.int64(digest_of(key, size, get(board, LOG_END))) if size > 0 else 0
            put(dims, KEY, digest if digest != 0 or size == 0 else 1)
    return key, size


@njit(cache=True)
def cell_of(board: int, cut: int) -> int:
    """Finds the address of a cut's cell for the dims of the record at hand, or makes one."""
    cells, slots, dims = get(board, CELLS), get(board, CELL_SLOTS), get(board, DIMS)
    spec = get(board, CUTS) + cut * CUT * 8
    count = get(spec, 0)
    mixed = np.uint64(cut + 1)
    for i in range(count):
        mixed = (mixed ^ np.uint64(get(dims, get(spec, 1 + i)))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed >> np.uint64(8)) & get(board, CELL_MASK)
    while get(slots, slot) != 0:
        cell = cells + (get(slots, slot) - 1) * CELL * 8
        same = get(cell, CELL_CUT) == cut
        for i in range(count):
            same = same and get(cell, CELL_DIMS + i) == get(dims, get(spec, 1 + i))
        if same:
            return cell
        slot = (slot + 1) & get(board, CELL_MASK)
    row = get(board, CELL_COUNT)
    put(board, CELL_COUNT, row + 1)
    put(slots, slot, row + 1)
    cell = cells + row * CELL * 8
    put(cell, CELL_CUT, cut)
    for i in range(count):
        put(cell, CELL_DIMS + i, get(dims, get(spec, 1 + i)))
    put(cell, OLDEST, FAR)
    put(cell, NEWEST, -FAR)
    return cell


@njit(cache=True)
def renew_cells(board: int) -> None:
    """Fills a new hash table (zeros) with the cells there are."""
    cells, slots = get(board, CELLS), get(board, CELL_SLOTS)
    for row in range(get(board, CELL_COUNT)):
        cell = cells + row * CELL * 8
        cut = get(cell, CELL_CUT)
        mixed = np.uint64(cut + 1)
        for i in range(get(get(board, CUTS) + cut * CUT * 8, 0)):
            mixed = (mixed ^ np.uint64(get(cell, CELL_DIMS + i))) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64(mixed >> np.uint64(8)) & get(board, CELL_MASK)
        while get(slots, slot) != 0:
            slot = (slot + 1) & get(board, CELL_MASK)
        put(slots, slot, row + 1)


@njit(cache=True)
def counts_at(board: int, at: int, time_ms: int, physical: int) -> bool:
    """Tells whether the record at an address lies in the ranges asked for."""
    offset = i64(at + 20)
    if (
        time_ms < get(board, SINCE)
        or time_ms >= get(board, UNTIL)
        or offset < get(board, QUEUE_LOW)
        or offset >= get(board, QUEUE_HIGH)
        or physical < get(board, PHYSICAL_LOW)
        or physical >= get(board, PHYSICAL_HIGH)
    ):
        return False
    count, queue = get(board, QUEUE_ID_COUNT), i32(at + 12)
    for i in range(count):
        if get(get(board, QUEUE_IDS), i) == queue:
            return True
    return count == 0


@njit(cache=True)
def add(board: int, sizes: tuple[int, int], time_ms: int, key: tuple[int, int]) -> None:
    """Adds the record at hand to every cut: its size and its body's, its store time, address and size of its key."""
    total, body = sizes
    for cut in range(get(board, CUT_COUNT)):
        cell = cell_of(board, cut)
        if get(cell, MESSAGES) == 0:
            put(cell, KEY_START, key[0] - get(board, LOG))
            put(cell, KEY_SIZE, key[1])
        put(cell, MESSAGES, get(cell, MESSAGES) + 1)
        put(cell, BYTES, get(cell, BYTES) + total)
        put(cell, BODIES, get(cell, BODIES) + body)
        put(cell, OLDEST, min(get(cell, OLDEST), time_ms))
        put(cell, NEWEST, max(get(cell, NEWEST), time_ms))


@njit(cache=True)
def room_left(board: int) -> int:
    """Tells for how many records there is room in every table."""
    left = (get(board, CELL_ROOM) - get(board, CELL_COUNT)) // max(1, get(board, CUT_COUNT))
    for book in range(TOPICS, HOSTS + 1):
        left = min(left, room_in(get(board, book)))
    return left


@njit(cache=True, nogil=True)
def count_file(board: int) -> int:
    """Counts records from AT on until none stands there; to be called again after GROW and NEW_TOPIC."""
    limit, start, end, verdicts = get(board, LIMIT), get(board, START), get(board, LOG_END), get(board, TOPIC_COUNTS)
    dims = get(board, DIMS)
    while True:
        room = room_left(board)
        if room <= 0:
            return GROW
        for _ in range(room):
            at = get(board, AT)
            physical = at - get(board, LOG) + start
            total, born, both, body = record_at(at, physical, limit)
            if total == 0:
                return STOPPED
            time_ms = i64(at + 56 + born)
            if counts_at(board, at, time_ms, physical):
                topic, size, _, _ = texts_of(at, both, body)
                code = code_of(get(board, TOPICS), topic, size, end)
                verdict = get(verdicts, code)
                if verdict == 0:
                    return NEW_TOPIC
                if verdict == 1:
                    put(dims, TOPIC, code)
                    key = fill_dims(board, at, both, body, time_ms)
                    add(board, (total, body), time_ms, key)
            put(board, SEEN, get(board, SEEN) + 1)
            put(board, SEEN_BYTES, get(board, SEEN_BYTES) + total)
            put(board, AT, at + total)
