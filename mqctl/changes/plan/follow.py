"""A topic followed into another one with more queues: where each message goes, and what tells a copy from the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from mqctl.changes.plan.reshard import chosen_by_hash
from mqctl.errors import UsageError
from mqctl.model.command_line import command_line
from mqctl.model.message import SHARDING_KEY, Message
from mqctl.model.names import LONGEST_TOPIC, RETRY_PREFIX
from mqctl.model.numbers import decimal
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence


class KeySelector(StrEnum):
    """How producers of the new topic choose a queue by key; copies go where theirs will go.

    HASH: the hash of the key as a string (`SelectMessageQueueByHash`). MODULO: the key is a number, and the queue its
    remainder; a key that is none goes by hash.
    """

    HASH = "hash"
    MODULO = "modulo"

    def choose(self, key: str, queues: Sequence[MessageQueue]) -> MessageQueue:
        """Returns the queue of a key."""
        number = decimal(key) if self is KeySelector.MODULO else None
        return chosen_by_hash(key, queues) if number is None else queues[abs(number) % len(queues)]


def follower_group(old: str, new: str) -> str:
    """Returns the consumer group that follows one topic into another.

    Raises:
        UsageError: its retry topic would have a longer name than brokers allow.
    """
    group = f"MQCTL_FOLLOW_{old}_TO_{new}"
    if len(RETRY_PREFIX + group) > LONGEST_TOPIC:
        raise UsageError(
            sentence("follow-group-name-too-long", "the group {group} would have a name that is too long", group=group),
            reason=sentence(
                "follow-retry-topic-characters",
                "its retry topic may have {longest_topic} characters",
                longest_topic=LONGEST_TOPIC,
            ),
            remedy=sentence("follow-choose-shorter-name-new", "choose a shorter name for the new topic"),
        )
    return group


_FOLLOW = "mqctl replay follow -t {} --to {} --key-selector {} {} --execute --confirm {}"


def follow_command(old: str, new: str, selector: str, reader: str) -> str:
    """Returns the command that starts a follower where a group has got to."""
    return command_line(_FOLLOW, old, new, selector, ["--from-group", reader], new)


def follow_again(old: str, new: str, selector: str) -> str:
    """Returns the command that goes on where a follower stopped."""
    return command_line(_FOLLOW, old, new, selector, [], new)


def ordering_key(message: Message, queue: MessageQueue) -> str:
    """Returns the key whose order is kept: the sharding key, else the first key, else the old queue itself."""
    sharding = message.properties.get(SHARDING_KEY)
    if sharding is not None:
        return sharding
    return message.keys[0] if message.keys else f"{queue.broker_name}-{queue.queue_id}"


def scattered_keys(sample: Iterable[tuple[str, MessageQueue]]) -> int:
    """Returns how many keys of a sample lie in several queues: their order is lost already."""
    homes: dict[str, set[MessageQueue]] = {}
    for key, queue in sample:
        homes.setdefault(key, set()).add(queue)
    return sum(len(queues) > 1 for queues in homes.values())
