"""What a pop leaves behind and when: records to the letter, moments to the millisecond, by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from embedded_broker.broker import Broker
from mqctl.model.names import TIMER_TOPIC, pop_retry_topic
from mqctl.protocol.bodies_pop import PopCheckPoint
from mqctl.protocol.declared import replaced
from mqctl.protocol.receipts import Receipt
from tests.each import each
from tests.embedded_broker.pop_timed import LONG_MS, MERGE, START_MS, Side, opened

REVIVE_TOPIC = "rmq_sys_REVIVE_LOG_DefaultCluster"
STAY, MARGIN, OUT = 10_000, 1_500, 3_000
"""Milliseconds that a checkpoint stays in the buffer, that acknowledgements keep from its ends, and that it leaves
before it is due."""


@pytest.fixture
def side() -> Iterator[Side]:
    yield from opened()


@pytest.fixture
def merging() -> Iterator[Side]:
    yield from opened(**MERGE)


def test_records_say_what_was_popped_and_acknowledged_to_the_letter(side: Side) -> None:
    side.fill(5)
    first = side.pop(1, invisible_time=5_000)
    side.reach(250)
    second = side.pop(3, invisible_time=7_777)
    side.reach(300)
    side.ack(first[0])
    side.ack_together(second[0], 1, 3)
    place = {"bn": "broker-a", "c": "G", "q": 0, "t": "T"}
    ck = {**place, "bm": 0, "ro": 0}
    began, later = START_MS, START_MS + 250
    expected: list[tuple[str, int, str, dict[str, Any]]] = [
        ("ck", 4_000, f"T@0@0@G@{began}@broker-a@ck",
         {**ck, "so": 0, "d": [0], "n": 1, "pt": began, "it": 5_000, "reviveTime": began + 5_000}),
        ("ck", 7_027, f"T@0@1@G@{later}@broker-a@ck",
         {**ck, "so": 1, "d": [0, 1, 2], "n": 3, "pt": later, "it": 7_777, "reviveTime": later + 7_777}),
        ("ack", 5_000, f"T@0@0@G@{began}@broker-a@ack", {**place, "ao": 0, "so": 0, "pt": began}),
        ("bAck", 8_027, f"T@0@-1@G@{later}@broker-a@ack", {**place, "ao": -1, "aol": [1, 3], "so": 1, "pt": later}),
    ]  # fmt: skip
    stored = side.messages(TIMER_TOPIC)
    assert side.records() == [(tag, moment) for tag, moment, _, _ in expected]
    assert [one.unique_key for one in stored] == [key for _, _, key, _ in expected]
    assert [json.loads(one.body) for one in stored] == [body for _, _, _, body in expected]
    assert [one.properties["REAL_QID"] for one in stored] == ["0", "1", "0", "1"], "revive queues in turn"
    assert {one.properties["REAL_TOPIC"] for one in stored} == {REVIVE_TOPIC}
    assert [int(one.properties["TIMER_OUT_MS"]) - START_MS for one in stored] == [3_000, 7_000, 4_000, 8_000]


@each(
    "popped_at, invisible_ms, comes_at",
    [(0, 10_000, 13_000), (1, 10_000, 13_000), (999, 10_000, 13_000), (1_000, 10_000, 14_000), (0, 10_001, 13_000),
     (0, 9_999, 12_000), (0, 1_000, 4_000), (0, 1, 3_000), (400, 601, 4_000), (400, 599, 3_000), (0, 61_500, 64_000)],
)  # fmt: skip
def test_a_message_comes_again_at_the_first_look_more_than_two_seconds_after_it_is_due(
    popped_at: int, invisible_ms: int, comes_at: int
) -> None:
    for side in opened():
        side.fill(1)
        side.reach(popped_at)
        assert len(side.pop(invisible_time=invisible_ms)) == 1
        side.reach(comes_at - 1)
        assert (side.revived(), side.pop()) == (0, [])
        side.reach(comes_at)
        (copy,) = side.messages(pop_retry_topic("G", "T", v2=False))
        assert (copy.reconsume_times, copy.properties["1ST_POP_TIME"]) == (1, str(START_MS + popped_at))
        assert [one.retry for one in side.pop()] == ["1"]


@each("other_ms, comes_at, together", [(8_000, 11_000, 2), (8_001, 8_000, 1)])
def test_where_more_comes_behind_it_the_times_of_records_count(other_ms: int, comes_at: int, together: int) -> None:
    """The other checkpoint arrives 2 s after the first message is due, or a millisecond later than that."""
    for side in opened(reviveQueueNum="1"):
        side.fill(2)
        side.pop(1, invisible_time=5_000)
        side.pop(1, invisible_time=other_ms)
        side.reach(comes_at - 1)
        assert side.revived() == 0
        side.reach(comes_at)
        assert side.revived() == together


def test_what_is_acknowledged_does_not_come_again_and_nothing_else_is(side: Side) -> None:
    side.fill(9)
    one = side.pop(2, invisible_time=5_000)
    other = side.pop(6, invisible_time=5_000)
    alone = side.pop(1, invisible_time=5_000, group="H")
    side.ack(one[1], other[0], other[5])
    side.ack_together(other[0], 4, 5)
    side.ack(alone[0], group="H")
    side.reach(30_000)
    assert sorted(copy.body.decode() for copy in side.messages(pop_retry_topic("G", "T", v2=False))) == ["0", "3", "6"]
    assert side.messages(pop_retry_topic("H", "T", v2=False)) == []
    assert (side.committed(), side.committed(group="H")) == (8, 1)


@each("change", [
    {"pop_ms": START_MS + 1}, {"start_offset": 1}, {"broker_name": "broker-b"}, {"revive_queue": 1},
    {"revive_queue": 8}, {"revive_queue": -1},
])  # fmt: skip
def test_an_acknowledgement_under_another_handle_has_no_effect(change: dict[str, Any]) -> None:
    for side in opened():
        side.fill(2)
        _, receipt = side.pop(invisible_time=5_000)
        values = {name: getattr(receipt, name) for name in Receipt.__dataclass_fields__}
        side.ack(Receipt(**{**values, **change}))
        side.reach(30_000)
        assert side.revived() == 2


def test_a_handle_of_before_the_change_acknowledges_nothing_more(side: Side) -> None:
    side.fill(2)
    other, old = side.pop(invisible_time=5_000)
    side.ack(other)
    side.reach(1_000)
    new = side.change(old, 20_000)
    assert (new.pop_ms, new.invisible_ms) == (START_MS + 1_000, 20_000)
    assert side.records() == [("ck", 4_000), ("ack", 5_000), ("ck", 20_000), ("ack", 5_000)]
    changed = json.loads(side.messages(TIMER_TOPIC)[2].body)
    assert (changed["d"], changed["n"], changed["so"], changed["reviveTime"]) == ([0], 1, 1, START_MS + 21_000)
    side.ack(old)
    side.reach(23_000)
    assert side.revived() == 0, "21 s and two more are not over"
    side.reach(24_000)
    assert [one.body for one in side.messages(pop_retry_topic("G", "T", v2=False))] == [b"1"]


def test_the_last_handle_of_several_changes_acknowledges(side: Side) -> None:
    side.fill(1)
    (receipt,) = side.pop(invisible_time=5_000)
    moments = []
    for _ in range(3):
        receipt = side.change(receipt, 9_000)
        moments.append(receipt.pop_ms - START_MS)
    assert moments == [1, 2, 3], "each has its own millisecond"
    side.ack(receipt)
    side.reach(60_000)
    assert side.revived() == 0


@each("ahead_ms, expected", [(-1, 0), (0, 1), (999, 1_000), (1_000, 0), (1_001, 0)])
def test_a_change_is_later_than_the_handle_but_not_led_astray_by_it(ahead_ms: int, expected: int) -> None:
    for side in opened():
        side.fill(1)
        (receipt,) = side.pop(invisible_time=5_000)
        values = {name: getattr(receipt, name) for name in Receipt.__dataclass_fields__}
        side.reach(100)
        changed = side.change(Receipt(**{**values, "pop_ms": START_MS + 100 + ahead_ms}), 9_000)
        assert changed.pop_ms - START_MS - 100 == expected


def test_revived_messages_keep_their_order_and_hold_up_what_is_behind_them() -> None:
    for side in opened(reviveQueueNum="1"):
        side.fill(40)
        kept = side.pop(32, invisible_time=5_000)
        side.pop(8, invisible_time=5_000)
        side.ack(*kept[:3])
        side.reach(20_000)
        bodies = [copy.body.decode() for copy in side.messages(pop_retry_topic("G", "T", v2=False))]
        assert bodies == [f"{number}" for number in range(3, 40)]
        revive = side.cluster.broker().on_loop(
            lambda broker: broker.offsets.query("CID_RMQ_SYS_REVIVE_GROUP", REVIVE_TOPIC, 0)
        )
        tags = [one.tags for one in side.messages(REVIVE_TOPIC)]
        assert (tags, revive) == (["ck", "ck", "ack", "ack", "ack"], 1), "the second checkpoint is the last one done"


def test_what_was_revived_does_not_come_again_after_a_restart() -> None:
    for side in opened(reviveQueueNum="1"):
        side.fill(3)
        for _ in range(3):
            side.pop(1, invisible_time=3_000)
        side.reach(10_000)
        assert side.revived() == 3
        side.cluster.broker().stop()
        side.cluster.broker().start()
        side.reach(30_000)
        assert side.revived() == 3


PAUSES_S = (10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200, 7_200, 7_200)


def test_what_cannot_be_put_back_waits_longer_each_time(side: Side) -> None:
    """Its properties leave no room for the moment of its first pop."""
    side.fill(1, LONG="x" * 32_640)
    side.fill(1)
    side.pop(invisible_time=5_000)
    side.reach(37_999)
    assert side.records() == [("ck", 4_000), ("ck", 14_000), ("ck", 34_000)]
    assert [one.body for one in side.messages(pop_retry_topic("G", "T", v2=False))] == [b"0"]
    (first,) = [PopCheckPoint.from_bytes(one.body) for one in side.messages(TIMER_TOPIC)[:1]]

    def store(broker: Broker) -> None:
        for times in range(len(PAUSES_S)):
            again = replaced(first, put_again=str(times), pop_ms=START_MS + 40_000 + times)
            broker.pop.records.store_checkpoint(again, 0)  # type: ignore[union-attr]

    side.cluster.broker().on_loop(store)
    side.reach(49_000)
    checkpoints = [PopCheckPoint.from_bytes(one.body) for one in side.messages(TIMER_TOPIC)[-len(PAUSES_S) :]]
    assert {(one.start_offset, one.count, one.offset_differences) for one in checkpoints} == {(0, 1, (0,))}
    assert [(one.put_again, one.invisible_ms, one.revive_ms) for one in checkpoints] == [
        (str(times + 1), 5_000 + pause_s * 1_000, START_MS + 45_000 + times + pause_s * 1_000)
        for times, pause_s in enumerate(PAUSES_S)
    ]


# The buffer


@each("invisible_ms, held", [(OUT + MARGIN - 1, False), (OUT + MARGIN, True), (OUT + MARGIN + 1, True)])
def test_only_what_is_invisible_for_long_is_held(invisible_ms: int, held: bool) -> None:
    for side in opened(**MERGE):
        side.fill(1)
        side.pop(invisible_time=invisible_ms)
        assert (len(side.records()), side.committed()) == ((0, 0) if held else (1, 1))


@each(
    "invisible_ms, acked_at, spared",
    [(5_000, 500, True), (5_000, 501, False), (LONG_MS, STAY - MARGIN, True), (LONG_MS, STAY - MARGIN + 1, False)],
)
def test_an_acknowledgement_is_spared_until_shortly_before_the_buffer_lets_go(
    invisible_ms: int, acked_at: int, spared: bool
) -> None:
    for side in opened(**MERGE):
        side.fill(1)
        receipts = side.pop(invisible_time=invisible_ms)
        side.reach(acked_at)
        side.ack(*receipts)
        assert side.records() == ([] if spared else [("ack", invisible_ms)])
        side.reach(STAY + 5_000)
        assert side.committed() == 1
        assert side.records() == ([] if spared else [("ack", invisible_ms), ("ck", invisible_ms - 1_000)])
        side.reach(LONG_MS + 10_000)
        assert side.revived() == 0


@each(
    "invisible_ms, written_at",
    [(5_000, 2_050), (LONG_MS, STAY + 50), (13_050, STAY + 50), (13_000, STAY + 50), (12_999, 10_000)],
)
def test_what_is_held_long_enough_is_written_at_the_next_look(invisible_ms: int, written_at: int) -> None:
    for side in opened(**MERGE):
        side.fill(3)
        receipts = side.pop(invisible_time=invisible_ms)
        side.ack(receipts[1])
        side.reach(written_at - 1)
        assert (side.records(), side.committed()) == ([], 0)
        side.reach(written_at)
        assert side.records() == [("ck", invisible_ms - 1_000), ("ack", invisible_ms)]
        assert json.loads(side.messages(TIMER_TOPIC)[1].body)["ao"] == 1
        assert side.committed() == 3
        side.reach(written_at + 5_000)
        assert len(side.records()) == 2, "once"


@each("free_bytes", range(0, 2_600, 200))
def test_whatever_the_disk_refuses_meanwhile_each_record_is_written_once(free_bytes: int) -> None:
    for side in opened(**MERGE):
        side.fill(5)
        receipts = side.pop(invisible_time=5_000)
        side.ack(receipts[0], receipts[2], receipts[3])
        side.cluster.broker().limit_disk(free_bytes)
        side.reach(2_050)
        side.cluster.broker().limit_disk(None)
        side.reach(2_100)
        assert [one.tags for one in side.messages(TIMER_TOPIC)] == ["ck", "ack", "ack", "ack"]
        assert [json.loads(one.body)["ao"] for one in side.messages(TIMER_TOPIC)[1:]] == [0, 2, 3]
        assert side.committed() == 5


def test_a_queue_moves_on_when_its_oldest_pop_is_finished(merging: Side) -> None:
    merging.fill(6)
    first, second, third = merging.pop(2), merging.pop(1), merging.pop(2)
    assert [one.offset for one in (*first, *second, *third)] == [0, 1, 2, 3, 4], "each goes on behind the one before"
    seen = []
    for acked in (second[0], third[1], first[1], first[0], third[0]):
        merging.ack(acked)
        merging.reach(merging.now + 49)
        merging.reach(merging.now + 1)
        seen.append(merging.committed())
    assert seen == [0, 0, 0, 3, 5]
    assert merging.records() == []
    assert [one.offset for one in merging.pop()] == [5]


def test_a_batch_marks_what_it_names_in_the_buffer(merging: Side) -> None:
    merging.fill(4)
    receipts = merging.pop()
    merging.ack_together(receipts[0], 0, 2)
    merging.ack_together(receipts[0], 3)
    merging.reach(1_000)
    assert merging.committed() == 0
    merging.ack_together(receipts[0], 1)
    merging.reach(2_000)
    assert (merging.committed(), merging.records()) == (4, [])


def test_the_buffer_holds_so_many_and_writes_the_others_behind_them() -> None:
    for side in opened(**MERGE, popCkMaxBufferSize="2"):
        side.fill(4)
        receipts = [side.pop(1)[0] for _ in range(4)]
        assert side.records() == [("ck", LONG_MS - 1_000)] * 2
        assert side.committed() == 0, "nothing moves on before what is held"
        side.ack(receipts[3], receipts[0])
        side.reach(100)
        assert side.records() == [("ck", LONG_MS - 1_000)] * 2 + [("ack", LONG_MS)]
        assert side.committed() == 1
        side.ack(receipts[1])
        side.reach(200)
        assert side.committed() == 4


def test_a_look_that_found_nothing_moves_on_behind_what_is_held(merging: Side) -> None:
    merging.fill(1, TAGS="A")
    (receipt,) = merging.pop()
    merging.fill(2, TAGS="B")
    assert merging.pop(exp="A", exp_type="TAG") == []
    merging.reach(1_000)
    assert merging.committed() == 0
    merging.ack(receipt)
    merging.reach(2_000)
    assert (merging.committed(), merging.records()) == (3, [])
    merging.fill(2, TAGS="B")
    assert merging.pop(exp="A", exp_type="TAG") == []
    assert merging.committed() == 5, "at once, where nothing is held"


def test_acknowledgements_count_after_a_reset_wrote_the_checkpoint(merging: Side) -> None:
    merging.fill(2)
    old = merging.pop()
    merging.ack(old[0])
    merging.reach(1)
    merging.cluster.broker().on_loop(lambda broker: broker.offsets.reset("G", "T", 0, 0))
    new = merging.pop()
    assert merging.records() == [("ck", LONG_MS - 1_000), ("ack", LONG_MS)]
    merging.ack(old[1], *new)
    merging.reach(LONG_MS + 30_000)
    assert (merging.revived(), merging.committed()) == (0, 2)


def test_two_pops_of_a_millisecond_do_not_share_acknowledgements(merging: Side) -> None:
    """After a reset the same messages are popped again in the same millisecond, under the same key."""
    merging.fill(1)
    merging.pop()
    merging.cluster.broker().on_loop(lambda broker: broker.offsets.reset("G", "T", 0, 0))
    again = merging.pop()
    assert merging.records() == [("ck", LONG_MS - 1_000)], "that of before the reset"
    merging.ack(*again)
    merging.reach(LONG_MS + 30_000)
    assert merging.revived() == 1, "what was popped before the reset was never acknowledged"
