"""29, 30, 31, 32: an offset by time, ends of a queue, its first store time (`AdminBrokerProcessor`)."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.log.store import Boundary
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import (
    GetEarliestMsgStoretime,
    GetMaxOffset,
    GetMinOffset,
    OffsetReply,
    SearchOffset,
    StoretimeReply,
)


@handles(SearchOffset)
def search_offset(broker: Broker, request: SearchOffset, call: Call) -> RemotingCommand:
    boundary = Boundary.NEAREST
    if broker.release.is_v5:
        boundary = Boundary.UPPER if (request.boundary_type or "").lower() == "upper" else Boundary.LOWER
    offset = broker.storage.offset_by_time(request.topic, request.queue_id, request.timestamp, boundary)
    return call.answer(reply=OffsetReply(offset=offset))


@handles(GetMaxOffset)
def get_max_offset(broker: Broker, request: GetMaxOffset, call: Call) -> RemotingCommand:
    return call.answer(reply=OffsetReply(offset=broker.storage.max_offset(request.topic, request.queue_id)))


@handles(GetMinOffset)
def get_min_offset(broker: Broker, request: GetMinOffset, call: Call) -> RemotingCommand:
    remark = "" if broker.release.is_v5 else None  # 5.3.3 answers as from broker to broker
    reply = OffsetReply(offset=broker.storage.min_offset(request.topic, request.queue_id))
    return call.answer(remark=remark, reply=reply)


@handles(GetEarliestMsgStoretime)
def get_earliest_store_time(broker: Broker, request: GetEarliestMsgStoretime, call: Call) -> RemotingCommand:
    storage = broker.storage
    first = storage.min_offset(request.topic, request.queue_id)
    store_ms = storage.store_time(request.topic, request.queue_id, first)
    return call.answer(reply=StoretimeReply(timestamp=-1 if store_ms is None else store_ms))
