"""Commit an offset: 15."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import UpdateConsumerOffset


@handles(UpdateConsumerOffset)
def update_consumer_offset(broker: Broker, request: UpdateConsumerOffset, call: Call) -> RemotingCommand:
    if broker.release.five:
        refusal = _refusal(broker, request, call)
        if refusal is not None:
            return refusal
    broker.offsets.commit(request.consumer_group, request.topic, request.queue_id, request.commit_offset)
    return call.answer()


def _refusal(broker: Broker, request: UpdateConsumerOffset, call: Call) -> RemotingCommand | None:
    """5.x looks whether group, topic and queue exist; 4.9 stores whatever comes."""
    if broker.groups.find(request.consumer_group) is None:
        return call.answer(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark=f"no group {request.consumer_group}")
    topic = broker.topics.get(request.topic)
    if topic is None:
        return call.answer(ResponseCode.TOPIC_NOT_EXIST, remark=f"no topic {request.topic}")
    if not 0 <= request.queue_id < max(topic.read_queue_count, topic.write_queue_count):
        return call.answer(ResponseCode.INVALID_PARAMETER, remark=f"no queue {request.queue_id}")
    return None
