"""14, 15: reads a committed offset of a group, stores one (`ConsumerManageProcessor`).

5.x refuses a commit for a group or topic that it does not know, 4.9 stores whatever comes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from embedded_broker.broker import Broker
from embedded_broker.handlers.durable import confirmed_offsets
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.refusals import Refusal
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import OffsetReply, QueryConsumerOffset, UpdateConsumerOffset

_NUMBER = re.compile(r"[+-]?[0-9]+\Z")


@handles(QueryConsumerOffset)
def query_consumer_offset(broker: Broker, request: QueryConsumerOffset, call: Call) -> RemotingCommand:
    offset = broker.offsets.query(request.consumer_group, request.topic, request.queue_id)
    if offset < 0 and _starts_at_zero(broker, request):
        offset = 0
    if offset < 0:
        remark = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
        if broker.release.is_v5 and request.set_zero_if_not_found is False:
            remark = "Not found, do not set to zero, maybe this group boot first"
        return call.answer(ResponseCode.QUERY_NOT_FOUND, remark=remark)
    return call.answer(reply=OffsetReply(offset=offset))


def _starts_at_zero(broker: Broker, request: QueryConsumerOffset) -> bool:
    """A young queue is consumed from its start, whatever the consumer says: nothing of it has left memory yet."""
    storage = broker.storage
    if storage.min_offset(request.topic, request.queue_id) > 0:
        return False
    empty = storage.max_offset(request.topic, request.queue_id) == 0
    if broker.release.is_v5 and (request.set_zero_if_not_found is False or empty):
        return False
    if empty:
        return True
    entries = storage.entries(request.topic, request.queue_id, 0, 1)
    return bool(entries) and storage.log.position - entries[0][0] <= storage.settings.in_memory_bytes


@handles(UpdateConsumerOffset, fast=True)
def update_consumer_offset(broker: Broker, ext: Mapping[str, str], call: Call) -> RemotingCommand:
    if broker.release.is_v5:
        refusal = _refusal(broker, ext)
        if refusal is not None:
            return call.answer(refusal.code, remark=refusal.remark)
    request = UpdateConsumerOffset.from_ext(ext)
    where = (request.consumer_group, request.topic, request.queue_id)
    if broker.settings.use_server_side_reset_offset and broker.offsets.was_reset(*where):
        return call.answer(remark="Offset has been previously reset")
    broker.offsets.check_room(request.consumer_group, request.topic, (request.queue_id,))
    if call.command.is_oneway:  # as clients commit every few seconds; who waits for the answer wants to know
        broker.offsets.commit(*where, request.commit_offset)
    else:
        with confirmed_offsets(broker, request.consumer_group, request.topic):
            broker.offsets.commit(*where, request.commit_offset)
    return call.answer()


def _refusal(broker: Broker, ext: Mapping[str, str]) -> Refusal | None:
    """5.x looks whether group and topic exist, but not whether the queue does; 4.9 stores whatever comes."""
    group, topic = ext.get("consumerGroup", "null"), ext.get("topic", "null")
    if broker.groups.find(group) is None:  # a commit creates no group, unlike a pull
        return Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!")
    if broker.topics.find(topic) is None:
        return Refusal(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
    for name, title in (("queueId", "QueueId"), ("commitOffset", "Offset")):
        if not _NUMBER.match(ext.get(name, "")):
            return Refusal(ResponseCode.INVALID_PARAMETER, f"{title} is null, topic is {topic}")
    return None
