"""What delayed messages tell about themselves, from files and live alike: where they go, and why they cannot."""

from __future__ import annotations

from collections.abc import Iterable

from mqctl.model.delay_state import OFTEN_FAILED, HeadProblem
from mqctl.model.message import REAL_QID, REAL_TOPIC, Message
from mqctl.model.names import DLQ_PREFIX, LONGEST_DERIVED_TOPIC, LONGEST_TOPIC, RETRY_PREFIX
from mqctl.model.numbers import decimal

SLACK_MS = 2_000


def target(message: Message) -> tuple[str, int] | None:
    """Returns topic and queue id that a schedule record is for; None when it does not say."""
    topic, queue_id = message.properties.get(REAL_TOPIC), decimal(message.properties.get(REAL_QID))
    return (topic, queue_id) if topic and queue_id is not None else None


def dead_letter_topics(messages: Iterable[Message]) -> tuple[str, ...]:
    """Returns the dead-letter topics that schedule records are for, by name."""
    topics = {message.properties.get(REAL_TOPIC, "") for message in messages}
    return tuple(sorted(topic for topic in topics if topic.startswith(DLQ_PREFIX)))


def failing_topics(messages: Iterable[Message]) -> tuple[str, ...]:
    """Returns the retry topics that schedule records are for which failed often, by name."""
    often = (message for message in messages if message.reconsume_times >= OFTEN_FAILED)
    topics = {message.properties.get(REAL_TOPIC, "") for message in often}
    return tuple(sorted(topic for topic in topics if topic.startswith(RETRY_PREFIX)))


def head_problem(message: Message) -> HeadProblem | None:
    """Tells why a schedule record cannot be turned into its delivery, as 4.9.3 and later fail on it forever."""
    topic, queue_id = message.properties.get(REAL_TOPIC), message.properties.get(REAL_QID)
    if topic is None:
        return HeadProblem.NO_REAL_TOPIC
    if queue_id is None:
        return HeadProblem.NO_REAL_QUEUE_ID
    if not queue_id.removeprefix("-").isdigit():
        return HeadProblem.BAD_REAL_QUEUE_ID
    limit = LONGEST_DERIVED_TOPIC if topic.startswith(RETRY_PREFIX) else LONGEST_TOPIC
    return HeadProblem.BAD_TOPIC_LENGTH if len(topic.encode()) > limit else None
