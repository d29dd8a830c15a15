"""One property of property text is the one that reading the whole text gives."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from mqctl.protocol.properties import parse_properties, property_of, with_properties, without_property

TEXTS = st.text("ab\x01\x02", max_size=24)
NAMES = st.text("ab", min_size=1, max_size=2)


@given(TEXTS, NAMES)
@example("a\x01b\x02a\x01", "a")
@example("ba\x01b\x02aa\x01a", "a")
def test_one_property_equals_the_whole_reading(text: str, name: str) -> None:
    assert property_of(text, name) == parse_properties(text).get(name)


@given(TEXTS, NAMES, st.text("ab", min_size=1, max_size=3))
def test_what_is_set_is_read_and_what_is_taken_out_is_gone(text: str, name: str, value: str) -> None:
    changed = with_properties(text, {name: value})
    assert parse_properties(changed) == {**parse_properties(text), name: value}
    assert property_of(without_property(changed, name), name) is None
