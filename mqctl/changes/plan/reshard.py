"""Which keys would go to another queue when the number of queues changes.

Producers that keep the order of a key choose its queue by hash modulo the number of writable queues of all brokers
(`SelectMessageQueueByHash`), so a change moves most keys, and two queues then hold messages of one key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mqctl.model.config import TopicConfig
from mqctl.model.java_hash import java_string_hash
from mqctl.model.queue import MessageQueue
from mqctl.model.topic_use import KeyMoves


def publish_queues(topic: str, configs: Mapping[str, TopicConfig]) -> list[MessageQueue]:
    """Returns the queues that producers choose from, in their order."""
    return [
        MessageQueue(topic, name, number)
        for name, config in sorted(configs.items())
        if config.writable
        for number in range(config.write_queue_count)
    ]


def key_moves(
    sample: Iterable[tuple[str, MessageQueue]], old: Sequence[MessageQueue], new: Sequence[MessageQueue], kind: str
) -> KeyMoves:
    """Computes where the keys of a sample go before and after a change.

    Args:
        kind: what kind of keys they are, in words.
    """
    listed = list(sample)
    if not old or not new:
        return KeyMoves(kind=kind, message_count=len(listed), placed_count=0, key_count=0, moved_count=0)
    keys = {key for key, _ in listed}
    return KeyMoves(
        kind=kind,
        message_count=len(listed),
        placed_count=sum(chosen_by_hash(key, old) == queue for key, queue in listed),
        key_count=len(keys),
        moved_count=sum(chosen_by_hash(key, old) != chosen_by_hash(key, new) for key in keys),
    )


def chosen_by_hash(key: str, queues: Sequence[MessageQueue]) -> MessageQueue:
    """Returns the queue that producers choose for a key (`SelectMessageQueueByHash`)."""
    return queues[abs(java_string_hash(key)) % len(queues)]
