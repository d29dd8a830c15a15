"""Which instant is sent to a broker that searches by itself: nothing is skipped, little is replayed beyond the wish."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.changes.plan.callback import (
    EARLIEST_MS,
    LATEST_MS,
    Search,
    best_search,
    callback_changes,
    check_committed,
    instants,
)
from mqctl.errors import RefusedError
from mqctl.model.plan import QueuePosition
from mqctl.model.queue import MessageQueue
from tests.each import each

QUEUES = [MessageQueue("Pay", "broker-a", number) for number in range(4)]


def nearest(times: list[int], time_ms: int) -> int:
    """The search of 4.9.8 over the store times of a queue that begins at offset 0."""
    low, high = 0, len(times) - 1
    left = right = -1
    while low <= high:
        middle = (low + high) // 2
        if times[middle] == time_ms:
            return middle
        if times[middle] < time_ms:
            low, left = middle + 1, middle
        else:
            high, right = middle - 1, middle
    if left < 0 or right < 0:
        return 0 if left < 0 else len(times) - 1
    return left if time_ms - times[left] <= times[right] - time_ms else right


def searches(stored: dict[MessageQueue, list[int]], time_ms: int) -> tuple[list[Search], dict[MessageQueue, int]]:
    exact = {queue: bisect_left(times, time_ms) for queue, times in stored.items()}
    firsts = [times[exact[queue]] for queue, times in stored.items() if exact[queue] < len(times)]
    searched = [
        Search(time_ms=moment, found={queue: nearest(times, moment) for queue, times in stored.items()})
        for moment in instants(time_ms, firsts)
    ]
    return searched, exact


@given(
    stored=st.lists(st.lists(st.integers(1_000, 1_060), min_size=1, max_size=12).map(sorted), min_size=1, max_size=4),
    time_ms=st.integers(990, 1_070),
)
def test_nothing_is_skipped_and_no_more_replayed_than_any_single_instant_costs(
    stored: list[list[int]], time_ms: int
) -> None:
    by_queue = dict(zip(QUEUES, stored, strict=False))
    offsets, exact = searches(by_queue, time_ms)
    chosen = best_search(offsets, exact)
    assert all(chosen.found[queue] <= offset for queue, offset in exact.items())
    plain = offsets[0]
    assert plain.time_ms == time_ms
    if all(plain.found[queue] <= offset for queue, offset in exact.items()):
        assert sum(chosen.found.values()) >= sum(plain.found.values())


@given(times=st.lists(st.integers(1_000, 1_200), min_size=2, max_size=30, unique=True).map(sorted), data=st.data())
def test_one_queue_is_exact_to_the_message(times: list[int], data: st.DataObject) -> None:
    """But behind its last message, where the search answers with that one."""
    time_ms = data.draw(st.integers(times[0], times[-1]))
    offsets, exact = searches({QUEUES[0]: times}, time_ms)
    assert best_search(offsets, exact).found == exact


def test_a_broker_that_can_only_skip_is_not_told() -> None:
    with pytest.raises(RefusedError, match="without skipping"):
        best_search([Search(time_ms=1, found={QUEUES[0]: 8})], {QUEUES[0]: 7})


def test_the_plan_says_what_the_search_does_and_wants_every_queue_committed() -> None:
    position = QueuePosition(queue=QUEUES[0], min_offset=0, max_offset=9, old=9)
    (change,), request = callback_changes(
        ("Pay", "broker-a"), [position], {QUEUES[0]: 5}, Search(time_ms=7, found={QUEUES[0]: 4})
    )
    assert (change.new, change.note) == (4, "the broker seeks by time: it lands 1 before offset 5")
    assert (request.topic, request.broker_name, request.time_ms) == ("Pay", "broker-a", 7)
    check_committed([position], "G")
    with pytest.raises(RefusedError, match="never committed"):
        check_committed([QueuePosition(queue=QUEUES[1], min_offset=0, max_offset=9)], "G")


@each(
    "time_ms, store_times, asked_about",
    [
        (50, [], (50, 49)),
        (50, [50], (50, 49)),
        (50, [60, 55], (50, 49, 55, 54)),
        (50, [51], (50, 49, 51)),
        (50, [49], (50, 49, 48)),
    ],
)
def test_the_instants_that_are_worth_asking_about(
    time_ms: int, store_times: list[int], asked_about: tuple[int, ...]
) -> None:
    assert instants(time_ms, store_times) == asked_about


def search(time_ms: int, *offsets: int) -> Search:
    return Search(time_ms=time_ms, found=dict(zip(QUEUES, offsets, strict=False)))


def test_of_searches_that_skip_nothing_the_nearest_is_taken() -> None:
    exact = dict(zip(QUEUES, (10, 20), strict=False))
    near, far, over = search(1, 10, 19), search(2, 8, 20), search(3, 11, 20)
    assert best_search([far, over, near], exact) is near
    assert best_search([over, far], exact) is far
    exactly = search(4, 10, 20)
    assert best_search([near, exactly, far], exact) is exactly
    with pytest.raises(RefusedError):
        best_search([over], exact)
    with pytest.raises(RefusedError):
        best_search([Search(time_ms=1, found={})], {})


def test_what_a_callback_says_of_each_queue() -> None:
    assert (LATEST_MS, EARLIEST_MS) == (-1, 0)
    positions = [QueuePosition(queue=queue, min_offset=0, max_offset=9, old=3) for queue in QUEUES[:2]]
    exact = dict.fromkeys(QUEUES, 5)
    changes, request = callback_changes(("Pay", "broker-a"), positions, exact, search(7, 5, 3))
    assert [(item.old, item.new, item.note) for item in changes] == [
        (3, 5, None),
        (3, 3, "the broker seeks by time: it lands 2 before offset 5"),
    ]
    over, _ = callback_changes(("Pay", "broker-a"), positions, exact, search(7, 6, 4))
    assert [item.note is None for item in over] == [False, False]
    latest, request = callback_changes(("Pay", "broker-a"), positions, exact, search(LATEST_MS, 9, 5))
    assert [item.note for item in latest] == ["plus messages arriving before it runs"] * 2
    assert request.time_ms == -1
    assert callback_changes(("Pay", "broker-a"), positions, exact, search(EARLIEST_MS, 5, 5))[0][0].note is None


def test_one_queue_without_an_offset_is_enough() -> None:
    committed = QueuePosition(queue=QUEUES[0], min_offset=0, max_offset=9, old=0)
    check_committed([committed], "G")
    check_committed([], "G")
    with pytest.raises(RefusedError, match="group G on Pay") as caught:
        check_committed([committed, QueuePosition(queue=QUEUES[2], min_offset=0, max_offset=9)], "G")
    assert "queue 2 of broker-a" in (caught.value.reason or "")
