"""What a recording covers, in words: from when to when, and where nobody looked."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.lang import Lang
from mqctl.model.past import RecordedPast, RecordingGap
from mqctl.render import units
from mqctl.render.messages import phrase
from mqctl.render.text import printable

_GAPS_NAMED = 3


def recorded_lines(past: RecordedPast, lang: Lang | None) -> Iterator[str]:
    """Yields how far back a recording goes, and its longest gaps."""
    yield phrase("recorded_since", lang).format(
        place=printable(past.recording),
        time=units.instant(past.begin_ms),
        span=units.duration(past.until_ms - past.begin_ms),
    )
    longest = sorted(past.gaps, key=lambda gap: gap.since_ms - gap.until_ms)[:_GAPS_NAMED]
    for gap in sorted(longest, key=lambda gap: gap.since_ms):
        yield _gap_line(gap, lang)
    if more := len(past.gaps) - len(longest):
        yield phrase("recorded_gaps_more", lang).format(count=more)


def _gap_line(gap: RecordingGap, lang: Lang | None) -> str:
    why = phrase(f"recorded_gap_{gap.kind}", lang)
    if gap.reason:
        why = phrase("recorded_gap_why", lang).format(why=why, reason=printable(gap.reason))
    return phrase("recorded_gap", lang).format(
        since=units.instant(gap.since_ms),
        until=units.instant(gap.until_ms),
        span=units.duration(gap.until_ms - gap.since_ms),
        why=why,
    )
