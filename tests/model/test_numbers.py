"""The one door from text to number."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.numbers import MOST_INT64, decimal, fraction
from tests.each import each


@given(st.integers(-MOST_INT64, MOST_INT64))
def test_every_64_bit_number_comes_through(number: int) -> None:
    assert decimal(str(number), -MOST_INT64) == number
    assert decimal(str(number).encode(), -MOST_INT64) == number
    assert decimal(str(number)) == (number if number >= 0 else None)


@each("text", [None, "", "-", "+1", " 1", "1 ", "1_000", "²", "٣", "1e3", "inf", "nan", "0x10", "9" * 5_000, "9" * 20])
def test_what_is_no_number_is_none(text: str | None) -> None:
    assert decimal(text, -MOST_INT64) is None


@each("text", [None, "", "-", ".5", "5.", "1e3", "inf", "nan", "٣", "1_0", "9" * 5_000, "0." + "1" * 100, "9" * 20])
def test_what_is_no_fraction_is_none(text: str | None) -> None:
    assert fraction(text) is None


def test_a_fraction_has_a_range_and_may_stand_between_blanks() -> None:
    assert [fraction(text, 0, 1) for text in (" 0.25 ", "-0.5", "1", "1.01")] == [0.25, None, 1.0, None]


def test_the_range_holds() -> None:
    assert [decimal(text, 1, 10) for text in ("0", "1", "10", "11")] == [None, 1, 10, None]
