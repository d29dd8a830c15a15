"""What bounds a group: the order of the bounds, the last value of each and the first beyond it, and what is unknown."""

from __future__ import annotations

from mqctl.allocation.carrying import Capacity, Mode
from mqctl.lag.bound import Bound, total
from mqctl.lag.rates import Drain, Movement, Outlook, QueueFlow
from mqctl.model.member import RunningInfo, TopicRates
from mqctl.model.spans import HOUR_MS
from mqctl.model.thresholds import Settings
from tests.each import each
from tests.lag.cases import case, flow, info, standing

NEVER, UNKNOWN, KEEPS_UP = Drain(Outlook.NEVER, None), Drain(Outlook.UNKNOWN, None), Drain(Outlook.KEEPS_UP, 0)


@each("values, added", [([], None), ([None], None), ([0.0], 0.0), ([None, 2.0, 3.0], 5.0)])
def test_a_total_is_of_what_is_known(values: list[float | None], added: float | None) -> None:
    assert total(values) == added


@each(
    "members, silent, orderly, threads",
    [
        ([], [], None, None),
        ([info()], [], False, 2),
        ([info(), info("b", threads=3)], [], False, 5),
        ([info(), info("b", threads=None)], [], False, None),
        ([info()], ["b"], False, None),
        ([info(orderly=True), info("b", orderly=True)], [], True, 4),
        ([info(orderly=True), info("b")], [], None, 4),
        ([info(orderly=None)], [], None, 2),
    ],
)
def test_what_members_say_together(
    members: list[RunningInfo], silent: list[str], orderly: bool | None, threads: int | None
) -> None:
    judged = case([flow()], *members, silent=silent)
    assert (judged.orderly, judged.thread_count) == (orderly, threads)


@each(
    "members, silent, consumed",
    [
        ([], [], None),
        ([info(tps=2)], [], 2.0),
        ([info(tps=2, failed_tps=0.5), info("b", tps=1)], [], 3.5),
        ([info(tps=2)], ["b"], None),
        ([info(tps=2, topic="other")], [], 0.0),
        ([info()], [], 0.0),
    ],
)
def test_what_members_consume(members: list[RunningInfo], silent: list[str], consumed: float | None) -> None:
    assert case([flow()], *members, silent=silent).consumed_tps == consumed


@each(
    "members, mean_ms",
    [
        ([], None),
        ([info(rt_ms=0, tps=5)], None),
        ([info(rt_ms=7, tps=5, topic="other")], None),
        ([info(rt_ms=7)], 7),
        ([info(rt_ms=7), info("b", rt_ms=9)], 9),
        ([info(rt_ms=10, tps=1), info("b", rt_ms=20, tps=2, failed_tps=1)], 17.5),
        ([info(rt_ms=10, tps=1), info("b", rt_ms=0, tps=3)], 10),
        ([info(rt_ms=0.5, tps=1)], 0.5),
    ],
)
def test_the_time_of_a_listener_is_weighed_by_what_it_consumes(
    members: list[RunningInfo], mean_ms: float | None
) -> None:
    assert case([flow()], *members).consume_ms == mean_ms


@each(
    "sizes, batch",
    [([], 1), ([""], 1), (["x"], 1), (["0"], 1), (["1"], 1), (["4"], 4), (["8", "4"], 4), (["8", "0"], 8)],
)
def test_the_smallest_batch_that_a_member_names(sizes: list[str], batch: int) -> None:
    members = [info(f"c{number}", consumeMessageBatchMaxSize=size) for number, size in enumerate(sizes)]
    assert case([flow()], *members).batch == batch


@each(
    "flows, members, drain",
    [
        # 300 wait at 20 a second: both queues have one owner. Of two owners the slower one ends last.
        ([flow(), flow(1, waiting=200)], [info()], Drain(Outlook.DRAINS, 15_000)),
        ([flow(), flow(1, owner="b", waiting=200)], [info(), info("b")], Drain(Outlook.DRAINS, 20_000)),
        ([flow(), flow(1, waiting=200)], [info(orderly=True)], Drain(Outlook.DRAINS, 20_000)),
        ([flow(owner=None), flow(1, owner=None, waiting=200)], [], Drain(Outlook.DRAINS, 20_000)),
        # What its owner says that it consumes goes before how offsets moved, where they drain it at all.
        ([flow(in_tps=1), flow(1, waiting=0, in_tps=1)], [info(tps=3, failed_tps=1)], Drain(Outlook.DRAINS, 50_000)),
        ([flow(in_tps=2)], [info(tps=2)], NEVER),
        ([flow(in_tps=None)], [info(tps=2)], Drain(Outlook.DRAINS, 50_000)),
        ([flow(in_tps=3)], [info(tps=2)], NEVER),
        ([flow(out_tps=0)], [info(tps=2)], NEVER),
        ([flow(movement=Movement.UNKNOWN)], [info(tps=2)], UNKNOWN),
        ([flow(waiting=0)], [info(tps=2)], KEEPS_UP),
        ([flow(waiting=30, movement=Movement.OK), flow(1)], [info(tps=2)], Drain(Outlook.DRAINS, 50_000)),
        ([flow(waiting=None), flow(1)], [info(tps=2)], Drain(Outlook.DRAINS, 50_000)),
    ],
)
def test_when_a_backlog_is_gone(flows: list[QueueFlow], members: list[RunningInfo], drain: Drain) -> None:
    assert case(flows, *members).drain() == drain


@each(
    "drain, expires_in_ms, target_ms",
    [
        (NEVER, None, HOUR_MS),
        (UNKNOWN, HOUR_MS + 1, HOUR_MS),
        (NEVER, HOUR_MS - 1, HOUR_MS - 1),
        (NEVER, 0, 1),
        (Drain(Outlook.DRAINS, 2 * HOUR_MS + 2), None, HOUR_MS),
        (Drain(Outlook.DRAINS, 2 * HOUR_MS - 1), None, HOUR_MS - 1),
        (Drain(Outlook.DRAINS, 9), None, 4),
        (Drain(Outlook.DRAINS, 9), 3, 3),
        (Drain(Outlook.DRAINS, 1), 3, 1),
        (KEEPS_UP, None, HOUR_MS),
    ],
)
def test_the_time_that_remedies_are_measured_by(drain: Drain, expires_in_ms: int | None, target_ms: int) -> None:
    assert case([flow()]).target_ms(expires_in_ms, drain) == target_ms


def test_the_target_shrinks_with_the_clock_of_the_cluster() -> None:
    assert case([flow()], settings=Settings(time_scale=60)).target_ms(None, NEVER) == 60_000


def test_spare_slots_are_queues_beyond_members() -> None:
    assert case([flow(), flow(1)], info(), silent=("b", "c")).spare_slots == -1
    assert case([flow(), flow(1)]).spare_slots == 2


@each(
    "flows, members, busy",
    [
        # Two threads, 100 ms a message: at 10 a second one of them works, which is the half.
        ([flow(out_tps=10)], [info(rt_ms=100)], True),
        ([flow(out_tps=9.9)], [info(rt_ms=100)], False),
        ([flow(out_tps=5), flow(1, out_tps=5)], [info(rt_ms=100)], True),
        ([flow(out_tps=5), flow(1, owner="b", out_tps=5)], [info(rt_ms=100), info("b", rt_ms=100)], False),
        ([flow(out_tps=5), flow(1, owner="b", out_tps=10)], [info(rt_ms=100), info("b", rt_ms=100)], True),
        ([flow(out_tps=5), flow(1, owner="b", out_tps=None)], [info(rt_ms=100), info("b", rt_ms=100)], None),
        ([flow(out_tps=5), flow(1, owner="b")], [info(rt_ms=100)], None),
        ([flow(out_tps=10)], [info(rt_ms=100, consumeMessageBatchMaxSize="2")], False),
        ([flow(out_tps=20)], [info(rt_ms=100, consumeMessageBatchMaxSize="2")], True),
        ([flow(out_tps=5)], [info(rt_ms=100, orderly=True)], True),
        ([flow(out_tps=4.9)], [info(rt_ms=100, orderly=True)], False),
        ([flow(out_tps=10)], [info(rt_ms=0)], None),
        ([flow(out_tps=10)], [info(rt_ms=100, threads=None)], None),
        ([flow(out_tps=10)], [], None),
        ([flow(owner=None)], [info(rt_ms=100)], None),
        ([flow(movement=Movement.OK)], [info(rt_ms=100)], None),
        # Nothing was seen to move: what its member says of the last minute counts.
        ([flow(movement=Movement.UNKNOWN, out_tps=0)], [info(rt_ms=100, tps=10)], True),
        ([flow(movement=Movement.UNKNOWN, out_tps=10)], [info(rt_ms=100, tps=9.9)], False),
    ],
)
def test_when_listeners_take_most_of_the_time(
    flows: list[QueueFlow], members: list[RunningInfo], busy: bool | None
) -> None:
    assert case(flows, *members).busy is busy


@each(
    "flows, members, stuck",
    [
        ([standing()], [info()], True),
        ([standing(cached=1)], [info()], True),
        ([standing(cached=0)], [info()], False),
        ([flow()], [info()], False),
        ([flow(movement=Movement.UNKNOWN, out_tps=0)], [info()], False),
        ([standing(), flow(1)], [info()], False),
        ([standing(), flow(1, owner="b")], [info(), info("b")], False),
        ([standing(), flow(1, waiting=0)], [info()], True),
        # An orderly member with more queues than threads works on the others first, one with enough does not.
        ([standing(), flow(1, waiting=0)], [info(orderly=True, threads=1)], False),
        ([standing(), flow(1, waiting=0)], [info(orderly=True, threads=2)], True),
        ([standing(), flow(1, waiting=0)], [info(threads=1)], True),
        (
            [standing(), flow(1, waiting=0, owner="b")],
            [info(orderly=True, threads=1), info("b", orderly=True)],
            True,
        ),
        ([standing(cached=0), flow(1, waiting=0, out_tps=0)], [info()], False),
    ],
)
def test_who_holds_messages_and_finishes_none_is_stuck(
    flows: list[QueueFlow], members: list[RunningInfo], stuck: bool
) -> None:
    assert case(flows, *members).stuck is stuck


@each(
    "threads, owners, short",
    [(1, "a", False), (1, "aa", True), (2, "aa", False), (2, "aaa", True), (1, "ab", False), (None, "aa", False)],
)
def test_lanes_are_short_with_fewer_threads_than_queues(threads: int | None, owners: str, short: bool) -> None:
    flows = [flow(number, owner=owner) for number, owner in enumerate(owners)]
    assert case(flows, info(threads=threads)).lanes_short is short
    idle = [flow(number, owner=owner, waiting=0) for number, owner in enumerate(owners)]
    assert not case(idle, info(threads=threads)).lanes_short


@each(
    "members, silent, lanes",
    [
        ([], [], 0),
        ([info()], [], 2),
        ([info(), info("b", threads=3)], [], 2),
        ([info(), info("b", threads=None)], [], None),
        ([info()], ["b"], None),
        ([info(orderly=True, threads=9)], [], 3),
        ([info(orderly=True, threads=2)], [], 2),
    ],
)
def test_how_many_batches_can_be_worked_on_at_once(
    members: list[RunningInfo], silent: list[str], lanes: int | None
) -> None:
    """A member without a queue works on none."""
    assert case([flow(), flow(1), flow(2)], *members, silent=silent).parallelism == lanes


@each(
    "flows, alone",
    [
        ([flow()], True),
        ([flow(), flow(1, waiting=1)], False),
        ([flow(), flow(1, waiting=0)], True),
        ([flow(), flow(1, waiting=0, in_tps=0.1)], False),
        ([flow(), flow(1, waiting=0, in_tps=None)], True),
        ([flow(), flow(1, waiting=1, owner="b")], True),
    ],
)
def test_a_hot_queue_stands_alone_where_its_owner_does_nothing_else(flows: list[QueueFlow], alone: bool) -> None:
    assert case(flows, info(), info("b")).hot_stands_alone is alone
    assert case(flows, info(orderly=True), info("b", orderly=True)).hot_stands_alone
    assert case(flows, info(orderly=True, threads=1)).hot_stands_alone is (
        sum(item.owner == "a" for item in flows) == 1
    )


@each(
    "threads, rt_ms, in_tps, capacity",
    [
        ((2,), 100.0, 0.0, Capacity(tps=20.0, thread_count=2)),
        ((2, 5), 100.0, 0.0, Capacity(tps=30.0, thread_count=3)),
        ((1,), 1_600.0, 0.0, Capacity(tps=0.625, thread_count=1)),
        ((1, 0), 100.0, 0.0, Capacity(tps=10.0, thread_count=1)),
        ((2,), 0.0, 0.0, None),
        ((2,), 100.0, None, None),
        ((None,), 100.0, 0.0, None),
        ((0,), 100.0, 0.0, None),
    ],
)
def test_what_an_instance_passes(
    threads: tuple[int | None, ...], rt_ms: float, in_tps: float | None, capacity: Capacity | None
) -> None:
    members = [info(f"c{number}", threads=count, rt_ms=rt_ms) for number, count in enumerate(threads)]
    assert case([flow(in_tps=in_tps)], *members).capacity == capacity


def test_capacity_knows_batches_and_order() -> None:
    by_batch = case([flow()], info(rt_ms=100, consumeMessageBatchMaxSize="3")).capacity
    assert by_batch == Capacity(tps=60.0, thread_count=2)
    ordered = case([flow()], info(rt_ms=100, orderly=True)).capacity
    assert ordered is not None and ordered.mode is Mode.ORDERLY


@each(
    "classes, name",
    [
        ([], "AVG"),
        (["x.AllocateMessageQueueAveragely@1"], "AVG"),
        (["x.AllocateMessageQueueAveragelyByCircle@1"] * 2, "AVG_BY_CIRCLE"),
        (["x.AllocateMessageQueueConsistentHash@1"], "CONSISTENT_HASH"),
        (["x.AllocateMessageQueueConsistentHash@1", "x.AllocateMessageQueueAveragely@1"], "AVG"),
        (["x.Mine@1"], "AVG"),
    ],
)
def test_the_strategy_that_all_members_name(classes: list[str], name: str) -> None:
    members = [info(f"c{number}", allocateMessageQueueStrategy=text) for number, text in enumerate(classes)]
    assert case([flow()], *members).strategy.name == name


EVEN = [flow(number, out_tps=10) for number in range(2)]
HOT = [flow(waiting=80, in_tps=4.0), flow(1, waiting=20, in_tps=0.0)]


@each(
    "flows, members, silent, bound",
    [
        ([], [], [], Bound.NONE),
        ([flow(waiting=0)], [info()], [], Bound.NONE),
        ([flow(owner=None)], [info()], [], Bound.NOBODY),
        ([flow(), flow(1, owner=None)], [info()], [], Bound.NOBODY),
        ([flow(), flow(1, owner=None, waiting=0)], [info(rt_ms=200)], [], Bound.HOT_QUEUE),
        ([flow(owner=None)], [], [], Bound.NOBODY),
        ([flow(owner=None)], [info()], ["b"], Bound.UNKNOWN),
        ([flow(movement=Movement.UNKNOWN)], [info(rt_ms=100, tps=9.9)], [], Bound.UNKNOWN),
        ([flow(movement=Movement.UNKNOWN)], [info(rt_ms=100, tps=10)], [], Bound.THREADS),
        ([flow(movement=Movement.UNKNOWN)], [info(rt_ms=0)], [], Bound.UNKNOWN),
        ([standing()], [info()], [], Bound.LISTENER),
        ([flow()], [info(rt_ms=100)], [], Bound.THREADS),
        ([flow(cached=0)], [info(rt_ms=0)], [], Bound.PULL),
        ([flow(cached=0)], [info(rt_ms=10)], [], Bound.PULL),
        ([flow(cached=0)], [info(rt_ms=100)], [], Bound.THREADS),
        ([flow()], [info(rt_ms=0)], [], Bound.THREADS),
        ([flow()], [info(rt_ms=10)], [], Bound.LISTENER),
        (EVEN, [info(rt_ms=200)], [], Bound.LISTENER),
        (EVEN, [info(rt_ms=199.9)], [], Bound.THREADS),
        (EVEN, [info(rt_ms=199, orderly=True)], [], Bound.QUEUES),
        (EVEN, [info(rt_ms=199, orderly=True, threads=1)], [], Bound.THREADS),
        ([flow(out_tps=1e3), flow(1)], [info(rt_ms=199, threads=63)], [], Bound.THREADS),
        ([flow(out_tps=1e3), flow(1)], [info(rt_ms=199, threads=64)], [], Bound.INSTANCES),
        ([flow(out_tps=1e3), flow(1)], [info(rt_ms=199, threads=64), info("b", threads=63)], [], Bound.THREADS),
        ([flow(out_tps=1e3), flow(1)], [info(rt_ms=199, threads=64), info("b", threads=64)], [], Bound.QUEUES),
        ([flow(out_tps=1e3), flow(1)], [info(rt_ms=199, threads=64)], ["b"], Bound.THREADS),
        # Four fifths of what waits, and twice its share of what arrives, are one hot queue; a little less is not.
        (HOT, [info(rt_ms=100)], [], Bound.HOT_QUEUE),
        ([flow(waiting=79), flow(1, waiting=21)], [info(rt_ms=100)], [], Bound.THREADS),
        ([flow(waiting=20), flow(1, waiting=80)], [info(rt_ms=100)], [], Bound.HOT_QUEUE),
        ([flow(waiting=80, in_tps=4.0), flow(1, waiting=20, in_tps=0.1)], [info(rt_ms=100)], [], Bound.THREADS),
        ([flow(waiting=80, in_tps=None), flow(1, waiting=20, in_tps=None)], [info(rt_ms=100)], [], Bound.HOT_QUEUE),
        ([flow(waiting=80, in_tps=None), flow(1, waiting=20, in_tps=1.0)], [info(rt_ms=100)], [], Bound.THREADS),
        ([flow(waiting=None), flow(1, waiting=5)], [info(rt_ms=100)], [], Bound.HOT_QUEUE),
        ([flow()], [info(rt_ms=100)], [], Bound.THREADS),
    ],
)
def test_the_first_bound_that_holds(
    flows: list[QueueFlow], members: list[RunningInfo], silent: list[str], bound: Bound
) -> None:
    assert case(flows, *members, silent=silent).bound() is bound


def test_work_on_another_topic_is_not_work_on_this_one() -> None:
    both = (
        TopicRates(topic="T", consume_rt_ms=100, consume_ok_tps=4),
        TopicRates(topic="other", consume_rt_ms=900, consume_ok_tps=90),
    )
    judged = case([flow()], RunningInfo(group="G", client_id="a", rates=both))
    assert (judged.consumed_tps, judged.consume_ms) == (4.0, 100.0)
