"""Topics as tables: all of them, one of them, its route and its queues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqctl.commands.topic.rows import (
    GroupOfTopic,
    QueueRow,
    Route,
    RouteRow,
    TopicDescription,
    TopicListReport,
    TopicOnBroker,
    TopicRow,
)
from mqctl.model.column import columns_of
from mqctl.model.command_line import command_line
from mqctl.model.config import TopicConfig, perm_text
from mqctl.model.counts import counted
from mqctl.model.lag import QueueLag
from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, is_system_topic
from mqctl.model.route import BrokerEndpoint, NameServerView, TopicRoute
from mqctl.render.document import Column, Document, Paragraphs, Table
from mqctl.text import sentence

LIST_COLUMNS = columns_of(TopicRow)
CONFIG_COLUMNS = columns_of(TopicOnBroker)
ROUTE_COLUMNS = columns_of(RouteRow)
_BOUNDS = ("broker", "queue_id", "min_offset", "max_offset", "message_count")
QUEUE_COLUMNS = columns_of(QueueRow, *_BOUNDS, "last_store_time_ms")
RETAINED_COLUMNS = columns_of(QueueRow, *_BOUNDS, "first_store_time_ms", "last_store_time_ms", "retained_ms")
GROUP_COLUMNS = columns_of(GroupOfTopic, "group", "consume_mode", "brokers")
CONSUMER_COLUMNS = (
    *columns_of(QueueLag, "group", "broker_name", "queue_id"),
    Column("consume_mode", "mode"),
    *columns_of(QueueLag, "owners"),
    Column("address_text", "owner address"),
    *columns_of(QueueLag, "lag_count", "lag_ms", "cached_count"),
)


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
            empty=sentence(
                "empty-no-consumer-group-has-offsets-there", "no consumer group has committed offsets there"
            ),
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
