"""What `allocation simulate` and `group lag --advise` say of a group, against an event simulation of that group."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mqctl.allocation.carrying import UNKNOWN, Capacity, Load, Mode, RoomLoad, client_loads, parallelism, room_loads
from mqctl.allocation.rooms import room_rule
from mqctl.allocation.simulation import Layout, StrategyResult, numbered_layout, simulate
from mqctl.allocation.strategies import Average
from mqctl.lag.advice import BacklogAdvice, backlog_advice
from mqctl.lag.bound import Bound
from mqctl.lag.remedies import Effect
from mqctl.model.member import RunningInfo, TopicRates
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings
from tests.allocation.group_events import Group, consumed
from tests.each import each
from tests.rules.live_faults import after
from tests.rules.live_snapshots import BROKERS, LIVE, held, member, membership, running

SPAN_MS = 30_000
MORE = (1, 2, 4)


def owned(result: StrategyResult) -> dict[str, list[MessageQueue]]:
    queues_of: dict[str, list[MessageQueue]] = {client: [] for client in result.loads}
    for queue, clients in result.owners.owners.items():
        for client in clients:
            queues_of[client].append(queue)
    return queues_of


def joined(layout: Layout, count: int) -> Layout:
    return replace(layout, clients=(*layout.clients, *(f"{layout.clients[-1]}+{n}" for n in range(1, count + 1))))


@st.composite
def groups(draw: st.DrawFn) -> tuple[Layout, Group]:
    """A group that shares 1 to 6 queues by AVG; each thread passes 2, 5 or 10 messages a second."""
    queue_count, client_count = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    layout = numbered_layout(["Pay"], queue_count, client_count)
    rates = draw(st.lists(st.sampled_from((0.0, 1.0, 3.0, 9.0, 24.0)), min_size=queue_count, max_size=queue_count))
    return layout, Group(
        owned=owned(simulate(layout, Average())),
        arriving=dict(zip(layout.queues, rates, strict=True)),
        thread_count=draw(st.integers(1, 4)),
        consume_ms=draw(st.sampled_from((100.0, 200.0, 500.0))),
        orderly=draw(st.booleans()),
    )


def capacity_of(group: Group) -> Capacity:
    return Capacity(
        tps=group.thread_count * 1000 / group.consume_ms,
        thread_count=group.thread_count,
        mode=Mode.of(orderly=group.orderly),
    )


def carried(group: Group, layout: Layout) -> float:
    """What `allocation simulate` says the group carries."""
    loads = client_loads(simulate(layout, Average()), group.arriving, {}, capacity_of(group))
    return sum(load.carried_tps or 0.0 for load in loads)


def near(group: Group, first: float, second: float) -> bool:
    """Equal but for the messages that are being consumed when the simulation ends, and the first that arrive."""
    edge = 2 * (len(group.arriving) + group.thread_count * len(group.owned))
    return abs(first - second) <= edge * 1000 / SPAN_MS + 0.02 * max(first, second)


@settings(max_examples=60)
@given(groups())
def test_each_client_carries_what_its_threads_would_have_finished(made: tuple[Layout, Group]) -> None:
    layout, group = made
    done = consumed(group, {}, SPAN_MS)
    for load in client_loads(simulate(layout, Average()), group.arriving, {}, capacity_of(group)):
        finished = sum(done[queue] for queue in group.owned[load.client_id]) * 1000 / SPAN_MS
        assert load.carried_tps is not None and load.capacity_tps is not None and load.required_tps is not None
        assert near(group, finished, load.carried_tps), (load, finished)
        assert load.carried_tps <= min(load.capacity_tps, load.required_tps) + 1e-9
        assert load.enough == (load.carried_tps >= load.required_tps - 1e-9)
        if load.queue_count == 0:
            assert (load.capacity_tps, load.lanes) == (0.0, 0)


@settings(max_examples=30)
@given(groups())
def test_the_parallelism_is_the_number_of_messages_that_are_consumed_at_once(made: tuple[Layout, Group]) -> None:
    _, group = made
    # Each queue has more than all threads finish: whoever can work, works all the time.
    full = dict.fromkeys(group.arriving, 10_000)
    finished = sum(consumed(group, full, 10_000).values())
    loads = client_loads(simulate(made[0], Average()), group.arriving, {}, capacity_of(group))
    assert finished == sum(load.lanes or 0 for load in loads) * 10_000 // group.consume_ms


def seen(layout: Layout, group: Group, waiting: dict[MessageQueue, int]) -> BacklogAdvice:
    """What `group lag --advise` says after having looked at the group twice, half a minute apart, while it runs."""
    done = consumed(group, waiting, SPAN_MS)
    came = {queue: int(rate * SPAN_MS / 1000) for queue, rate in group.arriving.items()}
    then = _look(layout, group, waiting, dict.fromkeys(waiting, 0))
    ends = {queue: waiting[queue] + came[queue] for queue in waiting}
    (advice,) = backlog_advice(after(_look(layout, group, ends, done), then, SPAN_MS), Settings())
    return advice


def _look(
    layout: Layout, group: Group, ends: dict[MessageQueue, int], offsets: dict[MessageQueue, int]
) -> ClusterSnapshot:
    said = {"PROP_THREADPOOL_CORE_SIZE": str(group.thread_count), "PROP_CONSUMEORDERLY": str(group.orderly).lower()}
    infos: list[RunningInfo] = []
    for client, queues in group.owned.items():
        usual = running(client, BROKERS[0])
        shares = tuple(
            held(
                queue.broker_name,
                queue.queue_id,
                commit_offset=offsets[queue],
                cached_count=ends[queue] - offsets[queue],
            )
            for queue in queues
        )
        rates = (TopicRates(topic="Pay", consume_rt_ms=group.consume_ms, consume_ok_tps=1.0),)
        infos.append(replace(usual, queues=shares, rates=rates, properties={**usual.properties, **said}))
    states = tuple(
        QueueState(topic="Pay", queue_id=queue.queue_id, min_offset=0, max_offset=end) for queue, end in ends.items()
    )
    places = tuple(
        ConsumerOffsetState(group="G", topic="Pay", queue_id=queue.queue_id, offset=at, next_store_time_ms=1)
        for queue, at in offsets.items()
    )
    members = membership(client_ids=layout.clients, members=tuple(member(client, 5_000) for client in layout.clients))
    broker = replace(LIVE.brokers[0], queues=states, consumer_offsets=places, memberships=(members,))
    return replace(LIVE, brokers=(broker,), running=tuple(infos))


@settings(max_examples=40)
@given(groups(), st.integers(0, 3_000))
def test_advice_is_what_simulations_show(made: tuple[Layout, Group], backlog: int) -> None:
    layout, group = made
    waiting = dict.fromkeys(layout.queues, backlog)
    advice = seen(layout, group, waiting)
    assert advice.parallelism == sum(
        load.lanes or 0 for load in client_loads(simulate(layout, Average()), group.arriving, {}, capacity_of(group))
    )
    remedies = {item.what: item for item in advice.remedies}
    assume("instances" in remedies and advice.bound is not Bound.PULL)
    instances = remedies["instances"]
    before = sum(consumed(group, waiting, SPAN_MS).values())
    for count in MORE:
        more = joined(layout, count)
        larger = replace(group, owned=owned(simulate(more, Average())))
        later = sum(consumed(larger, waiting, SPAN_MS).values())
        if instances.effect is Effect.NO:
            # Neither the events nor the simulator may find what the advice denies.
            assert later * 1000 / SPAN_MS <= before * 1000 / SPAN_MS + 1 or near(
                larger, later * 1000 / SPAN_MS, before * 1000 / SPAN_MS
            ), (instances, before, later)
            assert carried(larger, more) <= carried(group, layout) * 1.02 + 0.1, instances
    if instances.needed_count:
        more = joined(layout, instances.needed_count - len(layout.clients))
        loads = client_loads(simulate(more, Average()), group.arriving, {}, capacity_of(group))
        assert all(load.enough for load in loads), (instances, loads)
    threads = remedies["threads"]
    if threads.needed_count:
        larger = replace(group, thread_count=threads.needed_count)
        for load in client_loads(simulate(layout, Average()), group.arriving, {}, capacity_of(larger)):
            assert load.enough, (threads, load)
    if threads.effect is Effect.NO:
        larger = replace(group, thread_count=4 * group.thread_count)
        later = sum(consumed(larger, waiting, SPAN_MS).values())
        assert near(larger, later * 1000 / SPAN_MS, before * 1000 / SPAN_MS), (threads, before, later)


CONCURRENT = Capacity(tps=40.0, thread_count=4)
ORDERLY = Capacity(tps=40.0, thread_count=4, mode=Mode.ORDERLY)
KEYED = Capacity(tps=40.0, thread_count=4, mode=Mode.KEY_ORDERED)


@each(
    "capacity, queue_count, lanes, reachable",
    [
        (CONCURRENT, 0, 0, 0.0),
        (CONCURRENT, 1, 4, 40.0),
        (KEYED, 1, 4, 40.0),
        (ORDERLY, 0, 0, 0.0),
        (ORDERLY, 1, 1, 10.0),
        (ORDERLY, 3, 3, 30.0),
        (Capacity(tps=10.0, thread_count=4, mode=Mode.ORDERLY), 3, 3, 7.5),
        (ORDERLY, 4, 4, 40.0),
        (ORDERLY, 5, 4, 40.0),
        (UNKNOWN, 0, None, 0.0),
        (UNKNOWN, 1, None, None),
        (Capacity(tps=40.0), 1, None, 40.0),
        (Capacity(tps=40.0, mode=Mode.ORDERLY), 1, None, None),
        (Capacity(thread_count=4, mode=Mode.ORDERLY), 1, 1, None),
        (Capacity(tps=40.0, thread_count=0, mode=Mode.ORDERLY), 1, 0, None),
    ],
)
def test_lanes_and_what_passes_them(
    capacity: Capacity, queue_count: int, lanes: int | None, reachable: float | None
) -> None:
    assert (capacity.lanes(queue_count), capacity.reachable_tps(queue_count)) == (lanes, reachable)


@each(
    "capacity, arriving, keys, carried",
    [
        (CONCURRENT, [], [], 0.0),
        (CONCURRENT, [30.0, 9.0], [], 39.0),
        (CONCURRENT, [30.0, 11.0], [], 40.0),
        (CONCURRENT, [30.0], [30.0], 30.0),
        (ORDERLY, [9.0, 10.0], [], 19.0),
        (ORDERLY, [9.0, 11.0], [], 19.0),
        (ORDERLY, [30.0], [], 10.0),
        (ORDERLY, [10.0] * 5, [], 40.0),
        (ORDERLY, [1.0], [30.0], 1.0),
        (KEYED, [30.0], [], 30.0),
        (KEYED, [30.0], [10.0], 30.0),
        (KEYED, [30.0], [11.0, 12.0], 27.0),
        (KEYED, [50.0], [], 40.0),
        (UNKNOWN, [1.0], [], None),
        (UNKNOWN, [], [], 0.0),
        (Capacity(tps=40.0, mode=Mode.KEY_ORDERED), [50.0], [20.0], 40.0),
        (Capacity(tps=40.0), [5.0], [], 5.0),
    ],
)
def test_what_is_carried_of_what_arrives(
    capacity: Capacity, arriving: list[float], keys: list[float], carried: float | None
) -> None:
    assert capacity.carried_tps(arriving, keys) == carried


def test_modes_of_listeners() -> None:
    assert (Mode.of(orderly=True), Mode.of(orderly=False)) == (Mode.ORDERLY, Mode.CONCURRENT)
    assert [ORDERLY.orderly, CONCURRENT.orderly, KEYED.orderly] == [True, False, False]


def load(client: str, lanes: int | None = 2, required: float | None = 3.0, carried: float | None = 3.0) -> Load:
    return Load(
        client_id=client, queue_count=1, lanes=lanes, required_tps=required, capacity_tps=5.0, carried_tps=carried
    )


@each(
    "required, carried, enough",
    [
        (3.0, 3.0, True),
        (3.0, 2.999999, False),
        (3.0, 3.0 - 1e-10, True),
        (1e9, 1e9 - 0.5, True),
        (0.0, 0.0, True),
        (None, 3.0, None),
        (3.0, None, None),
    ],
)
def test_enough_is_all_that_arrives(required: float | None, carried: float | None, enough: bool | None) -> None:
    assert load("c", required=required, carried=carried).enough is enough


def test_loads_by_client() -> None:
    layout = numbered_layout(["T"], 3, 2)
    first, second, third = layout.queues
    result = simulate(layout, Average())
    given = client_loads(result, {first: 1.0, second: 2.0}, {"client-00": CONCURRENT}, UNKNOWN)
    assert given == [
        Load(client_id="client-00", queue_count=2, lanes=4, required_tps=3.0, capacity_tps=40.0, carried_tps=3.0),
        Load(client_id="client-01", queue_count=1, lanes=None, required_tps=None, capacity_tps=None, carried_tps=None),
    ]
    arriving = {first: 15.0, second: 15.0, third: 1.0}
    keys = {first: {"k": 7.0, "l": 1.0}, second: {"k": 6.0}, third: {"k": 99.0}}
    for capacity, carried in ((KEYED, 27.0), (CONCURRENT, 30.0), (ORDERLY, 20.0)):
        assert client_loads(result, arriving, {}, capacity, keys)[0].carried_tps == carried
    assert client_loads(result, arriving, {}, KEYED, {third: {}})[0].carried_tps == 30.0


@each(
    "loads, lanes, required, enough",
    [
        ([load("HT-a"), load("HT-b", 3)], 5, 6.0, True),
        ([load("HT-a"), load("HT-b", None)], None, 6.0, True),
        ([load("HT-a"), load("HT-b", required=None)], 4, None, None),
        ([load("HT-a", carried=1.0), load("HT-b", required=None)], 4, None, False),
        ([load("HT-a", 0, 0.0, 0.0)], 0, 0.0, True),
    ],
)
def test_sums_of_a_room(loads: list[Load], lanes: int | None, required: float | None, enough: bool | None) -> None:
    for rule, name in ((None, "all"), (room_rule("prefix:-"), "HT"), (room_rule("prefix:@"), "?")):
        (room,) = room_loads(loads, rule)
        assert (room.room, room.client_count, room.queue_count) == (name, len(loads), len(loads))
        assert (room.lanes, room.required_tps, room.enough) == (lanes, required, enough)
    assert parallelism(loads) == lanes


def test_rooms_are_in_order() -> None:
    rooms: list[RoomLoad] = room_loads([load("b-1"), load("a-1"), load("b-2")], room_rule("prefix:-"))
    assert [(room.room, room.client_count, room.capacity_tps, room.carried_tps) for room in rooms] == [
        ("a", 1, 5.0, 3.0),
        ("b", 2, 10.0, 6.0),
    ]
    assert room_loads([], None) == []
    assert parallelism([]) == 0
