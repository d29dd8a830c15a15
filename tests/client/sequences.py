"""Whether a queue was heard in order: the only disorder allowed is to go back, and then hear all that follows again."""

from __future__ import annotations

from collections.abc import Sequence


def replayed(offsets: Sequence[int]) -> int:
    """Returns how many offsets were heard again. One who goes back may be interrupted, and go back once more.

    Raises:
        AssertionError: something was overtaken or left out.
    """
    again, highest, before = 0, -1, None
    for place, offset in enumerate(offsets):
        if before is not None and offset > before + 1:
            raise AssertionError(f"{offset} came after {before}: {offsets[max(0, place - 5) : place + 1]}")
        again += offset <= highest
        highest, before = max(highest, offset), offset
    return again
