"""What a timeline is asked for, and the looks that answer it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from mqctl.errors import NotFoundError
from mqctl.recording.reader import Look, Recording
from mqctl.text import sentence

# More columns than a chart has pixels; of longer stretches every second or third look is compared.
_MOST_LOOKS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineQuestion:
    """Which part of a recording: moments, names (none means all), and what counts.

    Attributes:
        backlog_count: messages behind from which a backlog counts.
        stopped_ms: how long an offset stands still with messages behind it until it counts as stopped.
    """

    since_ms: int
    until_ms: int
    groups: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    brokers: frozenset[str] = frozenset()
    backlog_count: int = 1_000
    stopped_ms: int = 300_000

    def wants(self, *, group: str | None = None, topic: str | None = None, broker: str | None = None) -> bool:
        """Whether these names are asked for; what has no such name is."""
        return all(
            name is None or not names or name in names
            for name, names in ((group, self.groups), (topic, self.topics), (broker, self.brokers))
        )


@dataclass(frozen=True, slots=True)
class LookSpan:
    """The looks of a question.

    Attributes:
        looks: all of it, those without an answer too.
        base_ms: from which rows are read: the keyframe before the first look.
        answered: moments with rows, the one before the stretch first where there is one.
        used: those of them at which offsets are compared.
    """

    looks: list[Look]
    base_ms: int
    answered: list[int]
    used: list[int]

    def before(self, moment_ms: int) -> int | None:
        """The answered look before a moment."""
        place = bisect_left(self.answered, moment_ms)
        return self.answered[place - 1] if place else None


def stretch_of(recording: Recording, question: TimelineQuestion) -> LookSpan:
    """Returns the looks of a question. Raises NotFoundError: nobody recorded then."""
    looks = [look for look in recording.looks if question.since_ms <= look.moment_ms <= question.until_ms]
    inside = [look.moment_ms for look in looks if look.has_rows]
    if not inside:
        raise NotFoundError(
            sentence(
                "recording-no-answered-look",
                "the recording {place} has no answered look in that time",
                place=recording.place.text,
            ),
            remedy=sentence(
                "recording-timeline-without-since-until",
                "mqctl timeline without --since and --until shows from when to when it goes",
            ),
        )
    before = [look.moment_ms for look in recording.looks if look.has_rows and look.moment_ms < inside[0]]
    begin_ms = before[-1] if before else inside[0]
    frames = [look.moment_ms for look in recording.looks if look.keyframe and look.moment_ms <= begin_ms]
    answered = [*before[-1:], *inside]
    step = -(-len(answered) // _MOST_LOOKS)
    used = answered[::-1][::step][::-1]
    return LookSpan(looks, frames[-1] if frames else 0, answered, used)
