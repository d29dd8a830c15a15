"""MQ327 on consumers in motion: idle threads and messages that just came are what a fast consumer looks like; a message
that waits through all looks, while the consumer gets no further, is what it must name."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.lag import LagState, QueueLag
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.queue import MessageQueue
from mqctl.stacks.verdict import ConsumerFacts, StackVerdict
from tests.rules.stack_faults import IDLE_POOL
from tests.stacks.test_verdict import judge

NOW = 1_795_218_000_000
COMMIT_MS = 5_000
gaps = st.one_of(st.integers(1, 20), st.integers(20, 1_000), st.integers(1_000, 60_000))
moments = st.tuples(st.integers(0, 100_000), st.integers(600, 6_000), st.integers(0, 300))


def waiting(at_ms: int, committed: int, end: int, gap_ms: int) -> QueueLag:
    """A queue into which a message comes every `gap_ms`."""
    lag = end - committed
    return QueueLag(
        group="G", topic="T", broker_name="b", queue_id=0, min_offset=0, broker_offset=end, consumer_offset=committed,
        lag_count=lag, lost_count=0, lag_ms=at_ms - committed * gap_ms if lag else 0, next_store_time_ms=None,
        state=LagState.BEHIND if lag else LagState.CAUGHT_UP,
    )  # fmt: skip


def saying(at_ms: int, consumed: int, cached: int) -> RunningInfo:
    held = HeldQueue(
        queue=MessageQueue("T", "b", 0),
        commit_offset=consumed,
        cached_count=cached,
        cached_min_offset=consumed if cached else 0,
        cached_max_offset=consumed + cached - 1 if cached else 0,
        last_pull_time_ms=at_ms,
        last_consume_time_ms=at_ms,
    )
    properties = {"PROP_CONSUMEORDERLY": "false", "PROP_THREADPOOL_CORE_SIZE": "20"}
    return RunningInfo(group="G", client_id="c", queues=(held,), properties=properties)


def idle(facts: ConsumerFacts) -> list[StackVerdict]:
    return judge(IDLE_POOL, facts, count=3)


@given(gap_ms=gaps, takes_ms=st.integers(0, 50), phase_ms=st.integers(0, COMMIT_MS), when=moments)
def test_a_consumer_that_keeps_up_is_not_accused_at_any_moment(
    gap_ms: int, takes_ms: int, phase_ms: int, when: tuple[int, int, int]
) -> None:
    """Messages come at a steady rate and are consumed within milliseconds; the broker hears of it every 5 s."""

    def arrived(at_ms: int) -> int:
        return at_ms // gap_ms + 1

    def consumed(at_ms: int) -> int:
        return max(0, (at_ms - takes_ms) // gap_ms + 1)

    def seen(at_ms: int) -> QueueLag:
        committed = consumed(max(0, (at_ms - phase_ms) // COMMIT_MS * COMMIT_MS + phase_ms))
        return waiting(at_ms, min(committed, arrived(at_ms)), arrived(at_ms), gap_ms)

    def told(at_ms: int) -> RunningInfo:
        return saying(at_ms, consumed(at_ms), arrived(at_ms) - consumed(at_ms))

    first_ms, apart_ms, later_ms = when
    last_ms = first_ms + apart_ms
    facts = ConsumerFacts(
        now_ms=last_ms,
        info=told(last_ms + later_ms),
        earlier=told(first_ms + later_ms),
        lags=[seen(last_ms)],
        earlier_lags=[seen(first_ms)],
    )
    assert idle(facts) == []


@given(gap_ms=gaps, stood_ms=st.integers(10_001, 900_000), apart_ms=st.integers(600, 6_000), at=st.integers(1, 1_000))
def test_a_message_that_nobody_pulls_through_all_looks_is_named(
    gap_ms: int, stood_ms: int, apart_ms: int, at: int
) -> None:
    came_ms = at * gap_ms
    first_ms, last_ms = came_ms + stood_ms, came_ms + stood_ms + apart_ms

    def seen(at_ms: int) -> QueueLag:
        return waiting(at_ms, at, at_ms // gap_ms + 1, gap_ms)

    facts = ConsumerFacts(
        now_ms=last_ms,
        info=saying(last_ms, at, 0),
        earlier=saying(first_ms, at, 0),
        lags=[seen(last_ms)],
        earlier_lags=[seen(first_ms)],
    )
    (finding,) = idle(facts)
    assert (finding.code, finding.variant) == ("MQ327", "starved")
    without_looks = replace(facts, earlier=None, earlier_lags=())
    assert [item.variant for item in idle(without_looks)] == ["starved"]
    moved = replace(facts, earlier=saying(first_ms, at - 1, 0))
    assert idle(moved) == []
    young = {"PROP_CONSUMER_START_TIMESTAMP": str(max(0, last_ms - 59_000))}
    assert idle(replace(facts, info=replace(saying(last_ms, at, 0), properties=young))) == []
    committed = replace(facts, earlier_lags=[waiting(first_ms, at - 1, at + 1, gap_ms)])
    assert idle(committed) == []


def test_what_was_consumed_and_not_committed_yet_does_not_wait() -> None:
    facts = ConsumerFacts(now_ms=NOW, info=saying(NOW, 160, 0), lags=[waiting(20_000, 100, 160, 10)])
    assert idle(facts) == []
