"""Text to number for what others wrote: names of files, properties, settings, words of servers, command lines.

`int` takes blanks, underscores, signs and digits of any script, raises at 4,301 digits, and knows no bounds; here is
the one door with a range.
"""

from __future__ import annotations

MOST_INT32 = (1 << 31) - 1
MOST_INT64 = (1 << 63) - 1
_MOST_DIGITS = 19
"""Those of a 64-bit number; zeros before them count."""


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
