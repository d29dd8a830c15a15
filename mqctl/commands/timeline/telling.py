"""What happened between two moments: a recording, the rules and the journal of this machine put together."""

from __future__ import annotations

from pathlib import Path

from mqctl.changes.engine.history import UnreadRecords, entries
from mqctl.cli.emit import note
from mqctl.commands.timeline.causes import with_causes, with_changes
from mqctl.errors import NotFoundError
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import said
from mqctl.model.spans import FAR
from mqctl.model.timeline import TimelineReported
from mqctl.recording.kinds import COLUMNS, RowKind
from mqctl.recording.past import snapshot_at
from mqctl.recording.reader import Recording, open_recording
from mqctl.recording.timeline.backlogs import group_series
from mqctl.recording.timeline.events import Timeline, timeline_of
from mqctl.recording.timeline.filling import Numbers
from mqctl.recording.timeline.question import TimelineQuestion
from mqctl.text import sentence


@dataclass(frozen=True, slots=True)
class TimelineAnswer:
    """The answer for machines, the figures for charts, and whether all of it could be read."""

    reported: TimelineReported
    timeline: Timeline
    whole: bool


def read_timeline(place: str, question: TimelineQuestion, *, causes: int, lang: Lang | None) -> TimelineAnswer:
    """Reads a recording and joins it with what was changed from here.

    Args:
        causes: moments at which the rules are asked.

    Raises:
        NotFoundError: there is no recording, nobody recorded then, or a name is none of its own.
        BadInputError: none of it can be read.
    """
    recording = open_recording(place)
    timeline = timeline_of(recording, question)
    _require_names(recording, question, timeline)
    unread = UnreadRecords()
    stretch = timeline.stretch
    events, left = with_causes(recording, timeline.events, most=causes, stopped_ms=question.stopped_ms, lang=lang)
    events = with_changes(
        events,
        entries(unread),
        clusters=_clusters(recording, stretch.answered[-1]),
        span_ms=(stretch.answered[0], stretch.answered[-1]),
    )
    for problem in recording.problems.values():
        note(str(problem))
    unreadable = [*map(str, recording.problems.values()), *unread.reasons]
    reported = TimelineReported(
        recording=place,
        cluster=recording.cluster,
        since_ms=stretch.answered[0],
        until_ms=stretch.answered[-1],
        wanted_since_ms=None if question.since_ms == -FAR else question.since_ms,
        wanted_until_ms=None if question.until_ms == FAR else question.until_ms,
        look_count=len(stretch.answered),
        used_look_count=len(stretch.used),
        events=events,
        unreadable=unreadable,
        keyed_unreadable=said(unreadable),
        unjudged_count=left,
    )
    return TimelineAnswer(reported, timeline, whole=not reported.unreadable)


def _clusters(recording: Recording, moment_ms: int) -> frozenset[str]:
    place = list(COLUMNS[RowKind.BROKERS].values).index("cluster")
    rows = recording.state_at(moment_ms, (RowKind.BROKERS,))[RowKind.BROKERS].values()
    return frozenset(str(values[place]) for values in rows if values[place])


def _require_names(recording: Recording, question: TimelineQuestion, timeline: Timeline) -> None:
    """Raises NotFoundError: a name that was asked for is nowhere in that time, nor at its end."""
    shown = timeline.offsets.names
    groups = question.groups - {group for group, _ in shown} - set(timeline.members.counts)
    topics = question.topics - {topic for _, topic in shown}
    if not (groups or topics or question.brokers):
        return
    brokers = snapshot_at(recording, timeline.stretch.answered[-1]).brokers
    happened = {event.broker for event in timeline.events}
    known: dict[str, tuple[frozenset[str], set[str | None]]] = {
        "broker": (question.brokers, {*happened, *(broker.name for broker in brokers)}),
        "topic": (topics, {topic.name for broker in brokers for topic in broker.topics}),
        "consumer group": (groups, {group.name for broker in brokers for group in broker.groups}),
    }
    for noun, (wanted, names) in known.items():
        for name in sorted(wanted - names):
            raise NotFoundError(
                sentence(
                    "recording-no-time",
                    "the recording {place} has no {noun} {name} in that time",
                    place=recording.place.text,
                    noun=noun,
                    name=name,
                ),
                remedy=sentence("recording-leave-name-out-ask", "leave the name out, or ask for another time"),
            )


def write_page(file: Path, answer: TimelineAnswer, lang: Lang | None, limit: str | None) -> None:
    """Writes the page with the charts. Raises StorageError."""
    import numpy as np

    from mqctl.cli.options.limit import most_of
    from mqctl.cli.text_files import write_text
    from mqctl.commands.timeline.page import MOST_ROWS, MOST_SERIES, Charted, timeline_page

    over, stretch = answer.timeline.offsets, answer.timeline.stretch
    worst = sorted(range(len(over.names)), key=lambda place: -float(np.nanmax(over.lags[place], initial=0)))
    spans_s = np.diff(over.moments, prepend=over.moments[:1]) / 1000

    def rates(counts: Numbers) -> list[float | None]:
        sums = np.maximum(np.nan_to_num(counts), 0).sum(axis=0)
        return [
            round(sent / span, 2) if span else None for sent, span in zip(sums.tolist(), spans_s.tolist(), strict=True)
        ]

    charted = Charted(
        moments_ms=stretch.used,
        series=[group_series(over, place) for place in worst[:MOST_SERIES]],
        series_count=len(worst),
        sent_per_s=rates(over.incoming),
        consumed_per_s=rates(over.outgoing),
        gaps=answer.timeline.gaps,
    )
    write_text(file, timeline_page(answer.reported, charted, lang, most_of(limit, MOST_ROWS)))
    note(sentence("recording-charts-events", "charts and events are in {file}", file=file))
