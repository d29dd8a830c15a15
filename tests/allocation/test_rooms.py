"""Rooms that names tell by themselves: read only where brokers and clients agree."""

from __future__ import annotations

import pytest

from mqctl.allocation.rooms import inferred_rule, room_rule, selectable_queues, writable_queues
from mqctl.errors import UsageError
from mqctl.model.queue import MessageQueue
from mqctl.model.route import BrokerEndpoint, RouteQueues, TopicRoute
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


@each(
    "rule, name, broker_room, client_room",
    [
        ("prefix:-", "HT-a-b", "HT", "HT"),
        ("prefix:-", "HT", None, None),
        ("prefix:-", "-a", "", ""),
        ("prefix:--", "a-b--c", "a-b", "a-b"),
        ("prefix:@", "HT@10.0.0.1@7", "HT", "HT"),
        ("regex:b", "abc", "b", "b"),
        ("regex:x", "abc", None, None),
        ("regex:b(.)", "abcd", "c", "c"),
        ("regex:(x)?b", "abc", None, None),
        ("map:f", "broker-a", "HT", "HT"),
        ("map", "broker-a", "HT", "HT"),
        ("map", "10.0.0.1@7", None, "CP"),
        ("map", "10.0.0.1@8", "SH", "SH"),
        ("map", "other@8", None, None),
    ],
)
def test_rooms_that_a_rule_reads(rule: str, name: str, broker_room: str | None, client_room: str | None) -> None:
    read = room_rule(rule, {"broker-a": "HT", "10.0.0.1": "CP", "10.0.0.1@8": "SH"})
    assert (read.text, read.broker_room(name), read.client_room(name)) == (rule, broker_room, client_room)


@each("text", ["", "prefix", "prefix:", "regex:", "regex:(", "map", "map:f", "suffix:-", "regex:" + "(" * 9_000])
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read the room rule"):
        room_rule(text)


def test_producers_send_where_a_master_lets_them_write() -> None:
    route = TopicRoute(
        topic="T",
        queues=tuple(
            RouteQueues(broker_name=name, read_queue_count=9, write_queue_count=count, perm=perm)
            for name, count, perm in (("d", 2, 6), ("a", 2, 2), ("b", 2, 4), ("c", 2, 6), ("e", 0, 6), ("f", 1, 3))
        ),
        endpoints=tuple(
            BrokerEndpoint(cluster="C", name=name, addresses={number: "1:1"})
            for name, number in (("a", 0), ("b", 0), ("c", 1), ("d", 0), ("e", 0), ("f", 0))
        ),
    )
    assert writable_queues(route) == [
        *(MessageQueue("T", name, number) for name in "ad" for number in range(2)),
        MessageQueue("T", "f", 0),
    ]


def test_a_producer_takes_its_room_s_queues_or_all() -> None:
    queues = [MessageQueue("T", name, number) for name in ("HT-a", "CP-a") for number in range(2)]
    rule = room_rule("prefix:-")
    assert selectable_queues(queues, "CP", rule) == queues[2:]
    assert selectable_queues(queues, "SH", rule) == queues
    assert selectable_queues(iter(queues), "SH", rule) == queues
