"""Have a half message that was given up checked again: 323."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles
from mqctl.errors import MqctlError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_admin import ResumeCheckHalfMessage


@handles(ResumeCheckHalfMessage)
def resume_check(broker: Broker, request: ResumeCheckHalfMessage, call: Call) -> RemotingCommand:
    try:
        resumed = broker.transactions.resume(OffsetId.parse(request.msg_id or "").physical_offset)
    except MqctlError as error:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=f"the half message was not put back: {error}")
    if not resumed:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=f"no message {request.msg_id} in this broker's log")
    return call.answer()
