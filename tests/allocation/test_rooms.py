"""Rooms that names tell by themselves: read only where brokers and clients agree."""

from __future__ import annotations

from mqctl.allocation.rooms import inferred_rule
from tests.each import each


@each(
    "brokers, clients, rule",
    [
        (("HT-a", "CP-a"), ("HT-client-1", "CP-client-1"), "prefix:-"),
        (("HT-a", "CP-a"), ("HT-client-1", "HT-client-2"), "prefix:-"),  # CP is lost
        (("HT@broker-a", "CP@broker-a"), ("HT@10.0.0.1@17",), "prefix:@"),
        (("broker-a", "broker-b"), ("broker-x",), None),  # one prefix is no room
        (("HT-a", "CP-a"), ("10.0.0.1@17",), None),  # clients named by their address
        (("HT-a", "CP-a"), ("HT-client-1", "SH-client-1"), None),  # a client of no broker's room
        (("HT-a", "CP-a", "spare"), ("HT-client-1",), None),  # a broker without a prefix
        (("HT-a", "CP-a"), (), None),
        ((), ("HT-client-1",), None),
    ],
)
def test_rooms_are_read_where_names_agree(brokers: tuple[str, ...], clients: tuple[str, ...], rule: str | None) -> None:
    inferred = inferred_rule(brokers, clients)
    assert (inferred.text if inferred else None) == rule
