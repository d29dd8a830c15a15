"""What the rules name as the cause of an event, judged at the moment of it; and who made it, by the journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mqctl.changes.engine.history import HistoryEntry
from mqctl.errors import NotFoundError
from mqctl.model.finding import Finding, Severity
from mqctl.model.lang import Lang
from mqctl.model.timeline import EventCause, EventKind, TimelineEvent
from mqctl.recording.past import with_looks_before
from mqctl.recording.reader import Recording
from mqctl.render.finding_texts import sentences
from mqctl.rules import Settings, diagnose
from mqctl.rules.engine.judging import SYMPTOMS

_WINDOW_MS = 120_000
_NEAR_MS = 300_000
_CAUSED = frozenset(
    {
        EventKind.BACKLOG_PEAKED,
        EventKind.BACKLOG_BEGAN,
        EventKind.OFFSET_STOPPED,
        EventKind.MEMBER_FLAPPED,
    }
)
_MOVED = frozenset({EventKind.OFFSET_WENT_BACK, EventKind.OFFSET_SKIPPED})
_SET = frozenset({EventKind.SETTING_CHANGED, EventKind.ROLE_CHANGED})


def with_causes(
    recording: Recording, events: Sequence[TimelineEvent], *, most: int, stopped_ms: int, lang: Lang | None
) -> tuple[list[TimelineEvent], int]:
    """Returns the events with what the rules say at the moments of the gravest of them.

    Args:
        most: moments that are judged.
        stopped_ms: how long after an offset stopped the rules are asked.

    Returns:
        the events, and how many grave ones were not judged.
    """
    moments: list[int] = []
    judged: dict[int, tuple[Finding, ...]] = {}
    wanted = {
        index: _judged_at(event, stopped_ms)
        for index, event in enumerate(events)
        if event.kind in _CAUSED and event.severity.rank >= Severity.WARNING.rank
    }
    graver = sorted(wanted, key=lambda index: (-events[index].severity.rank, -(events[index].message_count or 0)))
    for index in graver:
        moment_ms = wanted[index]
        if len(moments) < most and not any(abs(known - moment_ms) <= _NEAR_MS for known in moments):
            moments.append(moment_ms)
    result = list(events)
    left = 0
    for index in graver:
        near = [moment for moment in moments if abs(moment - wanted[index]) <= _NEAR_MS]
        if not near:
            left += 1
            continue
        moment_ms = min((abs(moment - wanted[index]), moment) for moment in near)[1]
        if moment_ms not in judged:
            judged[moment_ms] = _findings(recording, moment_ms)
        result[index] = replace(events[index], cause=_cause(judged[moment_ms], events[index], lang))
    return result, left


def _judged_at(event: TimelineEvent, stopped_ms: int) -> int:
    return event.moment_ms + (stopped_ms if event.kind is EventKind.OFFSET_STOPPED else 0)


def _findings(recording: Recording, moment_ms: int) -> tuple[Finding, ...]:
    try:
        state = with_looks_before(recording, moment_ms, window_ms=_WINDOW_MS)
    except NotFoundError:
        return ()
    return diagnose(state, settings=Settings()).findings


def _cause(findings: Iterable[Finding], event: TimelineEvent, lang: Lang | None) -> EventCause | None:
    """Returns the gravest finding about the event's group and topic; causes before what they bring along."""
    concerned = [
        finding
        for finding in findings
        if finding.severity.rank >= Severity.WARNING.rank
        and finding.subject.group in (event.group, None)
        and finding.subject.topic in (event.topic, None)
        and (finding.subject.group or finding.subject.topic)
    ]
    if not concerned:
        return None
    first = min(
        concerned,
        key=lambda item: (item.code in SYMPTOMS, item.subject.group is None, -item.severity.rank, item.code),
    )
    return EventCause(code=first.code, severity=first.severity, what=sentences(first).what)


def with_changes(
    events: Sequence[TimelineEvent],
    entries: Iterable[HistoryEntry],
    *,
    clusters: frozenset[str],
    span_ms: tuple[int, int],
) -> list[TimelineEvent]:
    """Returns the events with who made them, and the changes of the journal that were made in that time.

    Args:
        clusters: names of the recorded cluster; changes of others are left out.
    """
    since_ms, until_ms = span_ms
    made = [entry for entry in entries if entry.cluster in clusters and since_ms <= entry.made_at_ms <= until_ms]
    signed = [_signed(event, made) for event in events]
    return sorted([*signed, *map(_change, made)], key=lambda event: event.moment_ms)


def _signed(event: TimelineEvent, made: Iterable[HistoryEntry]) -> TimelineEvent:
    """Returns an event with the change that it shows: of its group, topic or broker, made since the look before."""
    if event.kind not in _MOVED | _SET:
        return event
    names = {event.group} if event.kind in _MOVED else {event.group, event.topic, *(event.broker or "").split(", ")}
    for entry in made:
        began_ms = event.moment_ms if event.after_ms is None else event.after_ms
        # Made before it is carried out, and seen at the next look.
        if entry.subject in names and began_ms - _NEAR_MS <= entry.made_at_ms <= event.moment_ms:
            return replace(event, who=entry.who, change_id=entry.id)
    return event


def _change(entry: HistoryEntry) -> TimelineEvent:
    return TimelineEvent(
        moment_ms=entry.made_at_ms,
        kind=EventKind.CHANGE_MADE,
        severity=Severity.INFO,
        who=entry.who,
        change_id=entry.id,
        before=entry.kind,
        after=entry.state,
        reason=entry.subject,
    )
