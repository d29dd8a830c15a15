"""One pass over the records of a commit log file: their headers as columns, and every check that reads their bytes.

The numpy twin is `mqctl.store.log_rows`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mqctl.store import layouts as lay
from mqctl.store.compiled.reading import (
    byte,
    digest_of,
    i32,
    i64,
    record_at,
    separator_from,
    texts_of,
    word,
)
from mqctl.store.texts import LONGEST_HASHED

_U = np.uint64
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_MASK = np.uint64(0xFFFFFFFF)
_BYTE = np.uint64(0xFF)
_CRC_MASK = lay.CRC_MASK
_HEADER_BYTES = lay.HEADER_BYTES
_LONGEST_HASHED = LONGEST_HASHED
_TAGS = np.uint64(int.from_bytes(b"TAGS\x01", "little"))
_TAGS_MASK = np.uint64((1 << 40) - 1)
_UNIQUE = np.uint64(int.from_bytes(b"UNIQ_KEY", "little"))
_TAGS_BYTES, _UNIQUE_BYTES = 5, 9

BAD_CRC, ODD_TEXT, ODD_TAGS = 1, 2, 4
"""What `flags` tells of a record: its body's sum is another, its texts are not plain ASCII, nor are its tags."""


def _crc_tables() -> NDArray[np.uint64]:
    """The tables of CRC-32 for sixteen bytes at a time, one behind the other."""
    first = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        first = np.where(first & _U(1), (first >> _U(1)) ^ _U(0xEDB88320), first >> _U(1))
    tables = [first]
    for _ in range(15):
        tables.append(first[(tables[-1] & _BYTE).astype(np.int64)] ^ (tables[-1] >> _U(8)))
    return np.concatenate(tables)


CRC_TABLES = _crc_tables().astype(np.uint32)


@njit(cache=True)
def crc32(at: int, size: int, tables: Any) -> np.uint64:
    """Sums up `size` bytes as `zlib.crc32` does."""
    crc, stop = _MASK, at + size
    while at + 16 <= stop:
        low, high = word(at) ^ crc, word(at + 8)
        left, right = _U(0), _U(0)
        for i in range(8):
            left ^= _U(tables[(15 - i) * 256 + ((low >> _U(8 * i)) & _BYTE)])
            right ^= _U(tables[(7 - i) * 256 + ((high >> _U(8 * i)) & _BYTE)])
        crc = left ^ right
        at += 16
    while at < stop:
        crc = _U(tables[(crc ^ _U(byte(at))) & _BYTE]) ^ (crc >> _U(8))
        at += 1
    return crc ^ _MASK


@njit(cache=True)
def is_plain(at: int, size: int, end: int) -> bool:
    """Tells whether a text is ASCII without NUL."""
    stop = at + size
    while at + 8 <= stop:
        eight = word(at)
        if (eight | (eight - _LOW_BITS)) & _HIGH_BITS:
            return False
        at += 8
    if at < stop and at + 8 <= end:
        mine = (_U(1) << _U(8 * (stop - at))) - _U(1)
        eight = (word(at) & mine) | (_LOW_BITS & ~mine)
        return not (eight | (eight - _LOW_BITS)) & _HIGH_BITS
    while at < stop:
        if not 0 < byte(at) < 0x80:
            return False
        at += 1
    return True


@njit(cache=True)
def hash_from(seed: int, at: int, size: int) -> int:
    """Continues Java's string hash over ASCII bytes, as a number of 32 bits with a sign."""
    value = seed
    for i in range(size):
        value = (value * 31 + byte(at + i)) & 0xFFFFFFFF
    return value - 0x100000000 if value >= 0x80000000 else value


@njit(cache=True)
def tags_and_unique_key(at: int, size: int, end: int) -> tuple[int, int, int, int]:
    """Finds the values of TAGS and UNIQ_KEY: address and size of each, (0, 0) without; of duplicates the last."""
    tags = tags_size = unique = unique_size = 0
    last = at + size
    while at < last:
        stop = separator_from(at, last, end)
        if stop - at > _TAGS_BYTES and at + 8 <= end:
            eight = word(at)
            if eight & _TAGS_MASK == _TAGS:
                tags, tags_size = at + _TAGS_BYTES, stop - at - _TAGS_BYTES
            elif eight == _UNIQUE and stop - at > _UNIQUE_BYTES and byte(at + 8) == 1:
                unique, unique_size = at + _UNIQUE_BYTES, stop - at - _UNIQUE_BYTES
        elif stop - at > _TAGS_BYTES:  # the last bytes of a file: too few for a word, too few for a unique key
            name = _U(0)
            for i in range(_TAGS_BYTES):
                name |= _U(byte(at + i)) << _U(8 * i)
            if name == _TAGS:
                tags, tags_size = at + _TAGS_BYTES, stop - at - _TAGS_BYTES
        at = stop + 1
    return tags, tags_size, unique, unique_size


@njit(cache=True)
def _slot_of(book: Any, seen: int, at: int, size: int, end: int) -> tuple[int, int]:
    """Finds a topic in the book, or enters it; returns its slot, and how many topics the book now holds."""
    mask = len(book) - 1
    digest = np.int64(digest_of(at, size, end))
    slot = int(digest) & mask
    while book[slot, 1] and book[slot, 0] != digest:
        slot = (slot + 1) & mask
    if not book[slot, 1]:
        seen += 1
        book[slot, 0], book[slot, 1] = digest, seen
        book[slot, 2] = hash_from(hash_from(0, at, size) * 31 + 35, 0, 0)
    return slot, seen


@njit(cache=True)
def check_records(  # noqa: PLR0917 - plain numbers and arrays, by position, are what numba passes on at no cost
    at: int, physical: int, limit: int, end: int, tables: Any, book: Any, seen: int, index: int, table: Any, flags: Any
) -> tuple[int, int]:  # fmt: skip
    """Takes records from address `at` on until one is not acceptable, the table is full or the book of topics is.

    Args:
        physical: physical offset of what stands at `at`.
        limit: address behind which no record may reach.
        end: address behind the last byte that may be touched.
        tables: of `crc32`.
        book: topics so far, an open hash table of (digest, number + 1 or 0 for none, hash of "topic#").
        seen: how many the book holds; new ones get the numbers from there on, in order of appearance.
        index: whether to find the index hash of the unique keys, too: 1 or 0.
        table: one row for each of `log_window.COLUMNS`; positions and file numbers are left to the caller.

    Returns the number of records taken, and that of the topics now in the book.
    """
    begin, row = at, 0
    while row < table.shape[1] and 2 * seen < len(book):
        size, born, both, body = record_at(at, physical + at - begin, limit)
        if size == 0:
            break
        topic_at, topic_size, start, length = texts_of(at, both, body)
        flag = 0
        if (crc32(at + _HEADER_BYTES + both, body, tables) & _U(_CRC_MASK)) != _U(i32(at + 8)):
            flag |= BAD_CRC
        if not (is_plain(topic_at, topic_size, end) and is_plain(start, length, end)):
            flag |= ODD_TEXT
        slot, seen = _slot_of(book, seen, topic_at, topic_size, end)
        tags, tags_size, unique, unique_size = tags_and_unique_key(start, length, end)
        if tags_size > _LONGEST_HASHED or (flag & ODD_TEXT and tags_size):
            flag |= ODD_TAGS
        store_time = i64(at + 56 + born)
        table[0, row] = physical + at - begin
        table[2, row] = size
        table[3, row] = i32(at + 12)
        table[4, row] = i64(at + 20)
        table[5, row] = store_time
        table[6, row] = i32(at + 36)
        table[7, row] = book[slot, 1] - 1
        table[8, row] = hash_from(0, tags, tags_size) if tags_size <= _LONGEST_HASHED else 0
        host = i64(at + 64 + born)
        if both != born:
            host ^= i32(at + 80 + born)
        table[9, row] = host
        table[10, row] = i64(at + 40) - store_time
        table[11, row] = -1
        if index and unique_size and unique_size <= _LONGEST_HASHED:
            table[11, row] = abs(hash_from(book[slot, 2], unique, unique_size)) & 0x7FFFFFFF
        flags[row] = flag
        at += size
        row += 1
    return row, seen
