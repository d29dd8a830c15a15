"""Hand-made snapshots of a live cluster: two brokers and a group of two, healthy, for faults to be injected into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.member import GroupMembership, HeldQueue, Member, MessageModel, RunningInfo, Subscription
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.route import BrokerEndpoint, NameServerView, RouteQueues, TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot

NOW = 1_795_218_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
BROKERS = ("broker-a", "broker-b")
ONE, TWO = "192.0.2.1@100#1", "192.0.2.2@200#2"
WANTED = (Subscription(topic="Pay", version_ms=NOW - HOUR), Subscription(topic="%RETRY%G", version_ms=NOW - HOUR))


def member(client_id: str, port: int) -> Member:
    return Member(client_id=client_id, address=f"192.0.2.9:{port}", language="JAVA", version=399)


def membership(**changes: object) -> GroupMembership:
    usual = GroupMembership(
        group="G",
        client_ids=(TWO, ONE),
        members=(member(ONE, 5_001), member(TWO, 5_002)),
        consume_type="CONSUME_PASSIVELY",
        message_model=MessageModel.CLUSTERING,
        subscriptions=WANTED,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def held(broker: str, number: int, **changes: object) -> HeldQueue:
    usual = HeldQueue(
        queue=MessageQueue("Pay", broker, number),
        commit_offset=990,
        last_pull_time_ms=NOW - 1_000,
        last_consume_time_ms=NOW - 1_000,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def running(client_id: str, broker: str, **changes: object) -> RunningInfo:
    """An instance that owns both queues of `broker`, as AVG over two brokers of two queues gives them."""
    usual = RunningInfo(
        group="G",
        client_id=client_id,
        subscriptions=WANTED,
        queues=(held(broker, 0), held(broker, 1)),
        properties={
            "PROP_NAMESERVER_ADDR": "192.0.2.7:9876;",
            "PROP_CONSUMEORDERLY": "false",
            "PROP_CONSUMER_START_TIMESTAMP": str(NOW - HOUR),
            "PROP_THREADPOOL_CORE_SIZE": "20",
            "consumeThreadMin": "20",
            "consumeThreadMax": "20",
            "messageModel": "CLUSTERING",
        },
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def _address(name: str) -> str:
    return f"192.0.2.8:{10_911 + 10 * BROKERS.index(name)}"


def _broker(name: str) -> BrokerSnapshot:
    topics = ("Pay", "%RETRY%G")
    return BrokerSnapshot(
        name=name,
        cluster="C",
        address=_address(name),
        broker_id=0,
        topics=tuple(
            TopicConfig(name=topic, read_queue_count=2, write_queue_count=2) for topic in (*topics, "Refund", "Other")
        ),
        groups=(SubscriptionGroupConfig(name="G"),),
        queues=tuple(
            QueueState(topic="Pay", queue_id=number, min_offset=0, max_offset=1_000, last_store_time_ms=NOW - 1_000)
            for number in (0, 1)
        ),
        consumer_offsets=tuple(
            ConsumerOffsetState(group="G", topic="Pay", queue_id=number, offset=1_000) for number in (0, 1)
        ),
        memberships=(membership(),),
    )


def _endpoint(name: str) -> BrokerEndpoint:
    return BrokerEndpoint(
        cluster="C", name=name, addresses={0: f"192.0.2.8:{10_911 if name == BROKERS[0] else 10_921}"}
    )


def _route(topic: str) -> TopicRoute:
    queues = tuple(RouteQueues(broker_name=name, read_queue_count=2, write_queue_count=2, perm=6) for name in BROKERS)
    return TopicRoute(topic=topic, queues=queues, endpoints=tuple(map(_endpoint, BROKERS)))


LIVE = ClusterSnapshot(
    origin=Origin(
        kind=OriginKind.LIVE, location="192.0.2.7:9876", observed_at_ms=NOW, observed_from=ObservedFrom.CLOCK
    ),
    brokers=tuple(map(_broker, BROKERS)),
    name_servers=(
        NameServerView(
            address="192.0.2.7:9876",
            endpoints=tuple(map(_endpoint, BROKERS)),
            routes=(_route("Pay"), _route("%RETRY%G")),
        ),
    ),
    running=(running(ONE, BROKERS[0]), running(TWO, BROKERS[1])),
)


def with_members(*, only: str | None = None, **changes: object) -> ClusterSnapshot:
    """Changes what brokers say of the group: all of them, or `only` one."""

    def changed(broker: BrokerSnapshot) -> BrokerSnapshot:
        return broker if only not in (None, broker.name) else replace(broker, memberships=(membership(**changes),))

    return replace(LIVE, brokers=tuple(map(changed, LIVE.brokers)))


def with_second(change: Callable[[RunningInfo], RunningInfo]) -> ClusterSnapshot:
    """Changes what the second instance says of itself."""
    return replace(LIVE, running=(LIVE.running[0], change(LIVE.running[1])))


def subscribing(*wanted: Subscription) -> Callable[[RunningInfo], RunningInfo]:
    return lambda info: replace(info, subscriptions=(*wanted, WANTED[1]))


def saying(**properties: str) -> Callable[[RunningInfo], RunningInfo]:
    return lambda info: replace(info, properties={**info.properties, **properties})
