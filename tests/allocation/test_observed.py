"""A live group put together from what brokers and members say: owners, holders, marks, shares and lags by hand."""

from __future__ import annotations

from dataclasses import replace

from mqctl.allocation.observed import InstanceShare, QueueOwner, TopicAllocation, addresses_of, observed_allocation
from mqctl.allocation.rooms import room_rule
from mqctl.allocation.strategies import AverageByCircle
from mqctl.model.member import GroupMembership, HeldQueue, Member, RunningInfo, Subscription
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.pop_share import PopShare
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.route import NameServerView, RouteQueues, TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from tests.each import each

WANTED = Subscription(topic="T")


def queue(number: int, broker: str = "r1-a", topic: str = "T") -> MessageQueue:
    return MessageQueue(topic, broker, number)


def info(client: str, held: str | None, *, wants: bool = True, strategy: str = "", dropped: str = "") -> RunningInfo:
    """A member that holds queues of these ids on r1-a; the dropped ones it has given up."""
    queues = [HeldQueue(queue=queue(int(number)), commit_offset=0) for number in held or ""]
    gone = [HeldQueue(queue=queue(int(number)), commit_offset=0, dropped=True) for number in dropped]
    other = HeldQueue(queue=queue(0, topic="U"), commit_offset=0)
    properties = {"allocateMessageQueueStrategy": f"x.{strategy}@1"} if strategy else {}
    return RunningInfo(
        group="G",
        client_id=client,
        subscriptions=(WANTED,) if wants else (),
        queues=(*queues, *gone, other),
        properties=properties,
    )


def snapshot(
    *running: RunningInfo,
    silent: tuple[str, ...] = (),
    count: int = 4,
    told: dict[str, tuple[str, ...]] | None = None,
    popped: tuple[str, ...] = (),
    pop: tuple[PopShare, ...] = (),
    wanted: tuple[Subscription, ...] = (WANTED,),
) -> ClusterSnapshot:
    """A broker with so many queues, and one that only knows members; `told` are the lists of ids by broker."""
    ids = (*(item.client_id for item in running), *silent)
    lists = told or {"r1-a": ids}
    brokers = tuple(
        BrokerSnapshot(
            name=name,
            queues=(
                QueueState(topic="T", queue_id=0, min_offset=5, max_offset=30),
                QueueState(topic="T", queue_id=1, min_offset=5, max_offset=30),
                QueueState(topic="T", queue_id=2, min_offset=5, max_offset=30),
            )
            if name == "r1-a"
            else (),
            consumer_offsets=(
                ConsumerOffsetState(group="G", topic="T", queue_id=1, offset=28),
                ConsumerOffsetState(group="other", topic="T", queue_id=0, offset=29),
                ConsumerOffsetState(group="G", topic="T", queue_id=2, offset=31),
            )
            if name == "r1-a"
            else (),
            memberships=(
                GroupMembership(group="G", client_ids=listed, subscriptions=wanted, popped_topics=popped),
                GroupMembership(group="other", client_ids=("z",), subscriptions=(Subscription(topic="V"),)),
            ),
            pop=pop,
        )
        for name, listed in lists.items()
    )
    routes = tuple(
        TopicRoute(
            topic=topic,
            queues=(RouteQueues(broker_name="r1-a", read_queue_count=count, write_queue_count=count, perm=6),),
        )
        for topic in ("T", "V", "%RETRY%G")
    )
    return ClusterSnapshot(
        origin=Origin(kind=OriginKind.LIVE, location="x", observed_at_ms=9, observed_from=ObservedFrom.CLOCK),
        brokers=brokers,
        name_servers=(NameServerView(address="ns", routes=routes),),
        running=running,
    )


def seen(cluster: ClusterSnapshot, **options: object) -> TopicAllocation:
    (only,) = observed_allocation(cluster, "G", **options)  # type: ignore[arg-type]
    return only


def marks(allocation: TopicAllocation) -> list[str]:
    return [" ".join(item.marks) for item in allocation.queues]


def test_two_members_share_four_queues() -> None:
    allocation = seen(snapshot(info("c0", "01"), info("c1", "23")))
    assert allocation.topic == "T"
    assert [(item.queue, item.expected, item.holders, item.slot) for item in allocation.queues] == [
        (queue(0), ("c0",), ("c0",), ("c0",)),
        (queue(1), ("c0",), ("c0",), ("c0",)),
        (queue(2), ("c1",), ("c1",), ("c1",)),
        (queue(3), ("c1",), ("c1",), ("c1",)),
    ]
    # Without an offset from the first message on; beyond the end nothing; of a queue that no broker told, not known.
    assert [item.lag_count for item in allocation.queues] == [25, 2, 0, None]
    assert (marks(allocation), allocation.failure) == ([""] * 4, None)
    usual = InstanceShare(client_id="c0", room=None, strategy="AVG", subscribes=True, expected_count=2, held_count=2)
    assert allocation.instances == (usual, replace(usual, client_id="c1"))


@each(
    "running, silent, expected",
    [
        ([info("c0", "01"), info("c1", "2")], (), ["", "", "", "orphan"]),
        ([info("c0", "01"), info("c1", "123")], (), ["", "double moving", "", ""]),
        ([info("c0", "01"), info("c1", "23", dropped="1")], (), ["", "", "", ""]),
        ([info("c0", "02"), info("c1", "13")], (), ["", "", "", ""]),
        ([info("c0", "03"), info("c1", "12")], (), ["", "moving", "", "moving"]),
        ([info("c0", "01")], ("c1",), ["", "", "unknown", "unknown"]),
        ([info("c0", "012")], ("c1",), ["", "", "moving", "unknown"]),
        ([info("c0", "01"), info("c1", "", wants=False)], (), ["", "", "orphan", "orphan"]),
        ([info("c0", "01"), info("c1", "2", wants=False)], (), ["", "", "", "orphan"]),
        ([info("c0", "01", wants=False)], ("c1",), ["", "", "unknown", "unknown"]),
    ],
)
def test_marks_of_queues(running: list[RunningInfo], silent: tuple[str, ...], expected: list[str]) -> None:
    assert marks(seen(snapshot(*running, silent=silent))) == expected


def test_a_queue_that_two_views_give_away_twice_is_double() -> None:
    """One broker told c1 of itself only: it takes all, and c0 the first half."""
    lists = {"r1-a": ("c0", "c1"), "r1-b": ("c1",)}
    running = (info("c0", "01"), info("c1", "0123"))
    told_first = seen(snapshot(*running, told=dict(reversed(lists.items()))))
    assert [item.expected for item in told_first.queues] == [("c0", "c1"), ("c0", "c1"), ("c1",), ("c1",)]
    assert marks(told_first) == ["double", "double", "", ""]
    assert told_first.double_count == 2
    assert [item.expected for item in seen(snapshot(*running, told=lists)).queues][2:] == [("c1",), ("c1",)]


@each(
    "held, printed, strategy, expected",
    [
        (("01", "23"), "", "AVG", 2),
        (("02", "13"), "", "AVG_BY_CIRCLE", 2),
        (("01", "23"), "AllocateMessageQueueAveragelyByCircle", "AVG", 2),
        (("03", "12"), "", "?", 2),
        (("03", "12"), "AllocateMessageQueueConsistentHash", "CONSISTENT_HASH", 2),
        (("03", "12"), "Own", "Own", 2),
    ],
)
def test_the_strategy_is_read_from_what_is_held(
    held: tuple[str, str], printed: str, strategy: str, expected: int
) -> None:
    allocation = seen(snapshot(*(info(f"c{number}", text, strategy=printed) for number, text in enumerate(held))))
    assert allocation.strategies == (strategy,)
    assert [item.expected_count for item in allocation.instances] == [expected] * 2


def test_of_two_strategies_that_fit_the_printed_one_is_meant() -> None:
    for printed, name in (("AllocateMessageQueueAveragelyByCircle", "AVG_BY_CIRCLE"), ("", "AVG")):
        allocation = seen(snapshot(info("c0", "0", strategy=printed), info("c1", "1", strategy=printed), count=2))
        assert allocation.strategies == (name,)
    given = seen(snapshot(info("c0", "01"), info("c1", "23")), strategy=AverageByCircle())
    assert given.strategies == ("AVG_BY_CIRCLE",)
    assert [item.expected for item in given.queues] == [("c0",), ("c1",), ("c0",), ("c1",)]


def test_who_does_not_tell_has_what_its_view_gives_it() -> None:
    allocation = seen(snapshot(info("c0", "0"), silent=("c1",)))
    first, second = allocation.instances
    assert (first.held_count, first.subscribes, first.strategy) == (1, True, "?")
    assert (second.held_count, second.subscribes, second.strategy, second.expected_count) == (None, None, "?", 2)
    assert (allocation.loads, allocation.imbalance, allocation.idle) == ((1, 2), 4 / 3, ())


def test_rooms_of_queues_and_members() -> None:
    rule = room_rule("prefix:-")
    allocation = seen(snapshot(info("r1-c", "01"), info("r2-c", "23")), rule=rule)
    assert [item.room for item in allocation.queues] == ["r1"] * 4
    assert [item.room for item in allocation.instances] == ["r1", "r2"]
    assert marks(allocation) == ["", "", "cross-room", "cross-room"]
    assert (allocation.crossing_count, allocation.orphan_count, allocation.double_count) == (2, 0, 0)
    near = seen(snapshot(info("r1-c", "0123"), info("r2-c", "")), rule=rule)
    assert (near.strategies, near.crossing_count) == (("MACHINE_ROOM_NEARBY-AVG",), 0)
    assert near.idle == ("r2-c",)
    # Nobody holds it: where it is expected counts.
    silent = seen(snapshot(info("r1-c", "0"), silent=("r2-c",)), rule=rule)
    assert marks(silent) == ["", "unknown", "unknown cross-room", "unknown cross-room"]


def test_a_member_without_a_room_lets_the_strategy_throw_and_another_is_tried() -> None:
    allocation = seen(snapshot(info("r1-c", "01"), info("x", "23")), rule=room_rule("prefix:-"))
    assert (allocation.strategies, allocation.failure) == (("AVG",), None)


@each(
    "popped, shares, pops",
    [
        ((), (), False),
        (("T",), (), True),
        (("V",), (), False),
        ((), ("POP",), True),
        ((), ("PULL",), False),
    ],
)
def test_queues_of_what_is_popped_are_everybody_s(popped: tuple[str, ...], shares: tuple[str, ...], pops: bool) -> None:
    pop = tuple(
        PopShare(
            group="G",
            topic="T",
            mode=mode,
            ready_count=0,
            invisible_count=0,
            due_count=0,
            retry_count=0,
            given_up_count=0,
            blocked_queue_count=None,
        )
        for mode in shares
    )
    allocation = seen(snapshot(info("c0", "01"), info("c1", "23"), popped=popped, pop=pop))
    assert marks(allocation) == (["pop"] * 4 if pops else [""] * 4)
    assert allocation.strategies == (("POP",) if pops else ("AVG",))
    assert [item.expected_count for item in allocation.instances] == [0 if pops else 2] * 2
    if pops:
        assert allocation.queues[1] == QueueOwner(
            queue=queue(1), expected=(), holders=(), slot=(), room=None, lag_count=2, marks=("pop",)
        )


def test_topics_that_somebody_wants_and_a_route_knows() -> None:
    wanted = tuple(Subscription(topic=topic) for topic in ("V", "T", "W", "%RETRY%G"))
    both = observed_allocation(snapshot(info("c0", "0123"), wanted=wanted), "G")
    assert [item.topic for item in both] == ["T", "V"]
    by_member = replace(info("c0", ""), subscriptions=(Subscription(topic="V"),))
    assert [item.topic for item in observed_allocation(snapshot(by_member, wanted=()), "G")] == ["V"]
    assert observed_allocation(snapshot(info("c0", "")), "nobody") == []
    others = replace(info("c0", "0123"), group="other")
    assert seen(snapshot(others, told={"r1-a": ("c0",)})).instances[0].held_count is None


def test_a_topic_without_queues_is_even_and_nobody_s() -> None:
    nothing = seen(snapshot(info("c0", ""), count=0))
    assert (nothing.queues, nothing.imbalance, nothing.even) == ((), None, True)
    assert nothing.failure is not None and "queues" in nothing.failure
    alone = seen(snapshot(told={"r1-a": ()}))
    assert (marks(alone), alone.even, alone.loads, alone.imbalance) == (["orphan"] * 4, False, (), None)


def share(client: str, expected: int, held: int | None, *, subscribes: bool | None = True) -> InstanceShare:
    return InstanceShare(
        client_id=client, room=None, strategy="AVG", subscribes=subscribes, expected_count=expected, held_count=held
    )


@each(
    "shares, queue_count, loads, idle, even, imbalance",
    [
        ([share("a", 2, 3), share("b", 2, 1)], 4, (3, 1), (), True, 1.5),
        ([share("a", 2, 0), share("b", 2, None)], 4, (0, 2), ("a",), True, 2.0),
        ([share("a", 2, 0, subscribes=False), share("b", 2, 4)], 4, (0, 4), (), True, 2.0),
        ([share("a", 0, None, subscribes=None), share("b", 2, 4)], 5, (0, 4), ("a",), False, 2.0),
        ([share("a", 0, 0)], 3, (0,), ("a",), True, None),
        ([share("a", 1, 1), share("b", 1, 1), share("c", 1, 1)], 4, (1, 1, 1), (), False, 1.0),
    ],
)
def test_what_shares_come_to(
    shares: list[InstanceShare],
    queue_count: int,
    loads: tuple[int, ...],
    idle: tuple[str, ...],
    even: bool,
    imbalance: float | None,
) -> None:
    usual = QueueOwner(queue=queue(0), expected=(), holders=(), slot=(), room=None, lag_count=None, marks=())
    topic = TopicAllocation(topic="T", queues=(usual,) * queue_count, instances=tuple(shares), failure=None)
    assert (topic.loads, topic.idle, topic.even, topic.imbalance) == (loads, idle, even, imbalance)


def test_the_addresses_that_a_client_connects_from() -> None:
    def membership(*places: tuple[str, str]) -> GroupMembership:
        return GroupMembership(
            group="G", members=tuple(Member(client_id=client, address=address) for client, address in places)
        )

    brokers = (
        BrokerSnapshot(name="a", memberships=(membership(("c", "2:1"), ("d", "3:1")),)),
        BrokerSnapshot(name="b", memberships=(membership(("c", "1:1"), ("c", "2:1")),)),
    )
    assert addresses_of(replace(snapshot(), brokers=brokers), "G") == {"c": "1:1, 2:1", "d": "3:1"}
    assert addresses_of(snapshot(), "none") == {}
