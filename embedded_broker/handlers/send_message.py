"""Store a message: 10 and 310; a batch, whichever the code, when the header says so (320)."""

from __future__ import annotations

import logging

from embedded_broker.broker import Broker
from embedded_broker.delay.recall import RecallHandle
from embedded_broker.log.intake import (
    MULTI_TAGS,
    TRANSACTION_BITS,
    Incoming,
    Refusal,
    joined_properties,
    property_of,
    put,
    put_batch,
    stored_properties,
    v5_properties,
    with_properties,
    without_property,
)
from embedded_broker.log.sends import (
    check_message,
    checked_topic,
    chosen_queue,
    disk_full_remark,
    illegal_remark,
    is_exhausted,
    is_half,
)
from embedded_broker.log.settings import SYNC_FLUSH
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.errors import StorageError
from mqctl.model.names import RETRY_PREFIX, dlq_topic
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand, SerializeType
from mqctl.protocol.message_batch import decode_batch
from mqctl.protocol.message_record import RecordError
from mqctl.protocol.requests_client import SendBatchMessage, SendMessage, SendMessageReply, SendMessageV2
from mqctl.store.disk import DiskFullError
from mqctl.store.record_writer import MessageRefused

log = logging.getLogger("embedded_broker")


@handles(SendMessage, SendMessageV2, SendBatchMessage)
def send_message(broker: Broker, request: SendMessage, call: Call) -> RemotingCommand | None:
    try:
        reply = _batch(broker, request, call) if request.batch else _single(broker, request, call)
    except Refusal as refusal:
        return _refused(broker, call, refusal.code, refusal.remark)
    except MessageRefused as error:
        log.warning("%s: message for %s of %s refused: %s", broker.name, request.topic, call.connection.peer, error)
        return _refused(broker, call, ResponseCode.MESSAGE_ILLEGAL, illegal_remark(broker))
    except DiskFullError as error:
        broker.stats.put_failed += 1
        log.warning("%s: message for %s not stored: %s", broker.name, request.topic, error)
        return _refused(broker, call, ResponseCode.SERVICE_NOT_AVAILABLE, disk_full_remark())
    except StorageError as error:
        broker.stats.put_failed += 1
        return _refused(broker, call, ResponseCode.SYSTEM_ERROR, str(error))
    if broker.settings.flush_disk_type == SYNC_FLUSH and property_of(request.properties or "", "WAIT") != "false":
        broker.storage.when_durable(lambda failure: _acknowledge(broker, call, reply, failure))
    else:
        _acknowledge(broker, call, reply, None)
    return None


def _acknowledge(broker: Broker, call: Call, reply: SendMessageReply, failure: StorageError | None) -> None:
    if failure is not None:
        call.respond(call.answer(ResponseCode.FLUSH_DISK_TIMEOUT, reply=reply))
    elif call.command.serialize_type is SerializeType.JSON and reply.transaction_id is None:
        # The answer a busy broker sends most; rendering it piece by piece costs a tenth of a send.
        call.respond_json(
            f'{{"code":0,"extFields":{{"msgId":"{reply.msg_id}","queueId":"{reply.queue_id}",'
            f'"queueOffset":"{reply.queue_offset}",{broker.send_ext_json}}},"flag":1,"language":"PYTHON",'
            f'"opaque":{call.command.opaque},"serializeTypeCurrentRPC":"JSON","version":{call.version}}}'
        )
    else:
        call.respond(call.answer(reply=reply))


def _refused(broker: Broker, call: Call, code: ResponseCode, remark: str) -> RemotingCommand:
    return call.answer(code, remark=remark, reply=broker.send_ext)


def _single(broker: Broker, request: SendMessage, call: Call) -> SendMessageReply:
    peer = call.connection.peer
    topic = checked_topic(broker, request, peer)
    queue_id = chosen_queue(request.queue_id, topic)
    properties = request.properties or ""
    check_message(broker, call.command.body, properties)
    is_v5 = broker.release.is_v5
    if is_v5:
        properties = v5_properties(properties, broker.stored_own, broker.unique_ids.next)
    else:
        properties = stored_properties(properties, broker.cluster)
    name = request.topic
    if name.startswith(RETRY_PREFIX):
        group = name[len(RETRY_PREFIX) :]
        if is_exhausted(broker, request, group, call.command.version):
            name = dlq_topic(group)
            topic = broker.topics.find_or_create(name, 1)
            queue_id = 0
            if is_v5:  # 4.9.8 means to drop the delay and forgets: the dead letter waits in the schedule topic first
                properties = with_properties(properties, {"DELAY": "-1"})
    message = Incoming(
        topic=name,
        queue_id=queue_id,
        body=call.command.body,
        properties=properties,
        sys_flag=request.sys_flag | (MULTI_TAGS if topic.filter_type == "MULTI_TAG" else 0),
        flag=request.flag,
        born_ms=request.born_timestamp,
        born_host=peer,
        reconsume_times=request.reconsume_times or 0,
    )
    if is_half(properties):
        appended = broker.transactions.prepare(message, property_of(properties, "UNIQ_KEY"))
    else:
        appended = put(broker, message)
    return _reply(
        broker,
        broker.offset_id(appended.physical_offset),
        queue_id,
        appended.queue_offset,
        transaction_id=property_of(properties, "UNIQ_KEY") if is_v5 else None,
        recall_handle=_recall_handle(broker, message) if message.timer_out_ms is not None else None,
    )


def _recall_handle(broker: Broker, message: Incoming) -> str | None:
    """Returns what recalls a message that waits in the timer wheel; retried ones cannot be recalled."""
    if message.topic.startswith(RETRY_PREFIX) or message.timer_out_ms is None:
        return None
    key = property_of(message.properties, "UNIQ_KEY") or ""
    return str(RecallHandle(message.topic, broker.name, message.timer_out_ms + 1, key))


def _batch(broker: Broker, request: SendMessage, call: Call) -> SendMessageReply:
    peer = call.connection.peer
    topic = checked_topic(broker, request, peer)
    queue_id = chosen_queue(request.queue_id, topic)
    properties = request.properties or ""
    check_message(broker, call.command.body, properties)
    if broker.release.is_v5 and request.topic.startswith(RETRY_PREFIX):
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {request.topic}")
    delay = property_of(properties, "DELAY") or "0"
    if request.sys_flag & TRANSACTION_BITS or (delay.isdigit() and int(delay)):
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, illegal_remark(broker))
    try:
        elements = decode_batch(call.command.body)
    except RecordError as error:
        raise Refusal(ResponseCode.SYSTEM_ERROR, str(error)) from error
    if not elements:
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, "the batch has no message")
    # A 5.x client gives the batch a key of its own; those of its messages must survive.
    added = broker.stored_own if broker.release.is_v5 else {"CLUSTER": broker.cluster}
    common = with_properties(without_property(properties, "UNIQ_KEY"), added)
    appended = put_batch(
        broker,
        [
            Incoming(
                topic=request.topic,
                queue_id=queue_id,
                body=element.body,
                properties=joined_properties(element.properties_text, common),
                sys_flag=request.sys_flag | (MULTI_TAGS if topic.filter_type == "MULTI_TAG" else 0),
                flag=element.flag,
                born_ms=request.born_timestamp,
                born_host=peer,
                reconsume_times=request.reconsume_times or 0,
            )
            for element in elements
        ],
    )
    ids = ",".join([broker.offset_id(one.physical_offset) for one in appended])
    key = property_of(properties, "UNIQ_KEY") if broker.release.is_v5 else None
    return _reply(broker, ids, queue_id, appended[0].queue_offset, transaction_id=key)


def _reply(
    broker: Broker,
    msg_id: str,
    queue_id: int,
    queue_offset: int,
    *,
    transaction_id: str | None = None,
    recall_handle: str | None = None,
) -> SendMessageReply:
    return SendMessageReply(
        msg_id=msg_id,
        queue_id=queue_id,
        queue_offset=queue_offset,
        transaction_id=transaction_id,
        recall_handle=recall_handle,
        region=broker.settings.region_id,
        trace_on=broker.settings.trace_on,
    )
