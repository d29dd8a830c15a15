"""Backlogs and offsets as events: when they began, peaked and were drained, what stopped, what was passed over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isnan

import numpy as np

from mqctl.model.finding import Severity
from mqctl.model.timeline import EventKind, GroupSeries, TimelineEvent
from mqctl.recording.timeline.filling import Numbers
from mqctl.recording.timeline.offsets import OffsetsOverTime, Standstill
from mqctl.recording.timeline.question import LookSpan, TimelineQuestion

# A backlog is several times what a group is behind in its quieter hours, and ends at half of that.
_TIMES_USUAL = 4
_QUIET_SHARE = 25
# Looks that a backlog must last: what one look sees and the next does not is a burst.
_FEWEST_LOOKS = 2
# A group that consumes passes over nothing; what was passed over is far more than it consumes at its busiest.
_TIMES_BUSIEST = 10
_FEWEST_MOVES = 5
_BUSY_SHARE = 95
# Offsets of a group's queues that stop within that time stopped together.
_TOGETHER_MS = 60_000

MemberCount = Callable[[str, int], int | None]
"""How many members a group had at a moment; None where that was not recorded."""


def offset_events(
    over: OffsetsOverTime, question: TimelineQuestion, stretch: LookSpan, members: MemberCount
) -> Iterator[TimelineEvent]:
    """Yields all that the offsets tell."""
    moments = over.moments.tolist()
    yield from _standstills(over, stretch)
    for step in over.steps_back:
        if step.look:
            yield _moved(
                over,
                step.place,
                step.look,
                EventKind.OFFSET_WENT_BACK,
                count=step.message_count,
                queues=step.queue_count,
            )
    for place in range(len(over.names)):
        lags = over.lags[place]
        if not np.nanmax(lags, initial=0) >= question.backlog_count:
            continue
        yield from _skipped(over, place, question.backlog_count, members)
        for run in _runs(lags, question.backlog_count):
            yield from _backlog(over, place, run, moments)


def _moved(
    over: OffsetsOverTime, place: int, look: int, kind: EventKind, *, count: int, queues: int | None = None
) -> TimelineEvent:
    group, topic = over.names[place]
    return TimelineEvent(
        moment_ms=int(over.moments[look]),
        after_ms=int(over.moments[look - 1]),
        kind=kind,
        severity=Severity.ERROR if kind is EventKind.OFFSET_SKIPPED else Severity.WARNING,
        group=group,
        topic=topic,
        queue_count=queues,
        message_count=count,
    )


def _skipped(over: OffsetsOverTime, place: int, least: int, members: MemberCount) -> Iterator[TimelineEvent]:
    """Yields the looks at which a group's offsets ran ahead of what it can have consumed."""
    moves, lags = over.outgoing[place], over.lags[place]
    spans_s = np.diff(over.moments, prepend=over.moments[0]) / 1000
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where((moves > 0) & (spans_s > 0), moves / spans_s, np.nan)
    known = rates[~np.isnan(rates)]
    busiest = float(np.percentile(known, _BUSY_SHARE)) if len(known) >= _FEWEST_MOVES else np.inf
    for look in np.flatnonzero(moves >= least).tolist():
        if not look or not lags[look - 1] >= moves[look] / 2:
            continue
        times = over.moments[look - 1], over.moments[look]
        nobody = all(members(over.names[place][0], int(time)) == 0 for time in times)
        if nobody or rates[look] > _TIMES_BUSIEST * busiest:
            yield _moved(over, place, look, EventKind.OFFSET_SKIPPED, count=int(moves[look]))


@dataclass(frozen=True, slots=True)
class _Run:
    """A backlog: columns at which it began, was worst and was drained (None: it was not)."""

    begin: int
    peak: int
    end: int | None


def _runs(lags: Numbers, least: int) -> Iterator[_Run]:
    known = lags[~np.isnan(lags)]
    high = max(float(least), _TIMES_USUAL * float(np.percentile(known, _QUIET_SHARE)))
    if float(known[0]) >= high:  # it was there when the recording began: what is usual is not known
        high = float(least)
    low = high / 2
    begin: int | None = None
    quiet = 0
    for look, lag in enumerate(lags.tolist()):
        if isnan(lag):
            continue
        if begin is None:
            if lag < low:
                quiet = look
            if lag >= high:
                begin = quiet
        elif lag < low:
            if look - begin > _FEWEST_LOOKS:
                yield _Run(begin, begin + int(np.nanargmax(lags[begin:look])), look)
            begin, quiet = None, look
    if begin is not None and len(lags) - begin > _FEWEST_LOOKS:
        yield _Run(begin, begin + int(np.nanargmax(lags[begin:])), None)


def _backlog(over: OffsetsOverTime, place: int, run: _Run, moments: list[int]) -> Iterator[TimelineEvent]:
    lags = over.lags[place]
    was_there = run.begin == 0
    steps = [(EventKind.BACKLOG_BEGAN, run.begin, run.begin, min(run.begin + 1, run.peak))]
    if run.peak > run.begin:
        steps.append((EventKind.BACKLOG_PEAKED, run.peak, run.begin, run.peak))
    if run.end is not None:
        steps.append((EventKind.BACKLOG_DRAINED, run.end, run.peak, run.end))
    for kind, look, since, until in steps:
        group, topic = over.names[place]
        span_s = (moments[until] - moments[since]) / 1000
        began, drained = kind is EventKind.BACKLOG_BEGAN, kind is EventKind.BACKLOG_DRAINED
        end_ms = None if run.end is None else moments[run.end]
        yield TimelineEvent(
            moment_ms=moments[look],
            after_ms=None if began and was_there else moments[look - 1] if look else None,
            until_ms=end_ms if began else None,
            kind=kind,
            severity=Severity.INFO if drained else Severity.WARNING if run.end is not None else Severity.ERROR,
            group=group,
            topic=topic,
            queue_count=int(over.queues[place]),
            message_count=int(lags[look]),
            in_per_s=_rate(over.incoming[place], since, until, span_s),
            out_per_s=_rate(over.outgoing[place], since, until, span_s),
        )


def _rate(counts: Numbers, since: int, until: int, span_s: float) -> float | None:
    moved = np.maximum(np.nan_to_num(counts[since + 1 : until + 1]), 0)  # a step back is an event of its own
    return round(float(moved.sum()) / span_s, 2) if span_s > 0 else None


def _standstills(over: OffsetsOverTime, stretch: LookSpan) -> Iterator[TimelineEvent]:
    """Yields offsets that stopped, and moved again: queues of a group that did so together are one event."""
    by_place: dict[int, list[Standstill]] = defaultdict(list)
    for each in over.standstills:
        by_place[each.place].append(each)
    for place, own in by_place.items():
        own.sort(key=lambda each: each.since_ms)
        together: list[Standstill] = []
        for each in own:
            if together and each.since_ms - together[-1].since_ms > _TOGETHER_MS:
                yield from _stopped(over, stretch, place, together)
                together = []
            together.append(each)
        yield from _stopped(over, stretch, place, together)


def _stopped(
    over: OffsetsOverTime, stretch: LookSpan, place: int, together: list[Standstill]
) -> Iterator[TimelineEvent]:
    since_ms = together[0].since_ms
    ends = [each.until_ms for each in together]
    until_ms = None if None in ends else max(end for end in ends if end is not None)
    of_old = since_ms <= stretch.answered[0]
    group, topic = over.names[place]
    stopped = TimelineEvent(
        moment_ms=since_ms,
        after_ms=None if of_old else stretch.before(since_ms),
        until_ms=until_ms,
        kind=EventKind.OFFSET_STOPPED,
        severity=Severity.INFO if of_old else Severity.ERROR if until_ms is None else Severity.WARNING,
        group=group,
        topic=topic,
        queue_count=len(together),
        message_count=sum(each.lag_count for each in together),
    )
    yield stopped
    if until_ms is not None:
        yield TimelineEvent(
            moment_ms=until_ms,
            after_ms=stretch.before(until_ms),
            kind=EventKind.OFFSET_RESUMED,
            severity=Severity.INFO,
            group=group,
            topic=topic,
            queue_count=len(together),
        )


def group_series(over: OffsetsOverTime, place: int) -> GroupSeries:
    """Returns lag and rates of one group on one topic."""
    group, topic = over.names[place]
    spans = np.diff(over.moments, prepend=over.moments[0]) / 1000

    def rates(counts: Numbers) -> list[float | None]:
        return [
            None if not span or isnan(count) else round(max(count, 0.0) / span, 2)
            for count, span in zip(counts.tolist(), spans.tolist(), strict=True)
        ]

    return GroupSeries(
        group=group,
        topic=topic,
        moments_ms=over.moments.tolist(),
        lag_counts=[None if isnan(lag) else int(lag) for lag in over.lags[place].tolist()],
        in_per_s=rates(over.incoming[place]),
        out_per_s=rates(over.outgoing[place]),
    )
