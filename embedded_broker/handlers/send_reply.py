"""324, 325: the answer to a request message; the broker hands it to the client that asked (326).

Source: `ReplyMessageProcessor`.
"""

from __future__ import annotations

import logging

from embedded_broker.broker import Broker
from embedded_broker.handlers.send_checks import checked_topic, chosen_queue, without_body
from embedded_broker.log.intake import Incoming
from embedded_broker.remoting.handler_table import Call, handles, sends
from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import MqctlError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.properties import PROPERTY_SEPARATOR, property_of, with_properties
from mqctl.protocol.requests_client import (
    ReplyMessage,
    SendMessage,
    SendMessageReply,
    SendReplyMessage,
    SendReplyMessageV2,
)

log = logging.getLogger("embedded_broker")

_PUSH_TIMEOUT_MS = 10_000

sends(ReplyMessage)


def _words(broker: Broker, error: Refusal | MqctlError) -> Refusal | None:
    return Refusal(error.code, error.remark, broker.send_ext) if isinstance(error, Refusal) else None


@handles(SendReplyMessage, SendReplyMessageV2, words=_words)
def send_reply(broker: Broker, request: SendMessage, call: Call) -> RemotingCommand | None:
    if (refused := without_body(broker, call, batch=False)) is not None:
        return refused
    properties = (request.properties or "").rstrip(PROPERTY_SEPARATOR)
    if broker.release.is_v5:
        properties = with_properties(properties, broker.send_ext)
    topic = checked_topic(broker, request, call.connection.peer)
    queue_id = chosen_queue(request.queue_id, topic)
    message = Incoming(
        topic=request.topic,
        queue_id=queue_id,
        body=call.command.body,
        properties=properties,
        sys_flag=request.sys_flag,
        flag=request.flag,
        born_ms=request.born_timestamp,
        born_host=call.connection.peer,
        reconsume_times=request.reconsume_times or 0,
    )
    client_id = property_of(properties, "REPLY_TO_CLIENT")
    if client_id is None:
        return _finish(broker, call, message, "reply message properties[REPLY_TO_CLIENT] is null")
    asker = broker.clients.producer(client_id)
    if asker is None:
        return _finish(broker, call, message, f"push reply message fail, channel of <{client_id}> not found.")

    def pushed(answer: RemotingCommand | None) -> None:
        failed = answer is None or answer.code != ResponseCode.SUCCESS
        failure = f"push reply message to {client_id}fail." if failed else None
        call.respond(_finish(broker, call, message, failure))

    push = _push(broker, request, message)
    asker.connection.call(push, _PUSH_TIMEOUT_MS, pushed)
    return None


def _push(broker: Broker, request: SendMessage, message: Incoming) -> RemotingCommand:
    now_ms = broker.clock.now_ms()
    header = ReplyMessage(
        producer_group=request.producer_group,
        topic=request.topic,
        default_topic=request.default_topic,
        default_topic_queue_nums=request.default_topic_queue_nums,
        queue_id=message.queue_id,
        sys_flag=request.sys_flag,
        born_timestamp=request.born_timestamp,
        flag=request.flag,
        properties=with_properties(message.properties, {"PUSH_REPLY_TIME": str(now_ms)}),
        reconsume_times=request.reconsume_times,
        unit_mode=request.unit_mode,
        born_host=message.born_host,
        store_host=broker.address,
        store_timestamp=now_ms,
    )
    return header.command(opaque=0, body=message.body, version=broker.release.ordinal)


def _finish(broker: Broker, call: Call, message: Incoming, failure: str | None) -> RemotingCommand:
    """Stores the reply, where the broker does that, and answers its sender: what is not stored is only logged."""
    code = ResponseCode.SUCCESS if failure is None else ResponseCode.SYSTEM_ERROR
    msg_id, queue_offset = "0", 0
    stored = False
    if broker.settings.store_reply_message_enable:
        try:
            appended = broker.intake.put(message)
        except (MqctlError, Refusal) as error:
            log.warning("%s: reply message of %s not stored: %s", broker.name, message.born_host, error)
        else:
            stored = True
            msg_id, queue_offset = broker.intake.offset_id(appended.physical_offset), appended.queue_offset
    if failure is not None and not stored:
        return call.answer(code, remark=failure, reply=broker.send_ext)
    where = SendMessageReply(
        msg_id=msg_id,
        queue_id=message.queue_id,
        queue_offset=queue_offset,
        region=broker.settings.region_id,
        trace_on=broker.settings.trace_on,
    )
    return call.answer(code, remark=failure, reply=where)
