"""Have a timer message not delivered: 370 (5.x). A marker in the same slot of the wheel takes it away."""

from __future__ import annotations

from functools import partial

from embedded_broker.broker import Broker
from embedded_broker.put import Incoming, Refusal, put, with_properties
from embedded_broker.recall import RecallHandle, RecallHandleError
from embedded_broker.registry import Call, handles
from mqctl.errors import StorageError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import RecallMessage, RecallMessageReply

_MARKER_TAG = "_RECALL_TAG_"


@handles(RecallMessage)
def recall_message(broker: Broker, request: RecallMessage, call: Call) -> RemotingCommand | None:
    try:
        handle = _checked(broker, request)
        put(broker, _marker(broker, request, handle, call.connection.peer))
    except Refusal as refusal:
        return call.answer(refusal.code, remark=refusal.remark)
    except StorageError as error:
        broker.stats.put_failed += 1
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=str(error))
    reply = RecallMessageReply(msg_id=handle.unique_key, region=broker.settings.region_id)
    broker.storage.when_durable(partial(_acknowledge, call, reply))
    return None


def _acknowledge(call: Call, reply: RecallMessageReply, failure: StorageError | None) -> None:
    """Answers once the marker is on disk: who recalled a message counts on it."""
    if failure is None:
        call.respond(call.answer(reply=reply))
    else:
        call.respond(call.answer(ResponseCode.FLUSH_DISK_TIMEOUT, remark=str(failure)))


def _checked(broker: Broker, request: RecallMessage) -> RecallHandle:
    settings = broker.settings
    if not settings.recall_message_enable:
        raise Refusal(ResponseCode.NO_PERMISSION, "recall failed, recallMessageEnable is false")
    if broker.broker_id != 0:
        raise Refusal(ResponseCode.SLAVE_NOT_AVAILABLE, "recall failed, this broker is a slave")
    if not broker.writable and not settings.allow_recall_when_broker_not_writeable:
        raise Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, "recall failed, this broker is not writable")
    if broker.topics.get(request.topic) is None:
        raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{request.topic}] not exist")
    try:
        handle = RecallHandle.parse(request.recall_handle)
    except RecallHandleError as error:
        raise Refusal(ResponseCode.ILLEGAL_OPERATION, str(error)) from error
    if handle.topic != request.topic or handle.broker_name != broker.name:
        raise Refusal(
            ResponseCode.ILLEGAL_OPERATION,
            f"recall failed, the handle is for topic {handle.topic} on broker {handle.broker_name}",
        )
    left_ms = handle.deliver_ms - broker.clock.now_ms()
    if not 0 < left_ms < settings.timer_max_delay_sec * 1000:
        raise Refusal(ResponseCode.ILLEGAL_OPERATION, f"recall failed, the message is due in {left_ms} ms")
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
