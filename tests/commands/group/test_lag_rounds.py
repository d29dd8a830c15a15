"""Rounds of `group lag --watch` and `--until`: how much time each gets."""

from __future__ import annotations

from threading import Event
from time import monotonic

from mqctl.commands.group.lag_watch import LagPace, Round, rounds, wait
from mqctl.errors import DeadlineError, ExitCode
from mqctl.lag.current import CurrentLag, LagReport
from mqctl.model.lag import LagState, QueueLag
from mqctl.model.lag_condition import parse_condition

TAKES_MS = 40
LAGGING = QueueLag(
    group="G",
    topic="T",
    broker_name="broker-a",
    queue_id=0,
    min_offset=0,
    broker_offset=3,
    consumer_offset=1,
    lag_count=2,
    lost_count=0,
    lag_ms=1_000,
    next_store_time_ms=1,
    state=LagState.BEHIND,
)


def view(*queues: QueueLag) -> CurrentLag:
    return CurrentLag(report=LagReport(observed_at_ms=0, groups=[], queues=list(queues), windows=[], slaves=[]))


def test_no_round_begins_with_less_time_than_the_one_before_it_took() -> None:
    given: list[int] = []

    def ask(limit_ms: int) -> CurrentLag:
        given.append(limit_ms)
        Event().wait(TAKES_MS / 1000)
        if len(given) % 2 == 0:
            raise DeadlineError("no answer")
        return view()

    looks = list(rounds(ask, LagPace(every_ms=100, round_ms=1_000, limit_ms=320)))
    assert [item.number for item in looks] == list(range(1, len(given) + 1))
    assert given[0] > TAKES_MS
    assert all(limit_ms >= TAKES_MS for limit_ms in given), given


def test_a_last_look_that_is_cut_off_leaves_what_the_one_before_it_saw() -> None:
    whole = view(LAGGING)
    looks = [Round(1, whole), Round(2, None, DeadlineError("no answer"), is_extra=True)]
    code, last = wait(iter(looks), parse_condition("lag<1"))
    assert (code, last) == (ExitCode.TIMEOUT, whole)


def test_the_last_round_ends_with_the_time_and_not_a_pace_before_it() -> None:
    begun = monotonic()
    looks: list[float] = []

    def ask(_: int) -> CurrentLag:
        looks.append(monotonic() - begun)
        return view()

    list(rounds(ask, LagPace(every_ms=300, round_ms=1_000, limit_ms=500)))
    assert len(looks) == 3
    assert looks[2] >= 0.45, looks
