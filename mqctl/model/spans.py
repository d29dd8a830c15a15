"""Spans of time, in milliseconds, and how people write them."""

from __future__ import annotations

import re

SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS = 1_000, 60_000, 3_600_000, 86_400_000
UNIT_MS = {"ms": 1, "s": SECOND_MS, "m": MINUTE_MS, "min": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
FAR = 1 << 62
"""No instant, length or offset gets there; nor below its negative."""
_PART = re.compile(r"([0-9]{1,400}(?:\.[0-9]{1,15})?)(ms|s|min|m|h|d)")


def span_ms(text: str) -> float | None:
    """Reads a span such as `90s`, `1h30m` or `500ms`; None for anything else."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * UNIT_MS[unit] for number, unit in parts)
