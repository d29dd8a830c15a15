"""Conditions over lag: what they mean, what they say when they are broken, and that what is unknown stays open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.errors import UsageError
from mqctl.model.lag import LagState, QueueLag
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
