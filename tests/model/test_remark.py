"""Words of other programs stay on one line and are marked as theirs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqctl.cli.gaps import gap_lines
from mqctl.client.remoting.answers import unreachable
from mqctl.model.gap import Cause, Gap, GapSubject, Part
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


def test_a_gap_is_told_on_one_line_whatever_the_names_are() -> None:
    """A client names itself: its line break, its terminal sequence and its length stay its own."""
    subject = GapSubject(client="x\nnext: rm -rf\x1b[2J", group="g" * 5_000)
    gap = Gap(part=Part.MEMBERS, cause=Cause.REFUSED, reason="it said no", subject=subject, broker="b\r\nc")
    for text in (str(subject), gap.scope or "", *gap_lines([gap])):
        assert text.isprintable()
        assert len(text) < 800
    assert "of 5,000 characters" in str(subject)
    assert str(GapSubject(client="10.0.0.1@7", group="G")) == "10.0.0.1@7 of G"


def test_an_address_that_a_name_server_made_up_is_told_on_one_line() -> None:
    for address in ("10.0.0.1:9\nnext: rm -rf", "9" * 5_000):
        text = str(unreachable(28, address, "it is not an address"))
        assert text.isprintable()
        assert len(text) < 500
