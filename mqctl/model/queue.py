"""Message queues: the unit of storage, ownership and offsets."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, order=True)
class MessageQueue:
    """One queue of a topic on one broker. Ordered as RocketMQ's clients sort: topic, broker name, queue id."""

    topic: str
    broker_name: str
    queue_id: int
