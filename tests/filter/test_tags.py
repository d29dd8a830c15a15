"""Tag expressions as clients and brokers treat them."""

from __future__ import annotations

import pytest

from mqctl.filter.tags import TagExpressionError, parse_tags, tag_code


@pytest.mark.parametrize("text", [None, "", "*"])
def test_everything(text: str | None) -> None:
    parsed = parse_tags(text)
    assert (parsed.expression, parsed.tags, parsed.normal_form) == ("*", (), "*")
    assert all(parsed.wants(tag) for tag in ("TagA", "", None))


def test_tags_are_trimmed_and_empty_ones_dropped() -> None:
    parsed = parse_tags(" TagA ||  || 订单||TagA||")
    assert parsed.tags == ("TagA", "订单")
    assert parsed.codes == {2598919, 1129459}
    assert parsed.normal_form == "TagA || 订单"


def test_order_and_spacing_do_not_matter() -> None:
    assert parse_tags("a||b").normal_form == parse_tags("b || a ").normal_form


@pytest.mark.parametrize("text", ["||", "||||"])
def test_nothing_but_separators_is_an_error(text: str) -> None:
    with pytest.raises(TagExpressionError):
        parse_tags(text)


def test_blanks_between_separators_let_nothing_through_the_broker() -> None:
    parsed = parse_tags(" || ")
    assert not parsed.everything
    assert not parsed.passes_code(tag_code("a"))


@pytest.mark.parametrize(("one", "other"), [("Aa", "BB"), ("order_UP", "order_V1"), ("Siblings", "Teheran")])
def test_collisions_pass_the_broker_and_stop_at_the_client(one: str, other: str) -> None:
    parsed = parse_tags(one)
    assert parsed.passes_code(tag_code(other))
    assert not parsed.passes_tag(other)
    assert not parsed.wants(other)
    assert parsed.wants(one)


def test_a_message_carries_one_tag_even_with_bars_in_it() -> None:
    assert not parse_tags("a || b").wants("a||b")
    assert not parse_tags("a").wants(None)


def test_codes_are_compared_as_32_bits() -> None:
    assert parse_tags("TagA").passes_code(2598919 + (7 << 32))
