"""Messages that are sent again: from delay levels, from stretches, from dead letters, and into another topic."""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.changes.plan.delay_resend import StrandedMessage, plan_resend
from mqctl.changes.plan.follow import (
    KeySelector,
    follow_again,
    follow_command,
    follower_group,
    ordering_key,
    scattered_keys,
)
from mqctl.changes.plan.offsets import ShiftBy, ToCurrent, ToEarliest, ToGiven, ToLatest, ToOffset, ToTime
from mqctl.changes.plan.replay import (
    QueueEnds,
    by_queue,
    not_reached,
    plan_ranges,
    provenance_key,
    republished,
    target_queue,
    wanted,
)
from mqctl.changes.plan.resend import decide
from mqctl.changes.plan.reshard import chosen_by_hash, key_moves
from mqctl.errors import MqctlError, NotFoundError, UsageError
from mqctl.model.dead_letter import DeadLetter
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.model.resend import Fate, LetterKey
from mqctl.model.stretch import ReplayFilter, Stretch
from tests.changes.plan.messages import message, stored
from tests.each import each

NOW = 1_795_218_000_000
QUEUES = [MessageQueue("T", "b", number) for number in range(4)]
REAL = {"REAL_TOPIC": "Pay", "REAL_QID": "3"}


@each(
    "due_in_ms, timers, level, late_ms, deliver_at, problem",
    [
        (None, False, 0, 0, None, None),
        (-5, False, 0, 0, None, None),
        (0, False, 0, 0, None, None),
        (0, True, 0, 0, None, None),
        (1, True, 0, 0, NOW + 1, None),
        (99_999, True, 0, 0, NOW + 99_999, None),
        (1, False, 2, 999, None, None),
        (1_000, False, 2, 0, None, None),
        (1_001, False, 1, 3_999, None, None),
        (5_000, False, 1, 0, None, None),
        (9_000, False, 3, 0, None, None),
        (9_001, False, 0, 0, None, "longest delay level"),
    ],
)
def test_when_a_stranded_message_goes_on_its_way(
    due_in_ms: int | None, timers: bool, level: int, late_ms: int, deliver_at: int | None, problem: str | None
) -> None:
    """Levels of 5, 1 and 9 seconds: the shortest that is long enough."""
    table = DelayLevelTable((5_000, 1_000, 9_000))
    due_time_ms = None if due_in_ms is None else NOW + due_in_ms
    stranded = StrandedMessage(level=1, queue_offset=4, due_time_ms=due_time_ms, stored=stored({**REAL, "a": "b"}))
    resend = plan_resend(stranded, table, timers=timers, now_ms=NOW)
    assert (resend.topic, resend.queue_id, resend.message) == ("Pay", 3, stranded)
    assert (resend.delay_level, resend.late_ms) == (level, late_ms)
    assert (problem or "") in (resend.problem or "") and (problem is None) == (resend.problem is None)
    assert resend.properties == {"a": "b"} | ({"TIMER_DELIVER_MS": str(deliver_at)} if deliver_at else {})


@each(
    "properties, times, problem, sent, says",
    [
        ({"DELAY": "2", "REAL_QID": "0", "k": "v"}, 0, None, {"k": "v"}, "no property REAL_TOPIC"),
        ({**REAL, "WAIT": "1", "TRAN_MSG": "x", "PGROUP": "p"}, 0, None, {}, None),
        ({**REAL, "CLUSTER": "c", "MSG_REGION": "r", "TRACE_ON": "t", "DELAY": "9"}, 0, None, {}, None),
        (REAL, 0, "no zlib", {}, "no zlib"),
        (REAL, 3, None, {}, None),
        ({**REAL, "REAL_TOPIC": "%RETRY%G"}, 3, None, {"RECONSUME_TIME": "3"}, None),
        ({**REAL, "REAL_TOPIC": "%RETRY%G"}, 0, None, {}, None),
        ({**REAL, "REAL_QID": "x"}, 0, None, {}, None),
    ],
)
def test_what_a_stranded_message_takes_along(
    properties: dict[str, str], times: int, problem: str | None, sent: dict[str, str], says: str | None
) -> None:
    lying = stored(properties, reconsume_times=times, problem=problem)
    stranded = StrandedMessage(level=1, queue_offset=4, due_time_ms=None, stored=lying)
    resend = plan_resend(stranded, DelayLevelTable((1_000,)), timers=False, now_ms=NOW)
    assert resend.properties == sent
    assert (resend.problem is None) == (says is None) and (says or "") in (resend.problem or "")
    assert resend.queue_id == {"0": 0, "3": 3, "x": None}[properties["REAL_QID"]]


def ends(begin: int, end: int, number: int = 0) -> QueueEnds:
    """A stretch of a queue that holds 10 to 20."""
    return QueueEnds(queue=QUEUES[number], min_offset=10, max_offset=20, begin=begin, end=end)


@each(
    "begin, end, stretch",
    [
        (10, 20, (10, 20, 0)),
        (12, 13, (12, 13, 0)),
        (9, 20, (10, 20, 1)),
        (0, 11, (10, 11, 10)),
        (19, 21, (19, 20, 0)),
        (19, 99, (19, 20, 0)),
    ],
)
def test_stretches_that_are_there(begin: int, end: int, stretch: tuple[int, int, int]) -> None:
    for keep_empty in (False, True):
        (planned,) = plan_ranges([ends(begin, end)], keep_empty=keep_empty)
        assert (planned.begin, planned.end, planned.gone_count, planned.queue) == (*stretch, QUEUES[0])


@each(
    "begin, end, gone",
    [(10, 10, 0), (20, 20, 0), (20, 30, 0), (25, 30, 0), (0, 10, 10), (0, 9, 9), (3, 4, 1), (5, 5, 0)],
)
def test_stretches_of_which_nothing_is_there(begin: int, end: int, gone: int) -> None:
    for keep_empty in (False, True):
        with pytest.raises(UsageError, match="nothing to replay") as caught:
            plan_ranges([ends(begin, end)], keep_empty=keep_empty)
        reason = caught.value.reason or ""
        assert reason == (f"deleted already: {gone} of its messages" if gone else "there is no message in that range")
    listed = plan_ranges([ends(begin, end, 1), ends(11, 12)])
    assert [item.queue for item in listed] == [QUEUES[0], *([QUEUES[1]] if gone else [])]
    kept = plan_ranges([ends(begin, end, 1), ends(11, 12)], keep_empty=True)
    assert [(item.queue, item.gone_count) for item in kept] == [(QUEUES[0], 0), (QUEUES[1], gone)]
    assert kept[1].count == 0


def test_a_stretch_does_not_end_before_it_begins() -> None:
    with pytest.raises(UsageError, match="would end at 11, before it begins at 12"):
        plan_ranges([ends(12, 11)])
    with pytest.raises(UsageError, match="nothing to replay"):
        plan_ranges([])
    with pytest.raises(UsageError) as caught:
        plan_ranges([ends(0, 4), ends(2, 9, 1)])
    assert caught.value.reason == "deleted already: 11 of its messages"


def test_stretches_of_a_queue_are_one_with_all_between_them() -> None:
    parts = [
        Stretch(queue=QUEUES[1], begin=5, end=6, gone_count=1),
        Stretch(queue=QUEUES[0], begin=7, end=9, gone_count=3),
        Stretch(queue=QUEUES[0], begin=3, end=4, gone_count=5),
        Stretch(queue=QUEUES[0], begin=5, end=8),
    ]
    assert by_queue(parts) == (parts[0], Stretch(queue=QUEUES[0], begin=3, end=9, gone_count=8))
    assert by_queue([]) == ()


MARKED = message({"TAGS": "a", "KEYS": "k1 k2", "n": "5"})


@each(
    "chosen, takes",
    [
        (ReplayFilter(), True),
        (ReplayFilter(tags="a"), True),
        (ReplayFilter(tags="b || a"), True),
        (ReplayFilter(tags="b"), False),
        (ReplayFilter(key="k2"), True),
        (ReplayFilter(key="k"), False),
        (ReplayFilter(key="k1 k2"), False),
        (ReplayFilter(sql="n > 4"), True),
        (ReplayFilter(sql="n > 5"), False),
        (ReplayFilter(sql="m > 5"), False),
        (ReplayFilter(sql="TRUE = n"), False),
        (ReplayFilter(tags="a", key="k1", sql="n = 5"), True),
        (ReplayFilter(tags="b", key="k1", sql="n = 5"), False),
        (ReplayFilter(tags="a", key="x", sql="n = 5"), False),
        (ReplayFilter(tags="a", key="k1", sql="n = 6"), False),
    ],
)
def test_every_condition_holds(chosen: ReplayFilter, takes: bool) -> None:
    assert wanted(chosen)(MARKED) is takes


@each("chosen", [ReplayFilter(sql="n >"), ReplayFilter(sql="")])
def test_a_condition_that_cannot_be_read(chosen: ReplayFilter) -> None:
    with pytest.raises(MqctlError):
        wanted(chosen)


def test_a_copy_says_where_it_comes_from() -> None:
    given_properties = {"TAGS": "a", "KEYS": "k1  k2", "UNIQ_KEY": "U", "DELAY": "3", "WAIT": "true", "mine": "x"}
    source = MessageQueue("T x", "b", 2)
    copy = republished(message(given_properties), source, b"body", "R1")
    assert (copy.key, copy.flag, copy.body) == ("replay-R1-b-T_x-2-7", 5, b"body")
    assert copy.properties == {
        "TAGS": "a",
        "KEYS": "k1 k2 replay-R1-b-T_x-2-7",
        "mine": "x",
        "MQCTL_REPLAY_ID": "R1",
        "MQCTL_ORIGIN_TOPIC": "T x",
        "MQCTL_ORIGIN_BROKER": "b",
        "MQCTL_ORIGIN_QUEUE": "2",
        "MQCTL_ORIGIN_OFFSET": "7",
        "MQCTL_ORIGIN_STORE_TIME": "1234",
        "MQCTL_ORIGIN_UNIQ_KEY": "U",
    }
    bare = republished(message(), QUEUES[0], b"", "R1")
    assert bare.properties["KEYS"] == bare.key == provenance_key("R1", QUEUES[0], 7)
    assert "MQCTL_ORIGIN_UNIQ_KEY" not in bare.properties


def test_where_the_messages_of_a_queue_go() -> None:
    two = [MessageQueue("New", "b", number) for number in (1, 0)]
    for number in range(4):
        assert target_queue(QUEUES[number], two) == MessageQueue("New", "b", number % 2)
    others = [MessageQueue("New", name, 0) for name in ("z", "y", "x")]
    for queue in QUEUES:
        place = crc32(str(queue).encode()) % 3
        assert target_queue(queue, others) == others[2 - place]
        assert target_queue(queue, [*others, *two, MessageQueue("New", "a", 0)]).broker_name == "b"
    with pytest.raises(NotFoundError, match="no queue that can be written"):
        target_queue(QUEUES[0], [])


@each("committed, left", [(None, {QUEUES[0]: 5}), (0, {QUEUES[0]: 5}), (4, {QUEUES[0]: 1}), (5, {}), (6, {})])
def test_what_a_group_has_still_before_it(committed: int | None, left: dict[MessageQueue, int]) -> None:
    assert not_reached({QUEUES[0]: 5}, {QUEUES[0]: committed}) == left
    assert not_reached({QUEUES[0]: 5}, {}) == {QUEUES[0]: 5}


def letter(
    properties: Mapping[str, str] | None = None, *, body: bytes = b"x", problem: str | None = None
) -> DeadLetter:
    return DeadLetter(group="G", broker_name="b", stored=stored(properties, body=body, problem=problem))


FROM_PAY = {"RETRY_TOPIC": "Pay", "UNIQ_KEY": "U"}
KEY = LetterKey(letter_id="ID", unique_key="U")


@each(
    "given_letter, to_topic, resent, doubtful, closed, fate, topic, note",
    [
        (letter(FROM_PAY), None, {}, {}, {}, Fate.SEND, "Pay", None),
        (letter(FROM_PAY), "Other", {}, {}, {"Pay": "shut"}, Fate.SEND, "Other", None),
        (letter(FROM_PAY), None, {(KEY, "Pay"): "by c1"}, {KEY: "maybe"}, {}, Fate.RESENT, "Pay", "by c1"),
        (letter(FROM_PAY), "Other", {(KEY, "Pay"): "by c1"}, {}, {}, Fate.SEND, "Other", None),
        (letter(FROM_PAY), None, {}, {KEY: "maybe"}, {"Pay": "shut"}, Fate.DOUBTFUL, "Pay", "maybe"),
        (letter({"UNIQ_KEY": "U"}), None, {}, {KEY: "maybe"}, {}, Fate.DOUBTFUL, None, "maybe"),
        (letter({"UNIQ_KEY": "U"}), None, {}, {}, {}, Fate.STUCK, None, "does not name its original topic"),
        (letter(FROM_PAY), None, {}, {}, {"Pay": "shut"}, Fate.STUCK, "Pay", "shut"),
        (letter(FROM_PAY, problem="no zlib"), None, {}, {}, {}, Fate.STUCK, "Pay", "decompressed: no zlib"),
        (letter(FROM_PAY, body=b""), None, {}, {}, {}, Fate.STUCK, "Pay", "it has no body"),
        (letter(FROM_PAY, body=b"", problem="no zlib"), None, {}, {}, {}, Fate.STUCK, "Pay", "no zlib"),
        (letter({"RETRY_TOPIC": "Pay"}), None, {(KEY, "Pay"): "by c1"}, {KEY: "m"}, {}, Fate.SEND, "Pay", None),
    ],
)
def test_one_decision_a_letter(
    given_letter: DeadLetter,
    to_topic: str | None,
    resent: dict[tuple[LetterKey, str], str],
    doubtful: dict[LetterKey, str],
    closed: dict[str, str],
    fate: Fate,
    topic: str | None,
    note: str | None,
) -> None:
    first, second = decide([given_letter] * 2, to_topic, resent=resent, doubtful=doubtful, closed=closed)
    assert (first.fate, first.topic, first == second) == (fate, topic, True)
    assert (note is None) == (first.note is None) and (note or "") in (first.note or "")


@each(
    "selector, key, place",
    [
        (KeySelector.HASH, "a", 97 % 4),
        (KeySelector.HASH, "7", java_string_hash("7") % 4),
        (KeySelector.MODULO, "10", 2),
        (KeySelector.HASH, "10", (49 * 31 + 48) % 4),
        (KeySelector.MODULO, "0", 0),
        (KeySelector.MODULO, "a", 97 % 4),
        (KeySelector.MODULO, "-7", java_string_hash("-7") % 4),
        (KeySelector.HASH, "polygenelubricants", 2_147_483_648 % 4),
    ],
)
def test_which_queue_a_key_goes_to(selector: KeySelector, key: str, place: int) -> None:
    assert selector.choose(key, QUEUES) == QUEUES[place]


def test_a_follower_s_retry_topic_has_a_name() -> None:
    assert follower_group("old", "new") == "MQCTL_FOLLOW_old_TO_new"
    # "%RETRY%MQCTL_FOLLOW_" and "_TO_" have 24 characters; 127 are possible.
    assert len(follower_group("a" * 100, "b" * 3)) == 120
    with pytest.raises(UsageError, match="too long") as caught:
        follower_group("a" * 100, "b" * 4)
    assert "127" in (caught.value.reason or "")


def test_commands_of_followers() -> None:
    assert follow_command("a b", "c", "hash", "G") == (
        "mqctl replay follow -t 'a b' --to c --key-selector hash --from-group G --execute --confirm c"
    )
    assert follow_again("a", "c", "modulo") == (
        "mqctl replay follow -t a --to c --key-selector modulo --execute --confirm c"
    )


@each(
    "given_message, key",
    [
        (message({"__SHARDINGKEY": "s", "KEYS": "k"}), "s"),
        (message({"__SHARDINGKEY": "", "KEYS": "k"}), ""),
        (message({"KEYS": " k l"}), "k"),
        (message(), "b-3"),
    ],
)
def test_the_key_whose_order_is_kept(given_message: Message, key: str) -> None:
    assert ordering_key(given_message, QUEUES[3]) == key


def test_keys_that_lie_in_several_queues() -> None:
    sample = [("a", QUEUES[0]), ("a", QUEUES[0]), ("b", QUEUES[0]), ("b", QUEUES[1]), ("c", QUEUES[2])]
    assert (scattered_keys(sample), scattered_keys(sample[:3]), scattered_keys([])) == (1, 0, 0)


def test_moves_where_nothing_can_be_written() -> None:
    sample = [("a", QUEUES[1]), ("a", QUEUES[0]), ("b", QUEUES[2])]
    for old, new in (([], QUEUES), (QUEUES, [])):
        moves = key_moves(iter(sample), old, new, "keys")
        assert (moves.kind, moves.message_count, moves.placed_count) == ("keys", 3, 0)
        assert (moves.key_count, moves.moved_count) == (0, 0)
    moves = key_moves(iter(sample), QUEUES, QUEUES[:2], "sharding keys")
    assert (moves.kind, moves.message_count, moves.placed_count) == ("sharding keys", 3, 2)
    assert (moves.key_count, moves.moved_count, chosen_by_hash("a", QUEUES)) == (2, 1, QUEUES[1])


@each(
    "target, text",
    [
        (ToTime(7), "to time 7"),
        (ToTime(7, "noon"), "to time noon"),
        (ToEarliest(), "to earliest"),
        (ToLatest(), "to latest"),
        (ToCurrent(), "to current"),
        (ToOffset(5), "to offset 5"),
        (ShiftBy(5), "shift by +5"),
        (ShiftBy(-5), "shift by -5"),
        (ToGiven({}, "f.csv"), "to the offsets of f.csv"),
    ],
)
def test_targets_in_words(target: object, text: str) -> None:
    assert str(target) == text


@settings(max_examples=40)
@given(low=st.integers(0, 9), size=st.integers(0, 9), begin=st.integers(0, 20), length=st.integers(0, 20))
def test_what_is_planned_and_gone_is_what_was_wanted(low: int, size: int, begin: int, length: int) -> None:
    """Message by message: of the wanted offsets some are there, some are deleted, some never were."""
    queue = QueueEnds(queue=QUEUES[0], min_offset=low, max_offset=low + size, begin=begin, end=begin + length)
    asked_for = range(begin, begin + length)
    there = [offset for offset in asked_for if low <= offset < low + size]
    gone = [offset for offset in asked_for if offset < low]
    (first, *_) = plan_ranges([queue, ends(10, 11, 1)], keep_empty=True)
    assert (list(range(first.begin, first.end)), first.gone_count) == (there, len(gone))
