"""Whoever misspells a name at night is told the right one."""

from __future__ import annotations

import pytest

from mqctl.model.names_alike import meant, near_names

KNOWN = ("orders", "orders-archive", "ORDERS_dev", "payments", "order-service", "%RETRY%orders")


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("ordres", "orders"),
        ("order", "orders"),
        ("Orders", "orders"),
        ("paymnts", "payments"),
        ("PAYMENTS", "payments"),
    ],
)
def test_the_likeliest_comes_first(typed: str, first: str) -> None:
    assert near_names(typed, KNOWN)[0] == first


def test_a_beginning_is_enough_and_three_are_the_most() -> None:
    assert near_names("pay", KNOWN) == ["payments"]
    assert len(near_names("orders", [f"orders{number}" for number in range(50)])) == 3


def test_nothing_alike_is_no_guess() -> None:
    assert near_names("settlement", KNOWN) == near_names("", KNOWN) == near_names("orders", ()) == []
    assert meant("settlement", KNOWN, "mqctl topic list --all") == "mqctl topic list --all"
    assert meant("paymnts", KNOWN, "mqctl topic list --all") == "did you mean payments? mqctl topic list --all"
