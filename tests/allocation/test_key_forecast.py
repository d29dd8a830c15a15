"""What one thread for each key would do, against a schedule that is played message by message."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.allocation.key_forecast import key_forecast
from mqctl.allocation.key_order import KeyedMessage
from mqctl.model.queue import MessageQueue
from tests.each import each

QUEUES = [MessageQueue("T", "a", number) for number in range(4)]


def waiting(*rows: tuple[int, str | None, int]) -> list[KeyedMessage]:
    """Messages by queue, key and number."""
    return [
        KeyedMessage(queue=QUEUES[queue], store_time_ms=0, queue_offset=place, key=key)
        for queue, key, count in rows
        for place in range(count)
    ]


def counts(messages: list[KeyedMessage]) -> dict[MessageQueue, int]:
    by_queue: dict[MessageQueue, int] = defaultdict(int)
    for message in messages:
        by_queue[message.queue] += 1
    return by_queue


def played(messages: list[KeyedMessage], threads: int, by: str) -> int:
    """Returns the steps that threads take, one message a step and lane, the longest lane first."""
    lanes: dict[object, int] = defaultdict(int)
    for number, message in enumerate(messages):
        lane = message.queue if by == "queue" else number if message.key is None else message.key
        lanes[lane] += 1
    left = [(-count, number) for number, count in enumerate(lanes.values())]
    left.sort()
    steps = 0
    while left:
        taken = [heappop(left) for _ in range(min(threads, len(left)))]
        for count, number in taken:
            if count < -1:
                heappush(left, (count + 1, number))
        steps += 1
    return steps


def test_keys_of_equal_size_use_all_threads_and_queues_only_one_each() -> None:
    """Four queues, twenty threads, a hundred keys, 10 ms each: 400 messages a second become 2,000."""
    messages = waiting(*((number % 4, f"order-{number}", 10) for number in range(100)))
    forecast = key_forecast(counts(messages), dict.fromkeys(QUEUES, "c"), messages, thread_count=20, lane_tps=100.0)
    assert forecast is not None
    assert (forecast.queue_tps, forecast.key_tps, forecast.gain) == (400.0, 2_000.0, 5.0)
    assert (forecast.thread_count, forecast.key_count, forecast.is_exact) == (100, 100, True)
    assert (played(messages, 20, "queue"), played(messages, 20, "key")) == (250, 50)


def test_a_hot_key_bounds_it_and_a_sample_stands_for_what_waits() -> None:
    """Half of what waits is one key: two threads at most have something to do."""
    messages = waiting((0, "hot", 50), *((0, f"k{number}", 1) for number in range(50)))
    forecast = key_forecast({QUEUES[0]: 10_000}, {QUEUES[0]: "c"}, messages, thread_count=20, lane_tps=None)
    assert forecast is not None
    assert (forecast.gain, forecast.thread_count, forecast.busiest_key, forecast.busiest_share) == (2.0, 2, "hot", 0.5)
    assert (forecast.read_count, forecast.waiting_count, forecast.is_exact, forecast.key_tps) == (
        100,
        10_000,
        False,
        None,
    )


def test_one_key_gains_nothing_and_nothing_read_predicts_nothing() -> None:
    messages = waiting((0, "only", 9))
    forecast = key_forecast({QUEUES[0]: 9}, {QUEUES[0]: None}, messages, thread_count=8, lane_tps=10.0)
    assert forecast is not None
    assert (forecast.gain, forecast.key_tps, forecast.queue_tps) == (1.0, 10.0, 10.0)
    assert key_forecast({QUEUES[0]: 9}, {}, [], thread_count=8, lane_tps=1.0) is None


@pytest.mark.quick
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([None, *"abcdefgh"]), st.integers(1, 20)), min_size=1, max_size=12
    ),
    threads=st.integers(1, 12),
)
def test_what_is_predicted_is_what_a_schedule_takes(rows: list[tuple[int, str | None, int]], threads: int) -> None:
    """The prediction is a lower bound that lanes served in turn, the longest first, reach but for a last step."""
    placed = {key: queue for queue, key, _ in rows}  # a key lies in one queue
    messages = waiting(*((queue if key is None else placed[key], key, count) for queue, key, count in rows))
    forecast = key_forecast(counts(messages), dict.fromkeys(QUEUES, "c"), messages, thread_count=threads, lane_tps=1.0)
    assert forecast is not None and forecast.key_tps is not None and forecast.queue_tps is not None
    by_key, by_queue = len(messages) / forecast.key_tps, len(messages) / forecast.queue_tps
    assert by_key - 1e-6 <= played(messages, threads, "key") <= by_key + 1
    assert by_queue - 1e-6 <= played(messages, threads, "queue") <= by_queue + 1


@each(
    "rows, owners, threads, expected",
    [
        # Without keys: all threads at once instead of one for the queue, and more of them would have something to do.
        ([(0, None, 8)], "a", 4, (None, 0.0, 8, 10.0, 40.0, 4.0, 0)),
        ([(0, "k", 6), (0, "l", 2)], "a", 4, ("k", 0.75, 2, 10.0, 80 / 6, 8 / 6, 2)),
        ([(0, "l", 4), (0, "k", 4)], "a", 4, ("k", 0.5, 2, 10.0, 20.0, 2.0, 2)),
        # Two queues of one instance, and of two: the one that ends last counts.
        ([(0, "k", 6), (1, "l", 2)], "aa", 4, ("k", 0.75, 2, 80 / 6, 80 / 6, 1.0, 2)),
        ([(0, "k", 6), (1, "l", 2)], "ab", 4, ("k", 1.0, 1, 80 / 6, 80 / 6, 1.0, 2)),
        ([(0, None, 6), (1, "l", 2)], "ab", 4, ("l", 1.0, 1, 80 / 6, 40.0, 3.0, 1)),
        ([(0, "k", 3), (0, None, 6), (1, "l", 2)], "ab", 2, ("k", 3 / 9, 3, 110 / 9, 110 / 4.5, 2.0, 2)),
        ([(0, "k", 6), (1, "l", 2)], "aa", 1, ("k", 0.75, 2, 10.0, 10.0, 1.0, 2)),
    ],
)
def test_forecasts_by_hand(
    rows: list[tuple[int, str | None, int]],
    owners: str,
    threads: int,
    expected: tuple[str | None, float, int, float, float, float, int],
) -> None:
    """Ten messages a second and thread."""
    messages = waiting(*rows)
    held = dict(zip(QUEUES, owners, strict=False))
    forecast = key_forecast(counts(messages), held, messages, thread_count=threads, lane_tps=10.0)
    assert forecast is not None
    assert (forecast.busiest_key, forecast.busiest_share, forecast.thread_count) == expected[:3]
    assert (forecast.queue_tps, forecast.key_tps, forecast.gain) == pytest.approx(expected[3:6])
    assert (forecast.key_count, forecast.read_count, forecast.is_exact) == (expected[6], len(messages), True)


def test_messages_of_queues_in_which_nothing_waits_are_passed_over() -> None:
    messages = waiting((0, "k", 2), (1, "l", 3))
    for listed in ({QUEUES[0]: 4, QUEUES[1]: 0}, {QUEUES[0]: 4}):
        forecast = key_forecast(listed, {}, messages, thread_count=2, lane_tps=None)
        assert forecast is not None
        assert (forecast.waiting_count, forecast.read_count, forecast.key_count) == (4, 2, 1)
        assert (forecast.busiest_key, forecast.is_exact, forecast.queue_tps) == ("k", False, None)
    assert key_forecast({QUEUES[0]: 0}, {}, messages, thread_count=2, lane_tps=None) is None
    # What waits in a queue of which nothing was read is counted, and forecast by the others.
    more = key_forecast({QUEUES[0]: 2, QUEUES[3]: 7}, {}, messages, thread_count=2, lane_tps=1.0)
    assert more is not None
    assert (more.waiting_count, more.read_count, more.queue_tps) == (9, 2, 1.0)
