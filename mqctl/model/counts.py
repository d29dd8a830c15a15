"""Numbers with their nouns."""

from __future__ import annotations

from mqctl.text import sentence


def counted(value: int, one: str, many: str = "") -> str:
    """Returns a number with its noun: `1 message`, `2 messages`. Catalogues have one sentence for both."""
    return sentence(
        f"count-{one.replace(' ', '-')}", f"{{count:,}} {one if value == 1 else many or one + 's'}", count=value
    )
