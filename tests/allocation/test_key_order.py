"""Keys in several queues, and what another number of queues re-routes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqctl.allocation.key_order import KeyedMessage, hash_place, key_lanes, key_spread, re_routing
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.selectors import by_key
from mqctl.model.queue import MessageQueue

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
