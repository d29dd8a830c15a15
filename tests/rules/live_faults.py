"""Faults that only a live cluster shows (MQ1, MQ3, MQ4, MQ5, MQ6), injected into the healthy live cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mqctl.model.config import TopicConfig
from mqctl.model.finding import Value
from mqctl.model.member import HeldQueue, ProducerMembership, RunningInfo, Subscription, TopicRates
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState, TagSample
from mqctl.model.route import RouteQueues, SeenBroker, TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from tests.rules.failing import failing_twice
from tests.rules.live_snapshots import (
    BROKERS,
    DAY,
    LIVE,
    MINUTE,
    NOW,
    held,
    member,
    membership,
    running,
    saying,
    with_members,
    with_second,
)
from tests.rules.tag_faults import TAG_SCENES

SEEN = SeenBroker(cluster="C", name="broker-z", address="192.0.2.99:10911", last_seen_time_ms=NOW - MINUTE)
Scene = tuple[str, str | None, ClusterSnapshot, dict[str, Value]]


def holding(**changes: object) -> Callable[[RunningInfo], RunningInfo]:
    """Changes the first queue of an instance."""
    return lambda info: replace(info, queues=(replace(info.queues[0], **changes), *info.queues[1:]))  # type: ignore[arg-type]


def not_stored(age_ms: int, *, idle_ms: int | None = None) -> ClusterSnapshot:
    """The second instance is 300 messages further than what its broker stores, where the next one has that age.

    Args:
        idle_ms: how long ago it last consumed; as long as the message is there unless given.
    """
    consumed_ms = NOW - (age_ms if idle_ms is None else idle_ms)
    ahead = with_second(holding(commit_offset=1_000, last_consume_time_ms=consumed_ms))
    first, second = ahead.brokers
    stored = ConsumerOffsetState(group="G", topic="Pay", queue_id=0, offset=700, next_store_time_ms=NOW - age_ms)
    kept = [item for item in second.consumer_offsets if (item.topic, item.queue_id) != ("Pay", 0)]
    return replace(ahead, brokers=(first, replace(second, consumer_offsets=(stored, *kept))))


def taking_turns(consumed_tps: float, idle_ms: int = 3 * MINUTE) -> Callable[[RunningInfo], RunningInfo]:
    """One thread that takes two seconds for a message of another queue; it has not come to the first for so long."""
    rates = (TopicRates(topic="Pay", consume_rt_ms=2_000.0, consume_ok_tps=consumed_tps),)
    waiting = holding(cached_count=7, cached_min_offset=300, last_consume_time_ms=NOW - idle_ms)
    return lambda info: replace(saying(PROP_THREADPOOL_CORE_SIZE="1")(waiting(info)), rates=rates)


def orderly(**changes: object) -> ClusterSnapshot:
    """Two orderly instances with the locks of their queues, the first queue of the second one as told."""
    locked = {"locked": True, "last_lock_time_ms": NOW - 1_000}
    queues = (held(BROKERS[1], 0, **{**locked, **changes}), held(BROKERS[1], 1, **locked))
    return with_orderly_second(lambda info: replace(info, queues=queues))


def with_orderly_second(change: Callable[[RunningInfo], RunningInfo]) -> ClusterSnapshot:
    """Two orderly instances with the locks of their queues, and the second one changed."""
    first, second = all_orderly(LIVE).running
    return replace(LIVE, running=(first, change(second)))


def each_broker(change: Callable[[BrokerSnapshot], BrokerSnapshot], only: str | None = None) -> ClusterSnapshot:
    changed = tuple(change(item) if only in (None, item.name) else item for item in LIVE.brokers)
    return replace(LIVE, brokers=changed)


def telling(**runtime: str) -> ClusterSnapshot:
    """One broker's runtime information."""
    return each_broker(lambda broker: replace(broker, runtime=runtime), BROKERS[0])


def routing(change: Callable[[TopicRoute], TopicRoute], base: ClusterSnapshot = LIVE) -> ClusterSnapshot:
    """Changes the route of Pay."""
    (view,) = base.name_servers
    routes = tuple(change(route) if route.topic == "Pay" else route for route in view.routes)
    return replace(base, name_servers=(replace(view, routes=routes),))


def _closed_by_numbers(read: int, brokers: tuple[str, ...] = BROKERS) -> Callable[[TopicRoute], TopicRoute]:
    """No write queues, and so many read queues, on these brokers."""

    def changed(queues: RouteQueues) -> RouteQueues:
        gone = queues.broker_name in brokers
        return replace(queues, write_queue_count=0, read_queue_count=read) if gone else queues

    return lambda route: replace(route, queues=tuple(map(changed, route.queues)))


def after(snapshot: ClusterSnapshot, earlier: ClusterSnapshot, window_ms: int = 2 * MINUTE) -> ClusterSnapshot:
    origin = replace(earlier.origin, observed_at_ms=NOW - window_ms)
    return replace(snapshot, earlier=replace(earlier, origin=origin))


def standing_at(offset: int, end: int) -> ClusterSnapshot:
    """Queue 0 of the first broker ends at `end`, and the group stands at `offset`."""

    def change(broker: BrokerSnapshot) -> BrokerSnapshot:
        queues = (QueueState(topic="Pay", queue_id=0, min_offset=0, max_offset=end), *broker.queues[1:])
        offsets = (ConsumerOffsetState(group="G", topic="Pay", queue_id=0, offset=offset), *broker.consumer_offsets[1:])
        return replace(broker, queues=queues, consumer_offsets=offsets)

    return each_broker(change, BROKERS[0])


def moving(offset: int, end: int, next_store_time_ms: int | None = None) -> ClusterSnapshot:
    """As `standing_at`, with a member that has come as far as it committed."""
    snapshot = standing_at(offset, end)
    first = snapshot.brokers[0]
    place = replace(first.consumer_offsets[0], next_store_time_ms=next_store_time_ms)
    first = replace(first, file_reserved_ms=180 * MINUTE)
    brokers = (replace(first, consumer_offsets=(place, *first.consumer_offsets[1:])), *snapshot.brokers[1:])
    one = holding(commit_offset=offset, cached_count=5)(snapshot.running[0])
    rates = (TopicRates(topic="Pay", consume_rt_ms=10_000.0),)
    return replace(snapshot, brokers=brokers, running=(replace(one, rates=rates), *snapshot.running[1:]))


def all_to_the_first(strategy: str) -> ClusterSnapshot:
    """Two members and two queues, both of them held by the first member."""
    snapshot = _members(2, 2)
    first, second = snapshot.running
    own = (*first.queues, *second.queues)
    said = {"allocateMessageQueueStrategy": strategy}
    return replace(
        snapshot,
        running=tuple(
            replace(info, queues=queues, properties={**info.properties, **said})
            for info, queues in ((first, own), (second, ()))
        ),
    )


def _members(count: int, queue_count: int) -> ClusterSnapshot:
    """`count` members that share `queue_count` queues of one broker in turn."""
    clients = [f"192.0.2.{number}@{number}#1" for number in range(1, count + 1)]
    snapshot = with_members(
        client_ids=tuple(clients), members=tuple(member(client, 6_000 + n) for n, client in enumerate(clients))
    )
    instances = tuple(
        replace(
            running(client, BROKERS[0]),
            queues=tuple(held(BROKERS[0], number) for number in range(n, queue_count, count)),
        )
        for n, client in enumerate(clients)
    )
    (view,) = snapshot.name_servers
    pay = replace(view.routes[0], queues=(replace(view.routes[0].queues[0], read_queue_count=queue_count),))
    only = replace(view, endpoints=view.endpoints[:1], routes=(replace(pay, endpoints=pay.endpoints[:1]),))
    return replace(snapshot, running=instances, name_servers=(only,), brokers=snapshot.brokers[:1])


def _failing(info: RunningInfo) -> RunningInfo:
    return replace(info, rates=(TopicRates(topic="Pay", consume_ok_tps=90.0, consume_failed_tps=10.0),))


def _locked(info: RunningInfo) -> tuple[HeldQueue, ...]:
    return tuple(replace(item, locked=True, last_lock_time_ms=NOW) for item in info.queues)


def _dead(count: int) -> ClusterSnapshot:
    queue = QueueState(topic="%DLQ%G", queue_id=0, min_offset=0, max_offset=count)
    return each_broker(lambda broker: replace(broker, queues=(*broker.queues, queue)), BROKERS[0])


def _ordered(base: ClusterSnapshot) -> ClusterSnapshot:
    def change(broker: BrokerSnapshot) -> BrokerSnapshot:
        return replace(broker, topics=tuple(replace(item, order=item.name == "Pay") for item in broker.topics))

    return replace(base, brokers=tuple(map(change, base.brokers)))


def all_orderly(base: ClusterSnapshot) -> ClusterSnapshot:
    """Every instance orderly and in possession of its locks."""

    def change(info: RunningInfo) -> RunningInfo:
        queues = tuple(replace(item, locked=True, last_lock_time_ms=NOW) for item in info.queues)
        return replace(saying(PROP_CONSUMEORDERLY="true")(info), queues=queues)

    return replace(base, running=tuple(map(change, base.running)))


def _without_second(route: TopicRoute) -> TopicRoute:
    return replace(route, queues=route.queues[:1])


def aged(age_ms: int, *, end: int = 90_000_000_000, second_file_time_ms: int | None = None) -> ClusterSnapshot:
    """One broker's log, that begins at 0 with a message so old, and whose files are kept for a day."""
    return each_broker(
        lambda broker: replace(
            broker,
            runtime={
                "earliestMessageTimeStamp": str(NOW - age_ms),
                "commitLogMinOffset": "0",
                "commitLogMaxOffset": str(end),
            },
            config={"fileReservedTime": "24"},
            file_reserved_ms=DAY,
            second_file_time_ms=second_file_time_ms,
        ),
        BROKERS[0],
    )


def on_first_only(base: ClusterSnapshot) -> ClusterSnapshot:
    """The second broker has no Pay: neither its table nor the route."""
    first, second = base.brokers
    topics = tuple(config for config in second.topics if config.name != "Pay")
    second = replace(second, topics=topics, queues=(), consumer_offsets=())
    return routing(_without_second, replace(base, brokers=(first, second)))


def unlisted(*, changed_ms: int = 60 * MINUTE, known: bool = True) -> ClusterSnapshot:
    """Both brokers have Pay, and the name server lists it for the first only, or for none; the second's table was
    changed so long ago."""
    first, second = LIVE.brokers
    base = replace(LIVE, brokers=(first, replace(second, topics_time_ms=NOW - changed_ms)))
    if known:
        return routing(_without_second, base)
    base = replace(base, brokers=tuple(replace(item, topics_time_ms=NOW - changed_ms) for item in base.brokers))
    (view,) = base.name_servers
    routes = tuple(route for route in view.routes if route.topic != "Pay")
    return replace(base, name_servers=(replace(view, routes=routes, unknown_topics=("Pay",)),))


def _wiped(route: TopicRoute) -> TopicRoute:
    return replace(route, queues=(replace(route.queues[0], perm=4), *route.queues[1:]))


def _wider(route: TopicRoute) -> TopicRoute:
    return replace(route, queues=(replace(route.queues[0], write_queue_count=9), *route.queues[1:]))


def _two_name_servers(other: ClusterSnapshot) -> ClusterSnapshot:
    second = replace(other.name_servers[0], address="192.0.2.17:9876")
    return replace(LIVE, name_servers=(*LIVE.name_servers, second))


def _knowing(brokers: tuple[str, ...]) -> ClusterSnapshot:
    """What a name server shows with which only these have registered."""
    (view,) = LIVE.name_servers
    routes = (
        replace(
            route,
            queues=tuple(item for item in route.queues if item.broker_name in brokers),
            endpoints=tuple(item for item in route.endpoints if item.name in brokers),
        )
        for route in view.routes
    )
    endpoints = tuple(item for item in view.endpoints if item.name in brokers)
    known = replace(view, endpoints=endpoints, routes=tuple(route for route in routes if route.queues))
    return replace(LIVE, name_servers=(known,))


def masterless(registered: int = 1, **config: str) -> ClusterSnapshot:
    """The second broker has so many slaves with these settings, and no master."""
    (view,) = LIVE.name_servers
    first, second = view.endpoints
    slaves = {number: f"192.0.2.8:{10_921 + number}" for number in range(1, registered + 1)}
    brokers = tuple(
        replace(LIVE.brokers[1], broker_id=number, address=address, config=config, queues=(), consumer_offsets=())
        for number, address in slaves.items()
    )
    world = replace(LIVE, name_servers=(replace(view, endpoints=(first, replace(second, addresses=slaves))),))
    return replace(world, brokers=(LIVE.brokers[0], *brokers)) if config else world


_PEERS = {"enableDLegerCommitLog": "true", "dLegerPeers": "n0-192.0.2.8:40911;n1-192.0.2.9:40911;n2-192.0.2.10:40911"}


def _renamed() -> ClusterSnapshot:
    (view,) = LIVE.name_servers
    again = replace(view.endpoints[1], name="broker-z")
    return replace(LIVE, name_servers=(replace(view, endpoints=(*view.endpoints, again)),))


def _with_slave() -> ClusterSnapshot:
    (view,) = LIVE.name_servers
    first = replace(view.endpoints[0], addresses={**view.endpoints[0].addresses, 1: "192.0.2.8:10999"})
    return replace(LIVE, name_servers=(replace(view, endpoints=(first, *view.endpoints[1:])),))


def _by_sql() -> ClusterSnapshot:
    wanted = Subscription(topic="Pay", expression="a > 1", expression_type="SQL92", version_ms=NOW)
    running = tuple(replace(info, subscriptions=(wanted,)) for info in LIVE.running)
    state = with_members(subscriptions=(wanted,))
    first = replace(state.brokers[0], config={"enablePropertyFilter": "false"})
    return replace(state, running=running, brokers=(first, *state.brokers[1:]))


def _deserted() -> ClusterSnapshot:
    (view,) = LIVE.name_servers
    nobody = replace(view, endpoints=(), routes=())
    return replace(LIVE, name_servers=(nobody,), brokers=(), running=(), tag_samples=())


def _poison() -> ClusterSnapshot:
    now = orderly(cached_count=5)
    second = replace(now.running[1], rates=(TopicRates(topic="Pay", consume_ok_tps=999.0, consume_failed_tps=1.0),))
    return after(replace(now, running=(now.running[0], second)), now)


def strategies(second: str) -> ClusterSnapshot:
    """The first instance prints Java's AVG, the second one `second`."""
    java = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@405209d4"
    first = saying(allocateMessageQueueStrategy=java)(LIVE.running[0])
    return replace(LIVE, running=(first, saying(allocateMessageQueueStrategy=second)(LIVE.running[1])))


def _newcomer() -> ClusterSnapshot:
    """A group that begins at the end of a queue that has lost its first messages."""
    snapshot = with_members(consume_from_where="CONSUME_FROM_LAST_OFFSET")
    first, *others = snapshot.brokers
    queues = (replace(first.queues[0], min_offset=10), *first.queues[1:])
    return replace(
        snapshot, brokers=(replace(first, queues=queues, consumer_offsets=first.consumer_offsets[1:]), *others)
    )


def starting_empty(version: str = "V5_3_3") -> ClusterSnapshot:
    """A 4.x client begins at the end of a queue that never had a message, on a broker of this release."""
    snapshot = with_members(consume_from_where="CONSUME_FROM_LAST_OFFSET")
    first, *others = snapshot.brokers
    queues = (replace(first.queues[0], min_offset=0, max_offset=0), *first.queues[1:])
    first = replace(first, version=version, queues=queues, consumer_offsets=first.consumer_offsets[1:])
    return replace(snapshot, brokers=(first, *others))


def _wider_everywhere(route: TopicRoute) -> TopicRoute:
    return replace(route, queues=tuple(replace(item, write_queue_count=6) for item in route.queues))


def _created() -> ClusterSnapshot:
    """A topic of four queues on the first broker, which creates topics by itself."""
    (view,) = LIVE.name_servers
    only = replace(view.routes[0].queues[0], read_queue_count=4, write_queue_count=4)
    route = replace(view.routes[0], topic="Sent", queues=(only,))
    base = each_broker(lambda broker: replace(broker, config={"autoCreateTopicEnable": "true"}))
    first, *others = base.brokers
    first = replace(first, topics=(*first.topics, TopicConfig(name="Sent", read_queue_count=4, write_queue_count=4)))
    base = replace(base, brokers=(first, *others))
    return replace(base, name_servers=(replace(view, routes=(*view.routes, route)),))


def _producing(count: int) -> ClusterSnapshot:
    members = tuple(member(f"192.0.2.{number}@9", 8_000 + number) for number in range(count))
    return each_broker(
        lambda broker: replace(broker, producers=(ProducerMembership(group="P", members=members),)), BROKERS[0]
    )


def _fixed_lists(*, extra: int = 0, missing: int = 0) -> ClusterSnapshot:
    """Both instances use CONFIG; the second one's list has queues too many or too few."""
    fixed = [saying(allocateMessageQueueStrategy="CONFIG")(info) for info in LIVE.running]
    queues = fixed[1].queues[: 2 - missing] + tuple(held(BROKERS[1], 7 + number) for number in range(extra))
    return replace(LIVE, running=(fixed[0], replace(fixed[1], queues=queues)))


_FORGOTTEN = with_second(
    lambda info: replace(info, subscriptions=(Subscription(topic="Other"), info.subscriptions[1]), queues=())
)


def _filtered() -> ClusterSnapshot:
    """100 messages for ten minutes, and all that were sampled of them have a tag that nobody of the group wants."""
    wanted = (Subscription(topic="Pay", expression="a", tags=("a",)), LIVE.running[0].subscriptions[1])
    late = ConsumerOffsetState(group="G", topic="Pay", queue_id=0, offset=900, next_store_time_ms=NOW - 10 * MINUTE)
    brokers = [replace(item, memberships=(membership(subscriptions=wanted),)) for item in LIVE.brokers]
    brokers[0] = replace(brokers[0], consumer_offsets=(late, *brokers[0].consumer_offsets[1:]))
    sample = TagSample(queue=MessageQueue("Pay", BROKERS[0], 0), first_offset=950, counts={"b": 50})
    members = tuple(replace(info, subscriptions=wanted) for info in LIVE.running)
    return replace(LIVE, brokers=tuple(brokers), running=members, tag_samples=(sample,))


SCENES: list[Scene] = [
    ("MQ401", "filtered", _filtered(), {"lag_count": 100, "wanted_count": 0, "sampled_count": 50}),
    *TAG_SCENES,
    ("MQ110", "early", telling(commitLogDiskRatio="0.80"), {"disk_used_share": 0.80}),
    ("MQ110", "forced", telling(commitLogDiskRatio="0.5", consumeQueueDiskRatio="0.86"), {"disk_used_share": 0.86}),
    ("MQ110", "refused", telling(commitLogDiskRatio="0.97"), {"disk_used_share": 0.97}),
    ("MQ111", None, telling(pageCacheLockTimeMills="1500"), {"lock_ms": 1_500}),
    (
        "MQ112",
        "send",
        telling(sendThreadPoolQueueHeadWaitTimeMills="250", sendThreadPoolQueueSize="40"),
        {"wait_ms": 250, "waiting_count": 40},
    ),
    ("MQ112", "pull", telling(pullThreadPoolQueueHeadWaitTimeMills="4500"), {"wait_ms": 4_500}),
    ("MQ112", "query", telling(queryThreadPoolQueueHeadWaitTimeMills="16000"), {"wait_ms": 16_000}),
    ("MQ113", None, telling(dispatchBehindBytes=str(100 << 20)), {"behind_bytes": 100 << 20}),
    ("MQ114", None, telling(putLatency99="80"), {"append_ms": 80}),
    ("MQ123", None, aged(19 * DAY), {"age_ms": 19 * DAY, "retention_ms": DAY, "file_count": 84}),
    ("MQ119", None, telling(recordsSetAside_rmq_sys_wheel_timer="3"), {"record_count": 3}),
    (
        "MQ115",
        None,
        each_broker(
            lambda broker: replace(
                broker,
                runtime={"remainTransientStoreBufferNumbs": "0"},
                config={"transientStorePoolEnable": "true"},
            ),
            BROKERS[0],
        ),
        {"buffer_count": 0},
    ),
    ("MQ302", None, _members(3, 2), {"member_count": 3, "queue_count": 2, "idle_count": 1}),
    ("MQ303", None, _members(2, 3), {"member_count": 2, "queue_count": 3, "doubled_count": 1}),
    (
        "MQ307",
        None,
        with_second(holding(cached_count=7, cached_min_offset=300, last_consume_time_ms=NOW - 3 * MINUTE)),
        {"cached_count": 7, "idle_ms": 3 * MINUTE, "first_offset": 300},
    ),
    (
        "MQ315",
        None,
        with_second(taking_turns(0.5)),
        {"thread_count": 1, "cached_count": 7, "idle_ms": 3 * MINUTE},
    ),
    ("MQ308", None, with_second(holding(last_pull_time_ms=NOW - 3 * MINUTE)), {"idle_ms": 3 * MINUTE}),
    (
        "MQ306",
        "count",
        with_second(holding(cached_count=1_001, cached_min_offset=1_000, cached_max_offset=2_001)),
        {"cached_count": 1_001},
    ),
    ("MQ306", "size", with_second(holding(cached_count=9, cached_mib=120)), {"cached_bytes": 120 << 20}),
    (
        "MQ306",
        "span",
        with_second(holding(cached_count=2, cached_min_offset=1_010, cached_max_offset=3_500)),
        {"span_count": 2_490},
    ),
    (
        "MQ309",
        None,
        with_second(lambda info: replace(info, queues=info.queues[:1])),
        {"orphan_count": 1, "queue_count": 4, "waiting_count": 0},
    ),
    (
        "MQ310",
        None,
        with_second(lambda info: replace(info, queues=(*info.queues, held(BROKERS[0], 1)))),
        {"double_count": 1},
    ),
    ("MQ313", None, all_to_the_first("AVG"), {"idle_count": 1, "member_count": 2, "queue_count": 2}),
    (
        "MQ410",
        None,
        after(standing_at(600, 1_000), standing_at(600, 900)),
        {"consumer_offset": 600, "lag_count": 400, "arrived_count": 100, "window_ms": 2 * MINUTE},
    ),
    (
        "MQ411",
        None,
        after(standing_at(600, 1_000), standing_at(700, 1_000)),
        {"consumer_offset": 600, "earlier_offset": 700, "repeated_count": 100},
    ),
    (
        "MQ414",
        "never",
        after(moving(700, 2_000), moving(600, 1_000)),
        {"lag_count": 1_300, "in_tps": 8.3, "out_tps": 0.8, "drain_ms": None, "window_ms": 2 * MINUTE},
    ),
    (
        "MQ414",
        "late",
        after(moving(612, 10_000, NOW - 4 * MINUTE), moving(600, 10_000)),
        {"lag_count": 9_388, "out_tps": 0.1, "drain_ms": 93_880_000, "expires_in_ms": 176 * MINUTE},
    ),
    (
        "MQ212",
        None,
        strategies("AVG_BY_CIRCLE"),
        {"member_count": 2, "strategy_count": 2},
    ),
    (
        "MQ415",
        None,
        _newcomer(),
        {"skipped_count": 990, "queue_count": 1},
    ),
    ("MQ415", "old", starting_empty(), {"queue_count": 1}),
    (
        "MQ507",
        None,
        after(_ordered(routing(_wider_everywhere, all_orderly(LIVE))), _ordered(all_orderly(LIVE))),
        {"earlier_queue_count": 4, "queue_count": 12, "moved_share": 1 - 4 / 12},
    ),
    (
        "MQ614",
        None,
        _created(),
        {"broker_count": 2, "queue_count": 4},
    ),
    (
        "MQ615",
        None,
        after(LIVE, _producing(3), 3 * MINUTE),
        {"earlier_count": 3, "window_ms": 3 * MINUTE},
    ),
    ("MQ616", "gone", _fixed_lists(extra=1), {"missing_count": 0, "gone_count": 1, "queue_count": 4}),
    ("MQ716", None, telling(timerReadBehind="15", timerOffsetBehind="40"), {"behind_ms": 15_000, "waiting_count": 40}),
    ("MQ412", None, with_second(_failing), {"failed_share": 0.1}),
    ("MQ412", "lost", failing_twice(retries=0), {"failed_count": 333, "window_ms": 30_000, "stored_count": 0}),
    ("MQ412", "returned", failing_twice(retries=300), {"stored_count": 300, "window_ms": 30_000}),
    (
        "MQ412",
        "orderly",
        with_orderly_second(_failing),
        {"failed_share": 0.1},
    ),
    (
        "MQ309",
        "locked",
        with_orderly_second(lambda info: replace(info, queues=info.queues[:1])),
        {"orphan_count": 1, "over_time_ms": NOW + 80_000},
    ),
    ("MQ501", None, orderly(locked=False), {"queue_count": 1}),
    (
        "MQ502",
        None,
        orderly(transaction_count=1, last_consume_time_ms=NOW - 2 * MINUTE),
        {"queue_count": 1, "idle_ms": 2 * MINUTE},
    ),
    ("MQ503", None, _poison(), {"queue_offset": 990, "cached_count": 5}),
    ("MQ504", None, orderly(last_lock_time_ms=NOW - MINUTE), {"queue_count": 1, "idle_ms": MINUTE}),
    (
        "MQ505",
        "mixed",
        with_second(lambda info: saying(PROP_CONSUMEORDERLY="true")(replace(info, queues=_locked(info)))),
        {"orderly_count": 1, "concurrent_count": 1},
    ),
    ("MQ505", None, _ordered(LIVE), {"member_count": 2, "concurrent_count": 2}),
    ("MQ605", None, routing(_wiped), {"topic_count": 1}),
    ("MQ607", None, routing(_wider), {"most_queue_count": 9, "least_queue_count": 2}),
    ("MQ608", None, _two_name_servers(routing(lambda route: replace(route, order_conf="broker-a:2"))), {}),
    ("MQ609", None, masterless(), {"slave_count": 1}),
    ("MQ609", "minority", masterless(1, **_PEERS), {"slave_count": 1, "peer_count": 3, "majority_count": 2}),
    ("MQ609", "dledger", masterless(2, **_PEERS), {"slave_count": 2, "peer_count": 3, "majority_count": 2}),
    ("MQ609", "leaderless", masterless(2, enableDLegerCommitLog="true"), {"slave_count": 2}),
    ("MQ609", "controller", masterless(2, enableControllerMode="true"), {"slave_count": 2}),
    ("MQ635", None, _two_name_servers(_knowing(BROKERS[:1])), {"missing_count": 1, "broker_count": 2}),
    (
        "MQ617",
        "held",
        with_second(lambda info: replace(info, queues=(*info.queues, held("broker-z", 0)))),
        {"held_count": 1, "last_seen_time_ms": None},
    ),
    ("MQ636", None, unlisted(), {"topic_count": 1, "name_server_count": 1, "message_count": 2_000}),
    ("MQ619", None, _renamed(), {"name_count": 2}),
    (
        "MQ213",
        None,
        each_broker(
            lambda broker: replace(
                broker, groups=(), consumer_offsets=(), config={"autoCreateSubscriptionGroup": "false"}
            ),
            BROKERS[0],
        ),
        {"broker_count": 1, "member_count": 2},
    ),
    ("MQ214", None, _by_sql(), {"broker_count": 1, "member_count": 2}),
    (
        "MQ215",
        None,
        each_broker(
            lambda broker: replace(
                broker, topics=tuple(replace(item, attributes={"message.type": "FIFO"}) for item in broker.topics)
            )
        ),
        {"member_count": 2},
    ),
    ("MQ618", None, _deserted(), {"name_server_count": 1, "seen_count": 0}),
    ("MQ617", "seen", replace(LIVE, seen_brokers=(SEEN,)), {"held_count": 0, "last_seen_time_ms": NOW - MINUTE}),
    (
        "MQ610",
        None,
        each_broker(lambda broker: replace(broker, config={"brokerPermission": "4"}), BROKERS[0]),
        {},
    ),
]

# Faults that another rule rightly names as well: its code is the last part.
DOUBLE_SCENES: list[tuple[Scene, str]] = [
    (
        (
            "MQ617",
            "ordered",
            routing(lambda route: replace(route, order_conf="broker-a:2;broker-z:2")),
            {"ordered_count": 1},
        ),
        "MQ505",
    ),
    (("MQ616", "missing", _fixed_lists(missing=1), {"missing_count": 1, "gone_count": 0, "queue_count": 4}), "MQ309"),
    (
        (
            "MQ309",
            "topic",
            _FORGOTTEN,
            {"orphan_count": 2, "queue_count": 4, "waiting_count": 0},
        ),
        "MQ202",
    ),
    (
        (
            "MQ304",
            None,
            with_second(
                lambda info: saying(consumeThreadMax="64")(holding(cached_count=1_000)(info)),
            ),
            {"thread_min_count": 20, "thread_max_count": 64, "cached_count": 1_000},
        ),
        "MQ306",
    ),
    (("MQ305", None, orderly(cached_count=1_000), {"thread_count": 20, "queue_count": 2}), "MQ306"),
    (("MQ413", None, after(_dead(9), _dead(5)), {"new_count": 4, "window_ms": 2 * MINUTE}), "MQ406"),
    (
        (
            "MQ506",
            None,
            after(_ordered(routing(_without_second, all_orderly(LIVE))), _ordered(all_orderly(LIVE))),
            {"missing_count": 1},
        ),
        "MQ636",
    ),
]
SCENES += [
    (
        "MQ508",
        variant,
        routing(lambda route, conf=conf: replace(route, order_conf=conf), all_orderly(LIVE)),  # type: ignore[misc]
        {"broker_count": count},
    )
    for variant, conf, count in [
        (None, "broker-a:8;broker-b:2", 1),
        ("unreadable", "hello", 0),
        ("unreadable", "broker-a:two;broker-b:2", 0),
    ]
]
SCENES += [
    ("MQ629", variant, routing(_closed_by_numbers(read)), {"broker_count": 2, "read_queue_count": 2 * read})
    for variant, read in [(None, 2), ("none", 0)]
]
# The loss of a broker without an order to lose.
SCENES.append(("MQ606", None, on_first_only(LIVE), {"broker_count": 2, "missing_count": 1}))
