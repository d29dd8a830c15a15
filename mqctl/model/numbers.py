"""Text to number for what others wrote: names of files, properties, settings, words of servers, command lines.

`int` takes blanks, underscores, signs and digits of any script, raises at 4,301 digits, and knows no bounds; here is
the one door with a range.
"""

from __future__ import annotations

import re

MOST_INT32 = (1 << 31) - 1
MOST_INT64 = (1 << 63) - 1
_MOST_DIGITS = 20
"""Those of the name of a store's file, one more than a 64-bit number has; zeros before a number count."""


def decimal(text: str | bytes | None, low: int = 0, high: int = MOST_INT64) -> int | None:
    """Returns the number that ASCII digits write, with a minus sign where `low` is negative.

    None when it is missing, written otherwise, longer than any 64-bit number, or not in `low` to `high`.
    """
    if text is None or len(text) > _MOST_DIGITS + 1:
        return None
    digits = text[1:] if low < 0 and text[:1] in ("-", b"-") else text
    if not digits.isdigit() or not digits.isascii() or len(digits) > _MOST_DIGITS:
        return None
    number = int(text)
    return number if low <= number <= high else None


_HEX_DIGITS = re.compile(r"[0-9a-fA-F]{1,16}")


def hexadecimal(text: str | None) -> int | None:
    """Returns the number of at most 64 bits that hexadecimal digits write, `0x` before them or not; else None."""
    digits = text.removeprefix("0x") if text is not None else ""
    return int(digits, 16) if _HEX_DIGITS.fullmatch(digits) else None


_FRACTION = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,40})?")


def fraction(text: str | None, low: float = -float(MOST_INT64), high: float = float(MOST_INT64)) -> float | None:
    """Returns the number that ASCII digits write, with at most one point and a minus sign, blanks around it or not.

    None when it is missing, written otherwise (an exponent, `inf`, `nan`), too long, or not in `low` to `high`.
    """
    match = _FRACTION.fullmatch(text.strip()) if text is not None and len(text) < 80 else None
    if match is None:
        return None
    number = float(match[0])
    return number if low <= number <= high else None
