"""28: what the broker tells about itself; every value is text (`AdminBrokerProcessor`).

4.9.8 and 5.3.3 differ in keys; those of the timers and `recordsSetAside_TOPIC` (ours) come where there is something to
tell.
"""

from __future__ import annotations

import shutil

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.stats import BROKER_GET_NUMS, BROKER_PUT_NUMS
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


@handles(GetBrokerRuntimeInfo, support="partial: what only threads and page cache know is 0 or left out")
def get_runtime_info(broker: Broker, request: GetBrokerRuntimeInfo, call: Call) -> RemotingCommand:
    table = {**_identity(broker), **_counters(broker), **_pools(), **_store(broker), **_delays(broker)}
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
    }


def _counters(broker: Broker) -> dict[str, str]:
    stats = broker.stats
    put, got = _rates(broker, BROKER_PUT_NUMS), _rates(broker, BROKER_GET_NUMS)
    times = stats.put_total()
    size = broker.storage.log.position - broker.storage.log.min_offset
    return {
        "msgPutTotalYesterdayMorning": "0",
        "msgPutTotalTodayMorning": "0",
        "msgPutTotalTodayNow": str(times),
        "msgGetTotalYesterdayMorning": "0",
        "msgGetTotalTodayMorning": "0",
        "msgGetTotalTodayNow": str(stats.get_total()),
        "putTps": put,
        "getFoundTps": got,
        "getTransferedTps": got,
        "getTotalTps": got,
        "getMissTps": "0.0 ",
        "putMessageTimesTotal": str(times),
        "putMessageFailedTimes": str(stats.put_failed),
        "putMessageSizeTotal": str(size),
        "putMessageAverageSize": str(size / times if times else 0.0),
        "putMessageEntireTimeMax": "0",
        "getMessageEntireTimeMax": "0",
    }


def _rates(broker: Broker, name: str) -> str:
    """Writes a rate over the last minute as tools read it: a number and a blank."""
    counter = broker.stats.item(name, broker.cluster)
    return f"{counter.span(0).per_second if counter is not None else 0.0} "


def _pools() -> dict[str, str]:
    table = {"EndTransactionQueueSize": "0", "EndTransactionThreadPoolQueueCapacity": "100000"}
    for name, capacity in _QUEUES.items():
        table |= {f"{name}Size": "0", f"{name}Capacity": str(capacity), f"{name}HeadWaitTimeMills": "0"}
    return table


def _store(broker: Broker) -> dict[str, str]:
    storage = broker.storage
    usage = shutil.disk_usage(storage.directory)
    ratio = f"{usage.used / usage.total:.2f}"
    gib = 1 << 30
    earliest = storage.earliest_store_time()
    return {
        "commitLogMinOffset": str(storage.log.min_offset),
        "commitLogMaxOffset": str(storage.log.position),
        "commitLogDiskRatio": ratio,
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
        "timerOffsetBehind": str(broker.storage.max_offset(TIMER_TOPIC, 0) - timers.queue_offset),
    }


def _delays(broker: Broker) -> dict[str, str]:
    storage = broker.storage
    return {
        f"scheduleMessageOffset_{level}": f"{delivered},{storage.max_offset(SCHEDULE_TOPIC, level - 1)}"
        for level, delivered in sorted(broker.schedule.offsets.items())
    }
