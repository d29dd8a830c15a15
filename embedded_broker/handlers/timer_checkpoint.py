"""60, 61: where the timer wheel of a 5.x broker stands, and what hangs in it (`AdminBrokerProcessor`)."""

from __future__ import annotations

from collections.abc import Mapping

from embedded_broker.broker import Broker
from embedded_broker.ha.copying import TIMER_CHECK_FILE, TIMER_METRICS_FILE
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.model.config import DataVersion
from mqctl.protocol.bodies_cluster import TimerCount, TimerMetrics
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_v5 import GetTimerCheckPoint, GetTimerMetrics
from mqctl.store.layouts import TIMER_CHECK


@handles(GetTimerCheckPoint)
def timer_checkpoint(broker: Broker, _request: GetTimerCheckPoint, call: Call) -> RemotingCommand:
    if not broker.settings.timer_wheel_enable:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark="The checkpoint is null")
    if broker.timers is None:
        return call.answer(body=broker.replication.copied(TIMER_CHECK_FILE) or TIMER_CHECK.pack(*[0] * 7))
    return call.answer(body=TIMER_CHECK.pack(*broker.timers.checkpoint()))


@handles(GetTimerMetrics)
def timer_metrics(broker: Broker, _request: GetTimerMetrics, call: Call) -> RemotingCommand:
    if not broker.settings.timer_wheel_enable:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark="The timer message store is null")
    if broker.timers is None:
        return call.answer(body=broker.replication.copied(TIMER_METRICS_FILE) or _metrics(broker, {}))
    now_ms = broker.clock.now_ms()
    counts = {
        topic: TimerCount(count=count, time_stamp=now_ms) for topic, count in broker.timers.waiting_by_topic().items()
    }
    return call.answer(body=_metrics(broker, counts))


def _metrics(broker: Broker, counts: Mapping[str, TimerCount]) -> bytes:
    version = DataVersion(0, broker.stats.boot_ms)
    return TimerMetrics(data_version=version, timing_count=counts).to_bytes(is_v5=True)
