"""The strategies against the worked examples, which the real 4.9.8 classes computed as well."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.allocation.rooms import room_rule, selectable_queues
from mqctl.allocation.strategies import (
    AllocationError,
    Average,
    AverageByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    NearbyRoom,
    Strategy,
)
from mqctl.allocation.views import View, ownership, sorted_clients, sorted_queues, together, utf16_key
from mqctl.errors import UsageError
from mqctl.model.queue import MessageQueue


def queues(*brokers: str, each: int) -> list[MessageQueue]:
    return [MessageQueue("T", broker, number) for broker in brokers for number in range(each)]


def clients(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


def short(taken: Sequence[MessageQueue]) -> str:
    return " ".join(f"{queue.broker_name}{queue.queue_id}" for queue in taken)


def numbers(strategy: Strategy, queue_count: int, client_count: int) -> list[str]:
    """What each client gets, as queue ids."""
    every, members = queues("", each=queue_count), clients(client_count)
    return [short(strategy.allocate(client, every, members)) for client in members]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((8, 3), ["0 1 2", "3 4 5", "6 7"]),
        ((10, 4), ["0 1 2", "3 4 5", "6 7", "8 9"]),
        ((16, 5), ["0 1 2 3", "4 5 6", "7 8 9", "10 11 12", "13 14 15"]),
        ((4, 4), ["0", "1", "2", "3"]),
        ((3, 5), ["0", "1", "2", "", ""]),
    ],
)
def test_avg(counts: tuple[int, int], expected: list[str]) -> None:
    assert numbers(Average(), *counts) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((8, 3), ["0 3 6", "1 4 7", "2 5"]),
        ((10, 4), ["0 4 8", "1 5 9", "2 6", "3 7"]),
        ((16, 5), ["0 5 10 15", "1 6 11", "2 7 12", "3 8 13", "4 9 14"]),
        ((3, 5), ["0", "1", "2", "", ""]),
    ],
)
def test_avg_by_circle(counts: tuple[int, int], expected: list[str]) -> None:
    assert numbers(AverageByCircle(), *counts) == expected


def test_two_brokers() -> None:
    every, members = queues("a", "b", each=4), clients(3)
    assert [short(Average().allocate(client, every, members)) for client in members] == [
        "a0 a1 a2",
        "a3 b0 b1",
        "b2 b3",
    ]
    assert [short(AverageByCircle().allocate(client, every, members)) for client in members] == [
        "a0 a3 b2",
        "a1 b0 b3",
        "a2 b1",
    ]


def test_config_ignores_everything_but_the_client() -> None:
    fixed = queues("x", each=2)
    strategy = ByConfig({"c0": fixed})
    assert strategy.allocate("c0", [], []) == fixed
    assert strategy.allocate("c1", queues("a", each=4), clients(2)) == []


def test_machine_room_takes_its_rest_from_the_tail_and_leaves_other_rooms_alone() -> None:
    strategy = ByMachineRoom(frozenset({"hz"}))
    every = queues("hz@b-a", "sh@b-b", each=5)
    assert [short(strategy.allocate(client, every, clients(2))) for client in clients(2)] == [
        "hz@b-a0 hz@b-a1 hz@b-a4",
        "hz@b-a2 hz@b-a3",
    ]
    few = queues("hz@b", each=2)
    assert [len(strategy.allocate(client, few, clients(3))) for client in clients(3)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("broker", "kept"),
    [("hz@b", True), ("hz@b@", True), ("hz@", False), ("hz", False), ("hz@b@c", False), ("@b", False), ("sh@b", False)],
)
def test_machine_room_reads_names_as_java_splits_them(broker: str, kept: bool) -> None:
    strategy = ByMachineRoom(frozenset({"hz"}))
    assert bool(strategy.allocate("c0", queues(broker, each=1), ["c0"])) is kept
    assert bool(ByMachineRoom(frozenset({""})).allocate("c0", queues("@b", each=1), ["c0"]))


PREFIX = room_rule("prefix:-")


def test_nearby_shares_a_dead_room_among_all() -> None:
    strategy = NearbyRoom(Average(), PREFIX.broker_room, PREFIX.client_room)
    assert strategy.name == "MACHINE_ROOM_NEARBY-AVG"
    every = queues("r1-a", "r2-a", "r3-a", each=4)
    members = ["r1-c0", "r1-c1", "r2-c0"]
    assert [short(strategy.allocate(client, every, members)) for client in members] == [
        "r1-a0 r1-a1 r3-a0 r3-a1",
        "r1-a2 r1-a3 r3-a2",
        "r2-a0 r2-a1 r2-a2 r2-a3 r3-a3",
    ]


def test_nearby_with_a_client_room_without_broker() -> None:
    strategy = NearbyRoom(Average(), PREFIX.broker_room, PREFIX.client_room)
    every, members = queues("r1-a", "r3-a", each=3), ["r1-c0", "r2-c0"]
    assert [short(strategy.allocate(client, every, members)) for client in members] == [
        "r1-a0 r1-a1 r1-a2 r3-a0 r3-a1",
        "r3-a2",
    ]


def test_nearby_throws_when_anything_has_no_room() -> None:
    strategy = NearbyRoom(Average(), PREFIX.broker_room, PREFIX.client_room)
    with pytest.raises(AllocationError, match="plain"):
        strategy.allocate("r1-c0", queues("r1-a", "plain", each=1), ["r1-c0"])
    with pytest.raises(AllocationError, match="client nobody"):
        strategy.allocate("r1-c0", queues("r1-a", each=1), ["nobody", "r1-c0"])


def test_consistent_hash() -> None:
    strategy = ConsistentHash()
    every, members = queues("b-a", each=8), clients(3)
    assert [[queue.queue_id for queue in strategy.allocate(client, every, members)] for client in members] == [
        [0, 2, 7],
        [1, 5, 6],
        [3, 4],
    ]
    two = ["10.0.0.1@100", "10.0.0.2@200"]
    both = queues("b-a", "b-b", each=4)
    assert short(strategy.allocate(two[1], both, two)) == "b-a1 b-b3"
    assert ConsistentHash(virtual_nodes=0).allocate("c0", every, members) == []
    with pytest.raises(AllocationError):
        ConsistentHash(virtual_nodes=-1).allocate("c0", every, members)


ALL = [
    Average(),
    AverageByCircle(),
    ByMachineRoom(frozenset({"r"})),
    ConsistentHash(),
    NearbyRoom(Average(), PREFIX.broker_room, PREFIX.client_room),
]


@pytest.mark.parametrize("strategy", ALL, ids=lambda item: item.name)
def test_edges(strategy: Strategy) -> None:
    for client, every, members in [
        ("", queues("r-a", each=1), ["r-c"]),
        ("r-c", [], ["r-c"]),
        ("r-c", queues("r-a", each=1), []),
    ]:
        with pytest.raises(AllocationError):
            strategy.allocate(client, every, members)
    assert strategy.allocate("r-other", queues("r-a", each=4), ["r-c"]) == []


@pytest.mark.parametrize(
    "strategy",
    [ALL[0], ALL[1], ALL[3], ALL[4], NearbyRoom(ConsistentHash(), PREFIX.broker_room, PREFIX.client_room)],
    ids=lambda item: item.name,
)
@given(data=st.data())
def test_equal_views_cover_every_queue_once_and_only_once(strategy: Strategy, data: st.DataObject) -> None:
    rooms = st.sampled_from(["r1", "r2", "r3"])
    brokers = data.draw(
        st.lists(st.builds("{}-b{}".format, rooms, st.integers(0, 20)), min_size=1, max_size=5, unique=True)
    )
    members = data.draw(
        st.lists(st.builds("{}-c{}".format, rooms, st.integers(0, 99)), min_size=1, max_size=9, unique=True)
    )
    every = sorted_queues(queues(*brokers, each=data.draw(st.integers(1, 7))))
    listed = sorted_clients(members)
    views = [View(client_id=client, strategy=strategy, clients=listed, queues=every) for client in listed]
    result = ownership(views)
    assert result.orphans == result.doubles == ()
    for client in listed:
        alone = strategy.allocate(client, every, listed)
        assert sorted(alone) == sorted(queue for queue, owners in result.owners.items() if client in owners)


def test_unsorted_views_overlap_and_orphan() -> None:
    every = queues("a", each=4)
    views = [
        View(client_id="c0", strategy=Average(), clients=["c0", "c1"], queues=every),
        View(client_id="c1", strategy=Average(), clients=["c1", "c0"], queues=every),
    ]
    result = ownership(views)
    assert [queue.queue_id for queue in result.orphans] == [2, 3]
    assert [queue.queue_id for queue in result.doubles] == [0, 1]


def test_a_member_without_the_topic_keeps_its_slot() -> None:
    every, listed = queues("a", each=4), ["c0", "c1"]
    views = [
        View(client_id=client, strategy=Average(), clients=listed, queues=every, subscribes=client == "c0")
        for client in listed
    ]
    result = ownership(views)
    assert [queue.queue_id for queue in result.orphans] == [2, 3]
    assert {result.intended[queue] for queue in result.orphans} == {("c1",)}
    assert result.loads(listed) == {"c0": 2, "c1": 0}


def test_duplicate_ids_take_one_slice_and_leave_the_other() -> None:
    every, listed = queues("a", each=6), ["c0", "c1", "c1"]
    views = [View(client_id=client, strategy=Average(), clients=listed, queues=every) for client in listed]
    result = ownership(views)
    assert [queue.queue_id for queue in result.orphans] == [4, 5]
    assert [queue.queue_id for queue in result.doubles] == [2, 3]


def test_java_sorts_by_code_units() -> None:
    assert sorted_clients(["10.0.0.2@9", "10.0.0.2@10", "10.0.0.10@1"]) == ["10.0.0.10@1", "10.0.0.2@10", "10.0.0.2@9"]
    assert sorted_clients(["\uffee", "\U0001f600", "a", "B"]) == ["B", "a", "\U0001f600", "\uffee"]
    assert [queue.broker_name for queue in sorted_queues(queues("b-2", "b-10", each=1))] == ["b-10", "b-2"]


def test_rooms_by_rule() -> None:
    assert room_rule("prefix:@").client_room("HT@10.0.0.1") == "HT"
    assert room_rule("regex:broker-(..)").broker_room("broker-ht-1") == "ht"
    table = {"broker-a": "HT", "10.0.0.1": "CP"}
    mapped = room_rule("map:rooms.yaml", table)
    assert (mapped.broker_room("broker-a"), mapped.client_room("10.0.0.1@7#8")) == ("HT", "CP")
    for wrong in ("prefix:", "regex:(", "hash:x", "map:file"):
        with pytest.raises(UsageError):
            room_rule(wrong)


def test_a_producer_stays_in_its_room_while_it_has_queues() -> None:
    every = queues("HT-a", "CP-a", each=2)
    assert short(selectable_queues(every, "HT", PREFIX)) == "HT-a0 HT-a1"
    assert selectable_queues(every, "XX", PREFIX) == every


def nearby(inner: Strategy) -> NearbyRoom:
    return NearbyRoom(inner, PREFIX.broker_room, PREFIX.client_room)


TABLES: list[Strategy] = [
    *(Average(), AverageByCircle(), ConsistentHash(), nearby(Average()), nearby(AverageByCircle())),
    nearby(ConsistentHash()),
]


@pytest.mark.parametrize("strategy", TABLES, ids=lambda item: item.name)
def test_all_clients_together_get_what_each_gets_alone(strategy: Strategy) -> None:
    """With a client id that is there twice, more clients than queues, a room without clients and one without queues."""
    members = ["r1-c0", "r1-c1", "r1-c1", "r2-c0", "r4-c0"]
    for every in (queues("r1-a", "r2-a", "r3-a", each=4), queues("r1-a", each=1), queues("r3-a", each=2)):
        made = together(strategy, every, members)
        assert made is not None and list(made) == list(dict.fromkeys(members))
        for client in members:
            assert made[client] == strategy.allocate(client, every, members), client
    for every, listed in (([], members), (queues("r1-a", each=1), [])):
        with pytest.raises(AllocationError):
            together(strategy, every, listed)


def test_strategies_that_know_one_client_at_a_time() -> None:
    every, members = queues("r1@a", each=4), ["c0", "c1"]
    by_room = ByMachineRoom(frozenset({"r1"}))
    fixed = ByConfig({"r1-c0": queues("r1-a", each=1)})
    for strategy in (by_room, fixed, nearby(fixed)):
        assert together(strategy, queues("r1-a", each=2), ["r1-c0"]) is None
    result = ownership([View(client_id=client, strategy=by_room, clients=members, queues=every) for client in members])
    assert [result.owners[queue] for queue in every] == [("c0",), ("c0",), ("c1",), ("c1",)]
    # CONFIG also gives what no view has.
    other = MessageQueue("T", "elsewhere", 0)
    listed = ByConfig({"c0": [other], "c1": [every[0], other]})
    result = ownership([View(client_id=client, strategy=listed, clients=members, queues=every) for client in members])
    assert (result.owners[other], result.owners[every[0]], result.doubles) == (("c0", "c1"), ("c1",), (other,))
    assert result.loads(["c1"]) == {"c1": 2, "c0": 1}


def test_who_throws_owns_nothing_and_says_why() -> None:
    every, members = queues("a", each=2), ["c0", "c1"]
    by_room = ByMachineRoom(frozenset({"a"}))
    views = [
        View(client_id="c0", strategy=by_room, clients=[], queues=every),
        View(client_id="c1", strategy=Average(), clients=members, queues=every),
        View(client_id="c2", strategy=nearby(Average()), clients=["c2"], queues=every),
    ]
    result = ownership(views)
    assert list(result.failures) == ["c0", "c2"]
    assert ("clients" in result.failures["c0"], "room" in result.failures["c2"]) == (True, True)
    assert [result.owners[queue] for queue in every] == [(), ("c1",)]
    assert ownership([]).owners == {}


def test_equal_views_are_equal_whoever_has_them() -> None:
    """Lists of ids that are the same are one, lists and queues that differ are not."""
    every, few = queues("a", each=4), queues("a", each=2)
    average = Average()
    views = [
        View(client_id="c0", strategy=average, clients=["c0", "c1"], queues=every),
        View(client_id="c1", strategy=average, clients=["c0", "c1"], queues=every),
        View(client_id="c1", strategy=average, clients=["c1"], queues=few),
        View(client_id="c0", strategy=average, clients=["c0"], queues=few, subscribes=False),
    ]
    result = ownership(views)
    assert [result.owners[queue] for queue in every] == [("c0", "c1"), ("c0", "c1"), ("c1",), ("c1",)]
    assert result.intended[every[0]] == ("c0", "c0", "c1")


@pytest.mark.parametrize(
    ("broker", "room"),
    [("r@b", "r"), ("r@b@", "r"), ("r@b@@", "r"), ("r@", None), ("r", None), ("r@b@c", None), ("@b", ""), ("", None)],
)
def test_rooms_in_names_of_brokers(broker: str, room: str | None) -> None:
    every = queues(broker, each=3)
    for served in ("r", "", "b"):
        taken = ByMachineRoom(frozenset({served})).allocate("c0", every, ["c0"])
        assert taken == (every if served == room else []), served


@pytest.mark.parametrize(
    ("count", "members", "expected"),
    [(0, 2, ["", ""]), (1, 2, ["0", ""]), (5, 3, ["0 3", "1 4", "2"]), (6, 3, ["0 1", "2 3", "4 5"])],
)
def test_by_machine_room_the_remainder_lies_at_the_end(count: int, members: int, expected: list[str]) -> None:
    every = [*queues("r@b", each=count), *queues("other", each=1)]
    strategy = ByMachineRoom(frozenset({"r"}))
    listed = clients(members)
    taken = [strategy.allocate(client, every, listed) for client in listed]
    assert [" ".join(str(queue.queue_id) for queue in own) for own in taken] == expected


def test_names_that_are_no_text_have_a_place() -> None:
    assert utf16_key("a") == b"\0a"
    assert sorted_clients(["\udc80", "b"]) == ["b", "\udc80"]


def test_nothing_without_a_client_id_queues_or_clients() -> None:
    for client, every, members, what in (
        ("", queues("a", each=1), ["c"], "client id"),
        ("c", [], ["c"], "queues"),
        ("c", queues("a", each=1), [], "clients"),
    ):
        with pytest.raises(AllocationError, match=f"cannot allocate without {what}"):
            Average().allocate(client, every, members)
