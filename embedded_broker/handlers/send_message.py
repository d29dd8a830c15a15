"""10, 310, 320: stores a message, or a batch where the header says so (`SendMessageProcessor`).

5.x answers a transaction id and stores region and tracing with the message; 4.9 drops WAIT.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from embedded_broker.broker import Broker
from embedded_broker.handlers.send_checks import (
    check_message,
    checked_topic,
    chosen_queue,
    disk_full_remark,
    illegal_remark,
    is_exhausted,
    is_half,
    without_body,
)
from embedded_broker.log.intake import MULTI_TAGS, TRANSACTION_BITS, Incoming, stored_properties, v5_properties
from embedded_broker.log.settings import SYNC_FLUSH
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.remoting.slices import Steps
from mqctl.errors import MqctlError, StorageError
from mqctl.model.names import RETRY_PREFIX, TIMER_TOPIC, dlq_topic
from mqctl.model.numbers import decimal
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand, SerializeType
from mqctl.protocol.message_batch import decode_batch
from mqctl.protocol.message_record import RecordError
from mqctl.protocol.properties import joined_properties, property_of, with_properties
from mqctl.protocol.recall_handle import RecallHandle
from mqctl.protocol.requests_client import SendBatchMessage, SendMessage, SendMessageReply, SendMessageV2
from mqctl.store.disk import DiskFullError
from mqctl.store.record_writer import MessageRefused

log = logging.getLogger("embedded_broker")


def _words(broker: Broker, error: Refusal | MqctlError) -> Refusal | None:
    """Every answer to a send bears region and tracing; what the store refuses has a code of its own."""
    if isinstance(error, Refusal):
        return Refusal(error.code, error.remark, broker.send_ext)
    if isinstance(error, MessageRefused):
        return Refusal(ResponseCode.MESSAGE_ILLEGAL, illegal_remark(broker), broker.send_ext)
    if isinstance(error, DiskFullError):
        return Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, disk_full_remark(broker), broker.send_ext)
    if isinstance(error, StorageError):
        return Refusal(ResponseCode.SYSTEM_ERROR, str(error), broker.send_ext)
    return None


@handles(SendMessage, SendMessageV2, SendBatchMessage, words=_words)
def send_message(broker: Broker, request: SendMessage, call: Call) -> RemotingCommand | None:
    if (refused := without_body(broker, call, batch=bool(request.batch))) is not None:
        return refused
    keys = broker.storage.dispatcher.keys
    characters = len(request.properties or "") + (len(call.command.body) if request.batch else 0)
    if keys is not None and (keys.is_full(characters) or broker.slices.waits_for(call.connection)):
        broker.slices.answer(call, _sent_later(broker, request, call, keys.making_room(characters)))
    else:
        _send(broker, request, call)
    return None


def _sent_later(broker: Broker, request: SendMessage, call: Call, room: Iterator[None]) -> Steps:
    yield from room
    _send(broker, request, call)
    return None


def _send(broker: Broker, request: SendMessage, call: Call) -> None:
    reply = _batch(broker, request, call) if request.batch else _single(broker, request, call)
    is_synced, master = broker.settings.flush_disk_type == SYNC_FLUSH, broker.replication.master
    if (is_synced or master.waits) and property_of(request.properties or "", "WAIT") != "false":
        _acknowledge_later(broker, call, reply, is_synced=is_synced)
    else:
        _acknowledge(broker, call, reply, None)


def _acknowledge_later(broker: Broker, call: Call, reply: SendMessageReply, *, is_synced: bool) -> None:
    """Answers once disk and slaves have the message; what the slaves lack is told before what the disk lacks."""
    master, end = broker.replication.master, broker.storage.log.position

    def durable(failure: StorageError | None) -> None:
        trouble = None if failure is None else ResponseCode.FLUSH_DISK_TIMEOUT
        if master.waits:
            master.when_replicated(end, lambda missing: _acknowledge(broker, call, reply, missing or trouble))
        else:
            _acknowledge(broker, call, reply, trouble)

    if is_synced:
        broker.storage.when_durable(durable)
    else:
        durable(None)


def _acknowledge(broker: Broker, call: Call, reply: SendMessageReply, trouble: ResponseCode | None) -> None:
    if trouble is not None:
        call.respond(call.answer(trouble, reply=reply))
    elif call.command.serialize_type is SerializeType.JSON and reply.transaction_id is None:
        fill = broker.send_answers.fill
        call.respond_frame(fill(call.command.opaque, reply.msg_id, reply.queue_id, reply.queue_offset))
    else:
        call.respond(call.answer(reply=reply))


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
        appended = broker.intake.put(message)
    return _reply(
        broker,
        broker.intake.offset_id(appended.physical_offset),
        queue_id,
        appended.queue_offset,
        transaction_id=property_of(properties, "UNIQ_KEY") if is_v5 else None,
        recall_handle=_recall_handle(broker, name, message) if message.topic == TIMER_TOPIC else None,
    )


def _recall_handle(broker: Broker, topic: str, waiting: Incoming) -> str | None:
    """Returns what recalls a message for `topic` that waits in the timer wheel; retried ones cannot be recalled."""
    out_ms = decimal(property_of(waiting.properties, "TIMER_OUT_MS"))
    if topic.startswith(RETRY_PREFIX) or topic == TIMER_TOPIC or out_ms is None:
        return None
    key = property_of(waiting.properties, "UNIQ_KEY") or ""
    return str(RecallHandle(topic, broker.name, out_ms + 1, key))


def _batch(broker: Broker, request: SendMessage, call: Call) -> SendMessageReply:
    peer = call.connection.peer
    topic = checked_topic(broker, request, peer)
    queue_id = chosen_queue(request.queue_id, topic)
    properties = request.properties or ""
    check_message(broker, call.command.body, properties)
    if broker.release.is_v5 and request.topic.startswith(RETRY_PREFIX):
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {request.topic}")
    if request.sys_flag & TRANSACTION_BITS or decimal(property_of(properties, "DELAY")):
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, illegal_remark(broker))
    try:
        elements = decode_batch(call.command.body)
    except RecordError as error:
        raise Refusal(ResponseCode.SYSTEM_ERROR, str(error)) from error
    if not elements:
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, "the batch has no message")
    # A 5.x client gives the batch a key of its own, which is stored behind those of its messages: readers take it.
    added = broker.stored_own if broker.release.is_v5 else {"CLUSTER": broker.cluster}
    common = with_properties(properties, added)
    appended = broker.intake.put_batch(
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
    offset_id = broker.intake.offset_id
    ids = ",".join([offset_id(one.physical_offset) for one in appended])
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
