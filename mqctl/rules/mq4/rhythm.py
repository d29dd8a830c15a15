"""MQ433, MQ434: hours that are unlike the same hour of former days."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.past import Hours, RecordedPast
from mqctl.model.spans import DAY_MS
from mqctl.rules.engine.audience import APPLICATION, COMMITTING
from mqctl.rules.engine.past_view import Expectation, Rhythm, last_whole_hour, rhythm_before, too_short
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, rule

_EXPLAIN = (
    "Compares the last whole hour of a recording with the same hour of former days, up to four weeks: of the same weekday "
    "where three are known, else of the same weekday and of all days. Median and median deviation are used, so that a bad day "
    "or a holiday does not move the expectation. It takes a week of recording, less than 0.5 (or more than 2) times the "
    "usual, and four deviations. On a holiday itself it may speak."
)

# A week, and the day that is judged.
_NEEDED_MS = 8 * DAY_MS
# Of fewer messages an hour a fall to nothing is chance.
_LEAST_HOURLY = 100


@rule(
    "MQ433",
    Severity.WARNING,
    source="ConsumerOffsetManager.commitOffset",
    needs=(Part.PAST,),
    playbook="backlog",
    groups=COMMITTING,
    topics=APPLICATION,
    texts=RuleTexts(
        title="A group that fell out of its rhythm",
        speaks="a group consumed a tenth of what is usual in this hour",
        silent="a tenth of the usual was sent, on a holiday",
        what={
            "": "Group {group} consumed {hour_count:message} of {topic} in the hour from {hour_time_ms}, while {sent_count:message was/were} sent. Usual for this hour: {usual_count} (median of {day_count:former day})."
        },
        effect="The messages of that hour wait, or a job that runs at this hour did not run.",
        advice="See whether its members were there, whether a job or a schedule was changed, and whether the listener fails.",
        explain=_EXPLAIN + " Where as little was sent, the group is well.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def consumption_out_of_rhythm(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A group that consumed far less than in this hour of former days, of a topic that got as much as ever."""
    past = case.snapshot.past
    if past is None:
        return
    yield from too_short(case, _NEEDED_MS)
    index = last_whole_hour(past)
    for item in past.groups:
        if _departure(item.consumed_counts, index) is not _Departure.LESS:
            continue
        if _departure(item.sent_counts, index) is not _Departure.LESS:
            subject = Subject(kind=SubjectKind.GROUP, group=item.group, topic=item.topic)
            numbers = {**_numbers(past, item.consumed_counts, index), "sent_count": item.sent_counts[index]}
            yield Verdict(
                subject=subject,
                params={"group": item.group, "topic": item.topic},
                evidence=numbers,
                confidence=_confidence(rhythm_before(item.consumed_counts, index)),
            )


@rule(
    "MQ434",
    Severity.WARNING,
    source="SendMessageProcessor",
    needs=(Part.PAST,),
    playbook="broker-down",
    topics=APPLICATION,
    texts=RuleTexts(
        title="A topic that fell out of its rhythm",
        speaks="a topic got five messages where a thousand are usual",
        silent="it gets five at this hour of every Sunday",
        what={
            "": "{hour_count:message was/were} sent to {topic} in the hour from {hour_time_ms}. Usual for this hour: {usual_count} (median of {day_count:former day}).",
            "more": "{hour_count:message was/were} sent to {topic} in the hour from {hour_time_ms}, far more than usual for this hour: {usual_count} (median of {day_count:former day}).",
        },
        effect="Something in front of the topic changed: producers that cannot send, a job that did not run, or one that sends in a loop. Consumers are sized for the usual.",
        advice="Ask the owners of the producers; see who is connected, and whether sends are refused.",
        explain=_EXPLAIN,
        next_command="mqctl topic describe {source} -t {topic}",
    ),
)
def traffic_out_of_rhythm(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A topic that got far less, or far more, than in this hour of former days."""
    past = case.snapshot.past
    if past is None:
        return
    yield from too_short(case, _NEEDED_MS)
    index = last_whole_hour(past)
    for item in past.topics:
        departure = _departure(item.sent_counts, index)
        if departure is not None:
            yield Verdict(
                subject=Subject(kind=SubjectKind.TOPIC, topic=item.topic),
                params={"topic": item.topic},
                evidence=_numbers(past, item.sent_counts, index),
                confidence=_confidence(rhythm_before(item.sent_counts, index)),
                variant=None if departure is _Departure.LESS else "more",
            )


class _Departure(StrEnum):
    LESS = "less"
    MORE = "more"


def _departure(hours: Hours, index: int) -> _Departure | None:
    """Tells how an hour differs from what former days let expect; None where it does not, or nothing is expected."""
    value = hours[index] if 0 <= index < len(hours) else None
    rhythm = rhythm_before(hours, index)
    if value is None or not rhythm.is_known:
        return None
    expected = rhythm.expectations
    if all(item.usual >= _LEAST_HOURLY and item.is_below(value) for item in expected):
        return _Departure.LESS
    is_more = value >= _LEAST_HOURLY and all(item.is_above(value) for item in expected)
    return _Departure.MORE if is_more else None


def _numbers(past: RecordedPast, hours: Hours, index: int) -> dict[str, Value]:
    rhythm = rhythm_before(hours, index)
    nearest: Expectation = min(rhythm.expectations, key=lambda item: abs(item.usual - (hours[index] or 0)))
    return {
        "hour_count": hours[index],
        "usual_count": round(nearest.usual),
        "day_count": len(rhythm.weekdays) if rhythm.by_weekday else len(rhythm.days),
        "hour_time_ms": past.hour_ms(index),
    }


def _confidence(rhythm: Rhythm) -> Confidence:
    return Confidence.HIGH if rhythm.by_weekday else Confidence.MEDIUM
