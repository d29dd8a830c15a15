"""Keys in several queues, and what another number of queues re-routes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqctl.allocation.key_order import KeyedMessage, hash_place, key_lanes, key_spread, re_routing
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.selectors import by_key
from mqctl.model.queue import MessageQueue
from tests.each import each

FOUR = [MessageQueue("T", "a", number) for number in range(4)]


def at(queue: int, time_ms: int, key: str | None) -> KeyedMessage:
    return KeyedMessage(queue=FOUR[queue], store_time_ms=time_ms, queue_offset=time_ms, key=key)


def test_moves_tell_a_re_routing_from_a_lost_order() -> None:
    moved = [at(0, 1, "once"), at(0, 2, "once"), at(1, 3, "once"), at(1, 4, "once")]
    torn = [at(2, 1, "torn"), at(3, 2, "torn"), at(2, 3, "torn"), at(3, 9, "torn")]
    spread = key_spread([*moved, *torn, at(0, 5, None), at(0, 6, "fine")], FOUR)
    assert (spread.message_count, spread.keyless_count, spread.key_count) == (10, 1, 3)
    assert [(item.key, item.move_count, item.last_move_time_ms) for item in spread.spread] == [
        ("torn", 3, 9), ("once", 1, 3),
    ]  # fmt: skip
    assert spread.spread[0].counts == {FOUR[2]: 2, FOUR[3]: 2}


@given(keys=st.lists(st.text(min_size=1), min_size=1, max_size=30), after=st.integers(1, 12))
def test_what_is_re_routed_is_what_the_selector_of_our_client_moves(keys: list[str], after: int) -> None:
    more = [MessageQueue("T", "a", number) for number in range(after)]
    message = OutgoingMessage(topic="T", body=b"x")
    before = {key: by_key(key)(FOUR, message) for key in keys}
    sampled = [KeyedMessage(queue=before[key], store_time_ms=n, queue_offset=n, key=key) for n, key in enumerate(keys)]
    spread = key_spread(sampled, FOUR)
    assert (spread.spread, spread.by_hash_count) == ((), len(keys))
    moved = {key for key in keys if by_key(key)(more, message) != before[key]}
    re_routed = re_routing(sampled, FOUR, more)
    assert (re_routed.moved_key_count, re_routed.moved_message_count) == (len(moved), sum(key in moved for key in keys))


def test_java_s_remainder_of_the_smallest_hash() -> None:
    assert hash_place("polygenelubricants", 7) == 2_147_483_648 % 7


def test_a_queue_gains_by_order_of_keys_what_its_busiest_key_allows() -> None:
    def in_queue(number: int, *keys: str | None) -> list[KeyedMessage]:
        queue = MessageQueue("T", "broker-a", number)
        return [KeyedMessage(queue=queue, store_time_ms=at, queue_offset=at, key=key) for at, key in enumerate(keys)]

    sample = [*in_queue(0, *"abcd"), *in_queue(1, *"aaab"), *in_queue(2, None, None), *in_queue(3, "a", None, "b", "a")]
    assert [
        (item.queue.queue_id, item.busiest_key, item.key_count, round(item.gain, 2)) for item in key_lanes(sample)
    ] == [
        (1, "a", 2, 1.33),
        (2, None, 0, 2.0),
        (3, "a", 2, 2.0),
        (0, "a", 4, 4.0),
    ]
    assert key_lanes([]) == []


@each("key, count, place", [("", 4, 0), ("a", 4, 1), ("a", 1, 0), ("b", 97, 1), ("ab", 1_000, 105)])
def test_places_by_hand(key: str, count: int, place: int) -> None:
    """Java's hashes: 0, 97, 98, 97 * 31 + 98."""
    assert hash_place(key, count) == place


def test_messages_are_read_in_the_order_of_their_time_then_queue_then_offset() -> None:
    items = [at(1, 5, "k"), at(0, 5, "k"), at(0, 1, "k"), at(1, 9, "k")]
    for sample in (items, items[::-1]):
        spread = key_spread(sample, [])
        assert [(item.move_count, item.last_move_time_ms) for item in spread.spread] == [(1, 5)]
        assert (spread.by_hash_count, spread.message_count) == (None, 4)
        assert list(spread.spread[0].counts.items()) == [(FOUR[0], 2), (FOUR[1], 2)]


def test_of_equal_moves_the_first_key_comes_first() -> None:
    sample = [at(queue, time_ms, key) for key in "cab" for time_ms, queue in enumerate((0, 1))]
    assert [item.key for item in key_spread(sample, FOUR).spread] == ["a", "b", "c"]
    assert key_spread(sample, FOUR).by_hash_count == 1  # "c" is at 3, "a" at 1, "b" at 2


def test_an_empty_sample_shows_nothing() -> None:
    spread = key_spread([], FOUR)
    assert (spread.message_count, spread.keyless_count, spread.key_count) == (0, 0, 0)
    assert (spread.spread, spread.by_hash_count) == ((), 0)


def test_what_moves_by_hand() -> None:
    sample = [at(1, 0, "a"), at(1, 1, "a"), at(2, 2, "b"), at(0, 3, None)]
    # Of three queues "a" (97) is at 1 again, "b" (98) at 2; of two at 1 and 0.
    assert (re_routing(sample, FOUR, FOUR[:3]).moved_key_count, re_routing(sample, FOUR, FOUR[:3]).key_count) == (0, 2)
    two = re_routing(sample, FOUR, FOUR[:2])
    assert (two.queue_count, two.moved_key_count, two.moved_message_count) == (2, 1, 1)
    one = re_routing(sample, FOUR, FOUR[:1])
    assert (one.queue_count, one.moved_key_count, one.moved_message_count) == (1, 2, 3)


def test_the_busiest_of_equal_keys_is_the_first() -> None:
    (lanes,) = key_lanes([at(0, 0, "b"), at(0, 1, "a"), at(0, 2, "a"), at(0, 3, "b"), at(0, 4, None)])
    assert (lanes.busiest_key, lanes.busiest_count, lanes.message_count, lanes.key_count) == ("a", 2, 5, 2)
    equal = key_lanes([at(3, 0, "a"), at(1, 1, "b")])
    assert [item.queue for item in equal] == [FOUR[1], FOUR[3]]
