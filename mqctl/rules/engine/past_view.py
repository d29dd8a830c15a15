"""What rules over time share: robust figures, and how much of the past was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from mqctl.model.finding import Reason, Subject, SubjectKind, Why
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.past import Hours, RecordedPast
from mqctl.model.spans import DAY_MS, HOUR_MS
from mqctl.rules.engine.rule import ClusterCase, Unknown

DAY, WEEK = DAY_MS // HOUR_MS, 7 * DAY_MS // HOUR_MS
# A normal distribution's standard deviation, by the median of the deviations.
_MAD_TO_SIGMA = 1.4826
# Of the time that a rule looks at, so much may be missing.
_MISSING_SHARE = 0.1


def too_short(case: ClusterCase, needed_ms: int) -> Iterator[Unknown]:
    """Yields that a rule cannot judge, where too little was recorded: a recorder that has just begun, or had gaps."""
    past = case.snapshot.past
    if past is None:
        return
    subject = Subject(kind=SubjectKind.CLUSTER)
    if past.span_ms < needed_ms:
        values = {"needed_ms": needed_ms, "recorded_ms": past.span_ms}
        yield Unknown(subject=subject, why=Why(Reason.PAST_SHORT, values))
    elif (missing_ms := past.missing_ms(past.until_ms - needed_ms)) > needed_ms * _MISSING_SHARE:
        values = {"needed_ms": needed_ms, "missing_ms": missing_ms}
        yield Unknown(subject=subject, why=Why(Reason.PAST_HOLES, values))


def known(hours: Hours) -> list[int]:
    """Returns the hours that are known."""
    return [value for value in hours if value is not None]


def days_back(hours: Hours, width: int) -> Iterator[Hours]:
    """Yields stretches of so many hours, the newest first, as many as there are whole."""
    for end in range(len(hours), width - 1, -width):
        yield hours[end - width : end]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an hour should have, by former ones: the middle, and how far a usual hour may be from it."""

    usual: float
    spread: float

    def is_below(self, value: int) -> bool:
        """Whether it is far less than usual, and less than half."""
        return value < self.usual - _FAR * self.spread and value < self.usual / 2

    def is_above(self, value: int) -> bool:
        """Whether it is far more than usual, and more than twice as much."""
        return value > self.usual + _FAR * self.spread and value > self.usual * 2


_FAR = 4.0
# Traffic that is steady to the message is nobody's promise.
_LEAST_SPREAD_SHARE = 0.1


def expectation(values: Sequence[int]) -> Expectation:
    """Returns median and spread; a single bad day, or a holiday, moves neither."""
    middle = median(values)
    deviation = median(abs(value - middle) for value in values)
    return Expectation(middle, max(_MAD_TO_SIGMA * deviation, _LEAST_SPREAD_SHARE * middle, middle**0.5))


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The same hour of former days, and of former weeks."""

    days: Sequence[int]
    weekdays: Sequence[int]

    @property
    def expectations(self) -> list[Expectation]:
        """What the hour is held against: its weekday where three are known, else that and all days."""
        if len(self.weekdays) >= _WEEKDAYS_ENOUGH:
            return [expectation(self.weekdays)]
        return [expectation(self.weekdays), expectation(self.days)]

    @property
    def is_known(self) -> bool:
        return len(self.days) >= _LEAST_DAYS and bool(self.weekdays)

    @property
    def by_weekday(self) -> bool:
        return len(self.weekdays) >= _WEEKDAYS_ENOUGH


_LEAST_DAYS, _MOST_DAYS, _WEEKDAYS_ENOUGH = 7, 28, 3


def rhythm_before(hours: Hours, index: int) -> Rhythm:
    """Returns what was in the same hour of former days."""
    days = [hours[at] for at in range(index - DAY, max(-1, index - _MOST_DAYS * DAY - 1), -DAY)]
    weekdays = [hours[at] for at in range(index - WEEK, max(-1, index - _MOST_DAYS * DAY - 1), -WEEK)]
    return Rhythm(known(tuple(days)), known(tuple(weekdays)))


def last_whole_hour(past: RecordedPast) -> int:
    """Returns the index of the last hour that had ended."""
    return past.until_ms // HOUR_MS - past.first_hour - 1
