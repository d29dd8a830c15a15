"""Choosing the queue of a message: by key, as Java's clients do it, or by machine room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from mqctl.client.outgoing import OutgoingMessage
from mqctl.model.java_hash import java_string_hash
from mqctl.model.queue import MessageQueue

QueueSelector = Callable[[Sequence[MessageQueue], OutgoingMessage], MessageQueue]


def by_key(key: str) -> QueueSelector:
    """Returns the selector that puts equal keys into one queue (`SelectMessageQueueByHash`).

    The order of a key holds only while the number of queues stays.
    """
    value = abs(java_string_hash(key))
    return lambda queues, _: queues[value % len(queues)]


def in_room(room: str, *, room_of: Callable[[str], str | None]) -> QueueSelector:
    """Returns a selector that goes round the queues of one machine room, and round all when the room has none.

    Args:
        room_of: the room of a broker name; None when it has none.
    """
    turns = count()

    def select(queues: Sequence[MessageQueue], _: OutgoingMessage) -> MessageQueue:
        near = [queue for queue in queues if room_of(queue.broker_name) == room] or queues
        return near[next(turns) % len(near)]

    return select


def room_by_prefix(name: str) -> str | None:
    """Returns the machine room that a name begins with (`HT` of `HT-broker-a`), None when it has no such prefix."""
    room, separator, rest = name.partition("-")
    return room if separator and room and rest else None
