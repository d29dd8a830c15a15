"""What-if, by hand: layouts from numbers, what changes make of them, and what strategies make of both."""

from __future__ import annotations

import pytest

from mqctl.allocation.choice import NAMES, strategy_of
from mqctl.allocation.kafka import KafkaAssignor
from mqctl.allocation.rooms import room_rule
from mqctl.allocation.simulation import (
    Layout,
    LayoutChange,
    Move,
    NewRoom,
    Sending,
    StrategyResult,
    changed_layout,
    moves,
    numbered_layout,
    sending_sides,
    simulate,
    simulate_kafka,
)
from mqctl.allocation.strategies import (
    Average,
    AverageByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    NearbyRoom,
    Strategy,
)
from mqctl.allocation.views import QueueOwnership
from mqctl.errors import UsageError
from mqctl.model.queue import MessageQueue
from tests.each import each

RULE = room_rule("prefix:-")
LAYOUT = numbered_layout(["T"], 2, 3, broker_count=2)
ROOMS = numbered_layout(["T"], 2, 4, rooms=("HT", "CP"))


def names(layout: Layout) -> tuple[list[str], list[str]]:
    """Queues as `broker/id`, and clients."""
    return [f"{queue.broker_name}/{queue.queue_id}" for queue in layout.queues], list(layout.clients)


@each(
    "topics, queue_count, client_count, options, queues, clients",
    [
        (["T"], 1, 1, {}, ["T broker-a 0"], ["client-00"]),
        (["T", "U"], 1, 2, {}, ["T broker-a 0", "U broker-a 0"], ["client-00", "client-01"]),
        (
            ["T"],
            2,
            1,
            {"broker_count": 2},
            ["T broker-a 0", "T broker-a 1", "T broker-b 0", "T broker-b 1"],
            ["client-00"],
        ),
        (
            ["T"],
            1,
            3,
            {"rooms": ("x", "y"), "separator": "@"},
            ["T x@broker-a 0", "T y@broker-a 0"],
            ["x@client-00", "y@client-01", "x@client-02"],
        ),
    ],
)
def test_layouts_from_numbers(
    topics: list[str],
    queue_count: int,
    client_count: int,
    options: dict[str, object],
    queues: list[str],
    clients: list[str],
) -> None:
    made = numbered_layout(topics, queue_count, client_count, **options)  # type: ignore[arg-type]
    assert [f"{queue.topic} {queue.broker_name} {queue.queue_id}" for queue in made.queues] == queues
    assert (list(made.clients), made.topics) == (clients, tuple(topics))


@each("count, last", [(1, "client-00"), (100, "client-99"), (101, "client-100"), (1_000, "client-999")])
def test_numbers_of_clients_have_one_width(count: int, last: str) -> None:
    clients = numbered_layout(["T"], 1, count).clients
    assert (clients[-1], {len(client) for client in clients}) == (last, {len(last)})


@each("number, letters", [(1, "a"), (26, "z"), (27, "aa"), (52, "az"), (53, "ba"), (702, "zz"), (703, "aaa")])
def test_brokers_are_counted_with_letters(number: int, letters: str) -> None:
    assert numbered_layout(["T"], 1, 1, broker_count=number).queues[-1].broker_name == f"broker-{letters}"


@each("counts", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (-1, 1, 1)])
def test_numbers_above_nothing(counts: tuple[int, int, int]) -> None:
    queues, clients, brokers = counts
    with pytest.raises(UsageError, match="needs queues, clients and brokers"):
        numbered_layout(["T"], queues, clients, broker_count=brokers)


A, B = ["broker-a/0", "broker-a/1"], ["broker-b/0", "broker-b/1"]
CLIENTS = ["client-00", "client-01", "client-02"]


@each(
    "change, queues, clients",
    [
        (LayoutChange(), [*A, *B], CLIENTS),
        (LayoutChange(add_clients=2), [*A, *B], [*CLIENTS, "client-02+1", "client-02+2"]),
        (LayoutChange(remove_clients=1), [*A, *B], CLIENTS[:2]),
        (LayoutChange(remove_clients=2), [*A, *B], CLIENTS[:1]),
        (LayoutChange(remove_clients=3, add_clients=1), [*A, *B], ["client-02+1"]),
        (LayoutChange(remove_clients=3, join=("x",)), [*A, *B], ["x"]),
        (LayoutChange(leave=("client-00",)), [*A, *B], CLIENTS[1:]),
        (LayoutChange(leave=("client-00",), remove_clients=1), [*A, *B], ["client-01"]),
        (LayoutChange(join=("x", "a")), [*A, *B], [*CLIENTS, "x", "a"]),
        (LayoutChange(queues_each=1), ["broker-a/0", "broker-b/0"], CLIENTS),
        (LayoutChange(queues_each=3), [*A, "broker-a/2", *B, "broker-b/2"], CLIENTS),
        (LayoutChange(lose_brokers=("broker-a",)), B, CLIENTS),
        (LayoutChange(add_brokers=(("new", 1),)), [*A, *B, "new/0"], CLIENTS),
        (LayoutChange(add_brokers=(("new", 1),), queues_each=1), ["broker-a/0", "broker-b/0", "new/0"], CLIENTS),
        (LayoutChange(lose_brokers=("broker-a", "broker-b"), add_brokers=(("new", 1),)), ["new/0"], CLIENTS),
    ],
)
def test_what_changes_make_of_a_layout(change: LayoutChange, queues: list[str], clients: list[str]) -> None:
    assert names(changed_layout(LAYOUT, None, change)) == (queues, clients)


@each(
    "change, said",
    [
        (LayoutChange(leave=("y", "x")), "no client is called x"),
        (LayoutChange(join=("client-01", "client-00")), "there is a client client-00 already"),
        (LayoutChange(remove_clients=4), "cannot remove 4 of 3 clients"),
        (LayoutChange(leave=("client-00",), remove_clients=3), "cannot remove 3 of 2 clients"),
        (LayoutChange(remove_clients=3), "this would leave no client"),
        (LayoutChange(lose_room="HT"), "no client is in room HT"),
        (LayoutChange(lose_brokers=("x", "c")), "there is no broker c"),
        (LayoutChange(add_brokers=(("broker-b", 1),)), "there is a broker broker-b already"),
        (LayoutChange(lose_brokers=("broker-a", "broker-b")), "this would leave no queue"),
        (LayoutChange(queues_each=0), "this would leave no queue"),
        (
            LayoutChange(add_rooms=(NewRoom(name="SH", broker_count=1, queue_count=1, client_count=1),)),
            "the room rule does not read SH from SH-broker-a",
        ),
    ],
)
def test_changes_that_cannot_be(change: LayoutChange, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        changed_layout(LAYOUT, None, change)
    assert said in str(caught.value)


HT, CP = ["HT-broker-a/0", "HT-broker-a/1"], ["CP-broker-a/0", "CP-broker-a/1"]


@each(
    "change, queues, clients",
    [
        (LayoutChange(lose_room="HT"), [*HT, *CP], ["CP-client-01", "CP-client-03"]),
        (LayoutChange(lose_room="HT", with_brokers=True), CP, ["CP-client-01", "CP-client-03"]),
        (LayoutChange(lose_room="HT", add_clients=1), [*HT, *CP], ["CP-client-01", "CP-client-03", "CP-client-03+1"]),
        (LayoutChange(with_brokers=True), [*HT, *CP], list(ROOMS.clients)),
        (
            LayoutChange(add_rooms=(NewRoom(name="SH", broker_count=2, queue_count=1, client_count=1),)),
            [*HT, *CP, "SH-broker-a/0", "SH-broker-b/0"],
            [*ROOMS.clients, "SH-client-00"],
        ),
        (
            LayoutChange(
                lose_brokers=("HT-broker-a", "CP-broker-a"),
                remove_clients=4,
                add_rooms=(NewRoom(name="SH", broker_count=1, queue_count=1, client_count=1),),
            ),
            ["SH-broker-a/0"],
            ["SH-client-00"],
        ),
    ],
)
def test_rooms_that_come_and_go(change: LayoutChange, queues: list[str], clients: list[str]) -> None:
    assert names(changed_layout(ROOMS, RULE, change)) == (queues, clients)


def test_a_room_is_named_as_the_rule_reads_it() -> None:
    change = LayoutChange(add_rooms=(NewRoom(name="z", broker_count=1, queue_count=1, client_count=2),))
    at = numbered_layout(["T"], 1, 2, rooms=("x", "y"), separator="@")
    assert names(changed_layout(at, room_rule("prefix:@"), change)) == (
        ["x@broker-a/0", "y@broker-a/0", "z@broker-a/0"],
        ["x@client-00", "y@client-01", "z@client-00", "z@client-01"],
    )
    with pytest.raises(UsageError, match="does not read z"):
        changed_layout(at, RULE, change)
    with pytest.raises(UsageError, match="does not read z"):  # brokers, but not clients
        changed_layout(ROOMS, room_rule("map:f", {"z-broker-a": "z"}), change)
    with pytest.raises(UsageError, match="no client is in room q"):
        changed_layout(ROOMS, RULE, LayoutChange(lose_room="q"))


def test_what_members_want_stays_with_those_that_stay() -> None:
    wants = {"client-00": frozenset({"T"}), "client-02": frozenset[str]()}
    layout = Layout(queues=LAYOUT.queues, clients=LAYOUT.clients, wants=wants)
    assert changed_layout(layout, None, LayoutChange(remove_clients=1)).wants == {"client-00": frozenset({"T"})}
    assert changed_layout(layout, None, LayoutChange(leave=("client-00", "client-02"))).wants is None
    assert changed_layout(LAYOUT, None, LayoutChange()).wants is None
    assert (layout.wanted_by("client-02"), layout.wanted_by("client-01")) == (frozenset(), frozenset({"T"}))


def owners(result: StrategyResult) -> list[str]:
    return ["+".join(clients) for clients in result.owners.owners.values()]


def test_all_members_together() -> None:
    result = simulate(LAYOUT, Average())
    assert (owners(result), result.strategy) == (["client-00", "client-00", "client-01", "client-02"], "AVG")
    assert (result.loads, result.idle) == ({"client-00": 2, "client-01": 1, "client-02": 1}, ())
    assert (result.most, result.least, result.imbalance) == (2, 1, 1.5)
    assert (result.crossing_count, result.failure) == (None, None)
    dealt = simulate(LAYOUT, AverageByCircle())
    assert owners(dealt) == ["client-00", "client-01", "client-02", "client-00"]


def test_who_does_not_want_a_topic_keeps_its_slot() -> None:
    layout = Layout(queues=LAYOUT.queues, clients=LAYOUT.clients, wants={"client-00": frozenset({"U"})})
    result = simulate(layout, Average())
    assert (owners(result), result.idle, result.least) == (["", "", "client-01", "client-02"], ("client-00",), 0)
    assert (result.imbalance, result.owners.orphans) == (1.5, LAYOUT.queues[:2])


def test_each_topic_is_shared_out_by_itself() -> None:
    result = simulate(numbered_layout(["U", "T"], 1, 2), Average())
    assert [(queue.topic, clients) for queue, clients in result.owners.owners.items()] == [
        ("T", ("client-00",)),
        ("U", ("client-00",)),
    ]
    assert (result.loads, result.imbalance) == ({"client-00": 2, "client-01": 0}, 2.0)


def test_a_strategy_that_throws_leaves_all_to_nobody() -> None:
    result = simulate(LAYOUT, NearbyRoom(Average(), RULE.broker_room, lambda client: None))
    assert (owners(result), result.imbalance, result.most) == ([""] * 4, 0.0, 0)
    assert result.failure is not None and "client-00" in result.failure


def test_nothing_is_nobody_s() -> None:
    for empty in (Layout(queues=(), clients=("c",)), Layout(queues=(), clients=())):
        result = simulate(empty, Average())
        assert (owners(result), result.most, result.least, result.imbalance) == ([], 0, 0, 0.0)


def test_queues_from_another_room_are_counted() -> None:
    crossing = {
        strategy.name: simulate(ROOMS, strategy, RULE).crossing_count
        for strategy in (Average(), AverageByCircle(), NearbyRoom(Average(), RULE.broker_room, RULE.client_room))
    }
    # Sorted: CP-01, CP-03, HT-00, HT-02, and the queues of CP before those of HT.
    assert crossing == {"AVG": 0, "AVG_BY_CIRCLE": 0, "MACHINE_ROOM_NEARBY-AVG": 0}
    lost = changed_layout(ROOMS, RULE, LayoutChange(lose_room="HT"))
    assert simulate(lost, Average(), RULE).crossing_count == 2


def test_as_kafka_would() -> None:
    before = simulate(LAYOUT, Average())
    result = simulate_kafka(LAYOUT, KafkaAssignor.RANGE, before)
    assert (result.strategy, owners(result)) == ("kafka range", ["client-00", "client-00", "client-01", "client-02"])
    without = changed_layout(LAYOUT, None, LayoutChange(leave=("client-00",)))
    # What client-01 and client-02 have stays with them, and each gets one of the others.
    sticky = simulate_kafka(without, KafkaAssignor.STICKY, before, RULE)
    assert owners(sticky) == ["client-01", "client-02", "client-01", "client-02"]
    assert sticky.crossing_count == 4
    nobody = Layout(queues=LAYOUT.queues, clients=LAYOUT.clients, wants=dict.fromkeys(LAYOUT.clients, frozenset()))
    assert owners(simulate_kafka(nobody, KafkaAssignor.ROUNDROBIN)) == [""] * 4


def test_moves_are_what_changes_its_owner() -> None:
    first, second, third, fourth, fifth = (MessageQueue("T", "b", number) for number in range(5))
    before = QueueOwnership(owners={first: ("a",), second: ("a", "b"), third: (), fourth: ("a",)}, intended={})
    after = QueueOwnership(owners={second: ("b",), first: ("a",), third: ("c",), fifth: ("c",)}, intended={})
    assert moves(before, after) == [
        Move(queue=second, before="a", after="b"),
        Move(queue=third, before=None, after="c"),
        Move(queue=fourth, before="a", after=None),
        Move(queue=fifth, before=None, after="c"),
    ]
    assert moves(before, before) == []


def test_which_queues_producers_of_each_room_use() -> None:
    layout = Layout(queues=ROOMS.queues, clients=("SH-c", "CP-c", "plain"))
    assert sending_sides(layout, RULE) == [
        Sending(room="CP", own=True, queues=ROOMS.queues[2:]),
        Sending(room="HT", own=True, queues=ROOMS.queues[:2]),
        Sending(room="SH", own=False, queues=ROOMS.queues),
    ]


@each(
    "name, strategy",
    [
        ("avg", Average()),
        ("AVG", Average()),
        ("circle", AverageByCircle()),
        ("AVG_BY_CIRCLE", AverageByCircle()),
        ("hash", ConsistentHash()),
        ("consistent_hash", ConsistentHash()),
        ("nearby", "MACHINE_ROOM_NEARBY-AVG"),
        ("nearby:circle", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"),
        ("MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"),
        ("nearby:hash", "MACHINE_ROOM_NEARBY-CONSISTENT_HASH"),
        ("room", ByMachineRoom(frozenset({"HT"}))),
        ("machine_room", ByMachineRoom(frozenset({"HT"}))),
        ("config", ByConfig({"c": ()})),
    ],
)
def test_strategies_by_name(name: str, strategy: Strategy | str) -> None:
    made = strategy_of(name, RULE, frozenset({"HT"}), {"c": ()})
    assert (made.name if isinstance(strategy, str) else made) == strategy


@each(
    "name, said",
    [
        ("", "no strategy"),
        ("average", "no strategy"),
        ("avg:circle", "no strategy avg:circle"),
        ("nearby:room", "no strategy"),
        ("nearby:x", "no strategy"),
        ("room:avg", "no strategy"),
        ("config:avg", "no strategy"),
        ("nearby", "needs to know rooms"),
        ("nearby:hash", "needs to know rooms"),
        ("room", "needs the rooms"),
        ("config", "needs its lists"),
    ],
)
def test_strategies_that_are_not_there_or_lack_something(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        strategy_of(name)
    for known in NAMES:
        assert strategy_of(known, RULE, frozenset({"HT"}), {}).name
    assert strategy_of("config", fixed={}).allocate("c", [], []) == []
