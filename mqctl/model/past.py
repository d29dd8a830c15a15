"""What a recording tells of the weeks before a moment: the evidence of rules that one look, or two, cannot give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import TypeAlias

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.spans import HOUR_MS

Hours: TypeAlias = tuple[int | None, ...]
"""A number for each hour of a past; None where it is not known."""


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
class GroupHours:
    """One group on one topic, hour by hour, over the queues of all brokers.

    Attributes:
        lag_counts: at the begin of the hour.
        wait_ms: age of the next message to consume at the begin of the hour; 0 where nothing waits.
        consumed_counts: what was committed in the hour; None where an offset went back.
        sent_counts: what came into the topic in the hour.
    """

    group: str
    topic: str
    lag_counts: Hours
    wait_ms: Hours
    consumed_counts: Hours
    sent_counts: Hours


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicHours:
    """What came into one topic, hour by hour."""

    topic: str
    sent_counts: Hours


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberReturns:
    """How often the members of a group on one machine were gone and came back, in the last day.

    Attributes:
        host: what a client id begins with, usually an address.
        first_ms, last_ms: the first and the last return.
    """

    group: str
    host: str
    return_count: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPast:
    """The recorded weeks before a moment.

    Attributes:
        recording: where it lies.
        begin_ms, until_ms: the first and the last answered look; the last is the moment that is judged.
        gaps: stretches in between of which nothing is known, oldest first.
        first_hour: number of the hour since the epoch that `Hours` begin with.
        used_ms: when a group was last seen with a member, or its offsets moved; groups without either are not in it.
        old_groups: groups that were there at `unused_since_ms`, with settings or offsets, by name.
        unused_since_ms: the begin of the stretch that `used_ms` tells of.
    """

    recording: str
    begin_ms: int
    until_ms: int
    gaps: tuple[RecordingGap, ...] = ()
    first_hour: int = 0
    groups: tuple[GroupHours, ...] = ()
    topics: tuple[TopicHours, ...] = ()
    returns: tuple[MemberReturns, ...] = ()
    used_ms: Mapping[str, int] = field(default_factory=dict)
    old_groups: tuple[str, ...] = ()
    unused_since_ms: int = 0

    @property
    def span_ms(self) -> int:
        """How far it goes back."""
        return self.until_ms - self.begin_ms

    def missing_ms(self, since_ms: int) -> int:
        """How much of the time since a moment was not recorded."""
        before_ms = max(0, self.begin_ms - since_ms)
        return before_ms + sum(max(0, gap.until_ms - max(gap.since_ms, since_ms)) for gap in self.gaps)

    def hour_ms(self, index: int) -> int:
        """The begin of the hour with this index."""
        return (self.first_hour + index) * HOUR_MS
