"""Faults of settings, of brokers and of clients, injected into the healthy live cluster, and what looks like them."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.config_file import ConfigFileState, FileSource
from mqctl.model.delay_level import DEFAULT_TABLE
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource, TimerTopicState
from mqctl.model.member import TopicRates
from mqctl.model.pop_share import PopShare
from mqctl.model.queue_state import ConsumerOffsetState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.transaction_state import HalfSender, PendingTransaction, TransactionState
from tests.rules.access_faults import listed, with_access
from tests.rules.group_faults import _broadcasting
from tests.rules.live_faults import Scene, after, all_orderly, each_broker, holding, not_stored, telling
from tests.rules.live_snapshots import (
    BROKERS,
    HOUR,
    LIVE,
    MINUTE,
    NOW,
    ONE,
    TWO,
    member,
    saying,
    with_members,
    with_second,
)

FIRST = BROKERS[0]
SPREAD = "[<=0ms]:90 [0~10ms]:{fast} [200~500ms]:3 [500ms~1s]:{slow} [1~2s]:0 [2~3s]:{worst} "


def using(config: dict[str, str], **attributes: str) -> ClusterSnapshot:
    """The first broker has these settings, and its topic Pay these attributes."""

    def change(broker: BrokerSnapshot) -> BrokerSnapshot:
        topics = tuple(
            replace(item, attributes={name.replace("_", "."): value for name, value in attributes.items()})
            if item.name == "Pay"
            else item
            for item in broker.topics
        )
        return replace(broker, config=config, topics=topics)

    return each_broker(change, FIRST)


def typed(kind: str, **config: str) -> ClusterSnapshot:
    return using(config, message_type=kind)


def alike(**changes: str) -> ClusterSnapshot:
    """All brokers have the usual settings; the first one's are changed."""
    usual = {"aclEnable": "true", "fileReservedTime": "72", "namesrvAddr": "192.0.2.7:9876;192.0.2.17:9876"}
    return replace(
        LIVE,
        brokers=tuple(
            replace(item, config={**usual, **(changes if item.name == FIRST else {})}) for item in LIVE.brokers
        ),
    )


def signed(**config: str) -> ClusterSnapshot:
    """Brokers were asked with keys."""
    return replace(using(config), origin=replace(LIVE.origin, signed=True))


def reading_old(age_ms: int) -> ClusterSnapshot:
    """The group's next message in the first queue is so old, and there is nothing else to it."""
    base = using({"coldDataFlowControlEnable": "true"})
    first, *others = base.brokers
    late = ConsumerOffsetState(group="G", topic="Pay", queue_id=0, offset=999, next_store_time_ms=NOW - age_ms)
    return replace(base, brokers=(replace(first, consumer_offsets=(late, *first.consumer_offsets[1:])), *others))


def with_delays(overdue: int) -> ClusterSnapshot:
    base = using({"storeType": "defaultRocksDB"})
    queue = DelayQueueState(
        min_offset=0, max_offset=9, waiting_count=overdue, overdue_count=overdue, first_undelivered_offset=9 - overdue
    )
    if overdue:
        queue = replace(queue, oldest_overdue_time_ms=NOW - MINUTE, head_due_time_ms=NOW - MINUTE)
    state = DelayState(
        levels=(
            DelayLevelState(level=1, delay_ms=DEFAULT_TABLE.delay_ms(1), recorded_offset=9 - overdue, queue=queue),
        ),
        table_source=LevelTableSource.GIVEN,
        file=ConfigFileState(name="delayOffset.json", source=FileSource.MAIN, mtime_ms=NOW),
        last_delivery_time_ms=NOW - 5_000,
    )
    first, *others = base.brokers
    return replace(base, brokers=(replace(first, delay=state), *others))


def released(*versions: str) -> ClusterSnapshot:
    """Brokers of these releases, in the order of their names."""
    brokers = (replace(item, version=version) for item, version in zip(LIVE.brokers, versions, strict=True))
    return replace(LIVE, brokers=tuple(brokers))


def with_timers(base: ClusterSnapshot, *, closed: bool = False) -> ClusterSnapshot:
    """Messages of Pay wait in the timer of the first broker; `closed`: the second one takes none of that topic."""
    state = DelayState(
        levels=(), table_source=LevelTableSource.GIVEN, timers=(TimerTopicState(topic="Pay", waiting_count=7),)
    )
    first, second = base.brokers
    topics = tuple(replace(item, perm=4) if closed and item.name == "Pay" else item for item in second.topics)
    return replace(base, brokers=(replace(first, delay=state), replace(second, topics=topics)))


def pulling(**config: str) -> ClusterSnapshot:
    base = using(config)
    state = with_members(consume_type="CONSUME_ACTIVELY")
    pairs = zip(base.brokers, state.brokers, strict=True)
    return replace(base, brokers=tuple(replace(one, memberships=other.memberships) for one, other in pairs))


def waiting(count: int, **properties: str) -> ClusterSnapshot:
    """So many messages wait in the first queue of the second member, which says this of itself."""
    base = with_second(saying(**properties))
    first, second = base.brokers
    stands = replace(second.consumer_offsets[0], offset=1_000 - count)
    return replace(base, brokers=(first, replace(second, consumer_offsets=(stands, *second.consumer_offsets[1:]))))


def retrying(queues: int, most: int = 16) -> ClusterSnapshot:
    """The first broker has so many retry queues for the group."""
    settings = SubscriptionGroupConfig(name="G", retry_queue_count=queues, retry_max_times=most)
    return each_broker(lambda broker: replace(broker, groups=(settings,)), FIRST)


def set_up(base: ClusterSnapshot, only: str | None = None, **settings: object) -> ClusterSnapshot:
    """The group's settings, on all brokers or on one."""
    config = replace(SubscriptionGroupConfig(name="G"), **settings)  # type: ignore[arg-type]
    pairs = zip(base.brokers, each_broker(lambda broker: replace(broker, groups=(config,)), only).brokers, strict=True)
    return replace(base, brokers=tuple(replace(one, groups=other.groups) for one, other in pairs))


def in_c(version: int = 399) -> ClusterSnapshot:
    """All members are clients of C++, which may leave the number of retries to the group."""
    return with_members(
        members=tuple(
            replace(member(name, 5_001 + number), language="CPP", version=version)
            for number, name in enumerate((ONE, TWO))
        )
    )


def caching(count: int, **properties: str) -> ClusterSnapshot:
    base = waiting(500, **properties)
    return replace(base, running=(base.running[0], holding(cached_count=count)(base.running[1])))


def offline(offset: int) -> ClusterSnapshot:
    """Nobody of the group is online, and it stands at this offset of the first queue."""
    first, *others = (replace(broker, memberships=()) for broker in LIVE.brokers)
    stands = replace(first.consumer_offsets[0], offset=offset)
    first = replace(first, consumer_offsets=(stands, *first.consumer_offsets[1:]))
    return replace(LIVE, brokers=(first, *others), running=())


def popping(base: ClusterSnapshot, *, ago_ms: int = MINUTE) -> ClusterSnapshot:
    """The group popped then, for the last time."""
    first, *others = base.brokers
    held = first.consumer_offsets[0]
    share = PopShare(
        group=held.group, topic=held.topic, mode=None, ready_count=0, invisible_count=0, due_count=0, retry_count=0,
        given_up_count=0, blocked_queue_count=None, last_pop_ms=NOW - ago_ms,
    )  # fmt: skip
    return replace(base, brokers=(replace(first, pop=(share,)), *others))


def failing(base: ClusterSnapshot) -> ClusterSnapshot:
    rates = (TopicRates(topic="Pay", consume_ok_tps=90.0, consume_failed_tps=10.0),)
    return replace(base, running=(base.running[0], replace(base.running[1], rates=rates)))


def checking(progress: int, *, delayed: bool = False, high: int = 30) -> ClusterSnapshot:
    """Half messages from `progress` on wait; the newest may have a delay."""
    half = PendingTransaction(
        unique_key="K1",
        topic="Pay",
        producer_group="PG",
        half_offset=high - 1,
        physical_offset=900,
        born_time_ms=NOW - 30_000,
        store_time_ms=NOW - 30_000,
        check_count=0,
        delayed=delayed,
    )
    state = TransactionState(
        half_min_offset=0,
        half_max_offset=high,
        op_min_offset=0,
        op_max_offset=progress,
        half_progress=progress,
        op_progress=progress,
        pending=(half,),
        online={"PG": 1},
    )
    return each_broker(lambda broker: replace(broker, transactions=state), FIRST)


def sending(**topics: tuple[str, ...]) -> ClusterSnapshot:
    """Clients of one producer group that sent five half messages to each of these topics."""
    senders = tuple(
        HalfSender(producer_group="PG", topic=topic, client_id=client, half_count=5)
        for client, sent in topics.items()
        for topic in sent
    )
    state = TransactionState(half_min_offset=0, half_max_offset=9, op_min_offset=0, op_max_offset=9, senders=senders)
    return each_broker(lambda broker: replace(broker, transactions=state), FIRST)


def connected(port: int) -> ClusterSnapshot:
    """The second member is connected to every broker from this port."""
    return with_members(members=(member(ONE, 5_001), member(TWO, port)))


def unheard(state: ClusterSnapshot) -> ClusterSnapshot:
    """No member says what it holds, at any look."""
    earlier = state.earlier and replace(state.earlier, running=())
    between = tuple(replace(look, running=()) for look in state.between)
    return replace(state, running=(), earlier=earlier, between=between)


def writing(fast: int = 900, slow: int = 0, worst: int = 0, failed: int = 0) -> ClusterSnapshot:
    spread = SPREAD.format(fast=fast, slow=slow, worst=worst)
    return telling(putMessageDistributeTime=spread, putMessageFailedTimes=str(failed))


DOUBLE_WRITE = {"rocksdbCQDoubleWriteEnable": "true"}
SYNC = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "1"}


def with_slave(config: dict[str, str]) -> ClusterSnapshot:
    base = using(config)
    (view,) = base.name_servers
    first = replace(view.endpoints[0], addresses={**view.endpoints[0].addresses, 1: "192.0.2.8:10999"})
    return replace(base, name_servers=(replace(view, endpoints=(first, *view.endpoints[1:])),))


SCENES: list[Scene] = [
    (
        "MQ729",
        None,
        sending(one=("Pay",), two=("Refund",), three=("Pay", "Refund")),
        {"client_count": 3, "topic_count": 2, "sampled_count": 20},
    ),
    ("MQ117", None, writing(slow=4, worst=1), {"slow_count": 5, "write_count": 998}),
    ("MQ118", None, after(writing(failed=9), writing(failed=2)), {"failed_count": 7, "window_ms": 2 * MINUTE}),
    ("MQ217", None, set_up(LIVE, FIRST, retry_max_times=3), {"broker_count": 2, "value_count": 2}),
    ("MQ217", "notice", set_up(LIVE, notify_consumer_ids_changed_enable=False), {"broker_count": 2, "member_count": 2}),
    ("MQ217", "none", set_up(in_c(), retry_max_times=0), {"broker_count": 2, "most_tries_count": 0}),
    ("MQ219", None, after(connected(6_002), LIVE),
     {"remade_count": 1, "member_count": 2, "moved_count": 0, "window_ms": 2 * MINUTE}),
    ("MQ219", "members", unheard(after(connected(6_002), LIVE)),
     {"remade_count": 1, "member_count": 2, "moved_count": None, "window_ms": 2 * MINUTE}),
    ("MQ311", "interval", waiting(500, pullInterval="1000", pullBatchSize="32"),
     {"interval_ms": 1_000, "batch_count": 32, "limit_tps": 64.0, "waiting_count": 500}),
    ("MQ311", "threshold", caching(100, pullThresholdForQueue="100"),
     {"limit_count": 100, "queue_count": 1, "waiting_count": 500}),
    ("MQ312", None, replace(LIVE, running=(
        saying(maxReconsumeTimes="16")(LIVE.running[0]), saying(maxReconsumeTimes="3")(LIVE.running[1])
    )), {"member_count": 2, "value_count": 2}),
    ("MQ314", "heartbeat", with_second(saying(heartbeatBrokerInterval="300000")),
     {"member_count": 1, "setting_ms": 300_000, "limit_ms": 120_000}),
    ("MQ314", "pulls", with_second(saying(pullInterval="600000")),
     {"member_count": 1, "setting_ms": 600_000, "limit_ms": 120_000}),
    ("MQ314", "offsets", with_second(saying(persistConsumerOffsetInterval="600000")),
     {"member_count": 1, "setting_ms": 600_000, "limit_ms": 60_000}),
    ("MQ314", "routes", with_second(saying(pollNameServerInterval="3600000")),
     {"member_count": 1, "setting_ms": 3_600_000, "limit_ms": 300_000}),
    ("MQ314", "batch", with_second(saying(consumeMessageBatchMaxSize="100", pullBatchSize="32")),
     {"member_count": 1, "setting_count": 100, "limit_count": 32}),
    ("MQ426", None, retrying(0), {"queue_count": 0, "most_tries_count": 16}),
    ("MQ418", None, after(popping(offline(900)), offline(700)), {"consumed_count": 200, "window_ms": 2 * MINUTE}),
    ("MQ419", None, not_stored(MINUTE),
     {"ahead_count": 300, "queue_count": 1}),
    ("MQ424", None, with_second(holding(cached_count=40, cached_min_offset=970, cached_max_offset=1_009)),
     {"below_count": 30, "cached_count": 40, "lag_count": 0, "queue_count": 1}),
    ("MQ640", "timers", typed("DELAY", timerWheelEnable="false"), {}),
    ("MQ640", "timers-stopped", typed("DELAY", timerStopDequeue="true"), {}),
    ("MQ640", "transactions", typed("TRANSACTION", rejectTransactionMessage="true"), {}),
    ("MQ640", "compaction", using({"enableCompaction": "false"}, cleanup_policy="COMPACTION"), {}),
    ("MQ640", "pulling", pulling(rejectPullConsumerEnable="true"), {}),
    ("MQ640", "sends", using({"startAcceptSendRequestTimeStamp": str(NOW + HOUR)}), {"until_time_ms": NOW + HOUR}),
    ("MQ640", "notice", using({"notifyConsumerIdsChangedEnable": "false"}), {}),
    ("MQ640", "flush", typed("TRANSACTION", flushDiskType="ASYNC_FLUSH", brokerRole="ASYNC_MASTER"), {}),
    ("MQ640", "bitmaps", using({"enableCalcFilterBitMap": "true", "enableConsumeQueueExt": "false"}), {}),
    ("MQ640", "bitmaps", using({"enableConsumeQueueExt": "true", "enableCalcFilterBitMap": "false"}), {}),
    ("MQ641", None, alike(fileReservedTime="48"), {"broker_count": 2, "value_count": 2}),
    ("MQ642", None, signed(aclEnable="false"), {}),
    ("MQ642", "half", using({"authenticationEnabled": "true", "authorizationEnabled": "false"}), {}),
    ("MQ645", None, using({**DOUBLE_WRITE, "combineCQUseRocksdbForLmq": "false"}), {}),
    ("MQ643", None, using(SYNC), {"process_count": 1, "wanted_count": 2}),
    ("MQ651", None, released("V5_5_0", "V5_3_3"), {"release_count": 2}),
]  # fmt: skip


def _closed_to_broadcasting(base: ClusterSnapshot) -> ClusterSnapshot:
    closed = (
        replace(item, groups=tuple(replace(config, consume_broadcast_enable=False) for config in item.groups))
        for item in base.brokers
    )
    return replace(base, brokers=tuple(closed))


DOUBLE_SCENES: list[tuple[Scene, str]] = [
    (
        ("MQ730", None, with_timers(released("V5_5_0", "V4_9_7")), {"waiting_count": 7, "broker_count": 1}),
        "MQ651",
    ),
    (("MQ218", None, _closed_to_broadcasting(_broadcasting()), {"broker_count": 2, "member_count": 2}), "MQ207"),
    (("MQ412", "broadcasting", failing(_broadcasting()), {"failed_share": 0.1}), "MQ207"),
    (("MQ640", "cold", reading_old(2 * HOUR), {}), "MQ401"),
    (("MQ640", "rocksdb", with_delays(2), {}), "MQ707"),
    (
        (
            "MQ726",
            None,
            after(checking(20, high=40), checking(20)),
            {"half_count": 20, "recorded_offset": 20, "window_ms": 2 * MINUTE},
        ),
        "MQ720",
    ),
    (("MQ647", None, with_access(None, listed(readers=("Pay=SUB", "DENY"))), {"account_count": 1}), "MQ631"),
    (("MQ727", None, checking(20, delayed=True), {"transaction_count": 1}), "MQ720"),
]

STATES: dict[str, ClusterSnapshot] = {
    "MQ117": writing(fast=90_000),
    "MQ118": after(writing(failed=2), writing(failed=9)),
    "MQ217": set_up(LIVE, retry_max_times=0),
    "MQ218": _closed_to_broadcasting(LIVE),
    "MQ219": after(LIVE, with_members(client_ids=(ONE,), members=(member(ONE, 5_001),))),
    "MQ311": waiting(60, pullInterval="1000", pullBatchSize="32"),
    "MQ312": replace(LIVE, running=tuple(saying(maxReconsumeTimes="3")(info) for info in LIVE.running)),
    "MQ314": with_second(
        saying(heartbeatBrokerInterval="100000", pullInterval="60000", consumeMessageBatchMaxSize="32")
    ),
    "MQ426": set_up(all_orderly(LIVE), retry_queue_count=0),
    "MQ418": after(popping(offline(900), ago_ms=10 * MINUTE), offline(700)),
    "MQ419": not_stored(20_000, idle_ms=HOUR),
    "MQ424": with_second(holding(cached_count=40, cached_min_offset=1_000, cached_max_offset=1_039)),
    "MQ640": typed(
        "NORMAL",
        timerWheelEnable="false",
        rejectTransactionMessage="true",
        enableCalcFilterBitMap="true",
        enableConsumeQueueExt="true",
        enablePropertyFilter="true",
        flushDiskType="ASYNC_FLUSH",
    ),
    "MQ641": alike(namesrvAddr="192.0.2.17:9876;192.0.2.7:9876"),
    "MQ642": using({"aclEnable": "false"}),
    "MQ643": with_slave(SYNC),
    "MQ645": using(DOUBLE_WRITE),
    "MQ651": released("V5_3_2", "V5_3_3"),
    "MQ730": with_timers(released("V5_5_0", "V4_9_7"), closed=True),
    "MQ726": after(checking(30, high=40), checking(20)),
    "MQ727": checking(20),
    "MQ729": sending(one=("Pay", "Refund"), two=("Refund", "Pay")),
}
