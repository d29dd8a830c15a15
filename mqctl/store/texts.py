"""Variable fields of many records at once: spans of named properties, and small alphabets such as topics and tags.

Nothing here loops per message in Python, except where text itself is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.kernel import CHUNK_RECORDS, Headers, Int32s, Int64s, gather, unaligned
from mqctl.store.layouts import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR
from mqctl.store.mapped_files import Buffer

_WORD = 8
_SMALLEST_ROW = 64
_WIDEST_PIECE = 256
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Spans:
    """Byte ranges in a buffer: `start` (int64, -1 where there is none) and `size` (int32, 0 there)."""

    start: Int64s
    size: Int32s

    @property
    def present(self) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.start >= 0
        return mask

    def texts(self, buffer: Buffer) -> list[str | None]:
        """Decodes every span (a Python loop: for rows that will be shown)."""
        view = buffer.data
        pairs = zip(self.start.tolist(), self.size.tolist(), strict=True)
        return [
            bytes(view[start : start + size]).decode("utf-8", "replace") if start >= 0 else None
            for start, size in pairs
        ]


def property_spans(buffer: Buffer, headers: Headers, names: Sequence[str]) -> dict[str, Spans]:
    """Finds the values of the properties `names` of every record, by the rules of `parse_properties`.

    Returns for every name one span a record. Records whose properties could not be located have none.
    """
    keys = [name.encode() for name in names]
    spans = {key: Spans(np.full(len(headers), -1, np.int64), np.zeros(len(headers), np.int32)) for key in keys}
    for begin in range(0, len(headers), CHUNK_RECORDS):
        rows = slice(begin, begin + CHUNK_RECORDS)
        starts, sizes = headers.properties_start[rows], headers.properties_size[rows]
        stride = _SMALLEST_ROW
        floor = 0
        largest = int(sizes.max(initial=0))
        while floor < largest:
            members = np.flatnonzero((sizes > floor) & (sizes <= stride - 2 * _WORD))
            if len(members):
                _search(buffer, starts[members], sizes[members], stride, rows=begin + members, spans=spans)
            floor, stride = stride - 2 * _WORD, stride * 2
    return dict(zip(names, spans.values(), strict=True))


def _search(
    buffer: Buffer, starts: Int64s, sizes: Int32s, stride: int, *, rows: Int64s, spans: dict[bytes, Spans]
) -> None:
    """Searches properties of at most `stride` - 16 bytes; each becomes a row of a matrix, behind separators.

    `stride` is a power of two.
    """
    begins = starts - _WORD
    if int(begins.max()) + stride <= len(buffer):
        window = np.ndarray((len(buffer) - stride + 1,), dtype=f"V{stride}", buffer=buffer, strides=(1,))
        matrix = window[begins].view(np.uint8).reshape(-1, stride)
    else:
        matrix = buffer.take(begins[:, None] + np.arange(stride), mode="clip")
    matrix[:, :_WORD] = PROPERTY_SEPARATOR
    flat = matrix.reshape(-1)
    flat[np.arange(len(rows)) * stride + _WORD + sizes] = PROPERTY_SEPARATOR
    marks = np.flatnonzero(flat == NAME_VALUE_SEPARATOR)
    before = unaligned(flat, "<u8")[marks - _WORD].astype(np.uint64)
    for key, span in spans.items():
        hits = marks[_named(flat, marks, before, key)]
        row = hits >> (stride.bit_length() - 1)
        column = (hits & (stride - 1)) - _WORD
        # Behind a row's properties are other bytes, in which nothing must be looked for: no separator may follow.
        inside = column < sizes[row]
        hits, row, column = hits[inside], row[inside], column[inside]
        length = _value_sizes(flat, hits + 1)
        good = np.flatnonzero(length > 0)
        row, value = row[good], column[good] + 1
        # Rows ascend, so of duplicates the later one is assigned last.
        span.start[rows[row]] = starts[row] + value
        span.size[rows[row]] = length[good]


def _named(flat: Buffer, marks: Int64s, before: NDArray[np.uint64], key: bytes) -> NDArray[np.bool_]:
    """Marks the 0x01s that are preceded by a separator and the whole of `key`."""
    pattern = bytes([PROPERTY_SEPARATOR]) + key
    last = pattern[-_WORD:]
    shift = np.uint64(8 * (_WORD - len(last)))
    good: NDArray[np.bool_] = (before >> shift) == np.uint64(int.from_bytes(last, "little"))
    for at in range(_WORD, len(pattern)):
        rows = np.flatnonzero(good)
        good[rows] = flat.take(marks[rows] - at - 1, mode="clip") == pattern[-at - 1]
    return good


def first_words(buffer: Buffer, spans: Spans) -> Spans:
    """Cuts each span at its first blank: the first of several KEYS. One that begins with a blank is left without."""
    size = spans.size.astype(np.int64)
    rows = np.flatnonzero(spans.present & (size > 0))
    at = 0
    while len(rows):
        last = spans.start[rows] + at + _WORD
        words = gather(buffer, "<u8", spans.start[rows] + at)
        near_end = np.flatnonzero(last > len(buffer))
        for row in near_end:  # at most a few records touch a file's end
            piece = bytes(buffer[spans.start[rows[row]] + at :][:_WORD])
            words[row] = int.from_bytes(piece.ljust(_WORD, b" "), "little")
        more, hit = _word_sizes(words, _BLANKS)
        cut = np.minimum(size[rows], at + more)
        done = hit | (cut >= size[rows])
        size[rows] = np.where(done, np.minimum(cut, size[rows]), size[rows])
        at += _WORD
        rows = rows[~done & (size[rows] > at)]
    return Spans(np.where(size > 0, spans.start, -1), np.where(spans.present, size, 0).astype(np.int32))


def odd_texts(buffer: Buffer, start: Int64s, size: Int32s) -> NDArray[np.bool_]:
    """Marks the texts that are not plain: those with a NUL or a byte that is not ASCII."""
    odd = np.zeros(len(start), dtype=bool)
    rows, at = np.flatnonzero(size > 0), 0
    while len(rows):
        # Spans of up to so many bytes are looked at whole; of longer ones a piece at a time.
        left = size[rows].astype(np.int64) - at
        width = min(_WIDEST_PIECE, 1 << int(min(int(left.max()), int(np.median(left)) * 2)).bit_length())
        spots = start[rows] + at
        if int(spots.max()) + width <= len(buffer):
            window = np.ndarray((len(buffer) - width + 1,), dtype=f"V{width}", buffer=buffer, strides=(1,))
            pieces = window[spots].view(np.int8).reshape(-1, width)
        else:
            pieces = buffer.take(spots[:, None] + np.arange(width), mode="clip").view(np.int8)
        marks = pieces <= 0
        first = marks.argmax(axis=1)
        odd[rows] |= marks[np.arange(len(rows)), first] & (first < left)
        at += width
        rows = rows[(left > width) & ~odd[rows]]
    return odd


def _value_sizes(flat: Buffer, start: Int64s) -> Int64s:
    """Counts the bytes from each position to the next 0x02, eight at a time; there is one before the buffer ends."""
    words = unaligned(flat, "<u8")
    sizes, hit = _word_sizes(words[start])
    rows = np.flatnonzero(~hit)
    at = _WORD
    while len(rows):
        more, hit = _word_sizes(words[start[rows] + at])
        sizes[rows] += more
        rows = rows[~hit]
        at += _WORD
    return sizes


_SEPARATORS = np.uint64(0x0202020202020202)
_BLANKS = np.uint64(0x2020202020202020)
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)


def _word_sizes(words: NDArray[np.uint64], separators: np.uint64 = _SEPARATORS) -> tuple[Int64s, NDArray[np.bool_]]:
    """For little-endian words: bytes before the first separator (8 without), and whether there is one."""
    # The separator becomes a zero byte; the lowest zero byte's highest bit survives.
    word = words ^ separators
    zero = word - _LOW_BITS
    np.bitwise_not(word, out=word)
    zero &= word
    zero &= _HIGH_BITS
    hit = zero != 0
    zero &= np.negative(zero)
    # The exponent of a power of two tells the bit: 7 of byte 0, 15 of byte 1, ...; 0 has a far smaller one.
    sizes = (zero.astype(np.float64).view(np.int64) >> 55) - 128
    sizes[~hit] = _WORD
    return sizes, hit


@dataclass(frozen=True, slots=True)
class Alphabet:
    """Texts by number: `codes` (int32, one a row, -1 for no text) index `names`."""

    codes: Int32s
    names: tuple[str, ...]


def factorize(buffer: Buffer, start: Int64s, size: Int32s) -> Alphabet:
    """Numbers the distinct byte strings in spans (start int64, size int32; start or size below 0 means none).

    Meant for few distinct values (topics, tags). Names come in order of first appearance.
    """
    present = np.flatnonzero((start >= 0) & (size >= 0) & (start + size <= len(buffer)))
    codes = np.full(len(start), -1, dtype=np.int32)
    if not len(present):
        return Alphabet(codes, ())
    digest = digests(buffer, start[present], size[present])
    known, first, inverse = _distinct(digest)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(known), dtype=np.int32)
    rank[order] = np.arange(len(known))
    codes[present] = rank[inverse]
    view = buffer.data
    names = []
    for row in present[first[order]]:
        begin = int(start[row])
        names.append(bytes(view[begin : begin + int(size[row])]).decode("utf-8", "replace"))
    return Alphabet(codes, tuple(names))


def digests(buffer: Buffer, start: Int64s, size: Int32s) -> NDArray[np.uint64]:
    """Digests byte strings in spans that lie within the buffer; equal strings have equal digests in every process.

    Of 100 million distinct strings two share a digest with a probability of 0.0003.
    """
    digest = size.astype(np.uint64)
    if len(buffer) < _WORD:
        buffer = np.concatenate([buffer, np.zeros(_WORD, np.uint8)])
    rows = np.arange(len(size))
    at = 0
    while len(rows):
        word = _word(buffer, start[rows], size[rows], at)
        mixed = (digest[rows] ^ word) * _MIX
        digest[rows] = mixed ^ (mixed >> np.uint64(29))
        at += _WORD
        # Only what goes on takes part: one long key does not make all others long, nor change their digests.
        rows = rows[size[rows] > at]
    return digest


def _distinct(digest: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Int64s, Int64s]:
    """`np.unique` with first rows and inverse, by looking up what a sample already shows before sorting the rest."""
    known = np.unique(digest[:: max(1, len(digest) // 512)])
    at = np.minimum(np.searchsorted(known, digest), len(known) - 1)
    missing = known[at] != digest
    if missing.any():
        known = np.union1d(known, digest[missing])
        at = np.searchsorted(known, digest)
    first = np.full(len(known), len(digest), dtype=np.int64)
    np.minimum.at(first, at[::-1], np.arange(len(digest) - 1, -1, -1))
    return known, first, at.astype(np.int64)


def _word(buffer: Buffer, start: Int64s, size: Int32s, at: int) -> NDArray[np.uint64]:
    """Reads bytes `at` to `at` + 8 of spans as little-endian words, zero behind their end."""
    left = np.clip(size.astype(np.int64) - at, 0, _WORD)
    position = start + at
    over = np.clip(position - (len(buffer) - _WORD), 0, _WORD)
    word = gather(buffer, "<u8", position) >> np.minimum(over * 8, 63).astype(np.uint64)
    word_of: NDArray[np.uint64] = np.where(over >= _WORD, np.uint64(0), word & _MASKS[left])
    return word_of


_MASKS = np.array([(1 << (8 * count)) - 1 for count in range(_WORD + 1)], dtype=np.uint64)


def topic_codes(buffer: Buffer, headers: Headers) -> Alphabet:
    """Numbers the topics of records."""
    return factorize(buffer, headers.topic_start, headers.topic_size)


LONGEST_HASHED = 256


def java_hashes(buffer: Buffer, start: Int64s, size: Int32s, seed: Int32s) -> tuple[Int32s, NDArray[np.bool_]]:
    """Continues Java's string hash from `seed` over ASCII spans.

    Returns the hashes (int32) and a mask of the rows for which they hold: spans that are present, ASCII and at most
    `LONGEST_HASHED` bytes long.
    """
    known = (start >= 0) & (size <= LONGEST_HASHED)
    value = seed.astype(np.uint32)
    rows = np.flatnonzero(known)
    for at in range(int(size[rows].max(initial=0))):
        rows = rows[size[rows] > at]
        byte = buffer.take(start[rows] + at, mode="clip")
        value[rows] = value[rows] * np.uint32(31) + byte
        known[rows[byte >= 0x80]] = False
    return value.astype(np.int32), known
