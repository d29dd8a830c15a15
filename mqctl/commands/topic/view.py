"""Topics as tables: all of them, one of them, its route and its queues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqctl.model.command_line import command_line
from mqctl.model.config import TopicConfig, perm_text
from mqctl.model.counts import counted
from mqctl.model.lag import QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, is_system_topic
from mqctl.model.queue_state import QueueState
from mqctl.model.route import BrokerEndpoint, NameServerView, TopicRoute
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

LIST_COLUMNS = (
    Column("topic", "topic"),
    Column("kind", "kind", CellKind.WORDS),
    Column("brokers", "brokers"),
    Column("read_queue_count", "read queues", CellKind.COUNT),
    Column("write_queue_count", "write queues", CellKind.COUNT),
    Column("perm", "perm"),
    Column("order", "ordered", CellKind.FLAG, wide=True),
)
CONFIG_COLUMNS = (
    Column("broker", "broker"),
    Column("read_queue_count", "read queues", CellKind.COUNT),
    Column("write_queue_count", "write queues", CellKind.COUNT),
    Column("perm", "perm"),
    Column("order", "ordered", CellKind.FLAG),
    Column("message_type", "message.type"),
)
ROUTE_COLUMNS = (
    Column("broker", "broker"),
    Column("cluster", "cluster"),
    Column("read_queue_count", "read queues", CellKind.COUNT),
    Column("write_queue_count", "write queues", CellKind.COUNT),
    Column("perm", "perm"),
    Column("master", "master", none="none"),
    Column("slaves", "slaves"),
)
QUEUE_COLUMNS = (
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("min_offset", "min offset", CellKind.COUNT),
    Column("max_offset", "max offset", CellKind.COUNT),
    Column("message_count", "messages", CellKind.COUNT),
    Column("last_store_time_ms", "last message", CellKind.TIME_MS),
)
RETAINED_COLUMNS = (
    *QUEUE_COLUMNS[:-1],
    Column("first_store_time_ms", "first message", CellKind.TIME_MS),
    QUEUE_COLUMNS[-1],
    Column("retained_ms", "retained", CellKind.DURATION_MS),
)
GROUP_COLUMNS = (Column("group", "consumer group"), Column("consume_mode", "mode"), Column("brokers", "brokers"))


CONSUMER_COLUMNS = (
    Column("group", "group"),
    Column("broker_name", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("consume_mode", "mode"),
    Column("owner_text", "owner", none="?"),
    Column("address_text", "owner address"),
    Column("lag_count", "lag", CellKind.COUNT, none="?"),
    Column("lag_ms", "lag time", CellKind.DURATION_MS, none="?"),
    Column("cached_count", "cached", CellKind.COUNT, none="?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    """One topic, all brokers together; queue counts are sums over the brokers.

    Attributes:
        kind: `normal`, `retry`, `dead-letter` or `system`.
        perm: as mqadmin writes it; several where brokers differ.
    """

    topic: str
    kind: str
    brokers: str
    read_queue_count: int
    write_queue_count: int
    perm: str
    order: bool


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

    broker: str
    read_queue_count: int
    write_queue_count: int
    perm: str
    order: bool
    message_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One queue of a topic.

    Attributes:
        first_store_time_ms: only where it is asked for.
        retained_ms: span of time between its first and its last message.
    """

    broker: str
    queue_id: int
    min_offset: int
    max_offset: int
    message_count: int
    last_store_time_ms: int | None
    first_store_time_ms: int | None = None
    retained_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOfTopic:
    """A consumer group that subscribes a topic or has offsets on it.

    Attributes:
        consume_mode: `POP` or `PULL` as brokers have it set for the group on this topic (5.x, 402), both when they
            differ; None where nothing is set, which means PULL for clients that do not go by a proxy.
    """

    group: str
    brokers: str
    consume_mode: str | None = None


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

    broker: str
    cluster: str
    read_queue_count: int
    write_queue_count: int
    perm: str
    master: str | None
    slaves: str


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


def kind_of(topic: str, reserved: Iterable[str] = ()) -> str:
    """Tells what a topic is for; brokers and clusters have topics of their own name."""
    if topic.startswith(RETRY_PREFIX):
        return "retry"
    if topic.startswith(DLQ_PREFIX):
        return "dead-letter"
    return "system" if topic in reserved or is_system_topic(topic) else "normal"


def topic_row(topic: str, configs: dict[str, TopicConfig], reserved: Iterable[str]) -> TopicRow:
    """Builds the row of a topic from its settings by broker."""
    return TopicRow(
        topic=topic,
        kind=kind_of(topic, reserved),
        brokers=", ".join(sorted(configs)),
        read_queue_count=sum(config.read_queue_count for config in configs.values()),
        write_queue_count=sum(config.write_queue_count for config in configs.values()),
        perm=", ".join(sorted({perm_text(config.perm) for config in configs.values()})),
        order=any(config.order for config in configs.values()),
    )


def list_document(rows: Sequence[TopicRow]) -> Document:
    """Builds the document of `topic list`."""
    value = TopicListReport(topics=list(rows))
    return Document(schema="topic.list/1", value=value, records=rows, blocks=[Table(LIST_COLUMNS, rows)])


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


def _with_mode(columns: Sequence[Column], rows: Sequence[GroupOfTopic | QueueLag]) -> Sequence[Column]:
    """Leaves the mode out where none is set."""
    some_set = any(row.consume_mode for row in rows)
    return [column for column in columns if some_set or column.key != "consume_mode"]


def describe_document(
    topic: str,
    configs: dict[str, TopicConfig],
    queues: Sequence[QueueRow],
    groups: Sequence[GroupOfTopic],
    consumers: Sequence[QueueLag] | None = None,
    *,
    retained: bool = False,
) -> Document:
    """Builds the document of `topic describe`.

    Args:
        consumers: who consumes the queues, where certain ones were asked for; they take the place of the groups' table.
        retained: the queues tell since when messages are kept.
    """
    brokers = [_on_broker(name, config) for name, config in sorted(configs.items())]
    value = TopicDescription(
        topic=topic,
        kind=kind_of(topic),
        brokers=brokers,
        queues=list(queues),
        groups=list(groups),
        message_count=sum(row.message_count for row in queues),
        consumers=None if consumers is None else list(consumers),
    )
    queue_columns = RETAINED_COLUMNS if retained else QUEUE_COLUMNS
    blocks: list[Table | Paragraphs] = [
        Paragraphs([_total(value)]),
        Table(CONFIG_COLUMNS, brokers),
        Table(queue_columns, queues),
        _consuming(value),
    ]
    if consumers is None and groups and queues:
        describe = command_line("mqctl topic describe {} -q {}", topic, queues[0].queue_id)
        following = sentence(
            "topic-who-owns-queue-how", "who owns a queue, and how far behind: {describe}", describe=describe
        )
        blocks.append(Paragraphs([following]))
    rows, columns = (queues, queue_columns) if consumers is None else (consumers, CONSUMER_COLUMNS)
    return Document(schema="topic.describe/1", value=value, records=rows, blocks=blocks, csv_columns=columns)


def _on_broker(name: str, config: TopicConfig) -> TopicOnBroker:
    return TopicOnBroker(
        broker=name,
        read_queue_count=config.read_queue_count,
        write_queue_count=config.write_queue_count,
        perm=perm_text(config.perm),
        order=config.order,
        message_type=config.message_type,
    )


def _total(value: TopicDescription) -> str:
    return sentence(
        "topic-total-queue-count",
        "{topic}: {total} in {queue_count} on {broker_count}",
        topic=value.topic,
        total=counted(value.message_count, "message"),
        queue_count=counted(len(value.queues), "queue"),
        broker_count=counted(len(value.brokers), "broker"),
    )


def _consuming(value: TopicDescription) -> Table:
    """Returns the table of the topic's groups, or of who consumes certain queues where these were asked for."""
    if value.consumers is not None:
        return Table(
            _with_mode(CONSUMER_COLUMNS, value.consumers),
            value.consumers,
            title=sentence("title-who-consumes", "Who consumes"),
            empty=sentence("empty-no-consumer-group-has-offsets-there", "no consumer group has offsets there"),
        )
    empty = sentence("topic-no-group-subscribes", "no group subscribes {topic} or has offsets on it", topic=value.topic)
    return Table(_with_mode(GROUP_COLUMNS, value.groups), value.groups, empty=empty)


def _slaves(endpoint: BrokerEndpoint | None) -> str:
    addresses = endpoint.addresses if endpoint else {}
    return ", ".join(f"{number}: {address}" for number, address in addresses.items() if number)


def route_document(
    topic: str, route: TopicRoute, views: Sequence[NameServerView], differing: Sequence[str]
) -> Document:
    """Builds the document of `topic route`."""
    endpoints = {endpoint.name: endpoint for endpoint in route.endpoints}
    rows = [
        RouteRow(
            broker=item.broker_name,
            cluster=endpoints[item.broker_name].cluster if item.broker_name in endpoints else "?",
            read_queue_count=item.read_queue_count,
            write_queue_count=item.write_queue_count,
            perm=perm_text(item.perm),
            master=endpoints[item.broker_name].master if item.broker_name in endpoints else None,
            slaves=_slaves(endpoints.get(item.broker_name)),
        )
        for item in route.queues
    ]
    lines = (
        [sentence("topic-ordered", "ordered: {order_conf}", order_conf=route.order_conf)] if route.order_conf else []
    )
    lines += (
        [sentence("topic-another-route", "another route at: {differing}", differing=differing)] if differing else []
    )
    value = Route(
        topic=topic,
        order_conf=route.order_conf,
        brokers=rows,
        name_servers=[view.address for view in views],
        differing=list(differing),
    )
    blocks: list[Table | Paragraphs] = [Table(ROUTE_COLUMNS, rows)]
    return Document(
        schema="topic.route/1", value=value, records=rows, blocks=[*blocks, *([Paragraphs(lines)] if lines else [])]
    )
