"""60: where the timer wheel of a 5.x broker stands; its slaves ask (`AdminBrokerProcessor`)."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_five import GetTimerCheckPoint
from mqctl.store.layouts import TIMER_CHECK


@handles(GetTimerCheckPoint)
def timer_checkpoint(broker: Broker, _request: GetTimerCheckPoint, call: Call) -> RemotingCommand:
    if broker.timers is None:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark="The checkpoint is null")
    return call.answer(body=TIMER_CHECK.pack(*broker.timers.checkpoint()))
