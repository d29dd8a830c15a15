"""Choosing the queue of a message: by key, as Java's clients do it, or by machine room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from mqctl.allocation.rooms import RoomRule, selectable_queues
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.model.java_hash import java_string_hash
from mqctl.model.queue import MessageQueue

QueueSelector = Callable[[Sequence[MessageQueue], OutgoingMessage], MessageQueue]


def by_key(key: str) -> QueueSelector:
    """Returns the selector that puts equal keys into one queue (`SelectMessageQueueByHash`).

    The order of a key holds only while the number of queues stays.
    """
    value = abs(java_string_hash(key))
    return lambda queues, _: queues[value % len(queues)]


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
