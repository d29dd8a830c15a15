"""Rounds of `group lag --watch` and `--until`: how much time each gets."""

from __future__ import annotations

from threading import Event

from mqctl.errors import DeadlineError
from mqctl.operations.lag.view import LagView
from mqctl.operations.lag.watch import LagPace, rounds

TAKES_MS = 40


def view() -> LagView:
    return LagView(moment_ms=0, groups=(), queues=())


def test_no_round_begins_with_less_time_than_the_one_before_it_took() -> None:
    given: list[int] = []

    def ask(limit_ms: int) -> LagView:
        given.append(limit_ms)
        Event().wait(TAKES_MS / 1000)
        if len(given) % 2 == 0:
            raise DeadlineError("no answer")
        return view()

    looks = list(rounds(ask, LagPace(every_ms=100, round_ms=1_000, limit_ms=320)))
    assert [item.number for item in looks] == list(range(1, len(given) + 1))
    assert given[0] > TAKES_MS
    assert all(limit_ms >= TAKES_MS for limit_ms in given), given
