"""Backlog advice: rates between two looks, ends that come or never do, bounds, and what each remedy would do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.commands.group.advice_view import advice_document
from mqctl.lag.advice import BacklogAdvice, backlog_advice
from mqctl.lag.bound import Bound
from mqctl.lag.rates import Drain, Movement, Outlook, QueueFlow, drain_of
from mqctl.lag.remedies import Effect
from mqctl.model.finding import Confidence
from mqctl.model.lang import Lang
from mqctl.model.member import POP, TopicRates
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings
from mqctl.render.document import Paragraphs
from tests.each import each
from tests.rules.live_faults import after
from tests.rules.live_snapshots import BROKERS, LIVE, MINUTE, NOW, held, saying

Offsets = tuple[int, int]


def state(
    *queues: Offsets,
    cached: int = 50,
    rt_ms: float = 0.0,
    tps: float = 0.0,
    waiting_since_ms: int | None = None,
    said: dict[str, str] | None = None,
) -> ClusterSnapshot:
    """The live cluster with four queues at these (consumer offset, broker offset): two on each broker and instance."""
    brokers, running = [], []
    for number, (broker, info) in enumerate(zip(LIVE.brokers, LIVE.running, strict=True)):
        mine = queues[2 * number : 2 * number + 2]
        brokers.append(
            replace(
                broker,
                queues=tuple(
                    QueueState(topic="Pay", queue_id=queue_id, min_offset=0, max_offset=end)
                    for queue_id, (_, end) in enumerate(mine)
                ),
                consumer_offsets=tuple(
                    ConsumerOffsetState(
                        group="G", topic="Pay", queue_id=queue_id, offset=at, next_store_time_ms=waiting_since_ms
                    )
                    for queue_id, (at, _) in enumerate(mine)
                ),
            )
        )
        shares = tuple(
            held(BROKERS[number], queue_id, commit_offset=at, cached_count=cached if at < end else 0)
            for queue_id, (at, end) in enumerate(mine)
        )
        rates = (TopicRates(topic="Pay", consume_rt_ms=rt_ms, consume_ok_tps=tps),)
        running.append(saying(**said or {})(replace(info, queues=shares, rates=rates)))
    return replace(LIVE, brokers=tuple(brokers), running=tuple(running))


def advise(now: ClusterSnapshot, earlier: ClusterSnapshot | None, settings: Settings | None = None) -> BacklogAdvice:
    (advice,) = backlog_advice(after(now, earlier, MINUTE) if earlier else now, settings or Settings())
    return advice


def effects(advice: BacklogAdvice) -> dict[str, tuple[Effect, str]]:
    return {item.what: (item.effect, item.reason) for item in advice.remedies}


DONE = (1_000, 1_000)
ONE_THREAD = {"PROP_THREADPOOL_CORE_SIZE": "1"}


def test_what_is_consumed_as_it_comes_is_no_backlog_however_much_is_in_flight() -> None:
    advice = advise(
        state((1_590, 1_600), (1_595, 1_600), DONE, DONE), state((1_000, 1_010), (1_000, 1_003), DONE, DONE)
    )
    assert advice.drain == Drain(Outlook.KEEPS_UP, 0)
    assert (advice.lag_count, advice.bound, advice.remedies, advice.loses) == (15, Bound.NONE, (), False)


def test_one_look_gives_no_rate_and_no_guess() -> None:
    advice = advise(state((0, 100), DONE, DONE, DONE), None)
    assert (advice.drain, advice.in_tps, advice.bound) == (Drain(Outlook.UNKNOWN, None), None, Bound.UNKNOWN)
    assert {effect for effect, _ in effects(advice).values()} == {Effect.UNKNOWN, Effect.PARTLY}
    assert advice.confidence is Confidence.LOW


def test_a_backlog_ends_when_the_slowest_instance_is_done() -> None:
    then = state((0, 6_000), (0, 600), (0, 1_200), DONE)
    now = state((600, 6_000), (300, 600), (600, 1_200), DONE)
    advice = advise(now, then)
    # The first instance passes 900 a minute and has 5,700 left; the second one has 600 at 600 a minute.
    assert advice.drain == Drain(Outlook.DRAINS, 380_000)
    assert [flow.movement for flow in advice.queues] == [*[Movement.CATCHING_UP] * 3, Movement.OK]
    assert (advice.in_tps, advice.out_tps) == (0.0, 25.0)


def test_a_backlog_drains_as_fast_as_members_say_that_they_consume() -> None:
    """Offsets that leap, as a reset makes them, are no consumption: 10 a second passed, 2 a second were consumed."""
    then = state((0, 6_000), DONE, DONE, DONE)
    advice = advise(state((600, 6_000), DONE, DONE, DONE, tps=2.0), then)
    assert (advice.consumed_tps, advice.out_tps) == (4.0, 10.0)
    assert advice.drain == Drain(Outlook.DRAINS, 2_700_000)
    assert advise(state((600, 6_000), DONE, DONE, DONE), then).drain == Drain(Outlook.DRAINS, 540_000)
    less = advise(state((600, 6_300), DONE, DONE, DONE, tps=2.0), then)
    assert less.drain == Drain(Outlook.NEVER, None)


def test_ordered_queues_do_not_help_each_other() -> None:
    ordered = {"PROP_CONSUMEORDERLY": "true"}
    then = state((0, 6_000), (0, 600), (0, 1_200), DONE, said=ordered)
    now = state((600, 6_000), (300, 600), (600, 1_200), DONE, said=ordered)
    advice = advise(now, then)
    assert advice.drain == Drain(Outlook.DRAINS, 540_000)
    # What a thread for each key would do stands there for groups that want order, and for no other.
    assert effects(advice)["keys"] == (Effect.PARTLY, "per_key")
    assert "keys" not in effects(advise(state((600, 6_000), DONE, DONE, DONE), state((0, 6_000), DONE, DONE, DONE)))


def test_never_is_an_answer() -> None:
    advice = advise(
        state(
            (600, 3_000), (600, 3_000), (600, 3_000), (600, 3_000), rt_ms=100, said={"PROP_THREADPOOL_CORE_SIZE": "2"}
        ),
        state(*[(0, 1_000)] * 4),
    )
    assert advice.drain == Drain(Outlook.NEVER, None)
    assert {flow.movement for flow in advice.queues} == {Movement.FALLING_BEHIND}
    assert (advice.bound, advice.thread_count) == (Bound.THREADS, 4)
    # 9,600 within an hour and 133.3 a second that arrive, 100 ms each: 14 threads, 7 in each instance. Four queues can
    # have four instances of two threads.
    assert [(item.what, item.needed_count) for item in advice.remedies if item.needed_count] == [("threads", 7)]
    assert effects(advice)["instances"] == (Effect.PARTLY, "slots_short")
    assert advice.parallelism == 4
    assert effects(advice)["threads"] == (Effect.YES, "more")
    assert effects(advice)["queues"] == (Effect.PARTLY, "new_only")


def test_positions_that_go_back_or_stand_are_named() -> None:
    now = state((500, 1_000), (700, 1_000), DONE, DONE)
    then = state((600, 1_000), (700, 1_000), DONE, DONE)
    first, second, *_ = advise(now, then).queues
    assert (first.movement, second.movement) == (Movement.REWINDING, Movement.STALLED)
    free = replace(now, running=(replace(now.running[0], queues=()), now.running[1]))
    advice = advise(free, then)
    assert advice.queues[1].movement is Movement.STOPPED
    assert (advice.bound, effects(advice)["instances"]) == (Bound.NOBODY, (Effect.NO, "orphans"))


def test_a_queue_waits_its_turn_while_all_threads_of_its_owner_work() -> None:
    """One thread that takes two seconds for a message is at the first queue of its instance: the second one waits."""
    then = state((0, 600), (0, 600), DONE, DONE)
    now = state((30, 600), (0, 600), DONE, DONE, rt_ms=2_000.0, tps=0.5, said=ONE_THREAD)
    advice = advise(now, then)
    assert [flow.movement for flow in advice.queues[:2]] == [Movement.CATCHING_UP, Movement.WAITING]
    assert (advice.movement, advice.drain) == (Movement.CATCHING_UP, Drain(Outlook.DRAINS, 2_340_000))
    document = advice_document(NOW, 60_000, [advice], detail=True)
    assert "after the others" in str(document.blocks[-1])
    assert "the listener takes 2 s each time; to drain within 19 min 30 s" in str(document.blocks[2])
    half = state((30, 600), (0, 600), DONE, DONE, rt_ms=2_000.0, tps=0.25, said=ONE_THREAD)
    idle = advise(half, then)
    assert (idle.queues[1].movement, idle.movement) == (Movement.STALLED, Movement.STALLED)


def test_messages_that_came_a_moment_ago_blame_nobody_yet() -> None:
    then = state(DONE, DONE, DONE, DONE)
    fresh = state((1_000, 1_050), DONE, DONE, DONE, waiting_since_ms=NOW - 1_000)
    assert advise(fresh, then).queues[0].movement is Movement.OK
    old = state((1_000, 1_050), DONE, DONE, DONE, waiting_since_ms=NOW - 50_000)
    assert advise(old, then).queues[0].movement is Movement.STALLED


def test_nobody_online_wants_consumers_not_threads() -> None:
    def alone(snapshot: ClusterSnapshot) -> ClusterSnapshot:
        return replace(snapshot, running=(), brokers=tuple(replace(item, memberships=()) for item in snapshot.brokers))

    then, now = (alone(state((0, end), DONE, DONE, DONE)) for end in (900, 1_000))
    advice = advise(now, then)
    assert (advice.drain.outlook, advice.bound, advice.member_count) == (Outlook.NEVER, Bound.NOBODY, 0)
    assert effects(advice)["instances"] == (Effect.YES, "start")
    assert effects(advice)["threads"] == (Effect.NO, "not_held")


def test_an_instance_that_does_not_tell_leaves_the_bound_unknown() -> None:
    now, then = state((10, 1_000), DONE, DONE, DONE), state((0, 900), DONE, DONE, DONE)
    advice = advise(replace(now, running=now.running[1:]), replace(then, running=then.running[1:]))
    assert (advice.bound, advice.confidence) == (Bound.UNKNOWN, Confidence.LOW)


def test_who_pops_or_assigns_queues_holds_none_and_is_not_called_nobody() -> None:
    def held_by_nobody(snapshot: ClusterSnapshot) -> ClusterSnapshot:
        kinds = tuple(
            replace(broker, memberships=tuple(replace(item, consume_type=POP) for item in broker.memberships))
            for broker in snapshot.brokers
        )
        return replace(snapshot, brokers=kinds, running=tuple(replace(info, queues=()) for info in snapshot.running))

    now, then = (held_by_nobody(state((at, end), DONE, DONE, DONE)) for at, end in ((10, 1_000), (0, 900)))
    advice = advise(now, then)
    assert (advice.drain.outlook, advice.bound) == (Outlook.NEVER, Bound.UNKNOWN)


def test_one_hot_queue_is_not_helped_by_instances() -> None:
    advice = advise(state((600, 9_000), DONE, DONE, DONE, rt_ms=10), state((0, 1_000), DONE, DONE, DONE))
    assert (advice.bound, effects(advice)["instances"]) == (Bound.HOT_QUEUE, (Effect.NO, "hot"))


@pytest.mark.parametrize(
    ("rt_ms", "cached", "properties", "bound", "threads"),
    [
        (2_000.0, 50, {}, Bound.LISTENER, (Effect.YES, "more")),
        (1.0, 50, {}, Bound.LISTENER, (Effect.NO, "not_busy")),
        (1.0, 0, {}, Bound.PULL, (Effect.NO, "idle")),
        (150.0, 50, ONE_THREAD, Bound.THREADS, (Effect.YES, "more")),
        (
            150.0,
            50,
            {"PROP_THREADPOOL_CORE_SIZE": "1", "PROP_CONSUMEORDERLY": "true"},
            Bound.THREADS,
            (Effect.YES, "lanes"),
        ),
        (190.0, 50, {"PROP_CONSUMEORDERLY": "true"}, Bound.QUEUES, (Effect.NO, "one_lane")),
    ],
)
def test_what_bounds_a_group_decides_what_helps(
    rt_ms: float, cached: int, properties: dict[str, str], bound: Bound, threads: tuple[Effect, str]
) -> None:
    now = state(*[(300, 3_000)] * 4, rt_ms=rt_ms, cached=cached, said=properties)
    advice = advise(now, state(*[(0, 1_000)] * 4))
    assert (advice.bound, effects(advice)["threads"]) == (bound, threads)


def test_held_messages_of_which_none_is_finished_are_the_listeners() -> None:
    advice = advise(state((0, 900), (0, 900), DONE, DONE), state((0, 500), (0, 500), DONE, DONE))
    assert (advice.bound, advice.drain.outlook) == (Bound.LISTENER, Outlook.NEVER)
    assert effects(advice)["threads"] == (Effect.NO, "stuck")
    assert effects(advice)["instances"] == (Effect.PARTLY, "stuck_elsewhere")


def test_retention_that_comes_first_is_told_and_shortens_the_target() -> None:
    settings = Settings(file_reserved_ms=10 * MINUTE)
    now = state((600, 60_000), (600, 60_000), DONE, DONE, waiting_since_ms=NOW - 8 * MINUTE)
    advice = advise(now, state((0, 60_000), (0, 60_000), DONE, DONE), settings)
    assert (advice.expires_in_ms, advice.loses, advice.target_ms) == (2 * MINUTE, True, 2 * MINUTE)
    assert advise(now, state((0, 60_000), (0, 60_000), DONE, DONE)).loses is False


def test_a_window_shorter_than_consumers_commit_is_not_trusted() -> None:
    now, then = state((1, 900), DONE, DONE, DONE), state((0, 900), DONE, DONE, DONE)
    (advice,) = backlog_advice(after(now, then, 1_000), Settings())
    assert (advice.confidence, advice.drain.outlook) == (Confidence.LOW, Outlook.DRAINS)
    still = state((0, 900), DONE, DONE, DONE)
    (unknown,) = backlog_advice(after(still, then, 1_000), Settings())
    assert (unknown.queues[0].movement, unknown.drain.outlook) == (Movement.UNKNOWN, Outlook.UNKNOWN)
    (scaled,) = backlog_advice(after(still, then, 1_000), Settings(time_scale=10))
    assert scaled.queues[0].movement is Movement.STALLED


@each("lang", Lang)
def test_people_read_a_reason_for_every_remedy(lang: Lang) -> None:
    scenes = [
        (state((600, 3_000), *[DONE] * 3), state((0, 1_000), *[DONE] * 3)),
        (state(*[(300, 3_000)] * 4, rt_ms=1.0, cached=0), state(*[(0, 1_000)] * 4)),
        (state((0, 900), *[DONE] * 3), None),
    ]
    for now, then in scenes:
        document = advice_document(NOW, 0, [advise(now, then)], detail=True)
        causes = [block for block in document.blocks if isinstance(block, Paragraphs)]
        assert (len(document.blocks), len(causes)) == ((4, 1) if then is not None else (3, 0))


RATES = st.none() | st.floats(0, 1e6)


@given(st.lists(st.tuples(st.integers(0, 10**6), RATES, RATES, st.sampled_from(Movement)), max_size=6))
def test_a_drain_is_a_time_only_where_it_can_end(rows: list[tuple[int, float | None, float | None, Movement]]) -> None:
    flows = [
        QueueFlow(
            group="G",
            queue=MessageQueue("T", "b", number),
            owner=None,
            lag_count=lag,
            next_offset=0,
            waiting_count=lag,
            lag_ms=None,
            in_tps=in_tps,
            out_tps=out_tps,
            movement=movement,
            expires_in_ms=None,
            cached_count=0,
        )
        for number, (lag, in_tps, out_tps, movement) in enumerate(rows)
    ]
    drain = drain_of(flows)
    assert (drain.after_ms is None) == (drain.outlook in (Outlook.NEVER, Outlook.UNKNOWN))
    assert (drain.outlook is Outlook.KEEPS_UP) == (not any(flow.behind for flow in flows))
    assert (drain.after_ms or 0) >= 0


def test_system_groups_get_no_advice() -> None:
    offset = ConsumerOffsetState(group="CID_RMQ_SYS_X", topic="Pay", queue_id=0, offset=0)
    first, *others = LIVE.brokers
    snapshot = replace(LIVE, brokers=(replace(first, consumer_offsets=(*first.consumer_offsets, offset)), *others))
    assert {advice.group for advice in backlog_advice(snapshot, Settings())} == {"G"}
