"""Java's `String.hashCode`, on which tag codes, index files and selectors stand."""

from __future__ import annotations

import sys
from array import array
from functools import lru_cache

_SIGN = 0x80000000
_DIGITS = b"0123456789abcdefghijklmnopqrstu"
_HIGH_DIGIT = bytes(_DIGITS[byte >> 4] for byte in range(256))
_LOW_DIGIT = bytes(_DIGITS[byte & 15] for byte in range(256))
_PIECE = 256
_SHORT = 8


def _ascii_hash(data: bytes) -> int:
    """Hashes bytes below 128, as an unsigned number.

    The hash is the text read as a number of base 31 whose digits are character codes. `int` reads such numbers in one
    go when digits are below 31, so each code is split into its halves of four bits.
    """
    value = _number(data[:_PIECE])
    for start in range(_PIECE, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        value = (value * 31 ** len(piece) + _number(piece)) & 0xFFFFFFFF
    return value


def _number(piece: bytes) -> int:
    return (int(piece.translate(_HIGH_DIGIT), 31) * 16 + int(piece.translate(_LOW_DIGIT), 31)) & 0xFFFFFFFF


def java_string_hash(text: str) -> int:
    """Returns `String.hashCode()` of `text` as a signed 32-bit int.

    The hash runs over UTF-16 code units, so characters beyond the basic plane count as two.
    """
    value = 0
    if text.isascii():
        data = text.encode("ascii")
        if len(data) > _SHORT:
            value = _ascii_hash(data)
        else:
            for byte in data:
                value = 31 * value + byte
            value &= 0xFFFFFFFF
    else:
        codec = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
        units = array("H", text.encode(codec, "surrogatepass"))
        for unit in units:
            value = (31 * value + unit) & 0xFFFFFFFF
    return value - 0x100000000 if value & _SIGN else value


@lru_cache(maxsize=256)  # the messages of a batch share its key
def key_hash(topic: str, key: str) -> int:
    """Hash under which `key` of `topic` is indexed: the absolute Java hash of `topic#key`, 0 where that overflows."""
    value = abs(java_string_hash(f"{topic}#{key}"))
    return 0 if value == 1 << 31 else value
