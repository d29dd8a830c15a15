"""Conditions over lag: what they mean, what they say when they are broken, and that what is unknown stays open."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.errors import UsageError
from mqctl.model.lag import GroupLag, LagState, QueueLag
from mqctl.model.lag_condition import Facts, GroupFacts, Known, facts_of, parse_condition
from tests.each import each


def facts(**lags: tuple[int, int]) -> Facts:
    """Facts of groups by name: lag and lag time in milliseconds."""
    return {name: GroupFacts(Known(count), Known(age), Known(0)) for name, (count, age) in lags.items()}


TWO = facts(a=(5, 2_000), b=(50, 100))


@each(
    "text, truth",
    [
        ("lag<100", True),
        ("lag<50", False),
        ("lag <= 50 and lag_time<2s", False),
        ("lag<=50 AND time-lag<=2s", True),
        ("lag(a)<10", True),
        ("lag(b)<10 or lag_time(b)<1s", True),
        ("lag(b)<10 and lag(a)<10 or lost=0", True),
        ("lag(b)<10 and (lag(a)<10 or lost=0)", False),
        ("lag != 5", False),
        ("lag_time(a) >= 1.5s", True),
        ("time_lag(a) >= 1.5s and lag-ms(a) >= 1.5s", True),
        ("lag(c) < 1", None),
    ],
)
def test_what_conditions_mean(text: str, truth: bool | None) -> None:
    assert parse_condition(text).holds(TWO) is truth


@each(
    "text, said",
    [
        ("", "a comparison is missing at the end"),
        ("lag", "one of < <= > >= = != is missing at the end"),
        ("lag<", "a number is missing at the end"),
        ("lag<x", "'x' at character 5 is not a number of messages"),
        ("lag<10s", "'10s' at character 5 is not a number of messages"),
        ("lag_time<30", "'30' at character 10 is not a duration"),
        ("lags<3", "'lags' at character 1 is not one of lag, lag_time, lost, ready, invisible, due, retry"),
        ("lag<3 lag<4", "'lag' at character 7 is not `and` or `or`"),
        ("(lag<3", "`)` is missing at the end"),
        ("lag(<3", "'<' at character 5 is not a group"),
        ("lag<3; rm", "';' at character 6 has no meaning here"),
        ("__import__(os)<3", "'__import__' at character 1"),
    ],
)
def test_a_broken_condition_says_where(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    assert said in (caught.value.reason or "")
    assert "--until 'lag<100'" in caught.value.remedy


@given(st.text(alphabet="lagtime_os()<>=! and or0123456789sm%-", max_size=30))
def test_any_text_is_a_condition_or_a_usage_error(text: str) -> None:
    try:
        truth = parse_condition(text).holds(TWO)
    except UsageError:
        return
    assert truth in (True, False, None)


_SIGNS = st.sampled_from(["<", "<=", ">", ">=", "=", "!="])
_COMPARISONS = st.builds(
    lambda group, sign, number: f"lag{group}{sign}{number}",
    st.sampled_from(["", "(a)", "(b)"]),
    _SIGNS,
    st.integers(0, 20),
)
_CONDITIONS = st.recursive(
    _COMPARISONS,
    lambda inner: st.builds(
        lambda left, word, right: f"({left}) {word} ({right})", inner, st.sampled_from(["and", "or"]), inner
    ),
    max_leaves=5,
)


@given(_CONDITIONS, st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_what_is_said_with_partial_knowledge_stays_true_when_all_is_known(text: str, a: int, b: int, more: int) -> None:
    condition = parse_condition(text)
    none = Known(0)
    partial = {"a": GroupFacts(Known(a, exact=False), none, none), "b": GroupFacts(Known(b), none, none)}
    whole = {"a": GroupFacts(Known(a + more), none, none), "b": GroupFacts(Known(b), none, none)}
    said = condition.holds(partial)
    assert said is None or said is condition.holds(whole)


def row(state: LagState, *, lag: int | None, age: int | None, end: int | None = 9) -> QueueLag:
    return QueueLag(
        group="a",
        topic="T",
        broker_name="b",
        queue_id=0,
        min_offset=0,
        broker_offset=end,
        consumer_offset=0,
        lag_count=lag,
        lost_count=0,
        lag_ms=age,
        next_store_time_ms=None,
        state=state,
    )


@each(
    "rows, complete, truth",
    [
        ([row(LagState.BEHIND, lag=3, age=5)], True, True),
        ([row(LagState.BEHIND, lag=3, age=5)], False, None),
        ([row(LagState.BEHIND, lag=13, age=5)], False, False),
        ([row(LagState.BEHIND, lag=3, age=None)], True, None),
        ([row(LagState.NEVER_COMMITTED, lag=None, age=None)], True, None),
        ([row(LagState.NEVER_COMMITTED, lag=None, age=None, end=0)], True, True),
        ([row(LagState.BEYOND_MAX, lag=-5, age=None), row(LagState.BEHIND, lag=13, age=5)], True, False),
        ([], True, None),
    ],
)
def test_facts_know_what_they_do_not_know(rows: list[QueueLag], complete: bool, truth: bool | None) -> None:
    assert parse_condition("lag<10 and lag_time<1m").holds(facts_of(rows, complete=complete)) is truth


@each("sign", ["<", "<=", "=", "==", "!=", ">=", ">"])
def test_each_sign_below_at_and_above(sign: str) -> None:
    """Of a number that is known, and of one that is only known to be no less."""
    exact = {
        "<": (True, False, False),
        "<=": (True, True, False),
        "=": (False, True, False),
        "==": (False, True, False),
        "!=": (True, False, True),
        ">=": (False, True, True),
        ">": (False, False, True),
    }
    at_least = {
        "<": (None, False, False),
        "<=": (None, None, False),
        "=": (None, None, False),
        "==": (None, None, False),
        "!=": (None, None, True),
        ">=": (None, True, True),
        ">": (None, None, True),
    }
    condition = parse_condition(f"lag {sign} 10")
    zero = Known(0)
    for known, expected in ((True, exact), (False, at_least)):
        said = [condition.holds({"a": GroupFacts(Known(value, known), zero, zero)}) for value in (9, 10, 11)]
        assert tuple(said) == expected[sign], known


_TRUTHS = {"t": "lag(a)=5", "f": "lag(a)=6", "u": "lag(c)=1"}


@each(
    "words, truth",
    [
        ("t and t", True),
        ("t and f", False),
        ("t and u", None),
        ("f and u", False),
        ("u and u", None),
        ("t and t and f", False),
        ("t or f", True),
        ("f or f", False),
        ("f or u", None),
        ("u or t", True),
        ("u or u", None),
        ("f or f or t", True),
        ("t or f and f", True),
        ("(t or f) and f", False),
        ("((t))", True),
    ],
)
def test_three_values_and_two_words(words: str, truth: bool | None) -> None:
    condition = parse_condition(re.sub(r"\b[tfu]\b", lambda match: _TRUTHS[match[0]], words))
    assert condition.holds(TWO) is truth


def test_a_condition_names_its_groups_and_words_in_capitals_are_the_same() -> None:
    condition = parse_condition("lag(a)=6 OR lag=5 or Lag-Time(b)<1s AND LOST(a)=0")
    assert (condition.groups, condition.holds(TWO)) == (frozenset("ab"), True)
    assert parse_condition("lag=5").groups == frozenset()


@each("measure", ["lag", "lag_time", "lost", "ready", "invisible", "due", "retry"])
def test_each_measure_is_read_from_where_it_stands(measure: str) -> None:
    names = ("lag", "lag_time", "lost", "ready", "invisible", "due", "retry")
    values = GroupFacts(*(Known(number) for number in range(41, 48)))
    number = 41 + names.index(measure)
    unit = "ms" if measure == "lag_time" else ""
    assert parse_condition(f"{measure}={number}{unit}").holds({"a": values})
    assert not parse_condition(f"{measure}!={number}{unit}").holds({"a": values})
    bare = GroupFacts(Known(0), Known(0), Known(0))
    assert parse_condition(f"{measure}=0{unit}").holds({"a": bare})
    assert parse_condition(f"{measure}=0{unit}").holds({}) is None


@each(
    "text, position",
    [
        (";", "';' at character 1 has"),
        ("  ; ", "';' at character 3 has"),
        ("lag < ;", "';' at character 7 has"),
        ("lag  x 3", "'x' at character 6 is not one of < <= > >= = !="),
        ("lag ( or", "`)` is missing at the end"),
        ("lag(a", "`)` is missing at the end"),
        ("lag(a<", "'<' at character 6 is not `)`"),
        ("lag()", "')' at character 5 is not a group"),
        ("lag(()", "'(' at character 5 is not a group"),
        ("(lag<3 lag", "'lag' at character 8 is not `)`"),
        ("lag<3 )", "')' at character 7 is not `and` or `or`"),
        ("lag<3 and", "a comparison is missing at the end"),
        ("lag < 9223372036854775808", "'9223372036854775808' at character 7 is not a number"),
        ("lag_time<9999999999999999d", "'9999999999999999d' at character 10 is not a duration"),
        ("lag_time<30x", "'30x' at character 10 is not a duration"),
    ],
)
def test_the_character_of_what_is_wrong(text: str, position: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    assert position in (caught.value.reason or "")
    assert text in str(caught.value)


def test_the_largest_number_and_the_longest_span() -> None:
    zero = Known(0)
    given = {"a": GroupFacts(Known((1 << 63) - 1), Known(1 << 62), zero)}
    assert parse_condition(f"lag={(1 << 63) - 1}").holds(given)
    assert parse_condition(f"lag_time={1 << 62}ms").holds(given)


@each(
    "rows, complete, lag, lag_time, lost",
    [
        ([row(LagState.BEHIND, lag=3, age=5)] * 2, True, Known(6), Known(5), Known(0)),
        ([row(LagState.BEHIND, lag=3, age=5), row(LagState.BEHIND, lag=1, age=9)], True, Known(4), Known(9), Known(0)),
        ([row(LagState.CAUGHT_UP, lag=0, age=None)], True, Known(0), Known(0), Known(0)),
        ([row(LagState.BEYOND_MAX, lag=-5, age=None)], True, Known(0), Known(0), Known(0)),
        ([row(LagState.BEHIND, lag=1, age=None)], True, Known(1), Known(0, False), Known(0)),
        ([row(LagState.BEHIND, lag=1, age=5)], False, Known(1, False), Known(5, False), Known(0, False)),
        ([row(LagState.NEVER_COMMITTED, lag=None, age=None, end=1)], True, Known(0, False), Known(0, False), Known(0)),
        ([row(LagState.NEVER_COMMITTED, lag=None, age=None, end=0)], True, Known(0), Known(0), Known(0)),
        ([row(LagState.NO_QUEUE, lag=None, age=None, end=None)], True, Known(0), Known(0), Known(0)),
    ],
)
def test_facts_of_queues(rows: list[QueueLag], complete: bool, lag: Known, lag_time: Known, lost: Known) -> None:
    summed = facts_of(rows, complete=complete)["a"]
    assert (summed.lag, summed.lag_time, summed.lost) == (lag, lag_time, lost)


@each("complete, pops_complete", [(True, True), (True, False), (False, True), (False, False)])
def test_facts_of_what_is_popped(complete: bool, pops_complete: bool) -> None:
    def popping(group: str, topic: str, **counts: int) -> GroupLag:
        return GroupLag(
            group=group,
            topic=topic,
            queue_count=1,
            never_committed_count=0,
            lag_count=0,
            lost_count=0,
            lag_ms=0,
            **counts,  # type: ignore[arg-type]
        )

    groups = [
        popping("a", "T", ready_count=1, invisible_count=20, due_count=300, retry_count=4_000),
        popping("a", "U", ready_count=5, invisible_count=60, due_count=700),
        popping("b", "T", ready_count=9),
    ]
    rows = [row(LagState.BEHIND, lag=3, age=5)]
    facts_by_group = facts_of(rows, complete=complete, popping=groups, pops_complete=pops_complete)
    exact = complete and pops_complete
    assert facts_by_group.keys() == {"a"}
    given = facts_by_group["a"]
    assert given.ready == Known(6, exact)
    assert given.invisible == Known(80, exact)
    assert given.due == Known(1_000, exact)
    assert given.retry == Known(4_000, exact)
    assert given.lag == Known(3, complete)
    assert facts_of(rows, complete=complete)["a"].ready == Known(0, complete)
