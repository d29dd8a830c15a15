"""SQL92 expressions: the oddities, each as a broker shows them."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.filter.sql import EvaluationError, SqlSyntaxError, compile_sql
from tests.each import each

THROWS = "throws"
A5 = {"a": "5"}


def outcome(expression: str, properties: dict[str, str]) -> bool | str | None:
    try:
        return compile_sql(expression).evaluate(properties)
    except EvaluationError:
        return THROWS


@each(
    "expression, properties, expected",
    [
        # three values
        ("a = 5 AND b = 6", {"a": "4"}, False),
        ("b = 6 AND a = 5", A5, None),
        ("b = 6 AND a = 4", A5, False),
        ("a = 5 OR b = 6", A5, True),
        ("b = 6 OR a = 5", A5, True),
        ("b = 6 OR a = 4", A5, None),
        ("a = 5 OR a = 'x' OR c > 1", A5, True),
        ("NOT (b = 6)", A5, None),
        ("a = b", {"b": "5"}, None),
        ("a = b", A5, False),
        ("x = y", {}, True),
        ("x <> 'k'", {}, None),
        ("a <> b", A5, True),
        ("b IS NULL", A5, True),
        ("b IS NOT NULL", A5, False),
        ("a > b", A5, None),
        ("b IN ('1')", A5, None),
        ("b NOT IN ('1')", A5, None),
        ("a", A5, False),
        ("a", {}, None),
        ("NOT a", A5, True),
        ("NOT a", {}, None),
        # conversions
        ("a = 5", {"a": "5.5"}, THROWS),
        ("a <> 5", {"a": "abc"}, THROWS),
        ("a = 5", {"a": "3000000000"}, THROWS),
        ("a = 5", {"a": " 5"}, THROWS),
        ("a = 3000000000", {"a": "3000000000"}, True),
        ("a > 5L", {"a": "6"}, True),
        ("a = 5.0", A5, True),
        ("a = 5.0", {"a": "5e0"}, True),
        ("a = 5.", {"a": " 5.00 "}, True),
        ("a = TRUE", {"a": "TruE"}, True),
        ("a = FALSE", {"a": "anything"}, True),
        ("TRUE = a", {"a": "true"}, THROWS),
        ("a = '5'", A5, True),
        ("a = b", {"a": "x", "b": "x"}, True),
        ("a > b", {"a": "10", "b": "9"}, True),
        ("a > b", {"a": "10", "b": "x"}, THROWS),
        ("5 = a", A5, True),
        ("6 > a", A5, True),
        ("a BETWEEN 1 AND 5", A5, True),
        ("a NOT BETWEEN 1 AND 4", A5, True),
        ("a NOT BETWEEN 9 AND 1", A5, True),
        ("a BETWEEN -1 AND -5", A5, False),
        ("a IN ('1', '5')", A5, True),
        ("a NOT IN ('1', '5')", A5, False),
        ("a > -1", A5, True),
        ("a = +5", A5, True),
        ("- a = 5", A5, None),
        ("a = 5 = TRUE", A5, True),
        ("1 = 1", {}, True),
        ("TRUE", {}, True),
        ("a = 'it''s'", {"a": "it's"}, True),
        # precedence
        ("NOT a = 5", A5, THROWS),
        ("a = 4 AND b = 1 OR a = 5", A5, True),
        ("a = 5 AND (b = 1 OR a = 5)", A5, True),
        # what follows is ignored
        ("a = 5 garbage", A5, True),
        ("a = 5 )", A5, True),
        ("a LIKE 'x%'", {"a": "x1"}, False),
        ("a + 1 > 2", A5, False),
        ("a = 007", {"a": "0"}, True),
        # comments and letters
        ("a /* one */ = -- two\n 5", A5, True),
        ("a between 1 and 9 Or FALSE", A5, True),
        ("A = 5", A5, None),
        # 5.1.3 and later
        ("a CONTAINS 'bc'", {"a": "abcd"}, True),
        ("a STARTSWITH 'ab'", {"a": "abcd"}, True),
        ("a ENDSWITH 'cd'", {"a": "abcd"}, True),
        ("a NOT CONTAINS 'x'", {"a": "abcd"}, True),
        ("a CONTAINS ''", {"a": "abcd"}, False),
        ("a NOT CONTAINS 'x'", {}, False),
    ],
)
def test_evaluation(expression: str, properties: dict[str, str], expected: bool | str | None) -> None:
    assert outcome(expression, properties) == expected
    assert compile_sql(expression).matches(properties) is (expected is True)


@each(
    "expression",
    [
        "",
        "5",
        "'x'",
        "NULL",
        "a = 0.0",
        "a = 9223372036854775808",
        "a > 'x'",
        "a BETWEEN 'a' AND 'b'",
        "a = NULL",
        "a <> NULL",
        "a BETWEEN 5 AND 1",
        "a > 5 > 3",
        "a > TRUE",
        "a IN (1)",
        "a IN ()",
        "5 IN ('5')",
        "a NOT 5",
        "a = ",
        "(a = 5",
        "a != 5",
        "a == 5",
        "a = 5 && b = 6",
        "a IS 5",
        "NOT 5",
        "a = 'open",
        "a CONTAINS b",
        "(" * 500 + "a",
        "NOT " * 500 + "a",
        "a" + " = a" * 500,
        "a" + " IS NULL" * 500,
    ],
)
def test_what_a_broker_refuses(expression: str) -> None:
    with pytest.raises(SqlSyntaxError) as refused:
        compile_sql(expression)
    assert 0 <= refused.value.position <= len(expression)
    assert "character" in refused.value.reason


INT, LONG = 1 << 31, 1 << 63


@each(
    "expression, value, expected",
    [
        ("a = 2147483647", str(INT - 1), True),
        ("a < 0", str(-INT), True),
        ("a = 5", str(INT), THROWS),
        ("a = 5", str(-INT - 1), THROWS),
        ("a = 2147483648", str(INT), True),
        ("a = 5L", str(INT), THROWS),  # small numbers are narrow, however they are written
        ("a = 2147483648L", str(INT), True),
        ("a > 2147483648", str(LONG - 1), True),
        ("a < 2147483648", str(-LONG), True),
        ("a = 2147483648", str(LONG), THROWS),
        ("a = 2147483648", str(-LONG - 1), THROWS),
        ("a = 9223372036854775807", str(LONG - 1), True),
        ("a = 5", "+5", True),
        ("a = 5", "++5", THROWS),
        ("a = 5", "", THROWS),
        ("a = 5.0", "", THROWS),
        ("a = 5.0", "5d", True),
        ("a = 5.0", "5F", True),
        ("a = 5.0", "fd", THROWS),
        ("a > 5", "5", False),
        ("a >= 5", "5", True),
        ("a < 5", "5", False),
        ("a <= 5", "5", True),
        ("a BETWEEN 5 AND 6", "4", False),
        ("a BETWEEN 5 AND 6", "5", True),
        ("a BETWEEN 5 AND 6", "6", True),
        ("a BETWEEN 5 AND 6", "7", False),
        ("a NOT BETWEEN 5 AND 6", "4", True),
        ("a NOT BETWEEN 5 AND 6", "5", False),
        ("a NOT BETWEEN 5 AND 6", "6", False),
        ("a NOT BETWEEN 5 AND 6", "7", True),
    ],
)
def test_numbers_at_their_bounds(expression: str, value: str, expected: bool | str) -> None:
    assert outcome(expression, {"a": value}) == expected


@each("wide, value", [(False, str(INT)), (True, str(LONG))])
def test_a_number_that_java_cannot_read_is_said_with_its_width(wide: bool, value: str) -> None:
    compiled = compile_sql(f"a = {INT if wide else INT - 1}")
    with pytest.raises(EvaluationError) as thrown:
        compiled.evaluate({"a": value})
    assert f"cannot read '{value}' as a whole number of {64 if wide else 32} bits" in str(thrown.value)
    assert thrown.value.reason == "Java throws NumberFormatException"


DEEPEST, LONGEST = 79, 200


@each(
    "least, most",
    [
        ("(" * DEEPEST + "a = '5'" + ")" * DEEPEST, "(" * (DEEPEST + 1) + "a = '5'" + ")" * (DEEPEST + 1)),
        ("NOT " * DEEPEST + "a", "NOT " * (DEEPEST + 1) + "a"),
        ("a" + " IS NULL" * LONGEST, "a" + " IS NULL" * (LONGEST + 1)),
        ("a" + " = a" * LONGEST, "a" + " = a" * (LONGEST + 1)),
        # each condition of a chain has a depth of its own
        (" AND ".join(["a" + " IS NULL" * LONGEST] * 3), "a = '5' AND a" + " IS NULL" * (LONGEST + 1)),
        (" OR ".join(["(" * DEEPEST + "a = '5'" + ")" * DEEPEST] * 3), "a = '5' OR " + "(" * (DEEPEST + 1) + "a"),
    ],
)
def test_how_deeply_conditions_may_nest(least: str, most: str) -> None:
    compile_sql(least).matches({"a": "5"})
    with pytest.raises(SqlSyntaxError) as refused:
        compile_sql(most)
    assert re.match("nested too deeply|too long a chain of comparisons", refused.value.reason)


@each(
    "expression, position, reason",
    [
        ("a = ", 4, "at character 5, found the end"),
        ("a IN (1)", 6, "at character 7, found '1)'"),
        ("(a = 5", 6, "expected ) at character 7, found the end"),
        ("a IS 5", 5, "expected NULL at character 6, found '5'"),
        ("a = 'open" + "x" * 30, 4, 'found "\'openxxxxxxxxxxxxxxx"'),
    ],
)
def test_a_refusal_says_where_and_what_stands_there(expression: str, position: int, reason: str) -> None:
    with pytest.raises(SqlSyntaxError) as refused:
        compile_sql(expression)
    assert (refused.value.position, reason in refused.value.reason) == (position, True), refused.value.reason
    assert repr(expression) in str(refused.value)


def test_a_refusal_quotes_the_beginning_of_what_is_very_long() -> None:
    with pytest.raises(SqlSyntaxError) as refused:
        compile_sql("a = " + "(" * 5_000)
    assert len(str(refused.value)) < 1_000


def test_what_follows_is_told() -> None:
    assert compile_sql("a LIKE 'x%'").ignored == "LIKE 'x%'"
    assert compile_sql("a = 5 -- fine\n").ignored == ""


def test_long_chains_of_conditions_are_fine() -> None:
    assert compile_sql(" OR ".join(f"a = '{number}'" for number in range(5_000))).matches({"a": "4999"})


def test_before_5_1_3_the_new_words_are_names() -> None:
    assert compile_sql("contains = 5", is_v5=False).matches({"contains": "5"})
    with pytest.raises(SqlSyntaxError):
        compile_sql("contains = 5")


_WORDS = [
    "a",
    "b",
    "5",
    "5.5",
    "'x'",
    "NOT",
    "AND",
    "OR",
    "=",
    "<>",
    ">",
    "<=",
    "(",
    ")",
    "IN",
    "BETWEEN",
    "IS",
    "NULL",
]


@given(st.lists(st.sampled_from([*_WORDS, "TRUE", ",", "-", "+", "CONTAINS", "'", "--", "/*"]), max_size=12))
def test_any_words_compile_or_are_refused_and_evaluate_or_throw(words: list[str]) -> None:
    with contextlib.suppress(SqlSyntaxError, EvaluationError):
        assert compile_sql(" ".join(words)).evaluate({"a": "5"}) in (True, False, None)


@given(st.text(max_size=40))
def test_any_text_compiles_or_is_refused(text: str) -> None:
    with contextlib.suppress(SqlSyntaxError):
        compile_sql(text).matches({"a": "5"})
