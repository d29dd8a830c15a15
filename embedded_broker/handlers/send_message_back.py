"""Have a message delivered later, or buried with the dead letters: 36."""

from __future__ import annotations

import logging
import random
from functools import partial

from embedded_broker.broker import Broker
from embedded_broker.log.intake import Incoming, Refusal, put, with_properties
from embedded_broker.log.sends import MAX_RECONSUME_SINCE, missing_group_of_send
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.stats import SNDBCK_PUT_NUMS
from embedded_broker.tables.topics import unit_flags
from mqctl.errors import StorageError
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.message import Message
from mqctl.model.names import dlq_topic, retry_topic
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.protocol.properties import format_properties
from mqctl.protocol.requests_client import ConsumerSendMsgBack
from mqctl.store.disk import DiskFullError

log = logging.getLogger("embedded_broker")

_FIRST_RETRY_LEVEL = 3


@handles(ConsumerSendMsgBack)
def send_message_back(broker: Broker, request: ConsumerSendMsgBack, call: Call) -> RemotingCommand | None:
    try:
        group = _checked_group(broker, request)
        if group.retry_queue_count <= 0:
            return call.answer()  # a group without retry queues gets nothing back, and no error
        message = _checked_message(broker, request, group)
        put(broker, _retry(broker, request, call, group, message))
    except Refusal as refusal:
        return call.answer(refusal.code, remark=refusal.remark)
    except DiskFullError as error:
        broker.stats.put_failed += 1
        log.warning("%s: message of %s not sent back: %s", broker.name, request.group, error)
        return call.answer(ResponseCode.SYSTEM_ERROR, remark="SERVICE_NOT_AVAILABLE")
    back = message.properties.get("RETRY_TOPIC") or message.topic
    broker.stats.add(SNDBCK_PUT_NUMS, f"{back}@{request.group}", 1)
    broker.storage.when_durable(partial(_acknowledge, call))
    return None


def _acknowledge(call: Call, failure: StorageError | None) -> None:
    """Answers once the copy is on disk: the consumer goes past the message then. A real broker does not wait."""
    if failure is None:
        call.respond(call.answer())
    else:
        call.respond(call.answer(ResponseCode.SYSTEM_ERROR, remark=str(failure)))


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
    changes = {
        "RETRY_TOPIC": message.properties.get("RETRY_TOPIC") or message.topic,
        "ORIGIN_MESSAGE_ID": message.properties.get("ORIGIN_MESSAGE_ID") or broker.offset_id(message.physical_offset),
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
