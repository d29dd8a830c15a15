"""28: what the broker tells about itself; every value is text (`AdminBrokerProcessor`).

4.9.8 and 5.3.3 differ in keys; those of the timers and `recordsSetAside_TOPIC` (ours) come where there is something to
tell.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.model.names import SCHEDULE_TOPIC, TIMER_TOPIC
from mqctl.model.spans import HOUR_MS, MINUTE_MS, SECOND_MS
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.codes import version_text
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import GetBrokerRuntimeInfo

# Queues of threads that a real broker has; this one has one loop and nothing waits.
_QUEUES = {
    "sendThreadPoolQueue": 10_000,
    "pullThreadPoolQueue": 100_000,
    "queryThreadPoolQueue": 20_000,
}
_QUEUES_OF_5 = {"litePullThreadPoolQueue": 100_000, "ackThreadPoolQueue": 100_000}
_PUT_TIMES = (
    *("<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s"),
    *("1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~"),
)


@handles(GetBrokerRuntimeInfo, support="partial: what only threads, page cache and stop watches know is 0")
def get_runtime_info(broker: Broker, request: GetBrokerRuntimeInfo, call: Call) -> RemotingCommand:
    table = {**_identity(broker), **_counters(broker), **_pools(broker), **_store(broker), **_delays(broker)}
    table |= _timers(broker)
    table |= {f"recordsSetAside_{topic}": str(count) for topic, count in broker.stats.aside.items()}
    return call.answer(body=KVTable(table=table).to_bytes())


def _identity(broker: Broker) -> dict[str, str]:
    up_ms = broker.clock.now_ms() - broker.stats.boot_ms
    days, hours = divmod(up_ms // HOUR_MS, 24)
    minutes, seconds = up_ms // MINUTE_MS % 60, up_ms // SECOND_MS % 60
    ordinal = broker.release.ordinal
    return {
        "brokerVersion": str(ordinal),
        "brokerVersionDesc": f"V{version_text(ordinal).replace('.', '_')}",
        "bootTimestamp": str(broker.stats.boot_ms),
        "runtime": f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]",
        "startAcceptSendRequestTimeStamp": str(broker.settings.start_accept_send_request_time_stamp),
        **({"brokerActive": str(broker.is_active).lower()} if broker.release.is_v5 else {}),
    }


def _counters(broker: Broker) -> dict[str, str]:
    stats = broker.stats
    put, counters, missed, handed_out = _rates(broker)
    times = stats.put_total()
    size = broker.storage.log.position - broker.storage.log.min_offset
    (put_today, got_today), (put_yesterday, got_yesterday) = stats.mornings
    return {
        "msgPutTotalYesterdayMorning": str(put_yesterday),
        "msgPutTotalTodayMorning": str(put_today),
        "msgPutTotalTodayNow": str(times),
        "msgGetTotalYesterdayMorning": str(got_yesterday),
        "msgGetTotalTodayMorning": str(got_today),
        "msgGetTotalTodayNow": str(stats.get_total()),
        "putTps": _averages(put),
        "getFoundTps": _averages(counters),
        "getTransferredTps" if broker.release.is_v5 else "getTransferedTps": _averages(handed_out),
        "getTotalTps": _averages([one + other for one, other in zip(counters, missed, strict=True)]),
        "getMissTps": _averages(missed),
        "putMessageTimesTotal": str(times),
        "putMessageFailedTimes": str(stats.put_failed),
        "putMessageSizeTotal": str(size),
        "putMessageAverageSize": str(size / times if times else 0.0),
        "putMessageEntireTimeMax": str(stats.put_time_max_ms),
        "getMessageEntireTimeMax": "0",
        "putMessageDistributeTime": _distribution(stats.put_times),
        "putLatency99": "0.00",
        "putLatency999": "0.00",
    }


def _rates(broker: Broker) -> tuple[list[float], ...]:
    rates = broker.stats.rates()
    return tuple([rate[kind] for rate in rates] for kind in range(4))


def _averages(values: list[float]) -> str:
    """Writes the averages over 10 s, a minute and 10 minutes; what the broker is too young for stays blank."""
    return " ".join([*map(str, values), *[""] * (3 - len(values))])


def _distribution(counts: Sequence[int]) -> str:
    return "".join(f"[{span}]:{count} " for span, count in zip(_PUT_TIMES, counts, strict=True))


def _pools(broker: Broker) -> dict[str, str]:
    table = {"EndTransactionQueueSize": "0", "EndTransactionThreadPoolQueueCapacity": "100000"}
    for name, capacity in {**_QUEUES, **(_QUEUES_OF_5 if broker.release.is_v5 else {})}.items():
        table |= {f"{name}Size": "0", f"{name}Capacity": str(capacity), f"{name}HeadWaitTimeMills": "0"}
    return table


def _store(broker: Broker) -> dict[str, str]:
    storage = broker.storage
    usage = shutil.disk_usage(storage.directory)
    ratio = f"{storage.disk_ratio():.2f}"
    gib = 1 << 30
    earliest = storage.earliest_store_time()
    held = storage.log.position - storage.log.min_offset
    if not broker.release.is_v5 and held < 2 * broker.settings.max_message_size:
        earliest = None  # 4.9.8 asks for twice the largest message, and gets nothing of a shorter log
    return {
        "commitLogMinOffset": str(storage.log.min_offset),
        "commitLogMaxOffset": str(storage.log.position),
        "commitLogDiskRatio": ratio,
        f"commitLogDiskRatio_{storage.directory}/commitlog": ratio,
        "consumeQueueDiskRatio": ratio,
        "commitLogDirCapacity": f"Total : {usage.total / gib:.1f} GiB, Free : {usage.free / gib:.1f} GiB.",
        "earliestMessageTimeStamp": str(-1 if earliest is None else earliest),
        "dispatchBehindBytes": str(broker.replication.behind_bytes),
        "dispatchMaxBuffer": "0",
        "pageCacheLockTimeMills": "0",
        "remainTransientStoreBufferNumbs": "2147483647",
        "remainHowManyDataToFlush": "0 B",
    }


def _timers(broker: Broker) -> dict[str, str]:
    """How far the timer wheel is behind: seconds to be emptied, messages to be hung in (5.x)."""
    timers = broker.timers
    if timers is None:
        return {}
    read_ms = timers.read_units * broker.settings.timer_precision_ms
    behind_ms = broker.clock.now_ms() - read_ms
    return {
        "timerReadBehind": str(max(0, behind_ms // SECOND_MS)),
        "timerCongestNum": str(timers.waiting_count()),
        "timerEnqueueTps": "0.0",
        "timerDequeueTps": "0.0",
        "timerOffsetBehind": str(broker.storage.max_offset(TIMER_TOPIC, 0) - timers.queue_offset),
    }


def _delays(broker: Broker) -> dict[str, str]:
    storage = broker.storage
    return {
        f"scheduleMessageOffset_{level}": f"{delivered},{storage.max_offset(SCHEDULE_TOPIC, level - 1)}"
        for level, delivered in sorted(broker.schedule.offsets.items())
    }
