"""The report of differences tells what is known from what is new, and names what is known and no longer so."""

from __future__ import annotations

from tests.real.differences import KNOWN, Comparison, as_markdown

((RELEASE, (KNOWN_TEST,)), *_) = [(release, tuple(tests)) for release, tests in KNOWN.items()]


def test_known_differences_are_told_with_their_reason_and_new_ones_with_what_was_said() -> None:
    seen = Comparison(release=RELEASE, passed_count=60, failed={KNOWN_TEST: "a", "test_b": "1 == 2"}, left_out={})
    assert seen.unexpected == {"test_b": "1 == 2"}
    report = as_markdown([seen])
    assert f"| {RELEASE} | 60 | 2 | 0 |" in report
    assert f"* {RELEASE}, `{KNOWN_TEST}`: known: {KNOWN[RELEASE][KNOWN_TEST]}" in report
    assert f"* {RELEASE}, `test_b`: **new**: 1 == 2" in report


def test_what_differs_no_longer_and_what_was_left_out_is_not_passed_over() -> None:
    seen = Comparison(release=RELEASE, passed_count=60, failed={}, left_out={"test_c": "why"})
    assert seen.unexpected == {KNOWN_TEST: "no longer differs", "test_c": "was left out: why"}
    of_4 = Comparison(release="4.9.7", passed_count=60, failed={}, left_out={"test_pop": "no POP"})
    assert of_4.unexpected == {}
    assert "Nothing differs." in as_markdown([of_4])
