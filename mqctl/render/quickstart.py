"""What the findings of the quickstart mean, in a sentence each: only what was found is told."""

from __future__ import annotations

from collections.abc import Iterable

_MEANS = (
    ("MQ203", "settlement loses messages: its two instances want different tags, and each queue has one owner."),
    ("MQ307", "billing stands still: its threads hold messages and finish none."),
    ("MQ301", "one account makes most trades, and a key has one queue: more instances would not help matching."),
    ("MQ707", "reminders are overdue: a broker of room CP has stopped to deliver delayed messages."),
    ("MQ401", "billing and matching are behind, by count and by time: that is what they suffer from, not the cause."),
)
HEALTHY = "notify is healthy, so nothing is said about it."


def meanings(codes: Iterable[str]) -> list[str]:
    """Returns what the findings with these codes mean, causes first."""
    found = set(codes)
    return [text for code, text in _MEANS if code in found]
