"""All that happened between two moments of a recording, in order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from mqctl.model.finding import Severity
from mqctl.model.past import RecordingGap, RecordingGapKind
from mqctl.model.timeline import EventKind, TimelineEvent
from mqctl.recording.history import gaps_of
from mqctl.recording.kinds import LookOutcome
from mqctl.recording.reader import Recording
from mqctl.recording.timeline.backlogs import offset_events
from mqctl.recording.timeline.facts import fact_events
from mqctl.recording.timeline.offsets import OffsetsOverTime, offsets_over_time
from mqctl.recording.timeline.presence import MembersOverTime, broker_events, members_over_time, owner_events
from mqctl.recording.timeline.question import LookSpan, TimelineQuestion, stretch_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What happened, and the figures that show it."""

    stretch: LookSpan
    events: list[TimelineEvent]
    gaps: list[RecordingGap]
    offsets: OffsetsOverTime
    members: MembersOverTime


def timeline_of(recording: Recording, question: TimelineQuestion) -> Timeline:
    """Compares the looks of a stretch.

    Raises:
        NotFoundError: nobody recorded then.
    """
    stretch = stretch_of(recording, question)
    offsets = offsets_over_time(recording, question, stretch)
    members = members_over_time(recording, question, stretch)
    gaps = [gap for gap in gaps_of(recording.looks) if _within(gap, question)]
    counts = {group: list(zip(*own, strict=True)) for group, own in members.counts.items()}

    def member_count(group: str, moment_ms: int) -> int | None:
        moments, sizes = counts.get(group, ((), ()))
        place = bisect_right(moments, moment_ms)
        return int(sizes[place - 1]) if place else 0

    events = [
        *offset_events(offsets, question, stretch, member_count),
        *members.events,
        *owner_events(recording, question, stretch),
        *fact_events(recording, question, stretch),
        *broker_events(recording, question, stretch),
        *map(_gap_event, gaps),
        *_unanswered_end(stretch),
        *_clock_events(stretch),
    ]
    return Timeline(
        stretch=stretch,
        events=sorted(events, key=lambda event: (event.moment_ms, -event.severity.rank)),
        gaps=gaps,
        offsets=offsets,
        members=members,
    )


def _within(gap: RecordingGap, question: TimelineQuestion) -> bool:
    return gap.until_ms >= question.since_ms and gap.since_ms <= question.until_ms


def _gap_event(gap: RecordingGap) -> TimelineEvent:
    return TimelineEvent(
        moment_ms=gap.since_ms,
        until_ms=gap.until_ms,
        kind=EventKind.NOT_RECORDED,
        severity=Severity.INFO if gap.kind is RecordingGapKind.STOPPED else Severity.WARNING,
        gap=gap.kind,
        reason=gap.reason,
    )


def _unanswered_end(stretch: LookSpan) -> Iterator[TimelineEvent]:
    """Yields what the stretch ends with where nobody answered any more."""
    last_ms = stretch.answered[-1]
    failed = [look for look in stretch.looks if look.moment_ms > last_ms and look.outcome is LookOutcome.FAILED]
    if failed:
        yield TimelineEvent(
            moment_ms=last_ms,
            kind=EventKind.NOT_RECORDED,
            severity=Severity.ERROR,
            gap=RecordingGapKind.UNANSWERED,
            reason=failed[0].reason,
        )


def _clock_events(stretch: LookSpan) -> Iterator[TimelineEvent]:
    for look in stretch.looks:
        if look.clock_jump_ms:
            yield TimelineEvent(
                moment_ms=look.moment_ms,
                kind=EventKind.CLOCK_JUMPED,
                severity=Severity.WARNING,
                jump_ms=look.clock_jump_ms,
            )
