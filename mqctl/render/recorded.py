"""What a recording covers, in words: from when to when, and where nobody looked."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.past import RecordedPast, RecordingGap
from mqctl.render.event_words import not_recorded
from mqctl.text import printable, sentence

_GAPS_NAMED = 3


def recorded_lines(past: RecordedPast) -> Iterator[str]:
    """Yields how far back a recording goes, and its longest gaps."""
    yield sentence(
        "recorded-since",
        "recorded in {place} since {time_ms} ({span_ms} before that moment)",
        place=printable(past.recording),
        time_ms=past.begin_ms,
        span_ms=past.until_ms - past.begin_ms,
    )
    longest = sorted(past.gaps, key=lambda gap: gap.since_ms - gap.until_ms)[:_GAPS_NAMED]
    for gap in sorted(longest, key=lambda gap: gap.since_ms):
        yield _gap_line(gap)
    if more := len(past.gaps) - len(longest):
        yield sentence("recorded-gaps-more", "and {count:,} shorter gaps (-o json for all)", count=more)


def _gap_line(gap: RecordingGap) -> str:
    return sentence(
        "recorded-gap",
        "not recorded from {since_time_ms} to {until_time_ms} ({span_ms}): {why}",
        since_time_ms=gap.since_ms,
        until_time_ms=gap.until_ms,
        span_ms=gap.until_ms - gap.since_ms,
        why=not_recorded(gap.kind, gap.reason),
    )
