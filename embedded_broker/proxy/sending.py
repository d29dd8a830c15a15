"""SendMessage: the checks of a proxy in its order, and the send that the broker gets (`SendMessageActivity`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.given import BORN_HOST, BORN_TIMESTAMP, RESERVED_PROPERTIES, TRACE_CONTEXT
from embedded_broker.proxy.ground import MIXED, QueuePlace, checked_topic
from embedded_broker.proxy.settings import MOST_BODY_BYTES
from embedded_broker.proxy.statuses import PROXY_ERROR, Refused, broker_refusal, ok
from embedded_broker.proxy.times import moment_ms, span_ms
from mqctl.model.message import SHARDING_KEY, SYSFLAG_COMPRESSED, SYSFLAG_PREPARED
from mqctl.model.names import AUTO_CREATE_TOPIC
from mqctl.model.spans import DAY_MS, HOUR_MS
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_batch import BatchElement, encode_batch
from mqctl.protocol.properties import format_properties, unwritable_characters
from mqctl.protocol.requests_client import SendBatchMessage, SendMessage, SendMessageReply

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.parts import Parts
    from mqctl.protocol.bodies_cluster import QueueData
    from mqctl.protocol.frame import RemotingCommand

_MOST_PROPERTIES, _MOST_PROPERTY_BYTES, _LONGEST_GROUP = 128, 16 * 1024, 64
_PERSISTENCE = {
    ResponseCode.FLUSH_DISK_TIMEOUT: (
        pb.Code.MASTER_PERSISTENCE_TIMEOUT,
        "send message failed, sendStatus=FLUSH_DISK_TIMEOUT",
    ),
    ResponseCode.FLUSH_SLAVE_TIMEOUT: (
        pb.Code.SLAVE_PERSISTENCE_TIMEOUT,
        "send message failed, sendStatus=FLUSH_SLAVE_TIMEOUT",
    ),
    ResponseCode.SLAVE_NOT_AVAILABLE: (pb.Code.HA_NOT_AVAILABLE, "send message failed, sendStatus=SLAVE_NOT_AVAILABLE"),
}
_TEMPLATE_QUEUES = 4
TRANSACTION = "TRANSACTION"


async def send_message(parts: Parts, request: pb.SendMessageRequest, caller: Caller) -> pb.SendMessageResponse:
    """Stores the messages of a call. Raises Refused."""
    topic = _checked(request, parts.ground.clock.now_ms())
    ground = parts.ground
    wanted, actual = ground.topic_type(topic), _type_of(request.messages[0])
    if wanted not in (actual, MIXED):
        raise Refused(
            pb.Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
            conflict(wanted, actual),
        )
    place = _place(parts, topic, request.messages[0].system_properties.message_group)
    command = _command(request, topic, place.queue_id)
    broker = ground.master(place.broker)
    channel = parts.channel_of(caller)
    answer = await ground.ask(channel, broker, command, body=_body(request))
    response = pb.SendMessageResponse(status=ok())
    entry = response.entries.add()
    entry.message_id = ",".join(message.system_properties.message_id for message in request.messages)
    if answer.code == ResponseCode.SUCCESS:
        entry.status.CopyFrom(ok())
    elif answer.code in _PERSISTENCE:
        code, words = _PERSISTENCE[ResponseCode(answer.code)]
        entry.status.code, entry.status.message = code, words
        response.status.CopyFrom(entry.status)
    else:
        raise broker_refusal(answer)
    _fill(entry, answer, parts, topic, broker.name, is_half=actual == TRANSACTION)
    return response


def conflict(wanted: str, actual: str) -> str:
    """Returns what is said of a message of another type than its topic's."""
    types = f"the expected type is {wanted}, but actual type is {actual}"
    return f"{PROXY_ERROR}TopicMessageType validate failed, {types}"


def _fill(
    entry: pb.SendResultEntry, answer: RemotingCommand, parts: Parts, topic: str, broker: str, *, is_half: bool
) -> None:
    reply = SendMessageReply.from_ext(answer.ext_fields)
    entry.transaction_id = reply.transaction_id or ""
    entry.offset = reply.queue_offset
    entry.recall_handle = reply.recall_handle or ""
    if is_half:
        parts.halves.note_half(topic, entry.transaction_id, broker, reply.msg_id, reply.queue_offset)


def _place(parts: Parts, topic: str, message_group: str) -> QueuePlace:
    """Returns the queue of a send: by its message group, else each in turn. Raises Refused."""
    writable = parts.ground.writable(topic)
    count = sum(data.write_queue_nums for data in writable)
    if not count:
        raise Refused(pb.Code.FORBIDDEN, f"{PROXY_ERROR}no writable queue")
    number = consistent_hash(_java_hash(message_group), count) if message_group else parts.next_turn(topic) % count
    return _numbered(writable, number)


def _numbered(writable: Sequence[QueueData], number: int) -> QueuePlace:
    """Returns the queue of this number, counted broker by broker."""
    for data in writable:
        if number < data.write_queue_nums:
            return QueuePlace(data.broker_name, number)
        number -= data.write_queue_nums
    raise ValueError(number)


def consistent_hash(value: int, buckets: int) -> int:
    """Returns the bucket that Guava's `Hashing.consistentHash` gives a number."""
    state, candidate = value & 0xFFFF_FFFF_FFFF_FFFF, 0
    while True:
        state = (2862933555777941757 * state + 1) & 0xFFFF_FFFF_FFFF_FFFF
        following = floor((candidate + 1) / (((state >> 33) + 1) / 2.0**31))
        if following >= buckets:
            return candidate
        candidate = following


def _java_hash(text: str) -> int:
    """Returns Java's `String.hashCode`, signed."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFF_FFFF
    return value - (1 << 32) if value >> 31 else value


# The broker's request


def _command(request: pb.SendMessageRequest, topic: str, queue_id: int) -> SendMessage:
    first = request.messages[0]
    system = first.system_properties
    kind = SendBatchMessage if len(request.messages) > 1 else SendMessage
    flags = SYSFLAG_COMPRESSED if system.body_encoding == pb.Encoding.GZIP else 0
    if system.message_type == pb.MessageType.TRANSACTION:
        flags |= SYSFLAG_PREPARED
    return kind(
        producer_group=topic,
        topic=topic,
        default_topic=AUTO_CREATE_TOPIC,
        default_topic_queue_nums=_TEMPLATE_QUEUES,
        queue_id=queue_id,
        sys_flag=flags,
        born_timestamp=moment_ms(system.born_timestamp),
        flag=0,
        properties=format_properties(_properties(first, topic)),
        reconsume_times=system.delivery_attempt,
        unit_mode=False,
        batch=kind is SendBatchMessage,
    )


def _body(request: pb.SendMessageRequest) -> bytes:
    messages = request.messages
    if len(messages) == 1:
        body: bytes = messages[0].body
        return body
    topic = messages[0].topic.name
    return encode_batch(
        [BatchElement(message.body, format_properties(_properties(message, topic))) for message in messages]
    )


def _properties(message: pb.Message, topic: str) -> dict[str, str]:
    system = message.system_properties
    properties = dict(message.user_properties)
    properties["UNIQ_KEY"] = system.message_id
    properties["PGROUP"] = topic
    properties["RECONSUME_TIME"] = str(system.delivery_attempt)
    properties[BORN_HOST] = system.born_host
    properties[BORN_TIMESTAMP] = str(moment_ms(system.born_timestamp))
    if system.HasField("tag"):
        properties["TAGS"] = system.tag
    if system.keys:
        properties["KEYS"] = " ".join(system.keys)
    if system.message_group:
        properties[SHARDING_KEY] = system.message_group
    if system.HasField("delivery_timestamp"):
        properties["TIMER_DELIVER_MS"] = str(moment_ms(system.delivery_timestamp))
    if system.trace_context:
        properties[TRACE_CONTEXT] = system.trace_context
    if system.message_type == pb.MessageType.TRANSACTION:
        properties["TRAN_MSG"] = "true"
        if system.HasField("orphaned_transaction_recovery_duration"):
            seconds = span_ms(system.orphaned_transaction_recovery_duration) // 1_000
            properties["CHECK_IMMUNITY_TIME_IN_SECONDS"] = str(seconds)
    return {name: value for name, value in properties.items() if value}


# Checks


def _type_of(message: pb.Message) -> str:
    """Returns what a message is by its fields, whatever its type says."""
    system = message.system_properties
    if system.message_type == pb.MessageType.TRANSACTION:
        return TRANSACTION
    if system.HasField("delivery_timestamp"):
        return "DELAY"
    return "FIFO" if system.message_group else "NORMAL"


def _checked(request: pb.SendMessageRequest, now_ms: int) -> str:
    """Returns the topic of a call that may be sent. Raises Refused."""
    if not request.messages:
        raise Refused(pb.Code.MESSAGE_CORRUPTED, "no message to send")
    first = request.messages[0].topic
    topic = checked_topic(first)
    if any(message.topic != first for message in request.messages):
        raise Refused(pb.Code.MESSAGE_CORRUPTED, "topic in message is not same")
    for message in request.messages:
        _check_body(message.body)
        _check_properties(message)
        _check_system(message.system_properties, now_ms)
    return topic


def _check_body(body: bytes) -> None:
    if not body:
        raise Refused(pb.Code.MESSAGE_BODY_EMPTY, "message body cannot be empty")
    if len(body) > MOST_BODY_BYTES:
        raise Refused(pb.Code.MESSAGE_BODY_TOO_LARGE, f"message body cannot exceed the max {MOST_BODY_BYTES}")


def _check_properties(message: pb.Message) -> None:
    system, user = message.system_properties, message.user_properties
    if len(user) > _MOST_PROPERTIES:
        words = f"too many user properties, max is {_MOST_PROPERTIES}"
        raise Refused(pb.Code.MESSAGE_PROPERTIES_TOO_LARGE, words)
    texts = [*user, *user.values(), system.tag, *system.keys]
    if sum(len(text.encode()) for text in texts) > _MOST_PROPERTY_BYTES:
        words = f"the total size of user property is too large, max is {_MOST_PROPERTY_BYTES}"
        raise Refused(pb.Code.MESSAGE_PROPERTIES_TOO_LARGE, words)
    for name, value in user.items():
        if name in RESERVED_PROPERTIES:
            raise Refused(pb.Code.ILLEGAL_MESSAGE_PROPERTY_KEY, f"property is used by system: {name}")
        if _has_control(name) or _has_control(value):
            words = f"the property {name} cannot contain control character"
            raise Refused(pb.Code.ILLEGAL_MESSAGE_PROPERTY_KEY, words)


def _check_system(system: pb.SystemProperties, now_ms: int) -> None:
    if system.HasField("tag"):
        _check_word(system.tag, "tag", pb.Code.ILLEGAL_MESSAGE_TAG)
        if "|" in system.tag:
            raise Refused(pb.Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'")
    for key in system.keys:
        _check_word(key, "key", pb.Code.ILLEGAL_MESSAGE_KEY)
    if not system.message_id.strip():
        raise Refused(pb.Code.ILLEGAL_MESSAGE_ID, "message id cannot be empty")
    if _has_control(system.message_id):
        raise Refused(pb.Code.ILLEGAL_MESSAGE_ID, "message id cannot contain control character")
    if span_ms(system.orphaned_transaction_recovery_duration) > HOUR_MS:
        words = f"the transaction recovery duration is too large, max is {HOUR_MS}"
        raise Refused(pb.Code.BAD_REQUEST, words)
    if system.HasField("delivery_timestamp") and moment_ms(system.delivery_timestamp) - now_ms > DAY_MS:
        words = f"the max delay time of message is too large, max is {DAY_MS}"
        raise Refused(pb.Code.ILLEGAL_DELIVERY_TIME, words)
    if system.HasField("message_group"):
        _check_word(system.message_group, "message group", pb.Code.ILLEGAL_MESSAGE_GROUP)
        if len(system.message_group.encode()) >= _LONGEST_GROUP:
            words = f"message group exceed the max size {_LONGEST_GROUP}"
            raise Refused(pb.Code.ILLEGAL_MESSAGE_GROUP, words)
    for text in (system.born_host, system.trace_context):
        if _has_control(text):
            raise Refused(pb.Code.BAD_REQUEST, "born host and trace context cannot contain control characters")


def _check_word(text: str, name: str, code: pb.Code) -> None:
    if not text.strip():
        raise Refused(code, f"{name} cannot be the char sequence of whitespace")
    if _has_control(text):
        raise Refused(code, f"{name} cannot contain control character")


def _has_control(text: str) -> bool:
    return bool(unwritable_characters(text)) or any(ord(letter) < 32 or ord(letter) == 127 for letter in text)
