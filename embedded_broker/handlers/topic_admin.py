"""17, 18, 215, 21, 351, 305: topics by hand: creates or changes some, deletes one, reads them, lists the system's.

Source: `AdminBrokerProcessor`.

5.x has attributes, and drops the offsets of a deleted topic.
"""

from __future__ import annotations

from dataclasses import replace

from embedded_broker.broker import Broker
from embedded_broker.handlers.send_checks import topic_problem
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from embedded_broker.tables.attributes import MESSAGE_TYPE, TOPIC_ATTRIBUTES, AttributeRefused, altered, changes_of
from mqctl.model import names
from mqctl.model.config import TopicConfig
from mqctl.protocol.bodies_cluster import TopicList
from mqctl.protocol.body import read_topic_config, write_topic_config
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dump_bytes, loads
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    CreateTopic,
    DeleteTopic,
    GetAllTopicConfig,
    GetSystemTopicListFromBroker,
)
from mqctl.protocol.requests_v5 import CreateTopicList, GetTopicConfig

_MIXED = "MIXED message type is not supported."
_NO_TIMERS = (
    'Cannot invoke "org.apache.rocketmq.store.timer.TimerMessageStore.getTimerMetrics()" because the return value of '
    '"org.apache.rocketmq.store.MessageStore.getTimerMessageStore()" is null'
)
"""What 5.3.3 answers without timers, once everything is deleted (`AdminBrokerProcessor.deleteTopicInBroker`)."""


@handles(CreateTopic)
def create_topic(broker: Broker, request: CreateTopic, call: Call) -> RemotingCommand:
    is_v5 = broker.release.is_v5
    problem = _unusable(broker, request.topic)
    if problem is not None:
        return call.answer(ResponseCode.INVALID_PARAMETER if is_v5 else ResponseCode.SYSTEM_ERROR, remark=problem)
    known = broker.topics.find(request.topic)
    try:
        changes = changes_of(request.attributes) if is_v5 else {}
        if changes.get(f"+{MESSAGE_TYPE}") == "MIXED":  # enableMixedMessageType is off by default
            return call.answer(ResponseCode.INVALID_PARAMETER, remark=_MIXED)
        attributes = altered(known.attributes if known is not None else None, changes, TOPIC_ATTRIBUTES)
    except AttributeRefused as error:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=error.message)
    config = TopicConfig(
        name=request.topic,
        read_queue_count=request.read_queue_nums,
        write_queue_count=request.write_queue_nums,
        perm=request.perm,
        filter_type=request.topic_filter_type,
        sys_flag=request.topic_sys_flag or 0,
        order=(is_v5 and request.order) or request.topic in broker.topics.ordered,
        attributes=attributes,
    )
    if not (is_v5 and not changes and config == known):
        broker.topics.put(config)
    else:
        broker.topics.file.write()  # if an earlier try failed
    return call.answer(remark=NO_REMARK_SET)


@handles(CreateTopicList)
def create_topics(broker: Broker, request: CreateTopicList, call: Call) -> RemotingCommand:
    """Creates or changes topics, all or none; a list with a topic that is so already changes nothing."""
    node = loads(call.command.body)
    items = node.get("topicConfigList") if isinstance(node, dict) else None
    configs = []
    for item in items if isinstance(items, list) else ():
        config, changes = read_topic_config(item), _changes(item)
        problem, known = _unusable(broker, config.name), broker.topics.find(config.name)
        if problem is not None:
            return call.answer(ResponseCode.INVALID_PARAMETER, remark=problem)
        if changes.get(f"+{MESSAGE_TYPE}") == "MIXED":
            return call.answer(ResponseCode.INVALID_PARAMETER, remark=_MIXED)
        if config == known:
            return call.answer()
        try:
            attributes = altered(known.attributes if known is not None else None, changes, TOPIC_ATTRIBUTES)
        except AttributeRefused as error:
            return call.answer(ResponseCode.SYSTEM_ERROR, remark=error.message)
        configs.append(replace(config, attributes=attributes))
    for config in configs:
        broker.topics.put(config)
    return call.answer()


def _changes(item: object) -> dict[str, str]:
    given = item.get("attributes") if isinstance(item, dict) else None
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


def _unusable(broker: Broker, topic: str) -> str | None:
    return topic_problem(topic, is_v5=broker.release.is_v5) or _of_the_system(broker, topic)


def _of_the_system(broker: Broker, topic: str) -> str | None:
    if topic in broker.topics.system or topic.startswith(names.SYSTEM_TOPIC_PREFIX):
        return f"The topic[{topic}] is conflict with system topic."
    return None


@handles(DeleteTopic)
def delete_topic(broker: Broker, request: DeleteTopic, call: Call) -> RemotingCommand:
    """4.9.8 keeps the consumer offsets of the topic; 5.3.3 drops them, and does not look at the name's characters."""
    is_v5, topic = broker.release.is_v5, request.topic
    if is_v5:
        problem = _of_the_system(broker, topic) if topic.strip() else "The specified topic is blank."
    else:
        problem = _unusable(broker, topic)
    if problem is not None:
        return call.answer(ResponseCode.INVALID_PARAMETER if is_v5 else ResponseCode.SYSTEM_ERROR, remark=problem)
    broker.topics.delete(topic)
    if is_v5:
        broker.offsets.forget_topic(topic)
    broker.storage.delete_topic(topic)
    if broker.settings.auto_delete_unused_stats:
        broker.stats.forget_topic(topic)
    if is_v5 and not broker.settings.timer_wheel_enable:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=_NO_TIMERS)
    return call.answer()


@handles(GetAllTopicConfig, support="partial: the table comes whole, 5.3 paging is ignored")
def get_all_topic_config(broker: Broker, request: GetAllTopicConfig, call: Call) -> RemotingCommand:
    return call.answer(body=broker.topics.sent(broker.topics.configs.values()).to_bytes(is_v5=broker.release.is_v5))


@handles(GetTopicConfig)
def get_topic_config(broker: Broker, request: GetTopicConfig, call: Call) -> RemotingCommand:
    config = broker.topics.find(request.topic)
    if config is None:
        return call.answer(ResponseCode.TOPIC_NOT_EXIST, remark=f"No topic in this broker. topic: {request.topic}")
    return call.answer(body=dump_bytes(write_topic_config(config, broker.release.is_v5)))


@handles(GetSystemTopicListFromBroker)
def get_system_topics(broker: Broker, request: GetSystemTopicListFromBroker, call: Call) -> RemotingCommand:
    return call.answer(body=TopicList(topic_list=tuple(sorted(broker.topics.system))).to_bytes())
