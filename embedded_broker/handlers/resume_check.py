"""323: has a half message that was given up checked again (`AdminBrokerProcessor`).

Real brokers resume any message; here it must be a half message, or one that was given up.
"""

from __future__ import annotations

import logging

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.errors import BadInputError, MqctlError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_admin import ResumeCheckHalfMessage

log = logging.getLogger("embedded_broker")

_PUTTING_BACK = "Put message back to RMQ_SYS_TRANS_HALF_TOPIC"
_THROWN = "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC."


@handles(ResumeCheckHalfMessage)
def resume_check(broker: Broker, request: ResumeCheckHalfMessage, call: Call) -> RemotingCommand:
    try:
        resumed = broker.transactions.resume(OffsetId.parse(request.msg_id or "").physical_offset)
    except BadInputError:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=_THROWN)
    except MqctlError as error:
        log.warning("%s: half message %s not put back: %s", broker.name, request.msg_id, error)
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=f"{_PUTTING_BACK} failed.")
    if not resumed:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=_THROWN)
    return call.answer()
