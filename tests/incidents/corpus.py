"""Sixty incidents that users reported in public, and what names their cause."""

from __future__ import annotations

from collections import Counter

from tests.incidents import brokers, consumers, offsets, replication, routing
from tests.incidents.incident import Incident

INCIDENTS: tuple[Incident, ...] = tuple(
    sorted(
        (*consumers.INCIDENTS, *routing.INCIDENTS, *offsets.INCIDENTS, *brokers.INCIDENTS, *replication.INCIDENTS),
        key=lambda incident: incident.number,
    )
)


def total() -> str:
    """Says the score in one sentence."""
    counts = Counter(incident.score for incident in INCIDENTS)
    return (
        f"Of {len(INCIDENTS)} incidents that users reported in public, a rule names {counts['named']} as its first or "
        f"second finding, a command shows the evidence of {counts['shown']} more, and {counts['open']} wait for roles "
        f"that are not built."
    )


def table() -> str:
    """Writes the score by row, as a table of Markdown."""
    rows = ["| # | incident | score | by | what cannot be seen from outside |", "|---|---|---|---|---|"]
    for item in INCIDENTS:
        place, _, number = item.thread.partition("#")
        by = item.code or (f"`{item.shown_by}`" if item.shown_by else item.waits_for)
        link = f"[{item.thread}](https://github.com/{place}/issues/{number})"
        rows.append(f"| {item.number} | {item.story} ({link}) | {item.score} | {by} | {item.unseen} |")
    return "\n".join(rows)
