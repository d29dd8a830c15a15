"""Questions that the broker passes on to a consumer and back: 307 what it does, 309 consume one message now."""

from __future__ import annotations

from dataclasses import replace

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles, sends
from mqctl.errors import BadInputError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_client import ConsumeMessageDirectly, GetConsumerRunningInfo

_TIMEOUT_MS = 10_000
# Clients before V3_1_8_SNAPSHOT cannot answer.
_ANSWERS_SINCE = 62

sends(GetConsumerRunningInfo, ConsumeMessageDirectly)


@handles(GetConsumerRunningInfo)
def get_running_info(broker: Broker, request: GetConsumerRunningInfo, call: Call) -> RemotingCommand | None:
    command = request.command(opaque=0, version=broker.release.ordinal)
    return _relay(broker, request.consumer_group, request.client_id, command, call)


@handles(ConsumeMessageDirectly)
def consume_directly(broker: Broker, request: ConsumeMessageDirectly, call: Call) -> RemotingCommand | None:
    try:
        offset = OffsetId.parse(request.msg_id or "").physical_offset
    except BadInputError as error:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=str(error))
    record = broker.storage.message_at(offset)
    if record is None:
        remark = f"no message at physical offset {offset} of this broker"
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
    fields = {**(call.command.ext_fields or {}), "brokerName": broker.name}
    command = replace(request.command(opaque=0, body=record, version=broker.release.ordinal), ext_fields=fields)
    return _relay(broker, request.consumer_group, request.client_id or "", command, call)


def _relay(broker: Broker, group: str, client_id: str, command: RemotingCommand, call: Call) -> RemotingCommand | None:
    client = broker.clients.consumer(group, client_id)
    if client is None:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=f"The Consumer <{group}> <{client_id}> not online")
    if client.version < _ANSWERS_SINCE:
        remark = f"The Consumer <{client_id}> Version <{client.version}> too low to finish, please upgrade it"
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)

    def answered(answer: RemotingCommand | None) -> None:
        if answer is None:
            remark = f"consumer <{group}> <{client_id}> did not answer within {_TIMEOUT_MS} ms"
            call.respond(call.answer(ResponseCode.CONSUME_MSG_TIMEOUT, remark=remark))
            return
        call.respond(
            call.answer(answer.code, remark=answer.remark, reply=dict(answer.ext_fields or {}), body=answer.body)
        )

    client.connection.call(command, _TIMEOUT_MS, answered)
    return None
