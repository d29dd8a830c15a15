"""MQ430 to MQ432, what only weeks show: lag that leaks towards the retention, rates that fall, groups nobody uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.past import GroupHours, Hours
from mqctl.model.spans import DAY_MS
from mqctl.rules.engine.audience import COMMITTING, EVERY, LAGGING, SUBSCRIBED
from mqctl.rules.engine.past_view import DAY, WEEK, days_back, known, too_short
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, rule

# Of a day so many hours must be known, or its best hour may have been another.
_DAY_KNOWN = 20
_LEAST_DAYS, _MOST_DAYS, _SURE_DAYS = 3, 14, 7
# Farther ahead than this a straight line is no forecast.
_AHEAD_MS = 14 * DAY_MS
_WEEKS = 3
# Of a week so many hours must be known.
_WEEK_KNOWN = 140
_HALVED, _STEADY = 0.6, 0.8
_LEAST_WEEKLY = 1_000
_MONTH_MS = 30 * DAY_MS


@dataclass(frozen=True, slots=True)
class _Leak:
    """The age of the next message in the best hour of each day, oldest first, and when the last of those was."""

    best_ms: Sequence[int]
    last_at_ms: int

    @property
    def steps_ms(self) -> list[int]:
        return [after - before for before, after in pairwise(self.best_ms)]

    def meets_ms(self, retention_ms: int, step_ms: float) -> int:
        """When it is as old as what is deleted, if it ages by so much a day."""
        return self.last_at_ms + round((retention_ms - self.best_ms[-1]) / step_ms * DAY_MS)


@rule(
    "MQ430",
    Severity.WARNING,
    source="DefaultMessageStore.CleanCommitLogService",
    needs=(Part.PAST,),
    playbook="expired-before-consumption",
    groups=COMMITTING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Lag that leaks towards the retention time",
        speaks="the best hour of each day is six hours further behind",
        silent="it is as far behind by day, and up to date every night",
        what={
            "": "Group {group} was further behind on {topic} on each of the last {day_count:day}: in the best hour of the day the age of its next message went from {first_wait_ms} to {last_wait_ms}."
        },
        effect="If this continues, the next message is {retention_ms} old and deleted unread around {meets_expected_time_ms} (between {earliest_expected_time_ms} and {latest_expected_time_ms} by its fastest and its slowest day).",
        advice="Make the group faster than its topic before then: more instances or threads, a quicker listener, or less to consume. `mqctl group lag --advise` says what bounds it. A longer fileReservedTime buys time where the disk has room.",
        explain="Takes the age of the next message to consume in the best hour of each of the last 3 to 14 days of a recording. A group that catches up every night is not leaking. The forecast is a straight line by the median of the daily steps, up to two weeks ahead; a disk that fills up deletes earlier.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def leaking_lag(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A group that is further behind every day, also in the best hour of the day, and will lose messages."""
    past = case.snapshot.past
    if past is None:
        return
    yield from too_short(case, _LEAST_DAYS * DAY_MS)
    for item in past.groups:
        leak = _leak(item.wait_ms, past.hour_ms(0))
        if leak is None or min(leak.steps_ms) <= 0 or leak.best_ms[-1] < case.settings.lag_warning_ms:
            continue
        retention_ms = _retention_ms(case, item)
        steps = leak.steps_ms
        meets_ms = leak.meets_ms(retention_ms, median(steps))
        if leak.best_ms[-1] >= retention_ms or not case.now_ms < meets_ms <= case.now_ms + _AHEAD_MS:
            continue
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, group=item.group, topic=item.topic),
            params={"group": item.group, "topic": item.topic},
            evidence={
                "day_count": len(leak.best_ms),
                "first_wait_ms": leak.best_ms[0],
                "last_wait_ms": leak.best_ms[-1],
                "lag_count": known(item.lag_counts)[-1],
                "retention_ms": retention_ms,
                "meets_expected_time_ms": meets_ms,
                "earliest_expected_time_ms": max(case.now_ms, leak.meets_ms(retention_ms, max(steps))),
                "latest_expected_time_ms": leak.meets_ms(retention_ms, min(steps)),
            },
            confidence=Confidence.HIGH if len(leak.best_ms) >= _SURE_DAYS else Confidence.MEDIUM,
        )


def _leak(waits: Hours, begin_ms: int) -> _Leak | None:
    """Returns the best hour of each of the last days; None where fewer than three follow each other."""
    best: list[int] = []
    last_at_ms = 0
    for number, day in enumerate(days_back(waits, DAY)):
        if number == _MOST_DAYS or len(known(day)) < _DAY_KNOWN:
            break
        best.append(min(known(day)))
        if number == 0:
            last_at_ms = begin_ms + (len(waits) - DAY + day.index(best[0])) * DAY_MS // DAY
    while len(best) > _LEAST_DAYS and best[-2] <= best[-1]:
        best.pop()  # it began to leak later
    return _Leak(best[::-1], last_at_ms) if len(best) >= _LEAST_DAYS else None


def _retention_ms(case: ClusterCase, item: GroupHours) -> int:
    """Returns the shortest retention of the brokers that have the topic."""
    spans = [
        broker.file_reserved_ms
        for broker in case.snapshot.brokers
        if broker.file_reserved_ms and any(queue.topic == item.topic for queue in broker.queues)
    ]
    return min(spans, default=case.settings.file_reserved_ms)


@rule(
    "MQ431",
    Severity.WARNING,
    source="ConsumeMessageConcurrentlyService",
    needs=(Part.PAST,),
    playbook="backlog",
    groups=COMMITTING,
    topics=LAGGING,
    texts=RuleTexts(
        title="A group that consumes half as much each week",
        speaks="a group consumes half as much each week, and as much is sent",
        silent="half as much is sent each week, too",
        what={
            "": "Group {group} consumed {first_week_count}, then {second_week_count}, then {last_week_count:message} of {topic} a week, while {sent_count:message was/were} sent in the last of them."
        },
        effect="It falls behind by what it no longer consumes: {lag_count:message waits/wait} now.",
        advice="Compare releases and settings of its consumers with those of three weeks ago; look for a listener that slows down as data grows (a query without an index), for lost instances, and for threads that hang (`mqctl stacks`).",
        explain="Compares three weeks of a recording: what was committed fell to at most 60 % from week to week, and what was sent did not fall below 80 %. Where producers send less each week as well, a group consumes less and is well.",
        next_command="mqctl group lag {source} -g {group} --advise",
        live_command="mqctl group lag {source} -g {group} --advise",
    ),
)
def halving_rate(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A group that consumes about half as much each week, of a topic into which as much is sent as before."""
    past = case.snapshot.past
    if past is None:
        return
    yield from too_short(case, _WEEKS * 7 * DAY_MS)
    for item in past.groups:
        consumed, sent = _by_week(item.consumed_counts), _by_week(item.sent_counts)
        if len(consumed) < _WEEKS or len(sent) < _WEEKS or consumed[0] < _LEAST_WEEKLY:
            continue
        fell = all(after <= before * _HALVED for before, after in pairwise(consumed))
        if fell and all(after >= before * _STEADY for before, after in pairwise(sent)):
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, group=item.group, topic=item.topic),
                params={"group": item.group, "topic": item.topic},
                evidence={
                    "first_week_count": consumed[0],
                    "second_week_count": consumed[1],
                    "last_week_count": consumed[2],
                    "sent_count": sent[2],
                    "lag_count": known(item.lag_counts)[-1],
                },
                confidence=Confidence.MEDIUM,
            )


def _by_week(hours: Hours) -> list[int]:
    """Returns the sums of the last weeks, oldest first, as if all hours were known; fewer where too few are."""
    sums = []
    # The last look of a recording begins an hour that has no end.
    for number, week in enumerate(days_back(hours[:-1], WEEK)):
        values = known(week)
        if number == _WEEKS or len(values) < _WEEK_KNOWN:
            break
        sums.append(round(sum(values) / len(values) * WEEK))
    return sums[::-1]


@rule(
    "MQ432",
    Severity.INFO,
    source="SubscriptionGroupManager",
    needs=(Part.PAST,),
    playbook="subscription-change",
    groups=EVERY,
    texts=RuleTexts(
        title="A group that nobody has used for a month",
        speaks="a group had no member and moved no offset for 30 days",
        silent="a job used it for ten minutes twelve days ago",
        what={
            "": "Nobody has used group {group} for {unused_ms}: it had no member, and its offsets (of {topic_count:topic}) did not move."
        },
        effect="It takes room in the brokers' tables and its lag raises alarms. If it is started again, it starts at offsets that may be long gone.",
        advice="Ask its owner; delete it if nobody needs it (`mqctl group delete`). A job that runs once a quarter looks the same.",
        explain="Looks at 30 days of a recording, of which at most a tenth may be missing: the group was there at their begin, had no member at any look since, and none of its offsets moved.",
        next_command="mqctl group describe {source} -g {group}",
    ),
)
def unused_group(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A group without any member, and whose offsets did not move, for a month."""
    past = case.snapshot.past
    if past is None:
        return
    short = list(too_short(case, _MONTH_MS))
    yield from short
    if short:
        return
    known_now = {item.name for broker in case.snapshot.brokers for item in broker.groups}
    known_now |= {item.group for broker in case.snapshot.brokers for item in broker.consumer_offsets}
    for group in sorted((known_now & set(past.old_groups)) - past.used_ms.keys()):
        offsets = [item for broker in case.snapshot.brokers for item in broker.consumer_offsets if item.group == group]
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, group=group),
            params={"group": group},
            evidence={
                "unused_ms": past.until_ms - past.unused_since_ms,
                "topic_count": len({item.topic for item in offsets}),
            },
            confidence=Confidence.MEDIUM,
        )
