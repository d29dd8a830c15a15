"""Every look in a window counts: brokers that come and go, groups that stop and go, in clusters of any size."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.handed_out import HandedOut
from mqctl.model.member import RunningInfo, TopicRates
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.route import BrokerEndpoint, NameServerView
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules import Settings, diagnose
from tests.rules.live_snapshots import LIVE, ONE, membership, running
from tests.rules.window_faults import windowed

_NAMES = st.text("abcxyz019-", min_size=1, max_size=9)
_SERVERS = ("192.0.2.7:9876", "192.0.2.8:9876", "192.0.2.9:9876")


def _registered(
    names: list[str], gone: set[tuple[str, int]], hiding: dict[str, set[tuple[str, int]] | None]
) -> ClusterSnapshot:
    """Masters and a slave each, but for those that are gone; a name server hides some, or (None) does not answer."""
    views = []
    for address, hidden in hiding.items():
        if hidden is None:
            continue
        endpoints = tuple(
            BrokerEndpoint(
                cluster="C",
                name=name,
                addresses={
                    number: f"192.0.2.{20 + place}:{10_911 + 10 * number}"
                    for number in (0, 1)
                    if (name, number) not in gone | hidden
                },
            )
            for place, name in enumerate(names)
        )
        views.append(NameServerView(address=address, endpoints=endpoints))
    return replace(LIVE, name_servers=tuple(views))


@given(
    names=st.lists(_NAMES, min_size=1, max_size=4, unique=True),
    servers=st.integers(1, 3),
    there=st.lists(st.booleans(), min_size=1, max_size=8),
    process=st.tuples(st.integers(0, 3), st.sampled_from([0, 1])),
    data=st.data(),
)
def test_a_broker_is_away_where_every_name_server_that_knew_it_says_so(
    names: list[str], servers: int, there: list[bool], process: tuple[int, int], data: st.DataObject
) -> None:
    """One name server that loses a broker, or answers nothing, is no broker that was away."""
    key = names[process[0] % len(names)], process[1]
    looks: list[ClusterSnapshot] = []
    away = 0
    for registered in [True, *there, True]:
        hiding: dict[str, set[tuple[str, int]] | None] = dict.fromkeys(_SERVERS[:servers], frozenset())  # type: ignore[arg-type]
        lying = (
            data.draw(st.sampled_from([None, *_SERVERS[:servers]]))
            if servers > 1 and 0 < len(looks) <= len(there)
            else None
        )
        if lying is not None:
            hiding[lying] = data.draw(st.sampled_from([None, {key}]))
        looks.append(_registered(names, set() if registered else {key}, hiding))
        away += not registered
    findings = diagnose(windowed(looks), only=("MQ646",)).findings
    if not away:
        assert findings == ()
        return
    (finding,) = findings
    evidence = {item.name: item.value for item in finding.evidence}
    assert (finding.subject.broker, finding.variant) == (key[0], None if key[1] == 0 else "slave")
    assert (evidence["away_count"], evidence["look_count"]) == (away, len(looks))


def _group_at(
    place: tuple[str, str], steps: list[int], waits: list[int], queues: int, *, rt_ms: float
) -> list[ClusterSnapshot]:
    """Looks at a group that moved so far between them, with so much waiting at each."""
    group, topic = place
    looks, reached = [], 1_000
    for step, waiting in zip([0, *steps], waits, strict=True):
        reached += step
        numbers = range(queues)
        broker = BrokerSnapshot(
            name="broker-a",
            broker_id=0,
            queues=tuple(
                QueueState(topic=topic, queue_id=it, min_offset=0, max_offset=reached + waiting) for it in numbers
            ),
            consumer_offsets=tuple(
                ConsumerOffsetState(group=group, topic=topic, queue_id=it, offset=reached) for it in numbers
            ),
            memberships=(membership(group=group, client_ids=(ONE,)),),
        )
        info: RunningInfo = replace(
            running(ONE, "broker-a"), group=group, rates=(TopicRates(topic=topic, consume_rt_ms=rt_ms),)
        )
        looks.append(replace(LIVE, brokers=(broker,), running=(info,)))
    return looks


@given(
    group=_NAMES,
    topic=_NAMES,
    queues=st.integers(1, 8),
    steps=st.lists(st.integers(0, 400), min_size=3, max_size=9),
    waiting=st.lists(st.integers(0, 50), min_size=10, max_size=10),
    apart_ms=st.sampled_from([5_000, 14_000, 15_000, 20_000, 60_000]),
    rt_ms=st.sampled_from([0.5, 200.0, 9_000.0, 31_000.0]),
    scale=st.sampled_from([1.0, 60.0]),
)
def test_a_pause_is_as_long_as_the_looks_between_which_nothing_moved_and_messages_waited(
    group: str, topic: str, queues: int, steps: list[int], waiting: list[int], apart_ms: int, rt_ms: float, scale: float
) -> None:
    waits = waiting[: len(steps) + 1]
    looks = _group_at((group, topic), steps, waits, queues, rt_ms=rt_ms)
    diagnosis = diagnose(windowed(looks, apart_ms=apart_ms), only=("MQ428",), settings=Settings(time_scale=scale))
    long_enough = apart_ms >= max(15_000 / scale, 2 * rt_ms)
    stood = sum(
        long_enough and not step and waits[number] > 0 and waits[number + 1] > 0 for number, step in enumerate(steps)
    )
    moved = sum(steps) * queues
    expected = stood > 0 and moved > 0 and moved * stood >= 20 * (len(steps) - stood)
    assert bool(diagnosis.findings) == expected
    for finding in diagnosis.findings:
        evidence = {item.name: item.value for item in finding.evidence}
        assert (evidence["pause_ms"], evidence["moved_count"]) == (stood * apart_ms, moved)


@given(
    group=_NAMES,
    topic=_NAMES,
    queues=st.integers(1, 8),
    per_s=st.integers(0, 300),
    times=st.integers(1, 4),
    apart_s=st.integers(5, 60),
    look_count=st.integers(2, 10),
    filling=st.integers(0, 1_000),
)
def test_what_is_handed_out_beyond_what_is_passed_and_held_is_handed_out_again(
    group: str, topic: str, queues: int, per_s: int, times: int, apart_s: int, look_count: int, filling: int
) -> None:
    """Members that fill their caches are handed more than they pass, by what they hold and no more."""
    steps = [per_s * apart_s] * (look_count - 1)
    looks = _group_at((group, topic), steps, [5] * look_count, queues, rt_ms=1.0)
    count = per_s * 60 * queues * times + filling
    handed = (HandedOut(group=group, topic=topic, minute_count=count),)
    (info,) = looks[-1].running
    held = replace(info.queues[0], queue=replace(info.queues[0].queue, topic=topic), cached_count=filling)
    looks[-1] = replace(
        looks[-1],
        brokers=tuple(replace(broker, handed_out=handed) for broker in looks[-1].brokers),
        running=(replace(info, queues=(held,)),),
    )
    findings = diagnose(windowed(looks, apart_ms=apart_s * 1_000), only=("MQ429",)).findings
    old_enough = [number * apart_s for number in range(look_count) if number * apart_s >= 80]
    if times == 1 or not old_enough:
        assert findings == ()
        return
    passed = per_s * old_enough[0] * queues
    assert bool(findings) == (count >= 1.5 * (passed + filling) and count - passed >= 30)
