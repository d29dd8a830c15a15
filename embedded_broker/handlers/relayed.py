"""307, 309: questions that the broker passes on to a consumer and back: what it does, consume one message now.

Source: `AdminBrokerProcessor`.
"""

from __future__ import annotations

from dataclasses import replace

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles, sends
from mqctl.errors import BadInputError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_client import ConsumeMessageDirectly, GetConsumerRunningInfo

_TIMEOUT_MS = 10_000
_TIMED_OUT = "org.apache.rocketmq.remoting.exception.RemotingTimeoutException"
# Clients before V3_1_8_SNAPSHOT cannot answer.
_ANSWERS_SINCE = 62

sends(GetConsumerRunningInfo, ConsumeMessageDirectly)


@handles(GetConsumerRunningInfo)
def get_running_info(broker: Broker, request: GetConsumerRunningInfo, call: Call) -> RemotingCommand | None:
    # All fields go on as they came, those of a signature among them.
    command = replace(
        request.command(opaque=0, version=broker.release.ordinal), ext_fields=dict(call.command.ext_fields or {})
    )
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
    if broker.release.is_v5:
        fields |= _flags(broker, fields.get("topic"), request.consumer_group)
    command = replace(request.command(opaque=0, body=record, version=broker.release.ordinal), ext_fields=fields)
    return _relay(broker, request.consumer_group, request.client_id or "", command, call)


def _flags(broker: Broker, topic: str | None, group: str) -> dict[str, str]:
    """Returns what 5.x adds for clients that unwrap namespaces: the system flags of topic and group."""
    config = broker.topics.find(topic) if topic else None
    known = broker.groups.find_or_create(group) if group else None
    flags = {"topicSysFlag": str(config.sys_flag)} if config is not None else {}
    return flags | ({"groupSysFlag": str(known.group_sys_flag)} if known is not None else {})


def _relay(broker: Broker, group: str, client_id: str, command: RemotingCommand, call: Call) -> RemotingCommand | None:
    client = broker.clients.consumer(group, client_id)
    if client is None:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=f"The Consumer <{group}> <{client_id}> not online")
    if client.version < _ANSWERS_SINCE:
        too_low = f"Version <{client.version}> too low to finish, please upgrade it to V3_1_8_SNAPSHOT"
        remark = f"The Consumer <{client_id}> {too_low}"
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)

    def answered(answer: RemotingCommand | None) -> None:
        if answer is None:
            waited = f"wait response on the channel </{client.connection.peer}> timeout, {_TIMEOUT_MS}(ms)"
            remark = f"consumer <{group}> <{client_id}> Timeout: {_TIMED_OUT}: {waited}"
            call.respond(call.answer(ResponseCode.CONSUME_MSG_TIMEOUT, remark=remark))
            return
        call.respond(
            call.answer(answer.code, remark=answer.remark, reply=dict(answer.ext_fields or {}), body=answer.body)
        )

    client.connection.call(command, _TIMEOUT_MS, answered)
    return None
