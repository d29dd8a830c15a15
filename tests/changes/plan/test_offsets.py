"""What each target means for a queue, and which way of changing it a cluster offers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.changes.plan.offsets import (
    GroupSituation,
    ShiftBy,
    Target,
    ToCurrent,
    ToEarliest,
    ToGiven,
    ToLatest,
    ToOffset,
    ToTime,
    choose_method,
    plan_changes,
)
from mqctl.errors import NotFoundError, RefusedError, UsageError
from mqctl.model.plan import Method, QueuePosition
from mqctl.model.queue import MessageQueue
from tests.each import each

QUEUE = MessageQueue("Pay", "broker-a", 3)
AT = QueuePosition(queue=QUEUE, min_offset=100, max_offset=1_000, old=600)
NEVER = QueuePosition(queue=QUEUE, min_offset=100, max_offset=1_000)


@pytest.mark.parametrize(
    ("target", "new", "replayed", "skipped"),
    [
        (ToEarliest(), 100, 500, 0),
        (ToLatest(), 1_000, 0, 400),
        (ToCurrent(), 600, 0, 0),
        (ToOffset(650), 650, 0, 50),
        (ShiftBy(-20), 580, 20, 0),
        (ShiftBy(400), 1_000, 0, 400),
        (ToGiven({QUEUE: 101}, "f.csv"), 101, 499, 0),
    ],
    ids=str,
)
def test_a_target_moves_the_offset_there(target: Target, new: int, replayed: int, skipped: int) -> None:
    (change,) = plan_changes([AT], target)
    assert (change.old, change.new, change.delta) == (600, new, new - 600)
    assert (change.replayed_count, change.skipped_count) == (replayed, skipped)


@pytest.mark.parametrize(
    ("found", "new", "note"),
    [(100, 100, "no message is older"), (1_000, 1_000, "no message is younger"), (640, 640, None)],
)
def test_a_time_outside_the_queue_says_so(found: int, new: int, note: str | None) -> None:
    (change,) = plan_changes([AT], ToTime(7), targets={QUEUE: found})
    assert (change.new, change.note) == (new, note)


@pytest.mark.parametrize(
    "target", [ToOffset(99), ToOffset(1_001), ShiftBy(-501), ToGiven({QUEUE: 5_000}, "f")], ids=str
)
def test_an_offset_outside_the_queue_is_refused_or_clamped(target: Target) -> None:
    with pytest.raises(UsageError, match="100 to 1000"):
        plan_changes([AT], target)
    (change,) = plan_changes([AT], target, clamp=True)
    assert change.new in (100, 1_000)
    assert change.note is not None
    assert "out of range" in change.note


def test_a_group_that_never_committed_counts_from_the_minimum() -> None:
    (change,) = plan_changes([NEVER], ToCurrent())
    assert (change.old, change.new, change.moves) == (None, 100, True)
    (shifted,) = plan_changes([NEVER], ShiftBy(5))
    assert (shifted.new, shifted.skipped_count, shifted.note) == (
        105,
        5,
        "never committed, counted from the min offset",
    )


def test_what_is_gone_is_neither_replayed_nor_skipped() -> None:
    below = QueuePosition(queue=QUEUE, min_offset=100, max_offset=1_000, old=40)
    beyond = QueuePosition(queue=QUEUE, min_offset=100, max_offset=1_000, old=1_500)
    assert plan_changes([below], ToEarliest())[0].skipped_count == 0
    assert plan_changes([beyond], ToEarliest())[0].replayed_count == 900
    assert plan_changes([beyond], ToCurrent())[0].new == 1_000


def test_a_file_that_names_another_queue_is_refused() -> None:
    other = MessageQueue("Pay", "broker-b", 0)
    with pytest.raises(NotFoundError, match=r"broker-b"):
        plan_changes([AT], ToGiven({other: 5}, "offsets.csv"))
    with pytest.raises(NotFoundError, match="no queue"):
        plan_changes([], ToLatest())


@given(
    low=st.integers(0, 50),
    size=st.integers(0, 50),
    committed=st.none() | st.integers(0, 200),
    count=st.integers(-200, 200),
)
def test_a_clamped_plan_always_lands_inside_and_counts_add_up(
    low: int, size: int, committed: int | None, count: int
) -> None:
    position = QueuePosition(queue=QUEUE, min_offset=low, max_offset=low + size, old=committed)
    (change,) = plan_changes([position], ShiftBy(count), clamp=True)
    assert low <= change.new <= low + size
    assert min(change.replayed_count, change.skipped_count) == 0
    readable = min(max(low if committed is None else committed, low), low + size)
    assert change.skipped_count - change.replayed_count == change.new - readable
    assert change.first_read_count == (low + size - change.new if committed is None else 0)


def _situation(*, online: bool, server_side: bool = False, whole_topics: bool = True) -> GroupSituation:
    return GroupSituation(group="G", online=online, server_side=server_side, whole_topics=whole_topics)


@pytest.mark.parametrize("target", [ToOffset(1), ShiftBy(1), ToTime(1), ToLatest(), ToCurrent()], ids=str)
def test_an_offline_group_can_be_set_exactly_and_so_can_any_with_server_side_reset(target: Target) -> None:
    assert choose_method(_situation(online=False, whole_topics=False), target) is Method.COMMIT
    assert choose_method(_situation(online=True, server_side=True), target) is Method.SERVER


@pytest.mark.parametrize("target", [ToTime(1), ToEarliest(), ToLatest()], ids=str)
def test_members_can_be_told_a_time_for_whole_topics(target: Target) -> None:
    assert choose_method(_situation(online=True), target) is Method.CALLBACK
    with pytest.raises(RefusedError, match="some queues only"):
        choose_method(_situation(online=True, whole_topics=False), target)


@pytest.mark.parametrize("target", [ToOffset(1), ShiftBy(1), ToCurrent(), ToGiven({}, "f")], ids=str)
def test_members_cannot_be_told_an_offset(target: Target) -> None:
    with pytest.raises(RefusedError, match="exact offset") as refused:
        choose_method(_situation(online=True), target)
    assert "stop all members" in refused.value.remedy


@each(
    "low, high, first, new, note",
    [
        (5, 5, 5, 5, "the queue is empty"),
        (5, 9, 4, 5, "no message is older"),
        (5, 9, 5, 5, "no message is older"),
        (5, 9, 6, 6, None),
        (5, 9, 8, 8, None),
        (5, 9, 9, 9, "no message is younger"),
        (5, 9, 10, 9, "no message is younger"),
    ],
)
def test_a_time_in_a_queue(low: int, high: int, first: int, new: int, note: str | None) -> None:
    position = QueuePosition(queue=QUEUE, min_offset=low, max_offset=high, old=7)
    (change,) = plan_changes([position], ToTime(1), targets={QUEUE: first})
    assert (change.new, change.note) == (new, note)


@each(
    "old, target, new, note",
    [
        (100, ToCurrent(), 100, None),
        (99, ToCurrent(), 100, "the committed offset is out of range, clamped"),
        (1_000, ToCurrent(), 1_000, None),
        (1_001, ToCurrent(), 1_000, "the committed offset is out of range, clamped"),
        (None, ToCurrent(), 100, "never committed, min offset"),
        (None, ShiftBy(0), 100, "never committed, counted from the min offset"),
        (600, ShiftBy(400), 1_000, None),
        (600, ShiftBy(401), 1_000, "1001 is out of range, clamped"),
        (600, ShiftBy(-500), 100, None),
        (600, ShiftBy(-501), 100, "99 is out of range, clamped"),
        (600, ToOffset(100), 100, None),
        (600, ToOffset(1_000), 1_000, None),
        (600, ToOffset(0), 100, "0 is out of range, clamped"),
    ],
)
def test_both_ends_of_a_queue(old: int | None, target: Target, new: int, note: str | None) -> None:
    position = QueuePosition(queue=QUEUE, min_offset=100, max_offset=1_000, old=old)
    (change,) = plan_changes([position], target, clamp=True)
    assert (change.new, change.note) == (new, note)
    if note is None or "is out of range" not in note or "committed" in note:
        assert plan_changes([position], target)[0].new == new
    else:
        with pytest.raises(UsageError, match="is outside queue 3 of Pay on broker-a"):
            plan_changes([position], target)


def test_queues_that_a_file_names_in_their_order() -> None:
    queues = [MessageQueue("Pay", "broker-a", number) for number in range(3)]
    positions = [QueuePosition(queue=queue, min_offset=0, max_offset=9, old=4) for queue in reversed(queues)]
    changes = plan_changes(positions, ToGiven({queues[2]: 7, queues[0]: 5}, "f"))
    assert [(item.queue, item.new) for item in changes] == [(queues[0], 5), (queues[2], 7)]
    assert [item.queue for item in plan_changes(positions, ToLatest())] == queues
    unknown = {MessageQueue("Pay", "z", 1): 1, MessageQueue("Pay", "y", 2): 1}
    with pytest.raises(NotFoundError, match="f names queue 2 of Pay on y"):
        plan_changes(positions, ToGiven(unknown, "f"))


@each(
    "changes, target, method",
    [
        ({"online": False, "broadcasting": True}, ToOffset(1), Method.COMMIT),
        ({"online": False, "polling": True, "server_side": True}, ToTime(1), Method.COMMIT),
        ({"server_side": True, "polling": True}, ToOffset(1), Method.SERVER),
        ({"approximate": True}, ToOffset(1), Method.CALLBACK),
        ({"approximate": True}, ToTime(1), Method.CALLBACK),
        ({"broadcasting": True, "server_side": True}, ToTime(1), "BROADCASTING"),
        ({"approximate": True, "whole_topics": False}, ToOffset(1), "for some queues only"),
        ({"polling": True}, ToTime(1), "pull consumers online"),
        ({"polling": True, "approximate": True}, ToOffset(1), "pull consumers online"),
        ({"whole_topics": False}, ToOffset(1), "by exact offset"),
        ({}, ToCurrent(), "by exact offset"),
    ],
)
def test_the_way_of_each_situation(changes: dict[str, bool], target: Target, method: Method | str) -> None:
    situation = GroupSituation(group="G", **{"online": True, "server_side": False, "whole_topics": True, **changes})
    if isinstance(method, Method):
        assert choose_method(situation, target) is method
        return
    with pytest.raises(RefusedError, match="offsets of group G") as caught:
        choose_method(situation, target)
    assert method in f"{caught.value} {caught.value.reason}"
    by_polling = changes.get("polling", False)
    assert ("reset all queues by" in caught.value.remedy) is (not by_polling and "broadcasting" not in changes)
