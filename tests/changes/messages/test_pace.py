"""The rate of a replay is a bound: whatever each message takes, no more go out than that."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mqctl.changes.messages.replay import Pace


class Time:
    """A clock that only waiting and working move."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def clock(self) -> float:
        return self.now_s

    def pause(self, ms: int) -> None:
        self.now_s += ms / 1000


@given(
    per_s=st.floats(0.5, 900),
    took_s=st.lists(st.floats(0, 0.2), min_size=2, max_size=60),
)
def test_no_more_messages_go_than_the_rate_allows(per_s: float, took_s: list[float]) -> None:
    time = Time()
    pace = Pace(per_s, time.clock, time.pause)
    went = []
    for took in took_s:
        pace.wait()
        went.append(time.now_s)
        time.now_s += took
    # A pause is whole milliseconds; what it falls short of by rounding is less than one of them.
    assert all(after - before >= 1 / per_s - 0.002 for before, after in pairwise(went))
    assert went[-1] - went[0] >= (len(went) - 1) / per_s - 0.002


def test_time_that_was_lost_is_not_caught_up_with() -> None:
    time = Time()
    pace = Pace(10, time.clock, time.pause)
    pace.wait()
    time.now_s += 60
    pace.wait()
    began = time.now_s
    pace.wait()
    assert time.now_s - began >= 0.098
