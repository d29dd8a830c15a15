"""Nothing is held longer than it exists: a message that came after a quiet time makes no consumer look hung.

A member tells when it last finished a message, and on a quiet queue that may be hours ago when the next one comes.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from mqctl.model.finding import Finding, Reason, Value
from mqctl.model.lag import queue_lags
from mqctl.model.member import HeldQueue, TopicRates
from mqctl.model.queue_state import ConsumerOffsetState
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import diagnose
from mqctl.stacks.holding import ConsumerFacts, ConsumerSituation, StackLimits
from tests.rules.live_faults import all_orderly, not_stored
from tests.rules.live_snapshots import BROKERS, HOUR, LIVE, MINUTE, NOW

_QUEUE = LIVE.running[0].queues[0].queue
_AGES_MS = st.one_of(st.integers(0, 3 * MINUTE), st.sampled_from([MINUTE, MINUTE + 1, HOUR, 10 * HOUR]))


def _holding(held: HeldQueue, committed: int, next_store_time_ms: int | None, end: int) -> ClusterSnapshot:
    """The healthy cluster, with a first queue of its first member that ends at `end` and is committed so far."""
    broker = LIVE.brokers[0]
    offset = ConsumerOffsetState(
        group="G", topic="Pay", queue_id=0, offset=committed, next_store_time_ms=next_store_time_ms
    )
    queue = replace(broker.queues[0], max_offset=end)
    changed = replace(
        broker, queues=(queue, *broker.queues[1:]), consumer_offsets=(offset, *broker.consumer_offsets[1:])
    )
    member = LIVE.running[0]
    running = replace(member, queues=(held, *member.queues[1:]))
    return replace(LIVE, brokers=(changed, *LIVE.brokers[1:]), running=(running, *LIVE.running[1:]))


def _idle_ms(finding: Finding) -> Value:
    return next(item.value for item in finding.evidence if item.name == "idle_ms")


@given(
    finished_ms=_AGES_MS,
    came_ms=_AGES_MS,
    first=st.integers(1, 1_000_000),
    count=st.integers(1, 1_000),
    uncommitted=st.integers(0, 50),
    orderly=st.booleans(),
    after_the_look=st.booleans(),
)
def test_a_consumer_is_blamed_from_the_later_of_last_finish_and_arrival(
    finished_ms: int, came_ms: int, first: int, count: int, uncommitted: int, orderly: bool, after_the_look: bool
) -> None:
    first += uncommitted
    if after_the_look:
        came_ms, committed, end, next_ms = 0, first, first, None
    else:
        committed, end, next_ms = first - uncommitted, first + count, NOW - came_ms
    place = {"transaction" if orderly else "cached": first}
    held = HeldQueue(
        queue=_QUEUE,
        commit_offset=first,
        cached_min_offset=place.get("cached", 0),
        cached_max_offset=first + count - 1,
        cached_count=0 if orderly else count,
        transaction_min_offset=place.get("transaction", 0),
        transaction_count=count if orderly else 0,
        last_pull_time_ms=NOW - 1_000,
        last_consume_time_ms=NOW - finished_ms,
    )
    snapshot = _holding(held, committed, next_ms, end)
    snapshot = all_orderly(snapshot) if orderly else snapshot
    idle_ms = min(finished_ms, came_ms)
    code = "MQ502" if orderly else "MQ307"
    findings = [item for item in diagnose(snapshot, only=(code,)).findings if item.code == code]
    assert [_idle_ms(item) for item in findings] == ([idle_ms] if idle_ms > MINUTE else [])

    lags = queue_lags(snapshot.brokers[0], NOW)
    situation = ConsumerSituation("G", ConsumerFacts(now_ms=NOW, info=snapshot.running[0], lags=lags), StackLimits())
    assert situation.unfinished_ms(snapshot.running[0].queues[0]) == idle_ms
    if not orderly:
        assert bool(situation.blocked) == (idle_ms > MINUTE)


@given(finished_ms=st.integers(MINUTE + 1, HOUR), came_ms=st.integers(0, HOUR), below=st.integers(1, 100))
def test_a_younger_message_at_an_offset_above_what_is_held_excuses_nobody(
    finished_ms: int, came_ms: int, below: int
) -> None:
    """Where offsets were set forward below a member's feet, the message there tells nothing of what it holds."""
    held = HeldQueue(
        queue=_QUEUE,
        commit_offset=500,
        cached_min_offset=500,
        cached_max_offset=500,
        cached_count=1,
        last_pull_time_ms=NOW - 1_000,
        last_consume_time_ms=NOW - finished_ms,
    )
    snapshot = _holding(held, 500 + below, NOW - came_ms, 1_000)
    assert {item.code for item in diagnose(snapshot, only=("MQ307",)).findings} == {"MQ307"}


def test_a_member_without_a_word_of_the_message_is_judged_by_its_last_finish() -> None:
    held = HeldQueue(
        queue=_QUEUE,
        commit_offset=500,
        cached_min_offset=500,
        cached_max_offset=500,
        cached_count=1,
        last_pull_time_ms=NOW - 1_000,
        last_consume_time_ms=NOW - 2 * MINUTE,
    )
    (finding,) = diagnose(_holding(held, 500, None, 1_000), only=("MQ307",)).findings
    assert _idle_ms(finding) == 2 * MINUTE
    assert finding.subject.client == LIVE.running[0].client_id
    assert BROKERS[0] in str(dict(finding.params)["queues"])


@given(
    anew_ms=st.integers(0, 2 * MINUTE),
    came_ms=st.integers(0, 2 * MINUTE),
    started_ms=st.integers(0, HOUR),
    done_tps=st.sampled_from([0.0, 0.02, 3.0]),
    failed_tps=st.sampled_from([0.0, 0.02]),
    count=st.integers(0, 1_000),
    orderly=st.booleans(),
)
@example(anew_ms=15_000, came_ms=14_000, started_ms=HOUR, done_tps=0, failed_tps=0, count=15, orderly=False)
@example(anew_ms=28_000, came_ms=27_000, started_ms=HOUR, done_tps=0, failed_tps=0, count=28, orderly=True)
def test_a_member_that_finished_nothing_since_a_skip_is_not_called_well(
    anew_ms: int, came_ms: int, started_ms: int, done_tps: float, failed_tps: float, count: int, orderly: bool
) -> None:
    """Queues are given anew by a reset, and threads that hung go on hanging. Who finishes anything is well, and so is
    who was given messages seconds ago."""
    came_ms = min(came_ms, anew_ms)
    held = HeldQueue(
        queue=_QUEUE,
        commit_offset=500,
        cached_min_offset=500,
        cached_max_offset=500 + count,
        cached_count=count,
        locked=orderly,
        last_lock_time_ms=NOW,
        last_pull_time_ms=NOW - 1_000,
        last_consume_time_ms=NOW - anew_ms,
    )
    snapshot = _holding(held, 500, NOW - came_ms, 500 + count)
    rates = (TopicRates(topic="Pay", pull_tps=1.0, consume_ok_tps=done_tps, consume_failed_tps=failed_tps),)
    started = {"PROP_CONSUMER_START_TIMESTAMP": str(NOW - anew_ms - started_ms)}
    first, *others = snapshot.running
    first = replace(first, rates=rates, properties={**first.properties, **started})
    snapshot = replace(snapshot, running=(first, *others))
    diagnosis = diagnose(all_orderly(snapshot) if orderly else snapshot, only=("MQ307",))
    if came_ms > MINUTE and count:
        assert diagnosis.verdict == "error"
        return
    untried = count and came_ms > 10_000 and anew_ms <= MINUTE and not done_tps and not failed_tps
    assert diagnosis.verdict == ("unknown" if untried and started_ms > 2 * MINUTE else "ok")
    assert [item.why.reason for item in diagnosis.not_judged] == [Reason.UNTRIED] * len(diagnosis.not_judged)


@given(age_ms=st.integers(1, 10 * MINUTE), idle_ms=st.integers(1, 10 * MINUTE), moved=st.sampled_from([0, 1, 250]))
def test_an_owner_whose_messages_are_filtered_out_is_not_ahead_of_what_its_broker_stores(
    age_ms: int, idle_ms: int, moved: int
) -> None:
    """Its offset moves without consumption and is stored every five seconds: only what stays unstored is a fault."""
    now = not_stored(age_ms, idle_ms=idle_ms)
    first, second = now.brokers
    before = replace(
        second, consumer_offsets=tuple(replace(item, offset=item.offset - moved) for item in second.consumer_offsets)
    )
    earlier = replace(now, brokers=(first, before)) if moved else None
    codes = {finding.code for finding in diagnose(replace(now, earlier=earlier), only=("MQ419",)).findings}
    late = age_ms >= MINUTE // 2 and idle_ms >= MINUTE // 2
    assert codes == ({"MQ419"} if late and not moved else set())
