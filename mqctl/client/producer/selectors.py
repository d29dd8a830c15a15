"""Choosing the queue of a message: by key, as Java's clients do it, or by machine room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from random import Random

from mqctl.allocation.rooms import room_rule, selectable_queues
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.errors import UsageError
from mqctl.model.java_hash import java_string_hash
from mqctl.model.queue import MessageQueue
from mqctl.model.room_rule import RoomRule
from mqctl.text import sentence

QueueSelector = Callable[[Sequence[MessageQueue], OutgoingMessage], MessageQueue]


def by_key(key: str) -> QueueSelector:
    """Returns the selector that puts equal keys into one queue (`SelectMessageQueueByHash`).

    The order of a key holds only while the number of queues stays.
    """
    value = abs(java_string_hash(key))
    return lambda queues, _: queues[value % len(queues)]


def at_random(chance: Random) -> QueueSelector:
    """Returns the selector that draws a queue for each message (`SelectMessageQueueByRandom`)."""
    return lambda queues, _: queues[chance.randrange(len(queues))]


def selector_of(text: str) -> QueueSelector:
    """Returns the selector that `hash:KEY`, `random` or `room:ROOM` means; rooms are what names have before `-` or `@`.

    Raises:
        UsageError: it is none of these.
    """
    kind, _, argument = text.partition(":")
    if kind == "hash" and argument:
        return by_key(argument)
    if kind == "room" and argument:
        return in_room(argument, room_rule("regex:^([^-@]+)[-@]"))
    if text == "random":
        return at_random(Random())
    raise UsageError(
        sentence("no-selector", "there is no selector {text}", text=text),
        remedy=sentence("client-use-hash-key-random", "use hash:KEY, random or room:ROOM"),
    )


def in_room(room: str, rule: RoomRule) -> QueueSelector:
    """Returns a selector that goes round the queues of one machine room, and round all when the room has none.

    Args:
        rule: how broker names tell their room.
    """
    turns = count()

    def select(queues: Sequence[MessageQueue], _: OutgoingMessage) -> MessageQueue:
        near = selectable_queues(queues, room, rule)
        return near[next(turns) % len(near)]

    return select
