"""The checks of a send, in the order of `AbstractSendMessageProcessor.msgCheck` of 4.9.8."""

from __future__ import annotations

import random
import re
from datetime import datetime

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.tables.attributes import check_served
from embedded_broker.tables.topics import unit_flags
from mqctl.model import names
from mqctl.model.config import TopicConfig
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.properties import MAX_PROPERTIES_LENGTH, property_of
from mqctl.protocol.requests_client import SendMessage

_NAME = re.compile(r"[%|a-zA-Z0-9_-]+\Z")
_FORBIDDEN = frozenset(
    {
        names.SCHEDULE_TOPIC,
        names.HALF_TOPIC,
        names.OP_TOPIC,
        names.DISCARD_TOPIC,
        names.OFFSET_MOVED_TOPIC,
        "SELF_TEST_TOPIC",
    }
)
_KEPT_PREFIXES = (names.REVIVE_TOPIC_PREFIX, names.MEMBER_TOPIC_PREFIX)
_KEPT = frozenset({names.TIMER_TOPIC, "CHECKPOINT_TOPIC"})
"""Topics of 5.x that only the broker itself fills; 5.3.3 takes sends to them all the same."""
_NO_BODY = (
    "java.lang.NullPointerException: Cannot read the array length because the return value of "
    '"org.apache.rocketmq.{whose}.getBody()" is null, org.apache.rocketmq.{where}'
)
_COMMAND = "remoting.protocol.RemotingCommand"
_COUNTING = "broker.processor.AbstractSendMessageProcessor.buildMsgContext(AbstractSendMessageProcessor.java:361)"
_BATCH = "common.message.MessageExtBatch"
_CHECKING = "store.DefaultMessageStore.checkMessages(DefaultMessageStore.java:391)"
MAX_RECONSUME_SINCE = 121
"""Version ordinal (3.4.9) from which a request's own limit of deliveries counts."""


def topic_problem(topic: str, *, is_v5: bool) -> str | None:
    """Returns why `topic` is no name for a topic (`TopicValidator`), or None."""
    if not topic.strip():
        return "The specified topic is blank."
    if not _NAME.match(topic):
        return "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    if len(topic) > names.LONGEST_TOPIC:
        return f"The specified topic is longer than topic max length{'' if is_v5 else f' {names.LONGEST_TOPIC}'}."
    return None


def missing_topic_remark(broker: Broker, topic: str) -> str:
    """Returns the remark of a pull's code 17, with the link of the release; that of a send has one space less."""
    return f"topic[{topic}] not exist, apply first please! {broker.further_reading}"


def checked_topic(broker: Broker, request: SendMessage, peer: str) -> TopicConfig:
    """Returns the topic of a send, created if the rules say so.

    Raises:
        Refusal: the send is not taken.
    """
    topic = request.topic
    start_ms = broker.settings.start_accept_send_request_time_stamp
    if start_ms and broker.clock.now_ms() < start_ms:
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"broker unable to service, until {_written(start_ms)}")
    known = broker.topics.find(topic)
    if not broker.writable and known is not None and known.order:
        raise Refusal(
            ResponseCode.NO_PERMISSION, f"the broker[{broker.settings.broker_ip1}] sending message is forbidden"
        )
    if known is None:
        _check_name(broker, topic)
        known = _created(broker, request, peer)
    elif topic in _FORBIDDEN or (broker.settings.reject_internal_topic_message and _is_kept(topic)):
        raise Refusal(ResponseCode.NO_PERMISSION, f"Sending message to topic[{topic}] is forbidden.")
    check_served(known)
    if request.queue_id >= max(known.read_queue_count, known.write_queue_count):
        code = ResponseCode.INVALID_PARAMETER if broker.release.is_v5 else ResponseCode.SYSTEM_ERROR
        raise Refusal(
            code,
            f"request queueId[{request.queue_id}] is illegal, {_shown(known, is_v5=broker.release.is_v5)} "
            f"Producer: {peer}",
        )
    return known


def _is_kept(topic: str) -> bool:
    return topic in _KEPT or topic.startswith(_KEPT_PREFIXES)


def _written(time_ms: int) -> str:
    """Writes an instant in this machine's zone (`UtilAll.timeMillisToHumanString2`)."""
    when = datetime.fromtimestamp(time_ms // 1000).astimezone()
    return f"{when:%Y-%m-%d %H:%M:%S},{time_ms % 1000:03d}"


def _shown(topic: TopicConfig, *, is_v5: bool) -> str:
    """Returns a topic's settings as `TopicConfig.toString` writes them."""
    perm = "".join(letter if topic.perm & bit else "-" for letter, bit in (("R", 4), ("W", 2), ("X", 1)))
    attributes = ", ".join(f"{name}={value}" for name, value in topic.attributes.items())
    return (
        f"TopicConfig [topicName={topic.name}, readQueueNums={topic.read_queue_count}, "
        f"writeQueueNums={topic.write_queue_count}, perm={perm}, topicFilterType={topic.filter_type}, "
        f"topicSysFlag={topic.sys_flag}, order={'true' if topic.order else 'false'}"
        f"{f', attributes={{{attributes}}}' if is_v5 else ''}]"
    )


def _check_name(broker: Broker, topic: str) -> None:
    problem = topic_problem(topic, is_v5=broker.release.is_v5)
    if problem is not None:
        code = ResponseCode.INVALID_PARAMETER if broker.release.is_v5 else ResponseCode.SYSTEM_ERROR
        raise Refusal(code, problem)
    if topic in _FORBIDDEN or (broker.settings.reject_internal_topic_message and _is_kept(topic)):
        raise Refusal(ResponseCode.NO_PERMISSION, f"Sending message to topic[{topic}] is forbidden.")


def _created(broker: Broker, request: SendMessage, peer: str) -> TopicConfig:
    topic = request.topic
    retry = topic.startswith(names.RETRY_PREFIX)
    flags = unit_flags(unit=bool(request.unit_mode), retry=retry)
    created = broker.topics.create_from_template(topic, request.default_topic, request.default_topic_queue_nums, flags)
    if created is None and retry:
        created = broker.topics.find_or_create(topic, 1, sys_flag=flags)
    if created is None:
        remark = f"topic[{topic}] not exist, apply first please!{broker.further_reading}"
        raise Refusal(ResponseCode.TOPIC_NOT_EXIST, remark)
    return created


def chosen_queue(wanted: int, topic: TopicConfig) -> int:
    """Returns the queue of a send; a negative wish leaves it to the broker."""
    return wanted if wanted >= 0 else random.randrange(max(1, topic.write_queue_count))


def check_message(broker: Broker, body: bytes, properties: str) -> None:
    """Checks what the message itself says.

    Raises:
        Refusal: it is too long, or asks for what is switched off.
    """
    if len(body) > broker.settings.max_message_size or len(properties) > MAX_PROPERTIES_LENGTH:
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, illegal_remark(broker))
    if broker.settings.reject_transaction_message and is_half(properties):
        raise Refusal(
            ResponseCode.NO_PERMISSION,
            f"the broker[{broker.settings.broker_ip1}] sending transaction message is forbidden",
        )


def without_body(broker: Broker, call: Call, *, batch: bool) -> RemotingCommand | None:
    """Returns the answer to a send or reply that has no body, which a real broker stumbles over; None where it has one.

    5.x counts the bytes of every body for its hooks before it looks at anything else
    (`AbstractSendMessageProcessor.buildMsgContext`, 5.3.3 and 5.5.0); 4.9.7 stores a single message without a body, and
    stumbles over a batch (`DefaultMessageStore.checkMessages`).
    """
    if call.command.body:
        return None
    if broker.release.is_v5:
        whose, where = _COMMAND, _COUNTING
    elif batch:
        whose, where = _BATCH, _CHECKING
    else:
        return None
    return call.answer(ResponseCode.SYSTEM_ERROR, remark=_NO_BODY.format(whose=whose, where=where))


def illegal_remark(broker: Broker) -> str:
    """Returns the remark of code 13."""
    return (
        "the message is illegal, maybe msg body or properties length not matched. msg body length limit "
        f"{broker.settings.max_message_size}B, msg properties length limit 32KB."
    )


def disk_full_remark(broker: Broker) -> str:
    """Returns the remark of code 14, with how full the disks of log, queues and index are; they are one here."""
    ratio = broker.storage.disk_ratio()
    return (
        "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
        f"[CL: {ratio:5.2f} CQ: {ratio:5.2f} INDEX: {ratio:5.2f}], messages are put to the slave, message store has "
        "been shut down, etc."
    )


def is_half(properties: str) -> bool:
    """Tells whether a message is the first half of a transaction."""
    return "TRAN_MSG" in properties and (property_of(properties, "TRAN_MSG") or "").lower() == "true"


def is_exhausted(broker: Broker, request: SendMessage, group: str, version: int) -> bool:
    """Tells whether a send to a retry topic has to go to the dead letters.

    5.x lets one more delivery pass, and sends what an orderly group gives up (its queues are locked) there at once.

    Raises:
        Refusal: the group is unknown.
    """
    config = broker.groups.find_or_create(group)
    if config is None:
        raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, missing_group_of_send(broker, group))
    most = config.retry_max_times
    if version >= MAX_RECONSUME_SINCE and request.max_reconsume_times is not None:
        most = request.max_reconsume_times
    if broker.release.is_v5:
        return (request.reconsume_times or 0) > most or broker.locks.holds_any(group)
    return (request.reconsume_times or 0) >= most


def missing_group_remark(broker: Broker, group: str) -> str:
    """Returns the remark of a pull's code 26."""
    return f"subscription group [{group}] does not exist, {broker.further_reading}"


def missing_group_of_send(broker: Broker, group: str) -> str:
    """Returns the remark of code 26 for what is sent to a group's retry topic, or back to it."""
    return f"subscription group not exist, {group} {broker.further_reading}"
