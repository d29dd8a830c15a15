"""What each thing that could be added would do, and how many of it it takes, by hand."""

from __future__ import annotations

from mqctl.allocation.key_forecast import KeyForecast
from mqctl.lag.bound import Bound
from mqctl.lag.rates import Movement, QueueFlow
from mqctl.lag.remedies import Remedy, of_keys, remedies
from mqctl.lag.words import CAUSES, cause_said
from mqctl.model.finding import Value
from mqctl.model.member import RunningInfo
from tests.each import each
from tests.lag.cases import case, flow, info

TARGET_MS = 10_000


def said(remedy: Remedy) -> str:
    needed = "" if remedy.needed_count is None else f" {remedy.needed_count}"
    return f"{remedy.what} {remedy.effect} {remedy.reason}{needed}"


def of_case(
    flows: list[QueueFlow], *running: RunningInfo, bound: Bound, silent: tuple[str, ...] = ()
) -> dict[str, str]:
    judged = case(flows, *running, silent=silent)
    return {item.what: said(item).partition(" ")[2] for item in remedies(judged, bound, TARGET_MS)}


FOUR = [flow(number) for number in range(4)]
STUCK = [flow(number, movement=Movement.STALLED, out_tps=0.0) for number in range(2)]
HOT = [flow(waiting=900), flow(1, waiting=0, in_tps=1.0)]


def test_nothing_is_said_where_nothing_waits() -> None:
    assert of_case(FOUR, info(), bound=Bound.NONE) == {}


@each(
    "flows, members, silent, bound, instances, threads",
    [
        (FOUR, [info()], (), Bound.UNKNOWN, "unknown untold", "unknown untold"),
        (FOUR, [], (), Bound.NOBODY, "yes start", "no not_held"),
        (FOUR, [info()], (), Bound.NOBODY, "no orphans", "no not_held"),
        (FOUR, [], ("b",), Bound.NOBODY, "no orphans", "no not_held"),
        ([flow()], [info()], (), Bound.PULL, "no no_slots", "no idle"),
        ([flow()], [info()], ("b",), Bound.PULL, "no no_slots", "no idle"),
        (FOUR, [info()], (), Bound.PULL, "no idle", "no idle"),
        ([flow(), flow(1, waiting=0)], [info(rt_ms=100)], (), Bound.HOT_QUEUE, "no hot", "yes more 1"),
        (HOT, [info(rt_ms=100)], (), Bound.HOT_QUEUE, "partly hot_alone", "yes more 10"),
        (STUCK, [info()], (), Bound.LISTENER, "partly stuck_elsewhere", "no stuck"),
        (FOUR, [info(orderly=True, threads=4)], (), Bound.QUEUES, "no lane_each", "no one_lane"),
        (FOUR, [info(orderly=True, threads=3)], (), Bound.THREADS, "yes slots", "yes lanes"),
        (FOUR, [info(rt_ms=1)], (), Bound.LISTENER, "partly not_busy", "no not_busy"),
        (FOUR, [info(rt_ms=1)], (), Bound.THREADS, "partly not_busy", "yes more 1"),
        (FOUR, [info(rt_ms=100)], (), Bound.LISTENER, "yes slots 2", "yes more 4"),
        (FOUR, [info(rt_ms=100, threads=1)], (), Bound.THREADS, "yes slots 4", "yes more 4"),
        (FOUR, [info(rt_ms=101, threads=1)], (), Bound.THREADS, "partly slots_short", "yes more 5"),
        (FOUR, [info()], (), Bound.QUEUES, "yes slots", "yes more"),
    ],
)
def test_instances_and_threads(
    flows: list[QueueFlow],
    members: list[RunningInfo],
    silent: tuple[str, ...],
    bound: Bound,
    instances: str,
    threads: str,
) -> None:
    given = of_case(flows, *members, bound=bound, silent=silent)
    assert (given["instances"], given["threads"]) == (instances, threads)


@each(
    "waiting, in_tps, members, needed",
    [
        # Two threads pass 20 a second; four queues want 10 each, so that two instances have two queues each.
        (100, 0.0, 1, "yes slots 2"),
        (100, None, 1, "yes slots"),
        (50, 0.0, 1, "yes slots 2"),
        (1, 0.0, 2, "yes slots 3"),
        (1, 0.0, 3, "yes slots 4"),
        # 15 each: three instances would carry 60, but one of them has two queues.
        (100, 5.0, 1, "yes slots 4"),
        (101, 0.0, 1, "yes slots 4"),
        (200, 0.0, 1, "yes slots 4"),
        (201, 0.0, 1, "partly slots_short"),
        (None, 20.0, 1, "yes slots 4"),
        (None, 20.1, 1, "partly slots_short"),
    ],
)
def test_how_many_instances_it_takes(waiting: int | None, in_tps: float | None, members: int, needed: str) -> None:
    flows = [flow(number, waiting=waiting, in_tps=in_tps) for number in range(4)]
    running = [info("a", rt_ms=100), *(info(f"c{number}", rt_ms=100) for number in range(1, members))]
    assert of_case(flows, *running, bound=Bound.INSTANCES)["instances"] == needed


@each(
    "flows, batch, needed",
    [
        ([flow(waiting=1)], "", "yes more 1"),
        ([flow(waiting=100)], "", "yes more 1"),
        ([flow(waiting=101)], "", "yes more 2"),
        ([flow(waiting=100, in_tps=0.1)], "", "yes more 2"),
        ([flow(waiting=100, in_tps=None), flow(1, waiting=100, in_tps=10.0)], "", "yes more 3"),
        ([flow(waiting=150), flow(1, waiting=150)], "", "yes more 3"),
        ([flow(waiting=150), flow(1, waiting=150, owner="b")], "", "yes more 2"),
        ([flow(waiting=None, in_tps=25.0)], "", "yes more 3"),
        ([flow(waiting=300)], "2", "yes more 2"),
        ([flow(in_tps=None)], "", "yes more"),
    ],
)
def test_how_many_threads_the_busiest_instance_takes(flows: list[QueueFlow], batch: str, needed: str) -> None:
    """100 ms for a message, and ten seconds for what waits: a thread passes 100 messages."""
    assert of_case(flows, info(rt_ms=100, consumeMessageBatchMaxSize=batch), bound=Bound.THREADS)["threads"] == needed


@each(
    "bound, keys, queues, brokers, downstream",
    [
        (Bound.UNKNOWN, "unknown untold", "partly new_only", "partly new_only_broker", "unknown untold"),
        (Bound.NOBODY, "no elsewhere", "partly new_only", "partly new_only_broker", "no elsewhere"),
        (Bound.PULL, "no elsewhere", "partly new_only", "partly reads", "no elsewhere"),
        (Bound.LISTENER, "partly per_key", "partly new_only", "partly new_only_broker", "yes faster"),
        (Bound.QUEUES, "partly per_key", "partly new_only", "partly new_only_broker", "yes faster"),
    ],
)
def test_keys_queues_brokers_and_the_listener(
    bound: Bound, keys: str, queues: str, brokers: str, downstream: str
) -> None:
    ordered = of_case(FOUR, info(orderly=True), bound=bound)
    assert list(ordered) == ["instances", "threads", "keys", "queues", "brokers", "downstream"]
    assert [ordered[what] for what in ("keys", "queues", "brokers", "downstream")] == [
        keys,
        queues,
        brokers,
        downstream,
    ]
    for orderly in (False, None):
        others = of_case(FOUR, info(orderly=orderly), bound=bound)
        assert others == {what: others[what] for what in ("instances", "threads", "queues", "brokers", "downstream")}


def test_new_queues_help_nobody_where_nobody_is_online() -> None:
    alone = of_case(FOUR, bound=Bound.NOBODY)
    assert (alone["queues"], alone["brokers"]) == ("no nobody", "no nobody")
    unknown = of_case(FOUR, bound=Bound.UNKNOWN)
    assert (unknown["queues"], unknown["brokers"]) == ("partly new_only", "partly new_only_broker")


def test_only_the_key_of_the_stuck_message_waits() -> None:
    stuck = [flow(number, movement=Movement.STALLED, out_tps=0.0) for number in range(2)]
    assert of_case(stuck, info(orderly=True), bound=Bound.LISTENER)["keys"] == "partly stuck"


@each(
    "gain, key_tps, stuck, keys",
    [
        (1.09, 5.0, False, "keys no one_key"),
        (1.1, 5.0, False, "keys partly rate 7"),
        (1.1, None, False, "keys partly gain 7"),
        (1.0, 5.0, True, "keys partly stuck"),
        (9.0, 5.0, True, "keys partly stuck"),
    ],
)
def test_what_keys_that_were_read_would_do(gain: float, key_tps: float | None, stuck: bool, keys: str) -> None:
    forecast = KeyForecast(
        waiting_count=9,
        read_count=9,
        key_count=3,
        busiest_key="k",
        busiest_share=0.5,
        thread_count=7,
        queue_tps=1.0,
        key_tps=key_tps,
        gain=gain,
    )
    remedy = of_keys(forecast, stuck=stuck)
    assert (said(remedy), remedy.forecast) == (keys, forecast)


@each(
    "cause, numbers, end",
    [
        ("listener", {"thread_count": 4, "consumed_tps": 2.5}, " a call. Consume threads: 4; consumed: 2.5/s."),
        ("listener", {"thread_count": None, "consumed_tps": 2.5}, " a call. Consumed: 2.5/s."),
        ("threads", {"thread_count": 0, "consumed_tps": None}, "they are busy. Consume threads: 0."),
        ("instances", {"member_count": 3, "consumed_tps": 0.0}, "for more. Instances: 3; consumed: 0.0/s."),
        ("queues", {"member_count": 3, "consumed_tps": 1.0}, "get a queue. Consumed: 1.0/s."),
        ("queues", {"member_count": 3}, "get a queue."),
        ("stuck", {"thread_count": 4, "consumed_tps": 2.5}, "while it was looked at."),
    ],
)
def test_the_numbers_of_a_cause(cause: str, numbers: dict[str, Value], end: str) -> None:
    assert cause_said(cause, {"consume_ms": 250, **numbers}).endswith(end)


def test_every_cause_is_said_without_any_number() -> None:
    for cause in CAUSES:
        assert cause_said(cause, {"consume_ms": 250}) == CAUSES[cause](consume_ms="250 ms")
