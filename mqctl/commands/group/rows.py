"""Consumer groups, their settings and their members: each row is JSON, CSV and a table's line at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from mqctl.model.column import CellKind, column
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import HeldQueue, RunningInfo, Subscription, TopicRates
from mqctl.model.pop_share import PopShare


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One consumer group, all brokers together; without members its model is not known.

    Attributes:
        consume_mode: `PULL` or `POP` by what brokers say (5.x, 402), both when it differs by topic.
    """

    group: str = field(metadata=column("consumer group"))
    member_count: int = field(metadata=column("members", CellKind.COUNT))
    message_model: str | None = field(metadata=column("model"))
    consume_type: str | None = field(metadata=column("type"))
    consume_mode: str | None = field(metadata=column("consume mode"))
    topics: str = field(metadata=column("subscribes"))
    brokers: str = field(metadata=column("brokers", wide=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListReport:
    """Machine form of `group list`."""

    groups: list[GroupRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOnBroker:
    """A group's settings on one broker.

    Attributes:
        consume_message_orderly: 5.x only: proxies give its messages out in order.
    """

    broker: str = field(metadata=column("broker"))
    consume_enable: bool = field(metadata=column("consumes", CellKind.FLAG))
    consume_broadcast_enable: bool = field(metadata=column("broadcast", CellKind.FLAG))
    retry_max_times: int = field(metadata=column("retries", CellKind.COUNT))
    retry_queue_count: int = field(metadata=column("retry queues", CellKind.COUNT))
    broker_id: int = field(metadata=column("reads from id", CellKind.COUNT))
    which_broker_when_consume_slowly: int = field(metadata=column("when slow", CellKind.COUNT))
    consume_message_orderly: bool = field(metadata=column("in order", CellKind.FLAG))
    consume_from_min_enable: bool = field(metadata=column("from min", CellKind.FLAG, wide=True))
    notify_consumer_ids_changed_enable: bool = field(metadata=column("notified of changes", CellKind.FLAG, wide=True))

    @classmethod
    def of(cls, broker: str, config: SubscriptionGroupConfig) -> GroupOnBroker:
        """Takes what people look at of a broker's settings."""
        return cls(
            broker=broker,
            consume_enable=config.consume_enable,
            consume_broadcast_enable=config.consume_broadcast_enable,
            retry_max_times=config.retry_max_times,
            retry_queue_count=config.retry_queue_count,
            broker_id=config.broker_id,
            which_broker_when_consume_slowly=config.which_broker_when_consume_slowly,
            consume_message_orderly=config.consume_message_orderly,
            consume_from_min_enable=config.consume_from_min_enable,
            notify_consumer_ids_changed_enable=config.notify_consumer_ids_changed_enable,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One instance of a group.

    Attributes:
        addresses: of its connections; each broker sees another port.
        version: of the client library; a gRPC client's own, where its endpoint tells it.
        queue_count, cached_count: queues it holds and messages in its cache; None when it did not tell.
        subscriptions: topics with their expression, as the instance itself tells.
        grpc_settings: of a gRPC client, as its endpoint answered them.
        held_since_ms: when a gRPC client got the oldest message that it did not answer for yet.
    """

    client_id: str = field(metadata=column("client id"))
    addresses: str = field(metadata=column("address"))
    language: str | None = field(metadata=column("language"))
    version: str | None = field(metadata=column("version"))
    brokers: str = field(metadata=column("known to"))
    queue_count: int | None = field(metadata=column("queues", CellKind.COUNT, none="?"))
    cached_count: int | None = field(metadata=column("cached", CellKind.COUNT, none="?"))
    subscriptions: str | None = field(metadata=column("subscribes", none="?"))
    start_time_ms: int | None = field(metadata=column("started", CellKind.TIME_MS, wide=True))
    grpc_settings: str | None = field(metadata=column("gRPC settings", wide=True))
    held_since_ms: int | None = field(metadata=column("held since", CellKind.TIME_MS, wide=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRow:
    """What one broker filters a topic by for the whole group."""

    broker: str = field(metadata=column("broker"))
    topic: str = field(metadata=column("topic"))
    expression_type: str = field(metadata=column("type"))
    expression: str = field(metadata=column("expression"))
    version_time_ms: int = field(metadata=column("since", CellKind.TIME_MS))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMembers:
    """Machine form of `group members` and `group describe`.

    Attributes:
        consume_type, message_model, consume_from_where: as the first broker that knows members has them.
        consume_mode: `PULL` or `POP` by what brokers say (5.x, 402), both when it differs by topic.
        pops: topics of which the group shares messages instead of queues (5.x), all brokers together.
        refused_by: brokers that refuse all pulls of the group, for want of its settings.
        retries_in_place: failed deliveries after which orderly members give a message up, 2,147,483,647 unless they set
            `maxReconsumeTimes`; the most of them. None without an orderly member that told.
    """

    group: str
    consume_type: str | None
    message_model: str | None
    consume_mode: str | None
    consume_from_where: str | None
    members: list[MemberRow]
    subscriptions: list[SubscriptionRow]
    brokers: list[GroupOnBroker]
    pops: list[PopShare]
    refused_by: list[str]
    retries_in_place: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceQueue:
    """A queue inside the instance; offsets are queue offsets, times epoch milliseconds or None if there was none."""

    topic: str = field(metadata=column("topic"))
    broker: str = field(metadata=column("broker"))
    queue_id: int = field(metadata=column("queue", CellKind.COUNT))
    commit_offset: int = field(metadata=column("consumer offset", CellKind.COUNT))
    cached_count: int = field(metadata=column("cached", CellKind.COUNT))
    cached_mib: int = field(metadata=column("MiB", CellKind.COUNT))
    cached_min_offset: int = field(metadata=column("cached from", CellKind.COUNT, wide=True))
    cached_max_offset: int = field(metadata=column("cached to", CellKind.COUNT, wide=True))
    transaction_count: int = field(metadata=column("in hand", CellKind.COUNT, wide=True))
    locked: bool = field(metadata=column("locked", CellKind.FLAG))
    dropped: bool = field(metadata=column("dropped", CellKind.FLAG))
    last_lock_time_ms: int | None = field(metadata=column("last lock", CellKind.TIME_MS, wide=True))
    last_pull_time_ms: int | None = field(metadata=column("last pull", CellKind.TIME_MS))
    last_consume_time_ms: int | None = field(metadata=column("last consumed", CellKind.TIME_MS))

    @classmethod
    def of(cls, held: HeldQueue) -> InstanceQueue:
        """Takes a queue as its owner tells it; moments of 0 never were."""
        return cls(
            topic=held.queue.topic,
            broker=held.queue.broker_name,
            queue_id=held.queue.queue_id,
            commit_offset=held.commit_offset,
            cached_count=held.cached_count,
            cached_mib=held.cached_mib,
            cached_min_offset=held.cached_min_offset,
            cached_max_offset=held.cached_max_offset,
            transaction_count=held.transaction_count,
            locked=held.locked,
            dropped=held.dropped,
            last_lock_time_ms=held.last_lock_time_ms or None,
            last_pull_time_ms=held.last_pull_time_ms or None,
            last_consume_time_ms=held.last_consume_time_ms or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceReport:
    """Machine form of `group members --client`.

    Attributes:
        consume_mode: of the group, `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        popped_held_counts: messages that it popped and did not answer for yet, by topic.
    """

    group: str
    client_id: str
    orderly: bool | None
    thread_count: int | None
    start_time_ms: int | None
    subscriptions: list[Subscription]
    queues: list[InstanceQueue]
    rates: list[TopicRates]
    properties: Mapping[str, str]
    consume_mode: str | None
    popped_held_counts: Mapping[str, int]

    @classmethod
    def of(cls, info: RunningInfo, mode: str | None) -> InstanceReport:
        """Takes what an instance tells of itself; `mode` is how its group consumes."""
        return cls(
            group=info.group,
            client_id=info.client_id,
            orderly=info.orderly,
            thread_count=info.thread_count,
            start_time_ms=info.start_time_ms,
            subscriptions=list(info.subscriptions),
            queues=[InstanceQueue.of(item) for item in info.queues],
            rates=list(info.rates),
            properties=info.properties,
            consume_mode=mode,
            popped_held_counts=info.held_counts,
        )
