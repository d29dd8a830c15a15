"""Messages on their way out, and how sending them ended."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum

from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import DELAY, KEYS, TAGS
from mqctl.model.names import (
    DISCARD_TOPIC,
    HALF_TOPIC,
    LONGEST_TOPIC,
    OFFSET_MOVED_TOPIC,
    OP_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
)
from mqctl.model.queue import MessageQueue
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.properties import NAME_VALUE_SEPARATOR, unwritable_characters
from mqctl.text import sentence

MAX_GROUP_LENGTH = 255
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
WAIT = "WAIT"
_ALPHABET = re.compile(r"[%|a-zA-Z0-9_-]+")
_NOT_TO_BE_SENT_TO = frozenset(
    {SCHEDULE_TOPIC, HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC, "SELF_TEST_TOPIC", OFFSET_MOVED_TOPIC}
)
_RESERVED_GROUPS = frozenset({"DEFAULT_PRODUCER", "DEFAULT_CONSUMER"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message to be sent.

    Attributes:
        keys: index keys, joined by blanks on the wire.
        delay_level: 0 delivers at once.
        properties: further user properties.
        wait_store_ok: whether the broker waits for its disk and slaves as it is configured to.
    """

    topic: str
    body: bytes
    tags: str | None = None
    keys: str | Sequence[str] = ()
    flag: int = 0
    delay_level: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    wait_store_ok: bool = True

    def all_properties(self) -> dict[str, str]:
        """Returns what travels as properties, without a unique id."""
        properties = dict(self.properties)
        if self.tags:
            properties[TAGS] = self.tags
        if self.keys:
            properties[KEYS] = self.keys if isinstance(self.keys, str) else " ".join(self.keys)
        if self.delay_level > 0:
            properties[DELAY] = str(self.delay_level)
        properties[WAIT] = "true" if self.wait_store_ok else "false"
        return properties


class SendStatus(IntEnum):
    """How the broker stored a message: the response codes that are no failure."""

    SEND_OK = ResponseCode.SUCCESS
    FLUSH_DISK_TIMEOUT = ResponseCode.FLUSH_DISK_TIMEOUT
    SLAVE_NOT_AVAILABLE = ResponseCode.SLAVE_NOT_AVAILABLE
    FLUSH_SLAVE_TIMEOUT = ResponseCode.FLUSH_SLAVE_TIMEOUT


@dataclass(frozen=True, slots=True)
class SendResult:
    """Where a message is.

    Attributes:
        message_id: the unique id; of a batch, all of them joined by commas.
        offset_id: the id by which the storing broker finds it; of a batch, all of them joined by commas.
        queue_offset: of a batch, the first one.
        address: the broker that answered.
        attempts: how often it was sent, failures included.
        recall_handle: what recalls a timer message of 5.3.2 or newer while it waits; None for any other.
    """

    status: SendStatus
    message_id: str
    offset_id: str
    queue: MessageQueue
    queue_offset: int
    address: str
    region: str | None = None
    attempts: int = 1
    recall_handle: str | None = None


def check_topic(topic: str) -> None:
    """Checks the name of a topic to send to or to subscribe. Raises UsageError."""
    _check_name("topic", topic, LONGEST_TOPIC)


def check_group(group: str) -> None:
    """Checks the name of a group. Raises UsageError."""
    _check_name("group", group, MAX_GROUP_LENGTH)
    if group in _RESERVED_GROUPS:
        raise UsageError(
            sentence("client-group-cannot-used", "group {group} cannot be used", group=group),
            reason=sentence("client-rocketmq-keeps-name-itself", "RocketMQ keeps this name for itself"),
        )


def _check_name(kind: str, name: str, longest: int) -> None:
    if not _ALPHABET.fullmatch(name) or len(name) > longest:
        raise UsageError(
            sentence("client-not-valid-name", "{name!r} is not a valid {kind} name", name=name, kind=kind),
            reason=sentence(
                "client-names-characters-letters-digits",
                "names have 1 to {longest} characters of letters, digits, `_`, `-`, `%` and `|`",
                longest=longest,
            ),
        )


def check_message(message: OutgoingMessage, max_bytes: int) -> None:
    """Checks a message before it is sent.

    Raises:
        UsageError: no such topic can exist or be sent to, the body is empty or longer than `max_bytes`, or a property
            would not arrive as it is.
    """
    check_topic(message.topic)
    if message.topic in _NOT_TO_BE_SENT_TO:
        raise UsageError(
            sentence("client-nothing-sent", "nothing can be sent to {topic}", topic=message.topic),
            reason=sentence("client-topic-internal-brokers", "this topic is internal to brokers"),
        )
    if not message.body:
        raise UsageError(
            sentence("client-message-no-body", "the message for {topic} has no body", topic=message.topic),
            reason=sentence("rocketmq-clients-send-none", "RocketMQ's clients send none without"),
        )
    if len(message.body) > max_bytes:
        raise UsageError(
            sentence("client-message-too-long", "the message for {topic} is too long", topic=message.topic),
            reason=sentence(
                "client-bytes-limit",
                "{body:byte}, the limit is {max_bytes:,}",
                body=len(message.body),
                max_bytes=max_bytes,
            ),
        )
    for name, value in message.all_properties().items():
        # Stored values may hold the first separator (Java cuts at the first one only): such messages can be sent again.
        if unwritable := unwritable_characters(name) or unwritable_characters(value.replace(NAME_VALUE_SEPARATOR, "")):
            raise UsageError(
                sentence(
                    "client-message-cannot-property",
                    "the message for {topic} cannot have the property {name!r}",
                    topic=message.topic,
                    name=name,
                ),
                reason=sentence(
                    "client-holds-altered-way",
                    "it holds {unwritable}, which would be altered on the way",
                    unwritable=unwritable,
                ),
            )


def check_batch(messages: Sequence[OutgoingMessage], max_bytes: int) -> None:
    """Checks that messages can travel as one batch. Raises UsageError."""
    if not messages:
        raise UsageError(sentence("client-batch-no-messages", "a batch has no messages"))
    first = messages[0]
    for message in messages:
        check_message(message, max_bytes)
        if message.delay_level > 0:
            raise UsageError(
                sentence("client-batch-cannot-delayed", "a batch cannot be delayed"),
                reason=sentence("client-messages-delay-level", "one of its messages has a delay level"),
            )
        if message.topic.startswith(RETRY_PREFIX):
            raise UsageError(sentence("client-batch-cannot-sent-retry", "a batch cannot be sent to a retry topic"))
        if message.topic != first.topic or message.wait_store_ok != first.wait_store_ok:
            raise UsageError(
                sentence("client-batch-needs-topic-wait", "a batch needs one topic and one `wait_store_ok`"),
                reason=sentence("client-messages-differ", "its messages differ in them"),
            )
