"""Topics as rows: all of them, one of them, its route and its queues."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from mqctl.model.column import CellKind, column
from mqctl.model.lag import QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue_state import QueueState


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    """One topic, all brokers together; queue counts are sums over the brokers.

    Attributes:
        kind: `normal`, `retry`, `dead-letter` or `system`.
        perm: as mqadmin writes it; several where brokers differ.
    """

    topic: str = field(metadata=column("topic"))
    kind: str = field(metadata=column("kind", CellKind.WORDS))
    brokers: str = field(metadata=column("brokers"))
    read_queue_count: int = field(metadata=column("read queues", CellKind.COUNT))
    write_queue_count: int = field(metadata=column("write queues", CellKind.COUNT))
    perm: str = field(metadata=column("perm"))
    order: bool = field(metadata=column("ordered", CellKind.FLAG, wide=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicListReport:
    """Machine form of `topic list`."""

    topics: list[TopicRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOnBroker:
    """A topic's settings on one broker.

    Attributes:
        message_type: 5.x only: what producers may send, `FIFO` for instance; None where the topic does not say.
    """

    broker: str = field(metadata=column("broker"))
    read_queue_count: int = field(metadata=column("read queues", CellKind.COUNT))
    write_queue_count: int = field(metadata=column("write queues", CellKind.COUNT))
    perm: str = field(metadata=column("perm"))
    order: bool = field(metadata=column("ordered", CellKind.FLAG))
    message_type: str | None = field(metadata=column("message.type"))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One queue of a topic.

    Attributes:
        first_store_time_ms: only where it is asked for.
        retained_ms: span of time between its first and its last message.
    """

    broker: str = field(metadata=column("broker"))
    queue_id: int = field(metadata=column("queue", CellKind.COUNT))
    min_offset: int = field(metadata=column("min offset", CellKind.COUNT))
    max_offset: int = field(metadata=column("max offset", CellKind.COUNT))
    message_count: int = field(metadata=column("messages", CellKind.COUNT))
    last_store_time_ms: int | None = field(metadata=column("last message", CellKind.TIME_MS))
    first_store_time_ms: int | None = field(default=None, metadata=column("first message", CellKind.TIME_MS))
    retained_ms: int | None = field(default=None, metadata=column("retained", CellKind.DURATION_MS))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOfTopic:
    """A consumer group that subscribes a topic or has offsets on it.

    Attributes:
        consume_mode: `POP` or `PULL` as brokers have it set for the group on this topic (5.x, 402), both when they
            differ; None where nothing is set, which means PULL for clients that do not go by a proxy.
    """

    group: str = field(metadata=column("consumer group"))
    brokers: str = field(metadata=column("brokers"))
    consume_mode: str | None = field(default=None, metadata=column("mode"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    """Machine form of `topic describe`.

    Attributes:
        consumers: each group in each queue that --queue chose; None without it.
    """

    topic: str
    kind: str
    brokers: list[TopicOnBroker]
    queues: list[QueueRow]
    groups: list[GroupOfTopic]
    message_count: int
    consumers: list[QueueLag] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRow:
    """The queues of a topic on one broker, with the broker's addresses."""

    broker: str = field(metadata=column("broker"))
    cluster: str = field(metadata=column("cluster"))
    read_queue_count: int = field(metadata=column("read queues", CellKind.COUNT))
    write_queue_count: int = field(metadata=column("write queues", CellKind.COUNT))
    perm: str = field(metadata=column("perm"))
    master: str | None = field(metadata=column("master", none="none"))
    slaves: str = field(metadata=column("slaves"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Machine form of `topic route`.

    Attributes:
        order_conf: fixed queues of an ordered topic.
        differing: name servers that answer otherwise than the first.
    """

    topic: str
    order_conf: str | None
    brokers: list[RouteRow]
    name_servers: list[str]
    differing: list[str]


def queue_rows(queues: Iterable[tuple[str, QueueState]]) -> list[QueueRow]:
    """Builds the rows of queues, given with their broker's name."""
    return [
        QueueRow(
            broker=broker,
            queue_id=queue.queue_id,
            min_offset=queue.min_offset,
            max_offset=queue.max_offset,
            message_count=queue.message_count,
            last_store_time_ms=queue.last_store_time_ms,
            first_store_time_ms=queue.first_store_time_ms,
            retained_ms=_retained_ms(queue),
        )
        for broker, queue in queues
    ]


def _retained_ms(queue: QueueState) -> int | None:
    if queue.first_store_time_ms is None or queue.last_store_time_ms is None:
        return None
    return max(0, queue.last_store_time_ms - queue.first_store_time_ms)
