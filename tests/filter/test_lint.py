"""What a strict reader says about expressions that brokers take: each remark, alone and anywhere inside of others."""

from __future__ import annotations

import pytest

from mqctl.filter.lint import LintRemark, lint
from mqctl.filter.sql import compile_sql
from tests.each import each

REMARKS = [
    ("NOT a = 5", "NOT binds tighter than =: write NOT (a = b)", True),
    ("NOT a = 'x'", "NOT binds tighter than =: write NOT (a = b)", True),
    ("a", "a alone is never true: properties are texts", True),
    ("-a = 5", "-a is always unknown: properties are texts", True),
    ("TRUE = a", "write a = TRUE: with the constant on the left brokers throw", True),
    ("'5' = a", "a is taken for a property: write 'a' in quotes for the text", True),
    ("b = a", "a is taken for a property: write 'a' in quotes for the text", True),
    ("5 > a", "a is taken for a property: write 'a' in quotes for the text", True),
    ("a = FALSE", "a = FALSE matches every text but `true`", False),
    ("a = 5", "messages whose a is not a whole number are not delivered", False),
    ("a > 5", "messages whose a is not a whole number are not delivered", False),
    ("a <= 5", "messages whose a is not a whole number are not delivered", False),
]
QUIET = [
    "a = '5'",
    "a = 5.5",
    "a IS NULL",
    "a IN ('5', '6')",
    "a BETWEEN 5.0 AND 6.0",
    "a CONTAINS 'x'",
    "NOT (a = '5')",
    "(a = '5') = TRUE",
    "NOT (a = '5') = TRUE",
    "1.0 = 1.0",
]
INSIDE = [
    "{} AND b = 'x'",
    "b = 'x' AND {}",
    "b = 'x' OR {}",
    "{} OR b = 'x' OR c = 'x'",
    "NOT ({})",
    "b = 'x' AND (c = 'x' OR NOT ({}))",
    "({}) IS NULL",
]


def said(expression: str) -> list[tuple[str, bool]]:
    return [(remark.text, remark.grave) for remark in lint(compile_sql(expression))]


@each("expression, text, grave", REMARKS)
def test_what_means_something_else_than_it_looks_like_is_remarked(expression: str, text: str, grave: bool) -> None:
    assert (text, grave) in said(expression)


@each("expression", QUIET)
def test_nothing_is_said_of_what_means_what_it_says(expression: str) -> None:
    assert said(expression) == []


@pytest.mark.parametrize("around", INSIDE)
def test_remarks_are_made_wherever_it_stands(around: str) -> None:
    for expression, text, grave in REMARKS:
        if expression != "a" or "IS" not in around:  # a name that IS NULL is no condition
            assert (text, grave) in said(around.format(expression)), expression


def test_what_is_ignored_is_quoted_and_grave() -> None:
    assert said("a LIKE 'x%'") == [
        ("""brokers ignore everything from "LIKE 'x%'" on""", True),
        ("a alone is never true: properties are texts", True),
    ]


def test_grave_remarks_come_first_and_each_once() -> None:
    assert said("a = 5 AND a > 5 AND b = c AND c = 5") == [
        ("c is taken for a property: write 'c' in quotes for the text", True),
        ("messages whose a is not a whole number are not delivered", False),
        ("messages whose c is not a whole number are not delivered", False),
    ]
    assert LintRemark("x", grave=True) != LintRemark("x", grave=False)
