"""36: has a message delivered later, or buried with the dead letters.

Source: `AbstractSendMessageProcessor.consumerSendMsgBack`.
"""

from __future__ import annotations

import random

from embedded_broker.broker import Broker
from embedded_broker.handlers.durable import answer_when_durable
from embedded_broker.handlers.send_checks import MAX_RECONSUME_SINCE, missing_group_of_send
from embedded_broker.log.intake import Incoming
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.stats import SNDBCK_PUT_NUMS
from embedded_broker.tables.topics import unit_flags
from mqctl.errors import MqctlError
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.message import Message
from mqctl.model.names import dlq_topic, retry_topic
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.protocol.properties import format_properties, with_properties
from mqctl.protocol.requests_client import ConsumerSendMsgBack
from mqctl.store.disk import DiskFullError

_FIRST_RETRY_LEVEL = 3


def _words(_broker: Broker, error: Refusal | MqctlError) -> Refusal | None:
    return Refusal(ResponseCode.SYSTEM_ERROR, "SERVICE_NOT_AVAILABLE") if isinstance(error, DiskFullError) else None


@handles(ConsumerSendMsgBack, words=_words)
def send_message_back(broker: Broker, request: ConsumerSendMsgBack, call: Call) -> RemotingCommand | None:
    group = _checked_group(broker, request)
    if group.retry_queue_count <= 0:
        return call.answer()  # a group without retry queues gets nothing back, and no error
    message = _checked_message(broker, request, group)
    broker.intake.put(_retry(broker, request, call, group, message))
    back = message.properties.get("RETRY_TOPIC") or message.topic
    broker.stats.add(SNDBCK_PUT_NUMS, f"{back}@{request.group}", 1)
    answer_when_durable(broker, call, call.answer())  # the consumer goes past the message then
    return None


def _checked_group(broker: Broker, request: ConsumerSendMsgBack) -> SubscriptionGroupConfig:
    group = broker.groups.find_or_create(request.group)
    if group is None:
        raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, missing_group_of_send(broker, request.group))
    if not broker.writable:
        ip = broker.settings.broker_ip1
        raise Refusal(ResponseCode.NO_PERMISSION, f"the broker[{ip}] sending message is forbidden")
    return group


def _checked_message(broker: Broker, request: ConsumerSendMsgBack, group: SubscriptionGroupConfig) -> Message:
    flags = unit_flags(unit=bool(request.unit_mode), retry=True)
    topic = broker.topics.find_or_create(retry_topic(request.group), group.retry_queue_count, sys_flag=flags)
    if not topic.writable:
        raise Refusal(ResponseCode.NO_PERMISSION, f"the topic[{topic.name}] sending message is forbidden")
    message = _message_at(broker, request.offset)
    if message is None:
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {request.offset}")
    return message


def _message_at(broker: Broker, physical_offset: int) -> Message | None:
    record = broker.storage.message_at(physical_offset)
    if record is None:
        return None
    try:
        return decode_message(record)
    except RecordError:  # the offset points into the middle of a record
        return None


def _retry(
    broker: Broker, request: ConsumerSendMsgBack, call: Call, group: SubscriptionGroupConfig, message: Message
) -> Incoming:
    most = group.retry_max_times
    if call.command.version >= MAX_RECONSUME_SINCE and request.max_reconsume_times is not None:
        most = request.max_reconsume_times
    topic, queue_id, level = retry_topic(request.group), random.randrange(group.retry_queue_count), request.delay_level
    known = message.properties
    changes = {
        "RETRY_TOPIC": known.get("RETRY_TOPIC") or message.topic,
        "ORIGIN_MESSAGE_ID": known.get("ORIGIN_MESSAGE_ID") or broker.intake.offset_id(message.physical_offset),
        "WAIT": "false",
    }
    if message.reconsume_times >= most or level < 0:
        topic, queue_id, level = dlq_topic(request.group), 0, 0
        broker.topics.find_or_create(topic, 1)
    elif level == 0:
        level = _FIRST_RETRY_LEVEL + message.reconsume_times
    changes["DELAY"] = str(level)
    return Incoming(
        topic=topic,
        queue_id=queue_id,
        body=message.body,
        properties=with_properties(format_properties(message.properties), changes),
        sys_flag=message.sys_flag,
        flag=message.flag,
        born_ms=message.born_time_ms,
        born_host=message.born_host,
        reconsume_times=message.reconsume_times + 1,
    )
