"""Who consumes which queue, as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mqctl.allocation.observed import InstanceShare, TopicAllocation
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

QUEUE_COLUMNS = (
    Column("topic", "topic"),
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("holders", "held by", none="nobody"),
    Column("expected", "expected owner", none="nobody"),
    Column("room", "room"),
    Column("lag_count", "lag", CellKind.COUNT, none="?"),
    Column("marks", "marks"),
)
TOPIC_COLUMNS = (
    Column("topic", "topic"),
    Column("queue_count", "queues", CellKind.COUNT),
    Column("instance_count", "instances", CellKind.COUNT),
    Column("even", "multiple", CellKind.FLAG),
    Column("imbalance", "busiest / mean", none="?"),
    Column("orphan_count", "orphans", CellKind.COUNT),
    Column("double_count", "doubles", CellKind.COUNT),
    Column("crossing_count", "cross-room", CellKind.COUNT),
    Column("idle", "idle", none="nobody"),
    Column("strategies", "strategies"),
)
INSTANCE_COLUMNS = (
    Column("topic", "topic"),
    Column("client_id", "client id"),
    Column("addresses", "address"),
    Column("room", "room"),
    Column("strategy", "strategy"),
    Column("subscribes", "subscribes", CellKind.FLAG, none="?"),
    Column("expected_count", "expected", CellKind.COUNT),
    Column("held_count", "holds", CellKind.COUNT, none="?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOwnerRow:
    """One queue with its owners."""

    topic: str
    broker: str
    queue_id: int
    holders: str | None
    expected: str | None
    slot: str | None
    room: str | None
    lag_count: int | None
    marks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRow:
    """One instance with its share of a topic."""

    topic: str
    client_id: str
    addresses: str | None
    room: str | None
    strategy: str
    subscribes: bool | None
    expected_count: int
    held_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAllocationRow:
    """One topic in one line.

    Attributes:
        even: whether the queues are a multiple of the instances.
        imbalance: queues of the busiest instance over the mean.
        idle: client ids of instances that want the topic and hold none of it.
        strategies: those that instances use; more than one give queues to two owners, and to none.
    """

    topic: str
    queue_count: int
    instance_count: int
    even: bool
    imbalance: float | None
    orphan_count: int
    double_count: int
    crossing_count: int
    idle: str | None
    strategies: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationReport:
    """Machine form of `allocation show`; the consume mode is `POP` or `PULL`, both where it differs by topic."""

    group: str
    topics: list[TopicAllocationRow]
    queues: list[QueueOwnerRow]
    instances: list[InstanceRow]
    consume_mode: str | None


def allocation_document(
    group: str,
    topics: Sequence[TopicAllocation],
    addresses: Mapping[str, str],
    *,
    queue_ids: Collection[int] = (),
    consume_mode: str | None = None,
) -> Document:
    """Builds the document of `allocation show`.

    Args:
        addresses: of instances, by client id.
        queue_ids: only these queues, and the instances that hold or should hold them; all when empty.
        consume_mode: of the group, where it is known.
    """
    queues = [
        QueueOwnerRow(
            topic=topic.topic,
            broker=item.queue.broker_name,
            queue_id=item.queue.queue_id,
            holders=", ".join(item.holders) or None,
            expected=", ".join(item.expected) or None,
            slot=", ".join(item.slot) or None,
            room=item.room,
            lag_count=item.lag_count,
            marks=", ".join(item.marks),
        )
        for topic in topics
        for item in topic.queues
        if not queue_ids or item.queue.queue_id in queue_ids
    ]
    concerned = {name for item in queues for text in (item.holders, item.expected) if text for name in text.split(", ")}
    instances = [
        _instance(topic, item, addresses)
        for topic in topics
        for item in topic.instances
        if not queue_ids or item.client_id in concerned
    ]
    lines = [_line(topic) for topic in topics]
    failures = [
        sentence(
            "allocation-strategy-throws",
            "{topic}: the strategy throws: {failure}",
            topic=topic.topic,
            failure=topic.failure,
        )
        for topic in topics
        if topic.failure
    ]
    blocks: list[Table | Paragraphs] = [
        Table(
            QUEUE_COLUMNS,
            queues,
            empty=sentence(
                "allocation-nobody-online", "no member of {group} is online, or it subscribes nothing", group=group
            ),
        ),
        Table(
            INSTANCE_COLUMNS,
            instances,
            title=sentence("title-instances", "Instances"),
            empty=sentence("empty-no-instances", "no instances"),
        ),
        Table(
            TOPIC_COLUMNS,
            lines,
            title=sentence("title-topics", "Topics"),
            empty=sentence("empty-no-topics", "no topics"),
        ),
    ]
    return Document(
        schema="allocation.show/1",
        value=AllocationReport(
            group=group, topics=lines, queues=queues, instances=instances, consume_mode=consume_mode
        ),
        records=queues,
        csv_columns=QUEUE_COLUMNS,
        blocks=[*blocks, *([Paragraphs(failures)] if failures else [])],
    )


def _instance(topic: TopicAllocation, item: InstanceShare, addresses: Mapping[str, str]) -> InstanceRow:
    return InstanceRow(
        topic=topic.topic,
        client_id=item.client_id,
        addresses=addresses.get(item.client_id),
        room=item.room,
        strategy=item.strategy,
        subscribes=item.subscribes,
        expected_count=item.expected_count,
        held_count=item.held_count,
    )


def _line(topic: TopicAllocation) -> TopicAllocationRow:
    return TopicAllocationRow(
        topic=topic.topic,
        queue_count=len(topic.queues),
        instance_count=len(topic.instances),
        even=topic.even,
        imbalance=None if topic.imbalance is None else round(topic.imbalance, 2),
        orphan_count=topic.orphan_count,
        double_count=topic.double_count,
        crossing_count=topic.crossing_count,
        idle=", ".join(topic.idle) or None,
        strategies=", ".join(topic.strategies),
    )
