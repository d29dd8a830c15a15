"""Committed offsets of a group: 14 reads one, 15 stores one."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import OffsetReply, QueryConsumerOffset, UpdateConsumerOffset


@handles(QueryConsumerOffset)
def query_consumer_offset(broker: Broker, request: QueryConsumerOffset, call: Call) -> RemotingCommand:
    offset = broker.offsets.query(request.consumer_group, request.topic, request.queue_id)
    if offset < 0 and _starts_at_zero(broker, request):
        offset = 0
    if offset < 0:
        remark = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
        if broker.release.five and request.set_zero_if_not_found is False:
            remark = "Not found, do not set to zero, maybe this group boot first"
        return call.answer(ResponseCode.QUERY_NOT_FOUND, remark=remark)
    return call.answer(reply=OffsetReply(offset=offset))


def _starts_at_zero(broker: Broker, request: QueryConsumerOffset) -> bool:
    """A young queue is consumed from its start, whatever the consumer says: nothing of it has left memory yet."""
    storage = broker.storage
    if storage.min_offset(request.topic, request.queue_id) > 0:
        return False
    empty = storage.max_offset(request.topic, request.queue_id) == 0
    if broker.release.five and (request.set_zero_if_not_found is False or empty):
        return False
    if empty:
        return True
    entries = storage.entries(request.topic, request.queue_id, 0, 1)
    return bool(entries) and storage.log.position - entries[0][0] <= storage.settings.in_memory_bytes


@handles(UpdateConsumerOffset)
def update_consumer_offset(broker: Broker, request: UpdateConsumerOffset, call: Call) -> RemotingCommand:
    if broker.release.five:
        refusal = _refusal(broker, request, call)
        if refusal is not None:
            return refusal
        server_side = broker.settings.use_server_side_reset_offset
        if server_side and broker.offsets.was_reset(request.consumer_group, request.topic, request.queue_id):
            return call.answer(remark="Offset has been previously reset")
    broker.offsets.commit(request.consumer_group, request.topic, request.queue_id, request.commit_offset)
    return call.answer()


def _refusal(broker: Broker, request: UpdateConsumerOffset, call: Call) -> RemotingCommand | None:
    """5.x looks whether group and topic exist, but not whether the queue does; 4.9 stores whatever comes."""
    if broker.groups.get(request.consumer_group) is None:  # a commit creates no group, unlike a pull
        remark = f"Group {request.consumer_group} not exist!"
        return call.answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark=remark)
    if broker.topics.get(request.topic) is None:
        return call.answer(ResponseCode.TOPIC_NOT_EXIST, remark=f"Topic {request.topic} not exist!")
    return None
