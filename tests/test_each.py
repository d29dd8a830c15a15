"""A test of many cases fails once, and names every case that failed."""

from __future__ import annotations

import pytest

from tests.each import each


@each("number, limit", [(1, 5), (7, 5), (2, 5), (9, 5)])
def small(number: int, limit: int, unit: str) -> None:
    if number == 9:
        raise KeyError(unit)
    assert number < limit


def test_every_case_is_tried_and_every_failure_is_named() -> None:
    with pytest.raises(AssertionError) as caught:
        small(unit="ms")
    first, *failures = str(caught.value).splitlines()
    assert first == "2 of 4 cases failed:"
    assert [line.partition(":")[0] for line in failures if line[0].isdigit()] == ["7 5", "9 5"]
    assert "test_each.py:14: assert 7 < 5" in failures[0]
    assert failures[-1].endswith("KeyError: 'ms'")


@each("number", [1, 2, 3])
def partly(number: int, last: int) -> None:
    if number == 2:
        pytest.skip("two")
    assert number < last


def test_a_skip_hides_no_failure_and_is_no_success() -> None:
    with pytest.raises(AssertionError, match="1 of 3 cases failed"):
        partly(last=3)
    with pytest.raises(pytest.skip.Exception, match="two"):
        partly(last=4)


def test_a_loop_over_nothing_is_no_success() -> None:
    with pytest.raises(AssertionError, match="there is no case"):
        each("code", [])(lambda code: None)()


@each("number", [1, 2])
def test_other_parameters_are_fixtures(number: int, request: pytest.FixtureRequest) -> None:
    assert "number" not in request.fixturenames
    assert number > 0
