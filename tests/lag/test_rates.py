"""Rates of queues: what is measured between two looks, what is not, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace

from mqctl.lag.rates import Drain, Movement, Outlook, QueueFlow, drain_of, last_of, queue_flows
from mqctl.model.member import HeldQueue, RunningInfo, TopicRates
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.spans import HOUR_MS
from mqctl.model.thresholds import Settings
from tests.each import each
from tests.lag.cases import flow

NOW = 1_795_218_000_000
WINDOW = 20_000
QUEUE = MessageQueue("T", "b", 0)
KEEPS_UP, NEVER, UNKNOWN = Drain(Outlook.KEEPS_UP, 0), Drain(Outlook.NEVER, None), Drain(Outlook.UNKNOWN, None)


@each(
    "waiting, movement, behind",
    [
        (0, Movement.STALLED, False),
        (1, Movement.OK, False),
        (None, Movement.OK, False),
        (1, Movement.STALLED, True),
        (None, Movement.UNKNOWN, True),
        (1, Movement.UNKNOWN, True),
    ],
)
def test_a_queue_is_behind_where_something_waits_or_may(waiting: int | None, movement: Movement, behind: bool) -> None:
    assert flow(waiting=waiting, movement=movement).behind is behind


@each(
    "flows, drain",
    [
        ([], KEEPS_UP),
        ([flow(waiting=0)], KEEPS_UP),
        ([flow(movement=Movement.OK)], KEEPS_UP),
        ([flow(waiting=0, movement=Movement.UNKNOWN)], KEEPS_UP),
        ([flow(movement=Movement.UNKNOWN)], UNKNOWN),
        ([flow(), flow(movement=Movement.UNKNOWN)], UNKNOWN),
        ([flow(), flow(waiting=0, out_tps=0, movement=Movement.UNKNOWN)], Drain(Outlook.DRAINS, 10_000)),
        ([flow()], Drain(Outlook.DRAINS, 10_000)),
        ([flow(waiting=1, out_tps=3)], Drain(Outlook.DRAINS, 333)),
        ([flow(in_tps=None)], Drain(Outlook.DRAINS, 10_000)),
        ([flow(in_tps=9)], Drain(Outlook.DRAINS, 100_000)),
        ([flow(in_tps=10)], NEVER),
        ([flow(in_tps=11)], NEVER),
        ([flow(out_tps=None)], NEVER),
        ([flow(out_tps=None, in_tps=None)], NEVER),
        ([flow(waiting=None)], Drain(Outlook.DRAINS, 0)),
        # 100 and 40 wait at 10 and 4 a second; the one that keeps up brings 2 a second more than it takes.
        (
            [flow(), flow(waiting=40, out_tps=4), flow(waiting=7, movement=Movement.OK, in_tps=5, out_tps=3)],
            Drain(Outlook.DRAINS, round(140 / 12 * 1000)),
        ),
        # One message in eleven days is no progress, one in half of that is.
        ([flow(waiting=1, out_tps=1e-6)], NEVER),
        ([flow(waiting=1, out_tps=2e-6)], Drain(Outlook.DRAINS, 500_000_000)),
    ],
)
def test_when_queues_that_share_a_consumer_are_done(flows: list[QueueFlow], drain: Drain) -> None:
    assert drain_of(flows) == drain
    if len(flows) == 1:
        assert flows[0].drain == drain


def test_nobody_knows_of_a_queue_that_waits_for_others() -> None:
    waits = flow(movement=Movement.WAITING)
    assert (waits.drain, drain_of([waits])) == (UNKNOWN, Drain(Outlook.DRAINS, 10_000))


@each(
    "parts, whole",
    [
        ([], KEEPS_UP),
        ([KEEPS_UP], KEEPS_UP),
        ([KEEPS_UP, Drain(Outlook.DRAINS, 5)], Drain(Outlook.DRAINS, 5)),
        ([Drain(Outlook.DRAINS, 5), Drain(Outlook.DRAINS, 7), Drain(Outlook.DRAINS, 6)], Drain(Outlook.DRAINS, 7)),
        ([Drain(Outlook.DRAINS, 5), UNKNOWN], UNKNOWN),
        ([UNKNOWN, NEVER, KEEPS_UP], NEVER),
        ([Drain(Outlook.DRAINS, 0), KEEPS_UP], Drain(Outlook.DRAINS, 0)),
    ],
)
def test_the_part_that_ends_last_ends_the_whole(parts: list[Drain], whole: Drain) -> None:
    assert last_of(parts) == whole


def look(
    committed: int | None = 0,
    end: int = 100,
    *,
    low: int = 0,
    stored_ms: int | None = None,
    held: HeldQueue | None = None,
    info: RunningInfo | None = None,
    reserved_ms: int | None = None,
    at_ms: int = NOW,
) -> ClusterSnapshot:
    """One queue of one broker and one group."""
    offsets: tuple[ConsumerOffsetState, ...] = ()
    if committed is not None:
        offsets = (
            ConsumerOffsetState(group="G", topic="T", queue_id=0, offset=committed, next_store_time_ms=stored_ms),
        )
    member = info or RunningInfo(group="G", client_id="a")
    return ClusterSnapshot(
        origin=Origin(kind=OriginKind.LIVE, location="x", observed_at_ms=at_ms, observed_from=ObservedFrom.CLOCK),
        brokers=(
            BrokerSnapshot(
                name="b",
                queues=(QueueState(topic="T", queue_id=0, min_offset=low, max_offset=end),),
                consumer_offsets=offsets,
                file_reserved_ms=reserved_ms,
            ),
        ),
        running=(replace(member, queues=(held,)),) if held else (),
    )


def holding(commit: int = 0, **changes: int | bool) -> HeldQueue:
    return replace(HeldQueue(queue=QUEUE, commit_offset=commit), **changes)  # type: ignore[arg-type]


def measured(
    now: ClusterSnapshot, then: ClusterSnapshot | None = None, window_ms: int = WINDOW, settings: Settings | None = None
) -> QueueFlow:
    if then is not None:
        origin = replace(then.origin, observed_at_ms=NOW - window_ms)
        now = replace(now, earlier=replace(then, origin=origin))
    (only,) = queue_flows(now, settings or Settings())
    return only


def test_one_look_has_places_and_no_rates() -> None:
    seen = measured(look(40, 100, stored_ms=NOW - 5_000, held=holding(45, cached_count=3)))
    assert (seen.group, seen.queue, seen.owner) == ("G", QUEUE, "a")
    assert (seen.lag_count, seen.next_offset, seen.waiting_count, seen.lag_ms) == (60, 40, 60, 5_000)
    assert (seen.in_tps, seen.out_tps, seen.movement, seen.cached_count) == (None, None, Movement.UNKNOWN, 3)
    assert seen.expires_in_ms == 72 * HOUR_MS - 5_000
    alone = measured(look(40, 100))
    assert (alone.owner, alone.cached_count, alone.lag_ms, alone.expires_in_ms) == (None, 0, None, None)


@each(
    "committed, held, next_offset, lag, waiting",
    [
        (100, None, 100, 0, 0),
        (101, None, 101, 0, 0),
        (99, holding(100), 99, 1, 1),
        (None, holding(70), 70, None, 30),
        (None, holding(1), 1, None, 99),
        (None, holding(0, cached_count=2, cached_min_offset=8, cached_max_offset=9), 8, None, 92),
        (None, holding(0, transaction_count=1, transaction_min_offset=0), 0, None, 100),
        (None, holding(0, cached_count=0, cached_min_offset=8), None, None, None),
        (None, holding(-1), None, None, None),
    ],
)
def test_how_far_a_group_is(
    committed: int | None, held: HeldQueue | None, next_offset: int | None, lag: int | None, waiting: int | None
) -> None:
    seen = measured(look(committed, 100, held=held))
    assert (seen.next_offset, seen.lag_count, seen.waiting_count) == (next_offset, lag, waiting)


def test_nothing_waits_in_an_empty_queue_of_which_nobody_knows_anything() -> None:
    for low, waiting in ((100, 0), (99, None), (0, None)):
        assert measured(look(None, 100, low=low, held=holding())).waiting_count == waiting


def test_whoever_gave_a_queue_up_holds_it_no_more() -> None:
    assert measured(look(40, 100, held=holding(dropped=True))).owner is None
    assert queue_flows(look(None, 100, held=holding(dropped=True)), Settings()) == []


@each(
    "there, here, end_then, end, rates, movement",
    [
        (0, 60, 100, 120, (1.0, 3.0), Movement.CATCHING_UP),
        (0, 20, 100, 120, (1.0, 1.0), Movement.FALLING_BEHIND),
        (0, 21, 100, 120, (1.0, 1.05), Movement.CATCHING_UP),
        (0, 1, 100, 101, (0.05, 0.05), Movement.FALLING_BEHIND),
        (10, 10, 100, 120, (1.0, 0.0), Movement.STOPPED),
        (10, 9, 100, 120, (1.0, 0.0), Movement.REWINDING),
        (10, 99, 100, 120, (1.0, 4.45), Movement.CATCHING_UP),
        (10, 100, 100, 120, (1.0, 4.5), Movement.OK),
        (10, 101, 100, 120, (1.0, 4.55), Movement.OK),
        (100, 100, 100, 120, (1.0, 0.0), Movement.OK),
        (100, 100, 100, 100, (0.0, 0.0), Movement.OK),
        (99, 100, 100, 100, (0.0, 0.05), Movement.OK),
        (100, 100, 100, 90, (0.0, 0.0), Movement.OK),
        (99, 99, 100, 100, (0.0, 0.0), Movement.STOPPED),
    ],
)
def test_what_two_looks_say(
    there: int, here: int, end_then: int, end: int, rates: tuple[float, float], movement: Movement
) -> None:
    seen = measured(look(here, end), look(there, end_then))
    assert ((seen.in_tps, seen.out_tps), seen.movement) == (rates, movement)


def test_rates_count_from_where_members_are_in_memory() -> None:
    then = look(10, 100, held=holding(12))
    assert measured(look(10, 100, held=holding(32)), then).out_tps == 1.0
    assert measured(look(None, 100, held=holding(32)), look(None, 100, held=holding(12))).out_tps == 1.0
    for now, before in ((look(10, 100), look(None, 100)), (look(None, 100, held=holding()), look(10, 100))):
        seen = measured(now, before)
        assert (seen.in_tps, seen.out_tps, seen.movement) == (0.0, None, Movement.UNKNOWN)


def test_a_queue_that_is_new_or_was_seen_at_the_same_moment_has_no_rates() -> None:
    before = look(0, 10)
    (broker,) = before.brokers
    new = replace(before, brokers=(replace(broker, queues=(), consumer_offsets=()),))
    for then, window_ms in ((new, WINDOW), (before, 0), (before, -1)):
        seen = measured(look(5, 10), then, window_ms)
        assert (seen.in_tps, seen.out_tps, seen.movement) == (None, None, Movement.UNKNOWN)
    assert measured(look(5, 10), before, 1).out_tps == 5_000.0


@each(
    "age_ms, movement",
    [(None, Movement.OK), (0, Movement.OK), (WINDOW // 2, Movement.OK), (WINDOW // 2 + 1, Movement.STOPPED)],
)
def test_nobody_is_blamed_for_what_came_in_the_last_half_of_the_window(age_ms: int | None, movement: Movement) -> None:
    stored_ms = None if age_ms is None else NOW - age_ms
    seen = measured(look(100, 120, stored_ms=stored_ms), look(100, 100))
    assert (seen.movement, seen.lag_ms) == (movement, age_ms)


@each("window_ms, scale, trusted", [(7_999, 1, False), (8_000, 1, True), (799, 10, False), (800, 10, True)])
def test_who_stands_still_for_less_time_than_commits_take_is_not_called_stalled(
    window_ms: int, scale: float, trusted: bool
) -> None:
    settings = Settings(time_scale=scale)
    held = holding(10)
    seen = measured(look(10, 100, held=held), look(10, 100, held=held), window_ms, settings)
    assert seen.movement is (Movement.STALLED if trusted else Movement.UNKNOWN)
    assert measured(look(10, 100), look(10, 100), window_ms, settings).movement is Movement.STOPPED


@each(
    "changes, properties, movement",
    [
        ({}, {}, Movement.WAITING),
        ({"idle_ms": 4_000}, {}, Movement.WAITING),
        ({"idle_ms": 4_001}, {}, Movement.STALLED),
        ({"cached_count": 0}, {}, Movement.STALLED),
        ({"tps": 0.25}, {}, Movement.STALLED),
        ({}, {"PROP_CONSUMEORDERLY": "true"}, Movement.STALLED),
        ({}, {"PROP_CONSUMEORDERLY": "false"}, Movement.WAITING),
    ],
)
def test_a_queue_waits_its_turn_as_long_as_full_caches_take(
    changes: dict[str, float], properties: dict[str, str], movement: Movement
) -> None:
    """One thread, 2 s a message, a cache of two: 4 s pass before the queue must have come again."""
    given = {"idle_ms": 0, "cached_count": 1, "tps": 0.5, **changes}
    rates = TopicRates(topic="other", consume_rt_ms=2_000, consume_ok_tps=given["tps"])
    owner = RunningInfo(
        group="G", client_id="a", rates=(rates,), properties={"PROP_THREADPOOL_CORE_SIZE": "1", **properties}
    )
    held = holding(10, cached_count=int(given["cached_count"]), last_consume_time_ms=NOW - int(given["idle_ms"]))
    now = look(10, 100, held=held, info=owner)
    assert measured(now, look(10, 100, held=held), settings=Settings(cache_limit_count=2)).movement is movement
    assert measured(now).movement is Movement.UNKNOWN
    moved = look(11, 100, held=replace(held, commit_offset=11), info=owner)
    assert measured(moved, look(10, 100, held=held)).movement is Movement.CATCHING_UP


@each("stored_ms, age_ms", [(NOW - 1, 1), (NOW, 0), (NOW + 5, 0)])
def test_no_message_is_younger_than_now(stored_ms: int, age_ms: int) -> None:
    assert measured(look(0, 10, stored_ms=stored_ms)).lag_ms == age_ms


@each(
    "reserved_ms, age_ms, left_ms",
    [(1_000, 400, 600), (1_000, 1_000, 0), (1_000, 1_001, 0), (None, 400, 4_600), (0, 400, 4_600)],
)
def test_how_long_a_message_is_kept(reserved_ms: int | None, age_ms: int, left_ms: int) -> None:
    """By what its broker says, and by the setting where it does not."""
    now = look(0, 10, stored_ms=NOW - age_ms, reserved_ms=reserved_ms)
    assert measured(now, settings=Settings(file_reserved_ms=5_000)).expires_in_ms == left_ms


def test_which_queues_are_measured_and_in_which_order() -> None:
    queues = [("T", 1), ("T", 0), ("A", 0), ("%RETRY%G", 0), ("RMQ_SYS_TRANS_HALF_TOPIC", 0)]
    offsets = [("G", *queue) for queue in queues] + [("B", "T", 0), ("CID_RMQ_SYS_TRANS", "T", 0), ("G", "T", 7)]
    snapshot = look()
    broker = BrokerSnapshot(
        name="b",
        queues=tuple(QueueState(topic=topic, queue_id=number, min_offset=0, max_offset=9) for topic, number in queues),
        consumer_offsets=tuple(
            ConsumerOffsetState(group=group, topic=topic, queue_id=number, offset=1) for group, topic, number in offsets
        ),
    )
    flows = queue_flows(replace(snapshot, brokers=(broker,)), Settings())
    assert [(item.group, item.queue.topic, item.queue.queue_id) for item in flows] == [
        ("B", "T", 0),
        ("G", "A", 0),
        ("G", "T", 0),
        ("G", "T", 1),
    ]
