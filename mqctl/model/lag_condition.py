"""Conditions over lag, for scripts that wait: `lag<100 and lag_time(order-service)<30s`.

What is not known keeps a condition open: it is neither reached nor missed (three-valued logic, as SQL has it).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from mqctl.errors import UsageError
from mqctl.model.lag import GroupLag, LagState, QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.spans import FAR, span_ms
from mqctl.text import sentence

_WORD = re.compile(r"\s*(?:(<=|>=|==|!=|<|>|=|\(|\))|([%|\w.+-]+))")
_OPERATORS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_MEASURES = ("lag", "lag_time", "lost", "ready", "invisible", "due", "retry")
_OLD_WORDS = ("time_lag", "lag_ms")  # as it was called once, and as machine forms call it
_REMEDY = sentence(
    "lag-until-for-instance", "for instance --until 'lag<100', --until 'lag_time<30s and lag(order-service)<=1000'"
)


@dataclass(frozen=True, slots=True)
class Known:
    """A number that is known, or, when not `exact`, only to be no less than `value`."""

    value: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What conditions ask of a group: all its topics together, the lag time that of the latest.

    Attributes:
        ready, invisible, due, retry: of what it pops (5.x), see `PopShare`; zeros where it pops nothing.
    """

    lag: Known
    lag_time: Known
    lost: Known
    ready: Known = Known(0)
    invisible: Known = Known(0)
    due: Known = Known(0)
    retry: Known = Known(0)


Facts = Mapping[str, GroupFacts]
Truth = bool | None


class Condition:
    """A parsed condition.

    Attributes:
        groups: the groups it names.
    """

    def __init__(self, text: str, judge: Callable[[Facts], Truth], groups: frozenset[str]) -> None:
        self.text = text
        self.groups = groups
        self._judge = judge

    def holds(self, facts: Facts) -> Truth:
        """Tells whether it holds for the groups in `facts`; None when that cannot be told.

        A measure without a group means every group. No group at all tells nothing.
        """
        return self._judge(facts)


def facts_of(
    rows: Iterable[QueueLag], *, complete: bool, popping: Iterable[GroupLag] = (), pops_complete: bool = True
) -> dict[str, GroupFacts]:
    """Sums up queues by group.

    Args:
        complete: whether all brokers were heard; if not, there may be more than is known.
        popping: groups by topic, with the states of what they pop.
        pops_complete: whether all brokers told of those.
    """
    by_group: dict[str, list[QueueLag]] = {}
    for row in rows:
        if row.state is not LagState.REMOVED:
            by_group.setdefault(row.group, []).append(row)
    pops: dict[str, list[GroupLag]] = {}
    for lag in popping:
        pops.setdefault(lag.group, []).append(lag)

    def popped(group: str, counts: Callable[[GroupLag], int | None]) -> Known:
        return Known(sum(counts(lag) or 0 for lag in pops.get(group, ())), complete and pops_complete)

    return {
        group: replace(
            _facts(members, complete=complete),
            ready=popped(group, lambda lag: lag.ready_count),
            invisible=popped(group, lambda lag: lag.invisible_count),
            due=popped(group, lambda lag: lag.due_count),
            retry=popped(group, lambda lag: lag.retry_count),
        )
        for group, members in by_group.items()
    }


def _facts(rows: Sequence[QueueLag], *, complete: bool) -> GroupFacts:
    # A queue that the group never committed in is all lag or none, as its consumers are set to start.
    open_end = any(row.state is LagState.NEVER_COMMITTED and row.broker_offset for row in rows)
    waiting = [row for row in rows if (row.lag_count or 0) > 0]
    return GroupFacts(
        lag=Known(sum(row.lag_count or 0 for row in waiting), complete and not open_end),
        lag_time=Known(
            max((row.lag_ms or 0 for row in waiting), default=0),
            complete and not open_end and all(row.lag_ms is not None for row in waiting),
        ),
        lost=Known(sum(row.lost_count for row in rows), complete),
    )


def parse_condition(text: str) -> Condition:
    """Parses a condition: comparisons with `and`, `or` and brackets.

    Raises:
        UsageError: it is none; says at which character.
    """
    parser = _Parser(text)
    judge = parser.either()
    parser.end()
    return Condition(text, judge, frozenset(parser.groups))


def _compare(known: Known, sign: str, wanted: int) -> Truth:
    if known.exact:
        return _OPERATORS[sign](known.value, wanted)
    if sign in ("<", "<="):
        return None if _OPERATORS[sign](known.value, wanted) else False
    if sign in (">", ">="):
        return True if _OPERATORS[sign](known.value, wanted) else None
    if known.value > wanted:
        return sign == "!="
    return None


def _all(parts: Iterable[Truth]) -> Truth:
    truths = list(parts)
    if False in truths:
        return False
    return None if None in truths or not truths else True


def _any(parts: Iterable[Truth]) -> Truth:
    truths = list(parts)
    if True in truths:
        return True
    return None if None in truths or not truths else False


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._words: list[tuple[str, int]] = []
        self.groups: set[str] = set()
        position = 0
        while text[position:].strip():
            match = _WORD.match(text, position)
            if match is None:
                start = len(text) - len(text[position:].lstrip())
                raise self._wrong(
                    sentence(
                        "lag-condition-no-meaning",
                        "{sign!r} at character {position} has no meaning here",
                        sign=text[start],
                        position=start + 1,
                    )
                )
            self._words.append((match[1] or match[2], match.start(1) if match[1] else match.start(2)))
            position = match.end()
        self._at = 0

    def _wrong(self, reason: str) -> UsageError:
        return UsageError(
            sentence("lag-condition-cannot-read-condition", "cannot read the condition {text!r}", text=self._text),
            reason=reason,
            remedy=_REMEDY,
        )

    def _peek(self) -> str:
        return self._words[self._at][0] if self._at < len(self._words) else ""

    def _take(self, what: str) -> str:
        if self._at >= len(self._words):
            raise self._wrong(sentence("lag-condition-missing-end", "{what} is missing at the end", what=what))
        self._at += 1
        return self._words[self._at - 1][0]

    def _unexpected(self, what: str) -> UsageError:
        word, position = self._words[self._at - 1]
        return self._wrong(
            sentence(
                "lag-condition-not-what",
                "{word!r} at character {position} is not {what}",
                word=word,
                position=position + 1,
                what=what,
            )
        )

    def end(self) -> None:
        if self._at < len(self._words):
            self._at += 1
            raise self._unexpected(sentence("lag-condition-and-or", "`and` or `or`"))

    def either(self) -> Callable[[Facts], Truth]:
        parts = [self._both()]
        while self._peek().lower() == "or":
            self._at += 1
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda facts: _any(part(facts) for part in parts)

    def _both(self) -> Callable[[Facts], Truth]:
        parts = [self._one()]
        while self._peek().lower() == "and":
            self._at += 1
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else lambda facts: _all(part(facts) for part in parts)

    def _one(self) -> Callable[[Facts], Truth]:
        word = self._take(sentence("lag-condition-comparison", "a comparison"))
        if word == "(":
            inner = self.either()
            if self._take("`)`") != ")":
                raise self._unexpected("`)`")
            return inner
        measure = word.lower().replace("-", "_")
        measure = "lag_time" if measure in _OLD_WORDS else measure
        if measure not in _MEASURES:
            raise self._unexpected(sentence("lag-condition-one-of", "one of {names}", names=_MEASURES))
        group = self._group()
        sign = self._take(sentence("lag-condition-sign", "one of < <= > >= = !="))
        if sign not in _OPERATORS:
            raise self._unexpected(sentence("lag-condition-sign", "one of < <= > >= = !="))
        wanted = self._number(measure)

        def judge(facts: Facts) -> Truth:
            chosen = facts.values() if group is None else [facts[group]] if group in facts else []
            return _all(_compare(getattr(item, measure), sign, wanted) for item in chosen)

        return judge

    def _group(self) -> str | None:
        if self._peek() != "(":
            return None
        self._at += 1
        name = self._take(sentence("lag-condition-group", "a group"))
        if name in _OPERATORS or name in "()":
            raise self._unexpected(sentence("lag-condition-group", "a group"))
        if self._take("`)`") != ")":
            raise self._unexpected("`)`")
        self.groups.add(name)
        return name

    def _number(self, measure: str) -> int:
        word = self._take(sentence("common-a-number", "a number"))
        if measure != "lag_time":
            count = decimal(word)
            if count is None:
                raise self._unexpected(sentence("lag-condition-message-count", "a number of messages"))
            return count
        span = span_ms(word)
        if span is None or span > FAR:
            raise self._unexpected(sentence("lag-condition-duration", "a duration such as 30s or 5m"))
        return round(span)
