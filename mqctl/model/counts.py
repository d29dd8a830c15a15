"""Numbers with their nouns."""

from __future__ import annotations

from mqctl.text import sentence
from mqctl.units import Count


def counted(value: int, noun: str) -> str:
    """Returns a number with its noun: `1 message`, `2 messages`. Catalogues have one sentence for both."""
    return sentence(f"count-{noun.replace(' ', '-')}", f"{{count:{noun}}}", count=Count(value))
