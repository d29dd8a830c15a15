"""Have a timer message not delivered: 370 (5.x). A marker in the same slot of the wheel takes it away."""

from __future__ import annotations

import logging
from functools import partial

from embedded_broker.broker import Broker
from embedded_broker.delay.recall import RecallHandle, RecallHandleError
from embedded_broker.log.intake import Incoming, Refusal, put, with_properties
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from mqctl.errors import StorageError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import RecallMessage, RecallMessageReply

log = logging.getLogger("embedded_broker")

_NO_SERVICE = "recall failed, broker service not available"
_MARKER_TAG = "_RECALL_TAG_"


@handles(RecallMessage)
def recall_message(broker: Broker, request: RecallMessage, call: Call) -> RemotingCommand | None:
    region = {"MSG_REGION": broker.settings.region_id}
    try:
        handle = _checked(broker, request)
        put(broker, _marker(broker, request, handle, call.connection.peer))
    except Refusal as refusal:
        return call.answer(refusal.code, remark=refusal.remark, reply=region)
    except StorageError as error:
        broker.stats.put_failed += 1
        log.warning("%s: marker of a recall not stored: %s", broker.name, error)
        return call.answer(ResponseCode.SYSTEM_ERROR, remark="recall failed, execute error", reply=region)
    reply = RecallMessageReply(msg_id=handle.unique_key, region=broker.settings.region_id)
    broker.storage.when_durable(partial(_acknowledge, call, reply))
    return None


def _acknowledge(call: Call, reply: RecallMessageReply, failure: StorageError | None) -> None:
    """Answers once the marker is on disk: who recalled a message counts on it."""
    if failure is None:
        call.respond(call.answer(remark=NO_REMARK_SET, reply=reply))
    else:
        call.respond(call.answer(ResponseCode.FLUSH_DISK_TIMEOUT, remark=str(failure)))


def _checked(broker: Broker, request: RecallMessage) -> RecallHandle:
    settings = broker.settings
    if not settings.recall_message_enable:
        raise Refusal(ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
    if broker.broker_id != 0:
        raise Refusal(ResponseCode.SLAVE_NOT_AVAILABLE, _NO_SERVICE)
    closed = not broker.writable and not settings.allow_recall_when_broker_not_writeable
    if closed or broker.clock.now_ms() < settings.start_accept_send_request_time_stamp:
        raise Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, _NO_SERVICE)
    if broker.topics.find(request.topic) is None:
        raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{request.topic}] not exist")
    try:
        handle = RecallHandle.parse(request.recall_handle)
    except RecallHandleError as error:
        raise Refusal(ResponseCode.ILLEGAL_OPERATION, str(error)) from error
    if handle.topic != request.topic:
        raise Refusal(ResponseCode.ILLEGAL_OPERATION, "recall failed, topic not match")
    if handle.broker_name != broker.name:
        raise Refusal(ResponseCode.ILLEGAL_OPERATION, _NO_SERVICE)
    left_ms = handle.deliver_ms - broker.clock.now_ms()
    if not 0 < left_ms < settings.timer_max_delay_sec * 1000:
        raise Refusal(ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
    return handle


def _marker(broker: Broker, request: RecallMessage, handle: RecallHandle, peer: str) -> Incoming:
    properties = {
        "TIMER_DELIVER_MS": str(handle.deliver_ms),
        "TIMER_DEL_UNIQKEY": handle.delete_key,
        "UNIQ_KEY": handle.unique_key,
        "TAGS": _MARKER_TAG,
        "CLUSTER": broker.cluster,
        **({"PGROUP": request.producer_group} if request.producer_group else {}),
    }
    return Incoming(
        topic=handle.topic,
        queue_id=0,
        body=b"0",
        properties=with_properties("", properties),
        born_ms=broker.clock.now_ms(),
        born_host=peer,
    )
