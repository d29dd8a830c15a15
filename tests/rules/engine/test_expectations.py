"""Declared expectations, by hand: the last value that holds and the first that does not, and what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mqctl.model.config import TopicConfig
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource
from mqctl.model.expectation import CheckResult, CheckState, Expectations, GroupExpectation, Limit, TopicExpectation
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.member import GroupMembership, HeldQueue, RunningInfo, Subscription
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.route import RECENT_MS, BrokerEndpoint, NameServerView, SeenBroker, TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules.engine.expectations import hold
from mqctl.rules.engine.expecting import Checked, amount, meant_by
from mqctl.rules.engine.gone_brokers import gone_brokers, out_of_reach, registered_names
from tests.each import each

NOW = 1_795_218_000_000
OK, WARNING, ERROR, UNKNOWN = CheckState.OK, CheckState.WARNING, CheckState.ERROR, CheckState.UNKNOWN


def server(*names: str, routes: tuple[TopicRoute, ...] = ()) -> NameServerView:
    endpoints = tuple(BrokerEndpoint(cluster="C", name=name, addresses={0: f"{name}:1"}) for name in names)
    return NameServerView(address="ns", endpoints=endpoints, routes=routes)


def cluster(*brokers: BrokerSnapshot, at_ms: int = NOW, **parts: object) -> ClusterSnapshot:
    made = ClusterSnapshot(
        origin=Origin(kind=OriginKind.LIVE, location="x", observed_at_ms=at_ms, observed_from=ObservedFrom.CLOCK),
        brokers=brokers,
        name_servers=(server(*(broker.name or "" for broker in brokers)),),
    )
    return replace(made, **parts)  # type: ignore[arg-type]


def gap(part: Part, cause: Cause = Cause.SILENT) -> Gap:
    return Gap(part=part, cause=cause, reason="nobody answered")


def broker(name: str = "a", *gaps: Gap, **parts: object) -> BrokerSnapshot:
    return replace(BrokerSnapshot(name=name, cluster="C", broker_id=0, unavailable=gaps), **parts)  # type: ignore[arg-type]


def said(results: tuple[CheckResult, ...]) -> list[str]:
    return [f"{item.check} {item.subject}: {item.state}" for item in results]


@each(
    "value, limit, state",
    [
        (5, Limit(), OK),
        (5, Limit(warning=5), OK),
        (6, Limit(warning=5), WARNING),
        (6, Limit(warning=5, error=6), WARNING),
        (7, Limit(warning=5, error=6), ERROR),
        (7, Limit(error=6), ERROR),
        (6, Limit(error=6), OK),
        (0, Limit(warning=0, error=0), OK),
        (1, Limit(error=0), ERROR),
    ],
)
def test_amounts_and_their_limits(value: float, limit: Limit, state: CheckState) -> None:
    checked = amount("lag", Checked("group", "G"), value, limit, "x", unit="ms")
    assert (checked.state, checked.value, checked.limit, checked.unit) == (state, value, limit, "ms")


@each(
    "name, without, meant",
    [
        ("x", (), ["x"]),
        ("*", (), ["a1", "a2", "b1"]),
        ("a*", (), ["a1", "a2"]),
        ("a*", ("a2",), ["a1"]),
        ("a*", ("*2", "a?"), []),
        ("?1", (), ["a1", "b1"]),
        ("z*", (), []),
    ],
)
def test_whom_a_declared_name_means(name: str, without: tuple[str, ...], meant: list[str]) -> None:
    assert meant_by(name, without, {"b1", "a2", "a1", "named"}, {name, "named"}) == meant


def test_subjects_in_words() -> None:
    texts = [str(item) for item in (Checked("broker", "a", 2), Checked("broker", "a"), Checked("name servers"))]
    assert texts == ["broker a (2)", "broker a", "name servers"]


@each(
    "snapshot, expected, results",
    [
        (cluster(broker()), Expectations(), []),
        (cluster(broker()), Expectations(cluster="C"), ["cluster cluster C: ok"]),
        (cluster(broker()), Expectations(cluster="D"), ["cluster cluster D: error"]),
        (cluster(broker(), broker("b", cluster="D")), Expectations(cluster="D"), ["cluster cluster D: error"]),
        (cluster(broker(cluster=None)), Expectations(cluster="C"), ["cluster cluster C: unknown"]),
        (cluster(broker()), Expectations(brokers=("a",)), ["answers broker a: ok"]),
        (cluster(broker()), Expectations(brokers=("b",)), ["answers broker b: error"]),
        (cluster(broker("a", gap(Part.RUNTIME))), Expectations(brokers=("a",)), ["answers broker a: error"]),
        (
            cluster(broker("a", gap(Part.RUNTIME, Cause.DENIED))),
            Expectations(brokers=("a",)),
            ["answers broker a: unknown"],
        ),
        (cluster(broker("a", gap(Part.CONFIG))), Expectations(brokers=("a",)), ["answers broker a: ok"]),
        (cluster(broker()), Expectations(broker_count=1), ["brokers cluster brokers: ok"]),
        (cluster(broker()), Expectations(broker_count=2), ["brokers cluster brokers: error"]),
        (cluster(broker(), broker("b")), Expectations(broker_count=1), ["brokers cluster brokers: ok"]),
        (
            cluster(broker(), broker("b", gap(Part.RUNTIME))),
            Expectations(broker_count=2),
            ["brokers cluster brokers: error"],
        ),
        (
            cluster(broker(), broker("b", gap(Part.RUNTIME, Cause.DENIED))),
            Expectations(broker_count=2),
            ["brokers cluster brokers: unknown"],
        ),
        (
            cluster(broker(), broker("b", gap(Part.RUNTIME, Cause.DENIED))),
            Expectations(broker_count=3),
            ["brokers cluster brokers: error"],
        ),
        (cluster(), Expectations(), ["registered name servers: error"]),
        (cluster(name_servers=()), Expectations(), []),
    ],
)
def test_clusters_and_brokers(snapshot: ClusterSnapshot, expected: Expectations, results: list[str]) -> None:
    assert said(hold(snapshot, expected)) == results


@each(
    "runtime, gaps, state",
    [
        ({"commitLogDiskRatio": "0.8"}, (), OK),
        ({"commitLogDiskRatio": "0.81"}, (), WARNING),
        ({"commitLogDiskRatio": "0.5", "consumeQueueDiskRatio": "0.95"}, (), ERROR),
        ({}, (), UNKNOWN),
        ({}, (gap(Part.RUNTIME),), UNKNOWN),
    ],
)
def test_disks(runtime: Mapping[str, str], gaps: tuple[Gap, ...], state: CheckState) -> None:
    expected = Expectations(disk_used_share=Limit(0.8, 0.9))
    (checked,) = hold(cluster(broker("a", *gaps, runtime=runtime, broker_id=1)), expected)
    assert (checked.check, checked.subject, checked.state) == ("disk", "broker a (1)", state)
    assert checked.gap == (gaps[0] if gaps else None)


def topic(count: int = 4, perm: int = 6, name: str = "T") -> TopicConfig:
    return TopicConfig(name=name, read_queue_count=count, write_queue_count=1, perm=perm)


@each(
    "brokers, expected, states",
    [
        ([broker(topics=(topic(),))], TopicExpectation(topic="T"), []),
        ([broker()], TopicExpectation(topic="T"), ["exists error"]),
        ([broker("a", gap(Part.TOPICS))], TopicExpectation(topic="T"), ["exists unknown"]),
        ([broker(topics=(topic(),))], TopicExpectation(topic="T", queue_count=4), ["queues ok"]),
        ([broker(topics=(topic(),))], TopicExpectation(topic="T", queue_count=5), ["queues error"]),
        (
            [broker(topics=(topic(9, 4, "A"), topic(), topic(9, 4, "Z")))],
            TopicExpectation(topic="T", queue_count=4, perm="RW-"),
            ["queues ok", "perm ok"],
        ),
        (
            [broker(topics=(topic(3),)), broker("b", topics=(topic(1),))],
            TopicExpectation(topic="T", queue_count=4),
            ["queues ok"],
        ),
        (
            [broker(topics=(topic(),)), broker("b", gap(Part.TOPICS))],
            TopicExpectation(topic="T", queue_count=4),
            ["queues unknown"],
        ),
        ([broker(topics=(topic(),))], TopicExpectation(topic="T", perm="RW-"), ["perm ok"]),
        ([broker(topics=(topic(perm=4),))], TopicExpectation(topic="T", perm="RW-"), ["perm error"]),
        (
            [broker(topics=(topic(),)), broker("b", topics=(topic(perm=4),))],
            TopicExpectation(topic="T", perm="RW-"),
            ["perm error"],
        ),
        ([broker(topics=(topic(),))], TopicExpectation(topic="T", silent_ms=Limit(5)), ["silent_for unknown"]),
        ([broker(topics=(topic(),))], TopicExpectation(topic="T*", queue_count=4), ["queues ok"]),
        ([broker(topics=(topic(),))], TopicExpectation(topic="U*"), ["exists unknown"]),
        ([broker(topics=(topic(name="%RETRY%G"),))], TopicExpectation(topic="*"), ["exists unknown"]),
        ([broker(topics=(topic(name="TBW102"),))], TopicExpectation(topic="*"), ["exists unknown"]),
    ],
)
def test_topics(brokers: list[BrokerSnapshot], expected: TopicExpectation, states: list[str]) -> None:
    results = hold(cluster(*brokers), Expectations(topics=(expected,)))
    assert [f"{item.check} {item.state}" for item in results] == states


@each("age_ms, state", [(-5, OK), (1_000, OK), (1_001, WARNING), (2_000, WARNING), (2_001, ERROR)])
def test_how_long_nobody_sent(age_ms: int, state: CheckState) -> None:
    queues = [
        QueueState(topic=name, queue_id=number, min_offset=0, max_offset=9, last_store_time_ms=time_ms)
        for number, (name, time_ms) in enumerate((("T", NOW - age_ms), ("T", NOW - 9_000), ("T", None), ("U", NOW)))
    ]
    one = broker(topics=(topic(),), queues=tuple(queues))
    (checked,) = hold(cluster(one), Expectations(topics=(TopicExpectation(topic="T", silent_ms=Limit(1_000, 2_000)),)))
    assert (checked.state, checked.value) == (state, max(0, age_ms))


def delayed(*dues: int | None) -> DelayState:
    queues = [
        DelayQueueState(min_offset=0, max_offset=9, oldest_overdue_time_ms=None if due is None else NOW - due)
        for due in dues
    ]
    levels = [DelayLevelState(level=number, queue=queue) for number, queue in enumerate([*queues, None], start=1)]
    return DelayState(table_source=LevelTableSource.GIVEN, levels=tuple(levels))


@each(
    "one, states",
    [
        (broker(delay=delayed(None)), ["ok"]),
        (broker(delay=delayed(3, 1_000, None)), ["ok"]),
        (broker(delay=delayed(1_001, 5)), ["warning"]),
        (broker(delay=delayed(2_001)), ["error"]),
        (broker(delay=delayed(-7)), ["ok"]),
        (broker(), ["unknown"]),
        (broker("a", gap(Part.DELAY)), ["unknown"]),
        (broker(delay=delayed(9_999), broker_id=1), []),
    ],
)
def test_delays(one: BrokerSnapshot, states: list[str]) -> None:
    results = hold(cluster(one), Expectations(delay_overdue_ms=Limit(1_000, 2_000)))
    assert [str(item.state) for item in results] == states


def behind(count: int = 5, age_ms: int | None = 100, *gaps: Gap, online: bool = True, dead: int = 0) -> BrokerSnapshot:
    """A group that is so far behind on one topic, with two members, and dead letters from 3 to 3 + `dead`."""
    member = GroupMembership(
        group="G",
        client_ids=("c", "d"),
        subscriptions=(Subscription(topic="T", tags=("a", "b")), Subscription(topic="U")),
    )
    time_ms = None if age_ms is None else NOW - age_ms
    return broker(
        "a",
        *gaps,
        queues=(
            QueueState(topic="T", queue_id=0, min_offset=0, max_offset=10),
            QueueState(topic="%DLQ%G", queue_id=0, min_offset=3, max_offset=3 + dead),
            QueueState(topic="%DLQ%Old", queue_id=0, min_offset=0, max_offset=4),
        ),
        consumer_offsets=(
            ConsumerOffsetState(group="G", topic="T", queue_id=0, offset=10 - count, next_store_time_ms=time_ms),
        ),
        memberships=(member,) if online else (),
    )


COUNT = GroupExpectation(group="G", lag_count=Limit(5, 6))
AGE = GroupExpectation(group="G", lag_ms=Limit(100, 200))


@each(
    "one, expected, states",
    [
        (behind(5), COUNT, ["lag ok"]),
        (behind(6), COUNT, ["lag warning"]),
        (behind(7), COUNT, ["lag error"]),
        (behind(0), COUNT, ["lag ok"]),
        (behind(5, 100), AGE, ["lag_time ok"]),
        (behind(5, 101), AGE, ["lag_time warning"]),
        (behind(5, 201), AGE, ["lag_time error"]),
        (behind(5, None), AGE, ["lag_time unknown"]),
        (behind(5, 100, gap(Part.QUEUES)), COUNT, ["lag unknown"]),
        (behind(7, 100, gap(Part.CONSUMER_OFFSETS)), COUNT, ["lag error"]),
        (behind(5), replace(COUNT, lag_ms=Limit(99)), ["lag ok", "lag_time warning"]),
        (behind(), replace(COUNT, group="H"), ["lag unknown"]),
        (behind(), replace(COUNT, group="G*"), ["lag ok"]),
        (behind(), replace(COUNT, group="H*"), ["exists unknown"]),
        (behind(), replace(COUNT, group="*", without=("Old",)), ["lag ok"]),
        (behind(5, 100, gap(Part.QUEUES)), replace(COUNT, group="G*"), ["exists unknown", "lag unknown"]),
        (behind(), GroupExpectation(group="G", members_min=2), ["members ok"]),
        (behind(), GroupExpectation(group="G", members_min=3), ["members error"]),
        (behind(), GroupExpectation(group="G", members_max=2), ["members ok"]),
        (behind(), GroupExpectation(group="G", members_max=1), ["members error"]),
        (behind(), GroupExpectation(group="G", members_max=0), ["members error"]),
        (behind(online=False), GroupExpectation(group="G", members_max=0), ["members ok"]),
        (behind(online=False), GroupExpectation(group="G", members_min=1), ["members error"]),
        (behind(5, 1, gap(Part.MEMBERS)), GroupExpectation(group="G", members_min=3), ["members unknown"]),
        (behind(5, 1, gap(Part.MEMBERS)), GroupExpectation(group="G", members_min=2), ["members ok"]),
        (behind(5, 1, gap(Part.MEMBERS)), GroupExpectation(group="G", members_max=1), ["members error"]),
        (behind(), GroupExpectation(group="G", subscribes={"T": "b || a"}), ["subscribes ok"]),
        (behind(), GroupExpectation(group="G", subscribes={"U": "*", "T": "a"}), ["subscribes ok", "subscribes error"]),
        (behind(), GroupExpectation(group="G", subscribes={"V": "*"}), ["subscribes error"]),
        (
            behind(5, 1, gap(Part.MEMBERS), online=False),
            GroupExpectation(group="G", subscribes={"T": "a"}),
            ["subscribes unknown"],
        ),
        (behind(dead=2), GroupExpectation(group="G", dead_letter_count=Limit(2)), ["dead_letters ok"]),
        (behind(dead=3), GroupExpectation(group="G", dead_letter_count=Limit(2)), ["dead_letters warning"]),
        (
            behind(5, 1, gap(Part.QUEUES)),
            GroupExpectation(group="G", dead_letter_count=Limit(2)),
            ["dead_letters unknown"],
        ),
        (behind(), GroupExpectation(group="O*", dead_letter_count=Limit(4), lag_count=Limit(1)), ["dead_letters ok"]),
        (behind(), GroupExpectation(group="O*", dead_letter_count=Limit(3)), ["dead_letters warning"]),
        (behind(), GroupExpectation(group="G", dead_letter_growth=Limit(1)), ["dead_letter_growth unknown"]),
    ],
)
def test_groups(one: BrokerSnapshot, expected: GroupExpectation, states: list[str]) -> None:
    results = hold(cluster(one), Expectations(groups=(expected,)))
    assert [f"{item.check} {item.state}" for item in results] == states


@each(
    "least, most, declared",
    [
        (1, None, "at least 1"),
        (None, 2, "at most 2"),
        (1, 2, "at least 1 and at most 2"),
        (None, 0, "at most 0"),
        (0, None, "at least 0"),
    ],
)
def test_how_many_members_are_declared_is_said(least: int | None, most: int | None, declared: str) -> None:
    wanted = GroupExpectation(group="G", members_min=least, members_max=most)
    (checked,) = hold(cluster(behind()), Expectations(groups=(wanted,)))
    assert (checked.message, checked.value) == (f"2 online, declared {declared}", 2)


@each(
    "then, now, state",
    [(0, 2, OK), (0, 3, WARNING), (1, 3, OK), (5, 5, OK), (0, 7, WARNING)],
)
def test_dead_letters_that_came(then: int, now: int, state: CheckState) -> None:
    earlier = cluster(behind(dead=then), at_ms=NOW - 90_000)
    wanted = GroupExpectation(group="G", dead_letter_growth=Limit(2))
    (checked,) = hold(cluster(behind(dead=now), earlier=earlier), Expectations(groups=(wanted,)))
    assert (checked.state, checked.value, "within 1 min 30 s" in checked.message) == (state, now - then, True)
    untold = cluster(behind(5, 1, gap(Part.QUEUES)), at_ms=NOW - 90_000)
    (unknown,) = hold(cluster(behind(), earlier=untold), Expectations(groups=(wanted,)))
    assert unknown.state is UNKNOWN


HOLDING = RunningInfo(
    group="G", client_id="c", queues=(HeldQueue(queue=MessageQueue("T", "gone", 0), commit_offset=0),)
)
ORDERED = server("a", routes=(TopicRoute(topic="T", order_conf="a:4;gone:4;odd:x"),))


def once(ago_ms: int, expected_by: str | None = None) -> SeenBroker:
    return SeenBroker(cluster="C", name="gone", address=None, last_seen_time_ms=NOW - ago_ms, expected_by=expected_by)


@each(
    "parts, expected, results, belongs, reach",
    [
        ({}, Expectations(), [], None, []),
        ({"seen_brokers": (once(1),)}, Expectations(), ["registered broker gone: unknown"], False, ["gone"]),
        ({"seen_brokers": (once(RECENT_MS),)}, Expectations(), [], False, []),
        (
            {"seen_brokers": (once(RECENT_MS - 1),)},
            Expectations(),
            ["registered broker gone: unknown"],
            False,
            ["gone"],
        ),
        (
            {"seen_brokers": (once(RECENT_MS, "prod"),)},
            Expectations(),
            ["registered broker gone: error"],
            True,
            ["gone"],
        ),
        ({"running": (HOLDING,)}, Expectations(), ["registered broker gone: error"], True, ["gone"]),
        ({"name_servers": (ORDERED,)}, Expectations(), ["registered broker gone: error"], True, ["gone"]),
        (
            {"seen_brokers": (once(1),)},
            Expectations(brokers=("gone",)),
            ["answers broker gone: error"],
            False,
            ["gone"],
        ),
        ({"seen_brokers": (once(1),)}, Expectations(brokers=("a",)), ["answers broker a: ok"], False, ["gone"]),
        (
            {"seen_brokers": (once(1),)},
            Expectations(broker_count=1),
            ["brokers cluster brokers: ok"],
            False,
            ["gone"],
        ),
        (
            {"seen_brokers": (once(1),)},
            Expectations(broker_count=2),
            ["registered broker gone: unknown", "brokers cluster brokers: error"],
            False,
            ["gone"],
        ),
        (
            {"earlier": cluster(broker("gone"), at_ms=NOW - 5_000)},
            Expectations(),
            ["registered broker gone: unknown"],
            False,
            [],
        ),
    ],
)
def test_brokers_that_are_gone(
    parts: dict[str, object], expected: Expectations, results: list[str], belongs: bool | None, reach: list[str]
) -> None:
    snapshot = replace(cluster(broker()), **parts)  # type: ignore[arg-type]
    assert said(hold(snapshot, expected)) == results
    assert [(item.name, item.belongs) for item in gone_brokers(snapshot)] == (
        [] if belongs is None else [("gone", belongs)]
    )
    assert (out_of_reach(snapshot), registered_names(snapshot)) == (reach, {"a"})
    assert gone_brokers(replace(snapshot, name_servers=())) == []


def slave(end: str | None, number: int = 1) -> BrokerSnapshot:
    runtime = {} if end is None else {"commitLogMinOffset": "0", "commitLogMaxOffset": end}
    return broker(broker_id=number, runtime=runtime)


MASTER = broker(runtime={"commitLogMinOffset": "0", "commitLogMaxOffset": "1000"})


@each(
    "slaves, count, states",
    [
        ([], 0, ["slaves broker a: ok"]),
        ([], 1, ["slaves broker a: error"]),
        ([slave("1000")], 1, ["slaves broker a: ok"]),
        ([slave("1000")], 2, ["slaves broker a: error"]),
        ([slave(None)], 1, ["slaves broker a: unknown"]),
        ([slave(None), slave("1000", 2)], 2, ["slaves broker a: unknown"]),
        ([slave(None), slave("1000", 2)], 1, ["slaves broker a: ok"]),
        ([slave(None), slave("1000", 2)], 3, ["slaves broker a: error"]),
        ([slave("1500")], 1, ["slaves broker a: error"]),
    ],
)
def test_how_many_slaves_follow(slaves: list[BrokerSnapshot], count: int, states: list[str]) -> None:
    assert said(hold(cluster(MASTER, *slaves), Expectations(slave_count=count))) == states


@each(
    "end, state, value",
    [
        ("1000", OK, 0),
        ("900", OK, 100),
        ("899", WARNING, 101),
        ("799", ERROR, 201),
        ("1500", ERROR, -500),
        (None, UNKNOWN, None),
    ],
)
def test_how_far_slaves_are_behind(end: str | None, state: CheckState, value: int | None) -> None:
    (checked,) = hold(cluster(MASTER, slave(end)), Expectations(slave_behind_bytes=Limit(100, 200)))
    assert (checked.subject, checked.state, checked.value) == ("broker a (1)", state, value)


def test_a_slave_that_does_not_tell_is_unknown_for_its_own_reason() -> None:
    own, others = gap(Part.RUNTIME), gap(Part.RUNTIME, Cause.DENIED)
    silent = replace(slave(None), unavailable=(own,))
    for name in ("0", "b"):
        other = broker(name, others, runtime=MASTER.runtime)
        (checked,) = hold(cluster(other, MASTER, silent), Expectations(slave_behind_bytes=Limit(100)))
        assert (checked.state, checked.gap) == (UNKNOWN, own)


@each("age_ms, state", [(100, UNKNOWN), (101, UNKNOWN), (201, ERROR)])
def test_the_worst_of_several_topics_is_known_where_each_is(age_ms: int, state: CheckState) -> None:
    """What is known of one topic is enough for an error, and for nothing milder."""
    one = behind(5, age_ms)
    untold = ConsumerOffsetState(group="G", topic="U", queue_id=0, offset=1)
    queue = QueueState(topic="U", queue_id=0, min_offset=0, max_offset=9)
    both = replace(one, queues=(*one.queues, queue), consumer_offsets=(*one.consumer_offsets, untold))
    (checked,) = hold(cluster(both), Expectations(groups=(AGE,)))
    assert checked.state is state
