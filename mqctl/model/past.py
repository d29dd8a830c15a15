"""What a recording tells of the weeks before a moment: the evidence of rules that one look, or two, cannot give."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RecordingGapKind(StrEnum):
    """Why a stretch is missing from a recording.

    Attributes:
        UNANSWERED: the recorder looked, and nobody answered.
        STOPPED: somebody ended the recorder.
        SILENT: there is no look, and nothing says why: it was killed, or its machine was down.
    """

    UNANSWERED = "unanswered"
    STOPPED = "stopped"
    SILENT = "silent"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingGap:
    """A stretch between two looks that were answered, longer than a recorder leaves between them.

    Attributes:
        reason: what the recorder wrote of it, None where it wrote nothing.
    """

    since_ms: int
    until_ms: int
    kind: RecordingGapKind
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPast:
    """The recorded weeks before a moment.

    Attributes:
        recording: where it lies.
        begin_ms, until_ms: the first and the last answered look; the last is the moment that is judged.
        gaps: stretches in between of which nothing is known, oldest first.
    """

    recording: str
    begin_ms: int
    until_ms: int
    gaps: tuple[RecordingGap, ...] = ()
