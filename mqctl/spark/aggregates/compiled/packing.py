"""Walking a commit log file record by record and packing a track of each message with a key (`aggregates.tracks`).

The functions share a board: that of `counting`, with more places behind it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mqctl.spark.aggregates.compiled import counting as c
from mqctl.spark.aggregates.compiled.books import code_of, room_in
from mqctl.spark.aggregates.compiled.counting import counts_at, find_properties, key_of
from mqctl.store.compiled.reading import byte, digest_of, get, i32, i64, put, record_at, soon_written, texts_of
from mqctl.store.texts import LONGEST_HASHED

FULL, ODD_FULL = 3, 4
"""Why `pack_file` came back, besides the reasons of `counting`: the cell FULL_CELL must be taken away; the table of odd
keys is full."""

# Places on the board.
UNIQUE_AT, FIRST_MARK = c.BOARD, c.BOARD + 1
"""Place of the unique key among the properties, -1 where not asked; and of the first that marks mqctl's messages."""
SALTS = c.BOARD + 2
"""By topic the digest of its name."""
BUCKETS, TRACKS, TRACK_COUNTS, TRACK_ROOM, FULL_CELL = range(c.BOARD + 3, c.BOARD + 8)
"""How many buckets each kind of key has, and by cell (a bucket of one kind, those of the first kind first) where its
tracks begin and how many there are; how many fit; the cell that is full."""
ODD, ODD_COUNT, ODD_ROOM = range(c.BOARD + 8, c.BOARD + 11)
"""Tracks whose key must be decoded to be hashed: cell, row, address and size of the key."""
OWN_COUNT, LONG_CELLS = c.BOARD + 11, c.BOARD + 12
"""How many messages mqctl itself sent, and how many cells have long tracks: the first ones."""
BOARD = c.BOARD + 13

LONG_WORDS, SHORT_WORDS, ODD_WORDS = 6, 4, 4
NOWHERE, NO_ROOM = -1, -2
_MIX = np.uint64(0xA0761D6478BD642F)
_LONGEST_HASHED = LONGEST_HASHED
_LOW = 0xFFFFFFFF


@njit(cache=True)
def java_hash(at: int, size: int) -> int:
    """Returns the 32 bits of Java's hash of an ASCII string without sign; -1 where it must be decoded."""
    if size > _LONGEST_HASHED:
        return -1
    value = done = high = 0
    while done + 4 <= size:  # four letters at once: one after the other each waits for the one before
        a, b, c, d = byte(at + done), byte(at + done + 1), byte(at + done + 2), byte(at + done + 3)
        high |= a | b | c | d
        value = (value * 923_521 + (a * 29_791 + b * 961 + c * 31 + d)) & _LOW
        done += 4
    while done < size:
        high |= byte(at + done)
        value = (value * 31 + byte(at + done)) & _LOW
        done += 1
    return value if high < 0x80 else -1


@njit(cache=True)
def track_digest(board: int, topic: int, at: int, size: int) -> np.uint64:
    """Digests a key of a topic."""
    salt = np.uint64(get(get(board, SALTS), topic))
    return (digest_of(at, size, get(board, c.LOG_END)) ^ salt) * _MIX


@njit(cache=True)
def cell_for(board: int, kind: int, digest: np.uint64) -> int:
    """Finds the cell of a digest; NO_ROOM where it is full."""
    buckets = get(board, BUCKETS)
    cell = kind * buckets + np.int64(((digest >> np.uint64(32)) * np.uint64(buckets)) >> np.uint64(32))
    if get(get(board, TRACK_COUNTS), cell) < get(board, TRACK_ROOM):
        return cell
    put(board, FULL_CELL, cell)
    return NO_ROOM


@njit(cache=True)
def hash_of(board: int, place: tuple[int, int], key: tuple[int, int]) -> int:
    """Hashes the key of a track in a cell's row; 0 where that must wait until it is decoded."""
    hashed = java_hash(key[0], key[1])
    if hashed >= 0:
        return hashed
    odd = get(board, ODD) + get(board, ODD_COUNT) * ODD_WORDS * 8
    put(board, ODD_COUNT, get(board, ODD_COUNT) + 1)
    put(odd, 0, place[0])
    put(odd, 1, place[1])
    put(odd, 2, key[0])
    put(odd, 3, key[1])
    return 0


@njit(cache=True)
def add_track(board: int, at: int, place: tuple[int, np.uint64], codes: int, key: tuple[int, int]) -> None:
    """Packs the record at an address: cell and digest, codes of topic and host in one, address and size of its key."""
    cell, digest = place
    counts = get(board, TRACK_COUNTS)
    row = get(counts, cell)
    put(counts, cell, row + 1)
    wide, is_long = 12 * ((i32(at + 36) >> 4) & 1), cell < get(board, LONG_CELLS)
    words = LONG_WORDS if is_long else SHORT_WORDS
    track = get(get(board, TRACKS), cell) + row * words * 8
    soon_written(track + (2 * words - 1) * 8)  # of the next one: buckets are met at random, each would wait
    put(track, 0, np.int64(digest))
    put(track, 1, i64(at + 56 + wide))
    put(track, 2, i64(at + 28))
    put(track, 3, codes)
    if is_long:
        put(track, 4, i64(at + 40))
        put(track, 5, hash_of(board, (cell, row), key) | (i32(at + 12) & _LOW) << 32)


@njit(cache=True)
def pack_record(board: int, at: int, topic: int, both: int, body: int) -> bool:
    """Packs the tracks of a record, or counts it as one that mqctl sent; False where a bucket has no room."""
    _, _, properties, length = texts_of(at, both, body)
    find_properties(board, properties, length)
    places = get(board, c.FOUND)
    for place in range(get(board, FIRST_MARK), get(board, c.NAME_COUNT)):
        if get(places, 2 * place + 1) > 0:
            put(board, OWN_COUNT, get(board, OWN_COUNT) + 1)
            return True
    key = key_of(board)
    cell, digest = NOWHERE, np.uint64(0)
    if key[1] > 0:
        digest = track_digest(board, topic, key[0], key[1])
        cell = cell_for(board, 0, digest)
    unique, other_cell, other_digest = get(board, UNIQUE_AT), NOWHERE, np.uint64(0)
    other = (0, 0)
    if unique >= 0 and get(places, 2 * unique + 1) > 0:
        other = (get(places, 2 * unique), get(places, 2 * unique + 1))
        other_digest = track_digest(board, topic, other[0], other[1])
        other_cell = cell_for(board, 1, other_digest)
    if min(cell, other_cell) == NO_ROOM:
        return False
    wide = (i32(at + 36) >> 4) & 1
    host = code_of(get(board, c.HOSTS), at + 48, 16 if wide else 4, get(board, c.LOG_END))
    codes = (topic - 1) | (host - 1) << 32
    if cell != NOWHERE:
        add_track(board, at, (cell, digest), codes, key)
    if other_cell != NOWHERE:
        add_track(board, at, (other_cell, other_digest), codes, other)
    return True


@njit(cache=True, nogil=True)
def pack_file(board: int) -> int:
    """Packs records from AT on until none stands there; to be called again after FULL, GROW and NEW_TOPIC."""
    limit, start, end = get(board, c.LIMIT), get(board, c.START), get(board, c.LOG_END)
    while True:
        room = min(room_in(get(board, c.TOPICS)), room_in(get(board, c.HOSTS)))
        if room <= 0:
            return c.GROW
        room = min(room, get(board, ODD_ROOM) - get(board, ODD_COUNT))
        if room <= 0:
            return ODD_FULL
        for _ in range(room):
            at = get(board, c.AT)
            physical = at - get(board, c.LOG) + start
            total, born, both, body = record_at(at, physical, limit)
            if total == 0:
                return c.STOPPED
            if counts_at(board, at, i64(at + 56 + born), physical):
                name, size, _, _ = texts_of(at, both, body)
                topic = code_of(get(board, c.TOPICS), name, size, end)
                verdict = get(get(board, c.TOPIC_COUNTS), topic)
                if verdict == 0:
                    return c.NEW_TOPIC
                if verdict == 1 and not pack_record(board, at, topic, both, body):
                    return FULL
            put(board, c.SEEN, get(board, c.SEEN) + 1)
            put(board, c.SEEN_BYTES, get(board, c.SEEN_BYTES) + total)
            put(board, c.AT, at + total)
