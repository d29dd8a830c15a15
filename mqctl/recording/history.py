"""A recording as the past of one of its moments: how long it goes back, and where it has gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqctl.model.past import RecordedPast, RecordingGap, RecordingGapKind
from mqctl.recording.kinds import LookOutcome
from mqctl.recording.reader import Look, Recording


def past_of(recording: Recording, moment_ms: int) -> RecordedPast:
    """Returns what was recorded up to a moment. Raises NotFoundError: nothing was."""
    last = recording.look_at(moment_ms)
    looks = [look for look in recording.looks if look.moment_ms <= last.moment_ms]
    begin_ms = next(look.moment_ms for look in looks if look.has_rows)
    return RecordedPast(
        recording=recording.place.text,
        begin_ms=begin_ms,
        until_ms=last.moment_ms,
        gaps=tuple(gaps_of(looks)),
    )


def gaps_of(looks: Iterable[Look]) -> Iterator[RecordingGap]:
    """Yields the stretches between looks that were answered in which a recorder should have seen more."""
    before: Look | None = None
    unanswered: Look | None = None
    for look in looks:
        if not look.has_rows:
            unanswered = unanswered or look
            continue
        if before is not None and (unanswered or look.moment_ms - before.moment_ms > before.lasting_ms):
            yield _gap(before, look, unanswered)
        before, unanswered = look, None


def _gap(before: Look, after: Look, unanswered: Look | None) -> RecordingGap:
    kind = RecordingGapKind.SILENT
    if unanswered is not None:
        stopped = unanswered.outcome is LookOutcome.STOPPED
        kind = RecordingGapKind.STOPPED if stopped else RecordingGapKind.UNANSWERED
    reason = None if unanswered is None else unanswered.reason
    return RecordingGap(since_ms=before.moment_ms, until_ms=after.moment_ms, kind=kind, reason=reason)
