"""Brokers' own tables against what name servers list of them, in clusters of any shape."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.config import TopicConfig
from mqctl.model.finding import Finding
from mqctl.model.queue_state import QueueState
from mqctl.model.route import BrokerEndpoint, NameServerView, RouteQueues, TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules import diagnose
from tests.rules.live_snapshots import LIVE, MINUTE, NOW

_NAMES = st.text("abcXYZ019_-", min_size=1, max_size=12)
Place = tuple[str, str, str]  # name server, broker, topic


@st.composite
def worlds(draw: st.DrawFn) -> tuple[ClusterSnapshot, set[Place]]:
    """Returns a cluster, and where a name server does not list a topic of a broker that it lists."""
    servers = [f"192.0.2.{number}:9876" for number in range(draw(st.integers(1, 3)))]
    brokers = draw(st.lists(_NAMES.map("broker-{}".format), min_size=1, max_size=3, unique=True))
    topics = draw(st.lists(_NAMES.map("Topic{}".format), min_size=1, max_size=4, unique=True))
    has = {(broker, topic) for broker in brokers for topic in topics if draw(st.booleans())}
    strangers = {(server, broker) for server in servers for broker in brokers if draw(st.integers(0, 4)) == 0}
    lost = {
        (server, broker, topic)
        for server in servers
        for broker, topic in sorted(has)
        if (server, broker) not in strangers and draw(st.integers(0, 3)) == 0
    }
    age_ms = {broker: draw(st.sampled_from([MINUTE + 1, 60 * MINUTE])) for broker in brokers}
    return ClusterSnapshot(
        origin=LIVE.origin,
        brokers=tuple(
            BrokerSnapshot(
                name=broker,
                cluster="C",
                address=f"192.0.2.9:{number}",
                broker_id=0,
                topics=tuple(_config(topic) for topic in topics if (broker, topic) in has),
                topics_time_ms=NOW - age_ms[broker],
                queues=tuple(
                    QueueState(topic=topic, queue_id=0, min_offset=0, max_offset=7)
                    for topic in topics
                    if (broker, topic) in has
                ),
            )
            for number, broker in enumerate(brokers)
        ),
        name_servers=tuple(_view(server, brokers, topics, has, strangers, lost) for server in servers),
    ), lost


def _config(topic: str) -> TopicConfig:
    return TopicConfig(name=topic, read_queue_count=1, write_queue_count=1)


def _view(
    server: str,
    brokers: list[str],
    topics: list[str],
    has: set[tuple[str, str]],
    strangers: set[tuple[str, str]],
    lost: set[Place],
) -> NameServerView:
    endpoints = {
        broker: BrokerEndpoint(cluster="C", name=broker, addresses={0: f"192.0.2.9:{number}"})
        for number, broker in enumerate(brokers)
        if (server, broker) not in strangers
    }
    listing = {
        topic: [it for it in endpoints if (it, topic) in has and (server, it, topic) not in lost] for topic in topics
    }
    routes = tuple(
        TopicRoute(
            topic=topic,
            queues=tuple(RouteQueues(broker_name=it, read_queue_count=1, write_queue_count=1, perm=6) for it in listed),
            endpoints=tuple(endpoints[it] for it in listed),
        )
        for topic, listed in listing.items()
        if listed
    )
    unknown = tuple(topic for topic, listed in listing.items() if not listed)
    return NameServerView(address=server, endpoints=tuple(endpoints.values()), routes=routes, unknown_topics=unknown)


def _findings(world: ClusterSnapshot, code: str = "MQ636") -> list[Finding]:
    return [item for item in diagnose(world, only=(code,)).findings if item.code == code]


def _numbers(finding: Finding) -> dict[str, object]:
    return {item.name: item.value for item in finding.evidence}


@given(worlds())
def test_what_a_name_server_leaves_out_is_named_and_nothing_else(made: tuple[ClusterSnapshot, set[Place]]) -> None:
    world, lost = made
    by_broker: dict[str, dict[str, set[str]]] = {}
    for server, broker, topic in lost:
        by_broker.setdefault(broker, {}).setdefault(topic, set()).add(server)
    expected = set()
    for broker, topics in by_broker.items():
        for servers in {frozenset(servers) for servers in topics.values()}:
            count = sum(frozenset(item) == servers for item in topics.values())
            expected.add((broker, servers, count, 7 * count))
    seen = {
        (
            item.subject.broker,
            frozenset(str(item.params["name_servers"]).split(", ")),
            _numbers(item)["topic_count"],
            _numbers(item)["message_count"],
        )
        for item in _findings(world)
    }
    assert seen == expected


@given(worlds(), st.integers(0, MINUTE))
def test_a_table_that_was_just_changed_is_on_its_way_unless_both_looks_saw_it(
    made: tuple[ClusterSnapshot, set[Place]], age_ms: int
) -> None:
    world, lost = made
    young = replace(world, brokers=tuple(replace(item, topics_time_ms=NOW - age_ms) for item in world.brokers))
    assert _findings(young) == []
    earlier = replace(young, origin=replace(young.origin, observed_at_ms=NOW - 10_000))
    assert {item.subject.broker for item in _findings(replace(young, earlier=earlier))} == {it[1] for it in lost}


@given(worlds())
def test_no_broker_is_said_to_lack_what_its_own_table_has(made: tuple[ClusterSnapshot, set[Place]]) -> None:
    world, _ = made
    has = {(broker.name, config.name) for broker in world.brokers for config in broker.topics}
    for item in _findings(world, "MQ606"):
        brokers = str(item.params["brokers"]).split(", ")
        assert not {(broker, item.params["topic"]) for broker in brokers} & has
