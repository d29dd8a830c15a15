"""How fast topics grow, from two looks at their queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue_state import QueueState

Ends = Mapping[tuple[str, str | None, int], int]
"""End of each queue by topic, broker name and queue id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRate:
    """One topic.

    Attributes:
        message_count: messages that can still be read, all brokers together.
        produce_tps: messages per second over the looks that are kept; None before the second.
    """

    topic: str
    queue_count: int
    message_count: int
    produce_tps: float | None


def queue_ends(brokers: Iterable[tuple[str | None, Iterable[QueueState]]]) -> dict[tuple[str, str | None, int], int]:
    """Arranges the ends of queues for comparison."""
    return {(queue.topic, name, queue.queue_id): queue.max_offset for name, queues in brokers for queue in queues}


def topic_rates(
    brokers: Iterable[tuple[str | None, Iterable[QueueState]]], before: Ends, elapsed_ms: int
) -> list[TopicRate]:
    """Returns a row for each topic, the fastest first.

    Args:
        brokers: queues by broker name.
        before: the ends of queues `elapsed_ms` ago; those that are new do not count.
    """
    queues: dict[str, list[tuple[str | None, QueueState]]] = {}
    for name, states in brokers:
        for queue in states:
            queues.setdefault(queue.topic, []).append((name, queue))
    rows = []
    for topic, members in queues.items():
        grown = [
            queue.max_offset - before[topic, name, queue.queue_id]
            for name, queue in members
            if (topic, name, queue.queue_id) in before
        ]
        rows.append(
            TopicRate(
                topic=topic,
                queue_count=len(members),
                message_count=sum(queue.message_count for _, queue in members),
                produce_tps=round(sum(grown) * 1000 / elapsed_ms, 2) if grown and elapsed_ms > 0 else None,
            )
        )
    return sorted(rows, key=lambda row: (-(row.produce_tps or 0), -row.message_count, row.topic))
