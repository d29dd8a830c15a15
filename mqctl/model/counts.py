"""Numbers with their nouns."""

from __future__ import annotations


def counted(value: int, one: str, many: str = "") -> str:
    """Returns a number with its noun: `1 message`, `2 messages`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"
