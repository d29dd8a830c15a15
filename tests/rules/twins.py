"""The second world of every rule: nearly the one in which it speaks, and the likeliest false alarm, of which it says
nothing. What each pair means is told beside its rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.config_file import ConfigFileState, FileSource
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayRun
from mqctl.model.member import RunningInfo, StackText, Subscription, TopicRates
from mqctl.model.queue_state import HotKey, OffsetJump
from mqctl.model.route import SeenBroker
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.storage_state import ClockState, LockHolder, StorageState
from mqctl.model.thresholds import Settings
from mqctl.model.transaction_state import TransactionState
from tests.rules import access_faults as access
from tests.rules import address_faults as addresses
from tests.rules import gone_faults as gone
from tests.rules import live_faults as live
from tests.rules import observed_faults as observed
from tests.rules import past_faults as past
from tests.rules import replication_faults as replication
from tests.rules import setting_faults as settings
from tests.rules import stack_faults as stacks
from tests.rules import window_faults as windows
from tests.rules.group_faults import (
    _abandoned,
    _broadcasting,
    _tags,
    filtered_by_all,
    popped_and_pulled,
    popped_slowly,
    popping,
)
from tests.rules.live_snapshots import (
    BROKERS,
    DAY,
    LIVE,
    MINUTE,
    NOW,
    ONE,
    TWO,
    held,
    member,
    saying,
    subscribing,
    with_members,
    with_second,
)
from tests.rules.room_faults import BY_PREFIX, rooms
from tests.rules.snapshots import (
    ASIDE,
    FIVE_SECONDS,
    HEALTHY,
    HOUR,
    STORAGE,
    TRANSACTIONS,
    delay_with,
    ended,
    offset,
    pending,
    queue,
)

State = BrokerSnapshot | ClusterSnapshot


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A world of which its rule says nothing, judged with these settings."""

    state: State
    settings: Settings | None = None


def _store(**changes: Any) -> BrokerSnapshot:
    return replace(HEALTHY, storage=replace(STORAGE, **changes))


def _of(**changes: Any) -> BrokerSnapshot:
    return replace(HEALTHY, **changes)


def _never_written() -> BrokerSnapshot:
    """A broker that was started for the first time: nothing was stored, and so nobody has consumed or delayed."""
    files = tuple(
        ConfigFileState(name=item.name, source=FileSource.NONE, main_problem="missing")
        if item.name in ("consumerOffset.json", "delayOffset.json")
        else item
        for item in _STORAGE.config_files
    )
    return replace(_store(config_files=files), queues=(), consumer_offsets=())


def _under_load() -> BrokerSnapshot:
    """A running broker: a record was stored and not dispatched at the first look, and was dispatched at the second."""
    return _store(has_abort=True, holder=LockHolder(pid=7, since_ms=NOW), dispatched_offset=89_900)


def _level_two(recorded: int | None = 7, **changes: Any) -> BrokerSnapshot:
    return _of(delay=delay_with(replace(FIVE_SECONDS, **changes), recorded))


def _delivering(recorded: int | None, **changes: Any) -> BrokerSnapshot:
    """A running broker that wrote delayOffset.json five seconds ago and has delivered messages since."""
    file = ConfigFileState(name="delayOffset.json", source=FileSource.MAIN, mtime_ms=NOW - 5_000)
    state = _level_two(recorded, **changes)
    delay = state.delay and replace(state.delay, file=file)
    return replace(state, delay=delay, storage=replace(STORAGE, holder=LockHolder(pid=7, since_ms=NOW - HOUR)))


def _pay(**changes: Any) -> TopicConfig:
    return replace(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=2), **changes)


def _transactions(**changes: Any) -> BrokerSnapshot:
    state: TransactionState = replace(TRANSACTIONS, **changes)
    return _of(transactions=state)


def _everybody(change: Callable[[RunningInfo], RunningInfo], base: ClusterSnapshot = LIVE) -> ClusterSnapshot:
    return replace(base, running=tuple(map(change, base.running)))


def _started_now(base: ClusterSnapshot) -> ClusterSnapshot:
    """The same a minute after the instances were started: ownership is still moving."""
    return _everybody(saying(PROP_CONSUMER_START_TIMESTAMP=str(NOW - MINUTE)), base)


def _hot(most: int, least: int) -> BrokerSnapshot:
    queues = (queue("Pay", 0, 0, most), *(queue("Pay", number, 0, least) for number in range(1, 4)))
    keyed = tuple(replace(item, hot_key=HotKey(key="k", sampled_count=40, key_count=30)) for item in queues)
    return _of(topics=(_pay(read_queue_count=4, write_queue_count=4),), queues=keyed, consumer_offsets=())


def _keeping_up(text: str) -> ClusterSnapshot:
    """The first instance shows these stacks, and nothing waits for it: what its threads do is its work."""
    later = (StackText(taken_at_ms=NOW + 1_000, text=text),)
    return replace(LIVE, running=(replace(LIVE.running[0], stacks=text, later_stacks=later), LIVE.running[1]))


def _own_ports() -> ClusterSnapshot:
    """Each client has a connection of its own to each broker, from another port."""
    brokers = tuple(
        replace(
            broker,
            memberships=tuple(
                replace(
                    entry,
                    members=tuple(
                        replace(item, address=f"192.0.2.{9 + number}:{7_000 + number}")
                        for number, item in enumerate(entry.members)
                    ),
                )
                for entry in broker.memberships
            ),
        )
        for broker in LIVE.brokers
    )
    return replace(LIVE, brokers=brokers)


def _consumed_old() -> ClusterSnapshot:
    first, *others = _abandoned().brokers
    offsets = tuple(replace(item, offset=70) if item.topic == "Old" else item for item in first.consumer_offsets)
    return replace(LIVE, brokers=(replace(first, consumer_offsets=offsets), *others))


def _named_instances() -> ClusterSnapshot:
    """Broadcasting members whose client ids stay the same over restarts."""
    ids = ("192.0.2.1@one", "192.0.2.2@two")
    base = _broadcasting()
    names = dict(zip((ONE, TWO), ids, strict=True))
    brokers = tuple(
        replace(
            broker,
            memberships=tuple(
                replace(item, client_ids=ids, members=tuple(member(name, 5_000) for name in ids))
                for item in broker.memberships
            ),
        )
        for broker in base.brokers
    )
    running = tuple(replace(info, client_id=names[info.client_id]) for info in base.running)
    return replace(base, brokers=brokers, running=running)


def _closed_on_purpose() -> ClusterSnapshot:
    """The topic is closed for sends in the settings of the brokers as well as in their routes."""
    base = live.routing(lambda route: replace(route, queues=tuple(replace(item, perm=4) for item in route.queues)))
    closed = (replace(broker, topics=tuple(replace(item, perm=4) for item in broker.topics)) for broker in base.brokers)
    return replace(base, brokers=tuple(closed))


def _both_masters() -> ClusterSnapshot:
    (view,) = LIVE.name_servers
    endpoints = tuple(replace(item, addresses={**item.addresses, 1: "192.0.2.8:10999"}) for item in view.endpoints)
    return replace(LIVE, name_servers=(replace(view, endpoints=endpoints),))


def _one_empty_name_server() -> ClusterSnapshot:
    (view,) = LIVE.name_servers
    empty = replace(view, address="192.0.2.17:9876", endpoints=(), routes=())
    return replace(LIVE, name_servers=(view, empty))


def _created_by_hand() -> ClusterSnapshot:
    base = live._created()
    return replace(
        base,
        brokers=tuple(replace(item, config={**item.config, "autoCreateTopicEnable": "false"}) for item in base.brokers),
    )


def _plain_rooms(*clients: str) -> ClusterSnapshot:
    """Rooms by name, and members that share queues out by AVG."""
    java = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@405209d4"
    return _everybody(saying(allocateMessageQueueStrategy=java), rooms(*clients))


def _mostly_fine(info: RunningInfo) -> RunningInfo:
    return replace(info, rates=(TopicRates(topic="Pay", consume_ok_tps=199.0, consume_failed_tps=1.0),))


def _moving_threads() -> ClusterSnapshot:
    first = replace(
        LIVE.running[0],
        stacks=stacks.threads(2, "BLOCKED", stacks._APP, stacks._BASE),
        later_stacks=(StackText(taken_at_ms=NOW + 1_000, text=stacks.IDLE_POOL),),
    )
    return replace(LIVE, running=(first, LIVE.running[1]))


_DAMAGE = Damage(
    code=DamageCode.QUEUE_MISSING_RECORD,
    grade=DamageGrade.ODD,
    file="commitlog/00000000000000000000",
    offset=77,
    physical_offset=77,
    count=30,
    topic="Deleted",
    queue_id=0,
    params={"queue_offset": 0},
)
_FASTER = (DelayRun(first_offset=0, message_count=10, delay_ms=30_000),)
_MIXED = (*_FASTER, DelayRun(first_offset=10, message_count=4, delay_ms=5_000))
# The table of this broker has a level more than the default one.
_NINETEENTH = DelayLevelState(level=19, delay_ms=3 * HOUR, recorded_offset=7, queue=FIVE_SECONDS)
_SAME_SQL = Subscription(topic="Pay", expression="a > 1", expression_type="SQL92", version_ms=NOW - 1)
_STORAGE: StorageState = STORAGE

STATES: dict[str, State] = {
    "MQ101": _store(has_abort=False, commit_log=replace(_STORAGE.commit_log, max_offset=89_990)),  # type: ignore[type-var]
    "MQ102": _store(checkpoint=replace(_STORAGE.checkpoint, physic_time_ms=NOW - 10_000)),  # type: ignore[type-var]
    "MQ103": _under_load(),
    "MQ104": _store(damages=(_DAMAGE,)),
    "MQ105": _under_load(),
    "MQ106": _never_written(),
    "MQ107": _store(clocks=ClockState(sampled_count=9, step_back_count=1, max_step_back_ms=900)),
    "MQ109": _store(
        mapped_file_count=50_000,
        map_limit=65_530,
        holder=LockHolder(pid=7, open_file_count=50_300, open_file_limit=655_350),
    ),
    "MQ121": _store(file_system="tmpfs"),
    "MQ122": _store(holder=LockHolder(pid=7, since_ms=NOW, open_file_count=900, open_file_limit=65_536, deleted=())),
    "MQ143": _store(clocks=ClockState(sampled_count=9), cut=None),
    "MQ108": _store(has_abort=False, set_aside=(replace(ASIDE, acknowledged=True),)),
    "MQ110": live.telling(commitLogDiskRatio="0.74", consumeQueueDiskRatio="0.74"),
    "MQ111": live.telling(pageCacheLockTimeMills="900"),
    "MQ112": live.telling(sendThreadPoolQueueHeadWaitTimeMills="150", sendThreadPoolQueueSize="40"),
    "MQ113": live.telling(dispatchBehindBytes=str(60 << 20)),
    "MQ114": live.telling(putLatency99="30"),
    "MQ115": live.each_broker(
        lambda broker: replace(
            broker, runtime={"remainTransientStoreBufferNumbs": "0"}, config={"transientStorePoolEnable": "false"}
        )
    ),
    "MQ119": live.telling(recordsSetAside_rmq_sys_wheel_timer="0", timerReadBehind="0", timerOffsetBehind="40"),
    "MQ201": _of(consumer_offsets=(*HEALTHY.consumer_offsets, offset("TOOLS_CONSUMER", "Pay", 0, 1_000))),
    "MQ202": with_second(lambda info: replace(info, subscriptions=tuple(reversed(info.subscriptions)))),
    "MQ203": _everybody(subscribing(_tags("a", "b"))),
    "MQ204": _everybody(subscribing(_SAME_SQL)),
    "MQ205": _own_ports(),
    "MQ206": _started_now(with_members(only=BROKERS[1], client_ids=(ONE,), members=(member(ONE, 5_001),))),
    "MQ207": _named_instances(),
    "MQ208": _broadcasting(),
    "MQ209": with_members(
        members=tuple(replace(member(name, 5_000), version=version) for name, version in ((ONE, 399), (TWO, 479)))
    ),
    "MQ210": replace(
        LIVE,
        name_servers=(LIVE.name_servers[0], replace(LIVE.name_servers[0], address="192.0.2.17:9876")),
        running=(
            saying(PROP_NAMESERVER_ADDR="192.0.2.7:9876")(LIVE.running[0]),
            saying(PROP_NAMESERVER_ADDR="192.0.2.17:9876")(LIVE.running[1]),
        ),
    ),
    "MQ211": _consumed_old(),
    "MQ212": live.strategies("org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@7"),
    "MQ213": live.each_broker(
        lambda broker: replace(broker, groups=(), config={"autoCreateSubscriptionGroup": "true"})
    ),
    "MQ214": live.each_broker(lambda broker: replace(broker, config={"enablePropertyFilter": "false"})),
    "MQ215": live.each_broker(
        lambda broker: replace(
            broker,
            topics=tuple(replace(item, attributes={"message.type": "FIFO"}) for item in broker.topics),
            groups=tuple(replace(item, consume_message_orderly=True) for item in broker.groups),
        )
    ),
    "MQ216": filtered_by_all(star=True),
    "MQ301": _hot(300, 30),
    "MQ302": live._members(2, 2),
    "MQ303": live._members(2, 4),
    "MQ304": with_second(lambda info: saying(consumeThreadMax="64")(live.holding(cached_count=20)(info))),
    "MQ305": live.orderly(cached_count=20),
    "MQ306": live.orderly(cached_count=2, cached_min_offset=10, cached_max_offset=2_500),
    "MQ307": with_second(live.holding(cached_count=7, last_consume_time_ms=NOW - 50_000)),
    "MQ315": with_second(live.taking_turns(0.25)),
    "MQ308": with_second(live.holding(cached_count=1_001, cached_max_offset=1_001, last_pull_time_ms=NOW - 3 * MINUTE)),
    "MQ309": _started_now(with_second(lambda info: replace(info, queues=info.queues[:1]))),
    "MQ310": with_second(lambda info: replace(info, queues=(*info.queues, held(BROKERS[0], 1, dropped=True)))),
    "MQ313": live.all_to_the_first("CONSISTENT_HASH"),
    "MQ320": _moving_threads(),
    "MQ321": _keeping_up(stacks.busy("WAITING", *stacks._LOCK)),
    "MQ322": _keeping_up(stacks.busy("RUNNABLE", *stacks._HTTP)),
    "MQ323": _keeping_up(stacks.busy("TIMED_WAITING", "java.lang.Thread.sleep(Native Method)")),
    "MQ324": _keeping_up(stacks.busy("RUNNABLE")),
    "MQ325": _keeping_up(stacks.threads(18, "BLOCKED", stacks._ORDERLY_WAIT)),
    "MQ326": _keeping_up(stacks.busy("RUNNABLE", "shop.Native.call(Native Method)")),
    "MQ327": _keeping_up(stacks.IDLE_POOL),
    "MQ328": _keeping_up(stacks.threads(1, "WAITING", *stacks._IDLE)),
    "MQ401": _of(consumer_offsets=(offset("G", "Pay", 0, 500, 4 * MINUTE),)),
    "MQ402": _of(consumer_offsets=(offset("G", "Pay", 0, 100, MINUTE),)),
    "MQ403": _of(consumer_offsets=(offset("G", "Pay", 0, 500, 69 * HOUR),)),
    "MQ404": _of(consumer_offsets=(offset("G", "Pay", 0, 1_000),)),
    "MQ405": _of(consumer_offsets=(offset("G", "%RETRY%G", 0, 2, 20_000),)),
    "MQ406": _of(queues=(*HEALTHY.queues, queue("%DLQ%G", 0, 3, 3))),
    "MQ407": _of(topics=(HEALTHY.topics[0], TopicConfig(name="%DLQ%G", perm=2))),
    "MQ408": _of(groups=(SubscriptionGroupConfig(name="G", consume_broadcast_enable=False),)),
    "MQ409": _of(
        offset_jumps=(
            OffsetJump(
                group="TOOLS_CONSUMER",
                topic="Pay",
                queue_id=0,
                broker_name="broker-a",
                requested_offset=3,
                corrected_offset=100,
                store_time_ms=NOW - HOUR,
            ),
        )
    ),
    "MQ410": live.after(live.standing_at(1_000, 1_000), live.standing_at(1_000, 1_000)),
    "MQ411": live.after(live.standing_at(700, 1_000), live.standing_at(600, 1_000)),
    "MQ412": with_second(_mostly_fine),
    "MQ413": live.after(live._dead(5), live._dead(5)),
    "MQ414": live.after(live.moving(900, 1_000), live.moving(600, 1_000)),
    "MQ415": with_members(consume_from_where="CONSUME_FROM_LAST_OFFSET"),
    "MQ416": popping(due_count=3, oldest_due_ms=NOW - 50_000),
    "MQ417": popping("true", retry_count=5, retry_v2_count=2),
    "MQ421": popped_slowly(50_000),
    "MQ422": popped_and_pulled("%RETRY%G"),
    "MQ425": popping(renewed_count=2, held_since_ms=NOW - 4 * 60_000),
    "MQ420": popping(blocked_queue_count=1, blocked_since_ms=NOW - 50_000),
    "MQ501": _started_now(live.orderly(locked=False)),
    "MQ502": live.orderly(transaction_count=1, last_consume_time_ms=NOW - 50_000),
    "MQ503": live.after(live.orderly(cached_count=5), live.orderly(cached_count=5, commit_offset=980)),
    "MQ504": live.orderly(last_lock_time_ms=NOW - 25_000),
    "MQ505": live._ordered(live.all_orderly(LIVE)),
    "MQ506": live.after(live.routing(live._without_second), LIVE),
    "MQ507": live.after(live.routing(live._wider_everywhere), LIVE),
    "MQ508": live.routing(lambda route: replace(route, order_conf="broker-a:2"), live.all_orderly(LIVE)),
    "MQ635": live.after(live._two_name_servers(LIVE), live._two_name_servers(live._knowing(BROKERS[:1]))),
    "MQ123": live.aged(19 * DAY, end=1 << 30),
    "MQ636": live.unlisted(changed_ms=50_000),
    "MQ629": live.routing(live._closed_by_numbers(2, BROKERS[:1])),
    "MQ601": _of(
        topics=(_pay(read_queue_count=1, write_queue_count=1),),
        consumer_offsets=tuple(offset("G", "Pay", number, 1_000) for number in (0, 1)),
    ),
    "MQ602": _of(topics=(_pay(read_queue_count=2, write_queue_count=4),)),
    "MQ603": _of(topics=(_pay(perm=7),)),
    "MQ604": _of(
        consumer_offsets=(
            *HEALTHY.consumer_offsets,
            offset("G", "%LMQ%Pay", 0, 5),
            offset("G", "TBW102", 0, 5),
        )
    ),
    "MQ605": _closed_on_purpose(),
    "MQ606": live.routing(live._wider),
    "MQ607": live.routing(live._wider_everywhere),
    "MQ608": live._two_name_servers(live.routing(lambda route: replace(route, queues=tuple(reversed(route.queues))))),
    "MQ609": _both_masters(),
    "MQ610": live.each_broker(lambda broker: replace(broker, config={"brokerPermission": "6"})),
    "MQ614": _created_by_hand(),
    "MQ615": live.after(live._producing(1), live._producing(3), 3 * MINUTE),
    "MQ616": live._fixed_lists(),
    "MQ145": gone.with_slave_seen((1, "192.0.2.77:10911")),
    "MQ617": replace(
        LIVE, seen_brokers=(SeenBroker(cluster="C", name=BROKERS[0], address="192.0.2.8:1", last_seen_time_ms=NOW),)
    ),
    "MQ619": live._with_slave(),
    "MQ618": _one_empty_name_server(),
    "MQ701": _level_two(recorded=10, waiting_count=0, not_due_count=0),
    "MQ702": _level_two(recorded=7, min_offset=7),
    "MQ703": _delivering(None, head_due_time_ms=NOW - 9_000, overdue_count=7, redelivered_count=7),
    "MQ704": _of(
        delay=replace(
            delay_with(DelayQueueState(min_offset=0, max_offset=0), None),
            file=ConfigFileState(name="delayOffset.json", source=FileSource.NONE, main_problem="missing"),
        )
    ),
    "MQ705": _of(delay=delay_with(FIVE_SECONDS, 7, _NINETEENTH)),
    "MQ706": _delivering(5, head_due_time_ms=NOW - MINUTE, overdue_count=2, redelivered_count=2, waiting_count=5),
    "MQ707": _level_two(overdue_count=0, head_due_time_ms=NOW - 100),
    "MQ708": _level_two(not_due_count=2, head_due_time_ms=NOW - 1_000),
    "MQ709": _level_two(min_offset=6),
    "MQ710": _level_two(changed_waiting_count=0, runs=_FASTER),
    "MQ711": _level_two(runs=_FASTER, run_count=1),
    "MQ712": _of(
        delay=replace(
            delay_with(),
            levels=tuple(
                replace(item, delay_ms=48 * HOUR) if item.level == 18 else item for item in delay_with().levels
            ),
        )
    ),
    "MQ713": _level_two(descending_count=1, first_descending_offset=6, runs=_MIXED, run_count=2),
    "MQ717": _level_two(passed_over_count=0),
    "MQ714": _store(disk_used_share=0.97),
    "MQ716": live.telling(timerReadBehind="0", timerOffsetBehind="40"),
    "MQ720": _transactions(half_max_offset=40, op_max_offset=40, half_progress=40, op_progress=40),
    "MQ721": _transactions(pending=(pending(9, HOUR),)),
    "MQ722": _transactions(pending=(pending(14, HOUR),)),
    "MQ723": _transactions(pending=(pending(1, MINUTE),)),
    "MQ724": _transactions(lost_ops=(ended(1),)),
    "MQ725": _transactions(pending=(pending(3, 5 * MINUTE),), online={"PG": 1}),
}

BY_ROOM: dict[str, State] = {
    "MQ611": _plain_rooms("a-client@1", "b-client@2", "nowhere@3", "a-client@4"),
    "MQ612": _plain_rooms("a-client@1", "a-client@2"),
    "MQ613": rooms("a-client@1", "b-client@2", "a-client@3", "b-client@4"),
}

TWINS: dict[str, Twin] = {
    **{
        code: Twin(state=state)
        for code, state in {
            **STATES,
            **addresses.STATES,
            **access.STATES,
            **observed.STATES,
            **past.STATES,
            **replication.STATES,
            **settings.STATES,
            **windows.STATES,
        }.items()
    },
    **{code: Twin(state=state, settings=BY_PREFIX) for code, state in BY_ROOM.items()},
}
