"""370: has a timer message of 5.x not delivered (`RecallMessageProcessor`).

A marker in the same slot of the wheel takes the message away.
"""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.handlers.durable import answer_when_durable
from embedded_broker.log.intake import Incoming
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import MqctlError, StorageError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.properties import with_properties
from mqctl.protocol.recall_handle import RecallHandle, RecallHandleError
from mqctl.protocol.requests_client import RecallMessage, RecallMessageReply

_NO_SERVICE = "recall failed, broker service not available"
_MARKER_TAG = "_RECALL_TAG_"


def _words(broker: Broker, error: Refusal | MqctlError) -> Refusal | None:
    region = {"MSG_REGION": broker.settings.region_id}
    if isinstance(error, Refusal):
        return Refusal(error.code, error.remark, region)
    if isinstance(error, StorageError):
        return Refusal(ResponseCode.SYSTEM_ERROR, "recall failed, execute error", region)
    return None


@handles(RecallMessage, words=_words)
def recall_message(broker: Broker, request: RecallMessage, call: Call) -> None:
    handle = _checked(broker, request)
    broker.intake.put(_marker(broker, request, handle, call.connection.peer))
    reply = RecallMessageReply(msg_id=handle.unique_key, region=broker.settings.region_id)
    answer = call.answer(remark=NO_REMARK_SET, reply=reply)
    answer_when_durable(broker, call, answer, ResponseCode.FLUSH_DISK_TIMEOUT)  # who recalled a message counts on it


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
