"""33, 12, 321: messages by physical offset, by key; raw entries of a queue.

Source: `QueryMessageProcessor` and `AdminBrokerProcessor`.
"""

from __future__ import annotations

from base64 import b64encode

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.remoting.slices import Steps
from mqctl.protocol.bodies_stats import ConsumeQueueData, ConsumeQueueEntry
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dumps
from mqctl.protocol.frame import MAX_FRAME_BYTES, RemotingCommand
from mqctl.protocol.requests_admin import QueryConsumeQueue, QueryMessage, QueryMessageReply, ViewMessage
from mqctl.store.layouts import EXT_ADDRESS_LIMIT, EXT_UNIT_BYTES

_MOST_MESSAGES, _UNIQUE_MESSAGES = 64, 32


@handles(ViewMessage)
def view_message(broker: Broker, request: ViewMessage, call: Call) -> RemotingCommand:
    record = broker.storage.message_at(request.offset)
    if record is None:
        if broker.release.is_v5:
            return call.answer()
        remark = f"can not find message by the offset, {request.offset}"
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
    return call.answer(body=record)


@handles(QueryMessage)
def query_message(broker: Broker, request: QueryMessage, call: Call) -> None:
    limit = _UNIQUE_MESSAGES if request.unique_key_query else min(request.max_num, _MOST_MESSAGES)
    broker.slices.answer(call, _found(broker, request, call, limit))


def _found(broker: Broker, request: QueryMessage, call: Call, limit: int) -> Steps:
    begin_ms, end_ms = request.begin_timestamp, request.end_timestamp
    offsets = yield from broker.storage.find_by_key(request.topic, request.key, begin_ms, end_ms, limit)
    records, size = [], 0
    for offset in offsets:
        record = broker.storage.message_at(offset)
        if record is not None:
            records.append(record)
            size += len(record)
        if size > MAX_FRAME_BYTES:
            remark = f"the answer is too large: the first {len(records)} messages have {size} bytes"
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"{remark}, peers accept {MAX_FRAME_BYTES}")
        yield
    last = broker.storage.index.last
    reply = QueryMessageReply(index_last_update_timestamp=last.end_ms, index_last_update_phyoffset=last.end_physical)
    if not records:
        remark = "can not find message, maybe time range not correct"
        return call.answer(ResponseCode.QUERY_NOT_FOUND, remark=remark, reply=reply)
    return call.answer(reply=reply, body=b"".join(records))


@handles(QueryConsumeQueue, support="partial: no data of SQL92 filters, and units beside entries without a verdict")
def query_consume_queue(broker: Broker, request: QueryConsumeQueue, call: Call) -> RemotingCommand:
    topic = request.topic or ""
    if not _is_there(broker, topic, request.queue_id):
        remark = f"{request.queue_id}@{topic} is not exist!"
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
    entries = broker.storage.entries(topic, request.queue_id, request.index, request.count)
    if not entries:
        return call.answer(remark=f"Index {request.index} of {request.queue_id}@{topic} is not exist!")
    group = request.consumer_group
    subscription = broker.clients.subscription(group, topic) if group is not None else None
    filter_data = None
    if group is not None:
        filter_data = "null" if subscription is not None else f"{group}@{topic} is not online!"
    body = ConsumeQueueData(
        min_queue_index=broker.storage.min_offset(topic, request.queue_id),
        max_queue_index=broker.storage.max_offset(topic, request.queue_id),
        subscription_data=subscription,
        filter_data=filter_data,
        queue_data=tuple(
            ConsumeQueueEntry(
                physic_offset=physical,
                physic_size=size,
                tags_code=code,
                extend_data_json=_unit(broker, topic, request.queue_id, code) if code <= EXT_ADDRESS_LIMIT else None,
            )
            for physical, size, code in entries
        ),
    )
    return call.answer(remark=NO_REMARK_SET, body=body.to_bytes())


def _is_there(broker: Broker, topic: str, queue_id: int) -> bool:
    """Tells whether a queue is there, or could be: a broker makes it when somebody asks for its ends."""
    config = broker.topics.find(topic)
    known = max(config.read_queue_count, config.write_queue_count) if config is not None else 0
    return 0 <= queue_id < known or (topic, queue_id) in broker.storage.queues.table


def _unit(broker: Broker, topic: str, queue_id: int, address: int) -> str | None:
    """Returns what stands beside an entry, as fastjson writes a `CqExtUnit`; None when the address leads nowhere."""
    unit = broker.storage.ext.unit(topic, queue_id, address)
    if unit is None:
        return None
    bits = {"filterBitMap": b64encode(unit.bitmap).decode()} if unit.bitmap else {}
    size = EXT_UNIT_BYTES + len(unit.bitmap)
    return dumps({**bits, "msgStoreTime": unit.store_ms, "size": size, "tagsCode": unit.tags_code})
