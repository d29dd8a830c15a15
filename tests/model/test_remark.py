"""Words of other programs stay on one line and are marked as theirs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.remark import LONGEST_REMARK, quoted


def test_line_breaks_and_escapes_are_shown_and_a_cut_is_told() -> None:
    assert quoted("no room") == '"no room"'
    assert quoted('say "no"\\') == '"say \\"no\\"\\\\"'
    assert quoted("no\n  next: rm\r\x1b[2J\u202e\u2028") == '"no\\n  next: rm\\r\\x1b[2J\\u202e\\u2028"'
    assert quoted("盘已满") == '"盘已满"'
    assert quoted("x" * 1_000) == f'"{"x" * LONGEST_REMARK}"... (300 of 1,000 characters)'


@given(st.text(max_size=2 * LONGEST_REMARK))
def test_whatever_is_said_is_one_printable_line(words: str) -> None:
    shown = quoted(words)
    assert shown.isprintable()
    assert len(shown) < 10 * LONGEST_REMARK + 50
