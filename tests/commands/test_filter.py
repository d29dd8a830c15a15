"""`mqctl filter`: verdicts, remarks, collisions and bit maps as people ask for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Outcome

Run = Callable[..., Outcome]


@pytest.mark.parametrize(
    ("words", "verdict", "code"),
    [
        (("a > 5 AND b = 'x'", "--prop", "a=7", "--prop", "b=x"), "delivered", 0),
        (("a > 5", "--prop", "a=5"), "not delivered", 1),
        (("a > 5",), "unknown", 1),
        (("a = 5", "--prop", "a=five"), "throws", 1),
        (("--tags", "A || B", "--prop", "TAGS=B"), "delivered", 0),
        (("--tags", "A || B"), "not delivered", 1),
    ],
)
def test_verdicts(mqctl: Run, words: tuple[str, ...], verdict: str, code: int) -> None:
    outcome = mqctl("filter", "test", *words, "-o", "json")
    assert (outcome.exit_code, outcome.json["verdict"]) == (code, verdict)
    assert mqctl("filter", "test", *words).stdout.startswith(verdict)


@pytest.mark.parametrize(
    ("expression", "said", "code"),
    [
        ("a LIKE 'x%'", "ignore everything from", 1),
        ("NOT a = 5", "NOT binds tighter", 1),
        ("a AND b = 'x'", "a alone is never true", 1),
        ("TRUE = a", "write a = TRUE", 1),
        ("- a > 5", "always unknown", 1),
        pytest.param("a > 5 AND b = abc", "abc is taken for a property: write 'abc' in quotes", 1, id="n15"),
        ("a > 5", "not a whole number", 0),
        ("a = 'x'", "nothing to remark", 0),
    ],
)
def test_remarks(mqctl: Run, expression: str, said: str, code: int) -> None:
    outcome = mqctl("filter", "lint", "--", expression)
    assert (outcome.exit_code, said in outcome.stdout) == (code, True), outcome.stdout


def test_collisions_and_bits(mqctl: Run) -> None:
    figures = mqctl("filter", "lint", "--collisions", "order_UP", "order_V1", "paid", "-o", "json")
    assert (figures.exit_code, [row["tags"] for row in figures.json["collisions"]]) == (1, [["order_UP", "order_V1"]])
    assert mqctl("filter", "lint", "--collisions", "a", "b").exit_code == 0
    words = ("lint", "--bloom", "-g", "GID_a", "-t", "TopicTest", "--groups", "32")
    bits = mqctl("filter", *words, "-o", "json").json["bloom"]
    assert (bits["bit_count"], bits["positions"], round(bits["false_hit_share"], 3)) == (112, [46, 22, 110], 0.192)


@pytest.mark.parametrize(
    "words",
    [
        ("test",),
        ("test", "a > ", "--prop", "a=1"),
        ("test", "a > 1", "--prop", "novalue"),
        ("test", "a > 1", "--tags", "b"),
        ("lint", "(a = 5"),
        ("lint",),
        ("lint", "a = 5", "b = 5"),
        ("lint", "--collisions"),
        ("lint", "--bloom", "--error", "0"),
        ("lint", "--bloom", "-g", "G"),
    ],
)
def test_what_cannot_be_read(mqctl: Run, words: tuple[str, ...]) -> None:
    outcome = mqctl("filter", *words)
    assert (outcome.exit_code, "Traceback" in outcome.stderr) == (64, False)


@pytest.mark.parametrize(
    "link", [" = 'x'", " <> 'x'", " IS NULL", " CONTAINS 'x'", " NOT STARTSWITH 'x'", " ENDSWITH 'x'"]
)
@pytest.mark.parametrize("count", [150, 5_000])
def test_a_chain_of_comparisons_is_read_or_refused(mqctl: Run, link: str, count: int) -> None:
    """Each link nests one deeper, and readers of the tree call themselves."""
    for words in (("lint",), ("test", "--prop", "a=x")):
        outcome = mqctl("filter", *words, "a" + link * count)
        assert outcome.exit_code in ((64,) if count > 1_000 else (0, 1)), outcome.stderr[:1_000]
        assert ("too long a chain of comparisons" in outcome.stderr) == (count > 1_000)
        assert len(outcome.stderr) < 1_000
