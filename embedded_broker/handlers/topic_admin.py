"""Topics by hand: 17 creates or changes one, 215 deletes one, 21 and 351 read them, 305 lists those of the system."""

from __future__ import annotations

import logging

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles
from embedded_broker.sends import missing_topic_remark, topic_problem
from mqctl.model import names
from mqctl.model.config import TopicConfig
from mqctl.protocol.bodies_cluster import TopicList
from mqctl.protocol.body import write_topic_config
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    CreateTopic,
    DeleteTopic,
    GetAllTopicConfig,
    GetSystemTopicListFromBroker,
)
from mqctl.protocol.requests_five import GetTopicConfig

log = logging.getLogger("embedded_broker")


@handles(CreateTopic)
def create_topic(broker: Broker, request: CreateTopic, call: Call) -> RemotingCommand:
    problem = _unusable(broker, request.topic)
    if problem is not None:
        code = ResponseCode.INVALID_PARAMETER if broker.release.five else ResponseCode.SYSTEM_ERROR
        return call.answer(code, remark=problem)
    known = broker.topics.get(request.topic)
    config = TopicConfig(
        name=request.topic,
        read_queue_count=request.read_queue_nums,
        write_queue_count=request.write_queue_nums,
        perm=request.perm,
        filter_type=request.topic_filter_type,
        sys_flag=request.topic_sys_flag or 0,
        order=known.order if known is not None else False,
        attributes=_attributes(known, request.attributes) if broker.release.five else {},
    )
    broker.topics.put(config)
    return call.answer()


def _unusable(broker: Broker, topic: str) -> str | None:
    problem = topic_problem(topic)
    if problem is None and (topic in broker.topics.system or names.is_system_topic(topic)):
        problem = f"The topic[{topic}] is conflict with system topic."
    return problem


def _attributes(known: TopicConfig | None, changes: str | None) -> dict[str, str]:
    """Applies `+name=value,-name` to the attributes of a topic."""
    attributes = dict(known.attributes) if known is not None else {}
    for change in filter(None, (changes or "").split(",")):
        name, _, value = change[1:].partition("=")
        if change.startswith("+"):
            attributes[name] = value
        else:
            attributes.pop(name, None)
    return attributes


@handles(DeleteTopic)
def delete_topic(broker: Broker, request: DeleteTopic, call: Call) -> RemotingCommand:
    problem = _unusable(broker, request.topic)
    if problem is not None:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=problem)
    broker.topics.delete(request.topic)
    broker.storage.delete_topic(request.topic)
    if broker.settings.auto_delete_unused_stats:
        broker.stats.forget_topic(request.topic)
    return call.answer()


@handles(GetAllTopicConfig, support="partial: the table comes whole, 5.3 paging is ignored")
def get_all_topic_config(broker: Broker, request: GetAllTopicConfig, call: Call) -> RemotingCommand:
    return call.answer(body=broker.topics.table().to_bytes(five=broker.release.five))


@handles(GetTopicConfig)
def get_topic_config(broker: Broker, request: GetTopicConfig, call: Call) -> RemotingCommand:
    config = broker.topics.get(request.topic)
    if config is None:
        return call.answer(ResponseCode.TOPIC_NOT_EXIST, remark=missing_topic_remark(broker, request.topic))
    return call.answer(body=dump_bytes(write_topic_config(config, broker.release.five)))


@handles(GetSystemTopicListFromBroker)
def get_system_topics(broker: Broker, request: GetSystemTopicListFromBroker, call: Call) -> RemotingCommand:
    hidden = (names.HALF_TOPIC, names.OP_TOPIC, names.DISCARD_TOPIC)
    return call.answer(body=TopicList(topic_list=tuple(sorted({*broker.topics.system, *hidden}))).to_bytes())
