"""What share of a topic each queue gets, by hand, and that shares are a whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.allocation.key_order import hash_place
from mqctl.allocation.rooms import room_rule
from mqctl.allocation.sending import (
    MOST_SHARES,
    Choosing,
    ProducerChoice,
    QueueShare,
    counted_keys,
    numbered_keys,
    queue_shares,
    selector_named,
)
from mqctl.allocation.simulation import Layout, numbered_layout
from mqctl.errors import UsageError
from mqctl.model.queue import MessageQueue
from tests.each import each

RULE = room_rule("prefix:-")
ROOMS = numbered_layout(["T"], 2, 2, rooms=("HT", "CP"))
QUEUES = [MessageQueue("T", "b", number) for number in range(4)]


@each(
    "text, choosing, room, written",
    [
        ("turn", Choosing.TURN, None, "turn"),
        ("HASH", Choosing.HASH, None, "hash"),
        ("random", Choosing.RANDOM, None, "random"),
        ("room", Choosing.ROOM, None, "room"),
        ("Room:HT", Choosing.ROOM, "HT", "room:HT"),
        ("room:a:b", Choosing.ROOM, "a:b", "room:a:b"),
    ],
)
def test_selectors_by_name(text: str, choosing: Choosing, room: str | None, written: str) -> None:
    assert selector_named(text) == ProducerChoice(choosing, room)
    assert str(selector_named(text)) == written


@each("text", ["", "rooms", "turn:", "hash:HT", "turn:x", "room:", ":", ":HT"])
def test_what_is_no_selector(text: str) -> None:
    with pytest.raises(UsageError, match="no selector"):
        selector_named(text)


@each(
    "count, hot_share, shares",
    [
        (1, 0.0, [1.0]),
        (1, 0.3, [1.0]),
        (2, 0.0, [0.5, 0.5]),
        (4, 0.0, [0.25] * 4),
        (5, 0.6, [0.6, 0.1, 0.1, 0.1, 0.1]),
        (3, 1.0, [1.0, 0.0, 0.0]),
    ],
)
def test_numbered_keys(count: int, hot_share: float, shares: list[float]) -> None:
    keys = numbered_keys(count, hot_share)
    assert list(keys) == [f"key-{number}" for number in range(1, count + 1)]
    assert list(keys.values()) == pytest.approx(shares)


def test_counted_keys() -> None:
    assert counted_keys({"a": 3, None: 4, "b": 1}) == {"a": 0.375, "b": 0.125}
    assert counted_keys({"a": 1}) == {"a": 1.0}
    assert counted_keys({None: 3}) == {}
    assert counted_keys({}) == counted_keys({"a": 0}) == {}


def layout(queues: list[MessageQueue]) -> Layout:
    return Layout(queues=tuple(queues), clients=("c",))


@each("choosing", [Choosing.TURN, Choosing.RANDOM])
def test_in_turn_each_queue_gets_the_same_of_each_key(choosing: Choosing) -> None:
    shares = queue_shares(ProducerChoice(choosing), layout(QUEUES[::-1]), {"a": 0.5, "b": 0.25})
    assert [item.queue for item in shares] == QUEUES
    assert [(item.share, dict(item.by_key), item.busiest_key) for item in shares] == [
        (0.25, {"a": 0.125, "b": 0.0625}, "a")
    ] * 4


def test_by_hash_a_key_lies_in_one_queue_and_the_rest_goes_round() -> None:
    keys = {"a": 0.5, "b": 0.2, "e": 0.1}
    shares = queue_shares(ProducerChoice(Choosing.HASH), layout(QUEUES), keys)
    # Java's hashes of "a", "b" and "e" are 97, 98 and 101: places 1, 2 and 1 of four.
    assert [dict(item.by_key) for item in shares] == [{}, {"a": 0.5, "e": 0.1}, {"b": 0.2}, {}]
    assert [item.share for item in shares] == pytest.approx([0.05, 0.65, 0.25, 0.05])
    assert [item.busiest_key for item in shares] == [None, "a", "b", None]
    more = queue_shares(ProducerChoice(Choosing.HASH), layout(QUEUES), {"a": 0.9, "b": 0.3})
    assert [item.share for item in more] == pytest.approx([0.0, 0.9, 0.3, 0.0])


def test_of_equal_keys_the_first_name_is_the_busiest() -> None:
    assert QueueShare(queue=QUEUES[0], share=1.0, by_key={"b": 0.3, "a": 0.3, "c": 0.1}).busiest_key == "a"


@each(
    "room, clients, shares",
    [
        (None, ("HT-c", "CP-c"), [0.25, 0.25, 0.25, 0.25]),
        (None, ("HT-c", "HT-d"), [0.0, 0.0, 0.5, 0.5]),
        (None, ("HT-c", "XX-c"), [0.125, 0.125, 0.375, 0.375]),
        (None, ("HT-c", "plain"), [0.0, 0.0, 0.5, 0.5]),
        ("CP", ("HT-c",), [0.5, 0.5, 0.0, 0.0]),
        ("XX", ("HT-c",), [0.25, 0.25, 0.25, 0.25]),
    ],
)
def test_in_turn_among_the_queues_of_a_room(room: str | None, clients: tuple[str, ...], shares: list[float]) -> None:
    given = Layout(queues=ROOMS.queues, clients=clients)
    made = queue_shares(ProducerChoice(Choosing.ROOM, room), given, {"k": 0.5}, RULE)
    assert [item.queue.broker_name for item in made] == ["CP-broker-a"] * 2 + ["HT-broker-a"] * 2
    assert [item.share for item in made] == pytest.approx(shares)
    assert [item.by_key["k"] for item in made] == pytest.approx([share / 2 for share in shares])


def test_rooms_need_a_rule_and_a_client_that_tells_its_own() -> None:
    by_room = ProducerChoice(Choosing.ROOM)
    with pytest.raises(UsageError, match="needs to know rooms"):
        queue_shares(by_room, ROOMS, {})
    with pytest.raises(UsageError, match="no client tells its room"):
        queue_shares(by_room, Layout(queues=ROOMS.queues, clients=("plain",)), {}, RULE)


def test_how_many_shares_are_counted() -> None:
    assert MOST_SHARES == 1_000_000
    many = layout([MessageQueue("T", "b", number) for number in range(1_000)])
    keys = numbered_keys(1_001, 0.0)
    with pytest.raises(UsageError) as caught:
        queue_shares(ProducerChoice(Choosing.TURN), many, keys)
    assert "1,001 keys in each of 1,000 queues" in str(caught.value)
    assert len(queue_shares(ProducerChoice(Choosing.HASH), many, keys)) == 1_000


def test_the_last_number_of_shares_that_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqctl.allocation.sending.MOST_SHARES", 8)
    turn = ProducerChoice(Choosing.TURN)
    assert len(queue_shares(turn, layout(QUEUES), numbered_keys(2, 0.0))) == 4
    with pytest.raises(UsageError):
        queue_shares(turn, layout(QUEUES), numbered_keys(3, 0.0))


@settings(max_examples=30)
@given(
    selector=st.sampled_from([*map(ProducerChoice, Choosing), ProducerChoice(Choosing.ROOM, "CP")]),
    counts=st.dictionaries(st.none() | st.text(max_size=3), st.integers(1, 9), max_size=5),
)
def test_all_messages_are_somewhere(selector: ProducerChoice, counts: dict[str | None, int]) -> None:
    keys = counted_keys(counts)
    shares = queue_shares(selector, ROOMS, keys, RULE)
    assert sum(item.share for item in shares) == pytest.approx(1.0)
    for key, share in keys.items():
        assert sum(item.by_key.get(key, 0.0) for item in shares) == pytest.approx(share)
        if selector.choosing is Choosing.HASH:
            assert [key in item.by_key for item in shares].index(True) == hash_place(key, len(shares))
