"""Java's `String.hashCode`, on which tag codes, index files and selectors stand."""

from __future__ import annotations

import sys
from array import array

_SIGN = 0x80000000


def java_string_hash(text: str) -> int:
    """Returns `String.hashCode()` of `text` as a signed 32-bit int.

    The hash runs over UTF-16 code units, so characters beyond the basic plane count as two.
    """
    value = 0
    if text.isascii():
        for byte in text.encode("ascii"):
            value = (31 * value + byte) & 0xFFFFFFFF
    else:
        codec = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
        units = array("H", text.encode(codec, "surrogatepass"))
        for unit in units:
            value = (31 * value + unit) & 0xFFFFFFFF
    return value - 0x100000000 if value & _SIGN else value
