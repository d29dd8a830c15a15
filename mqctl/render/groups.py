"""Consumer groups as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import (
    PULL,
    GroupMembership,
    RunningInfo,
    Subscription,
    consume_mode,
)
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.model.pop_share import PopShare
from mqctl.protocol.codes import version_text
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Sentence, sentence

LIST_COLUMNS = (
    Column("group", "consumer group"),
    Column("member_count", "members", CellKind.COUNT),
    Column("message_model", "model"),
    Column("consume_type", "type"),
    Column("consume_mode", "consume mode"),
    Column("topics", "subscribes"),
    Column("brokers", "brokers", wide=True),
)
CONFIG_COLUMNS = (
    Column("broker", "broker"),
    Column("consume_enable", "consumes", CellKind.FLAG),
    Column("consume_broadcast_enable", "broadcast", CellKind.FLAG),
    Column("retry_max_times", "retries", CellKind.COUNT),
    Column("retry_queue_count", "retry queues", CellKind.COUNT),
    Column("broker_id", "reads from id", CellKind.COUNT),
    Column("which_broker_when_consume_slowly", "when slow", CellKind.COUNT),
    Column("consume_message_orderly", "in order", CellKind.FLAG),
    Column("consume_from_min_enable", "from min", CellKind.FLAG, wide=True),
    Column("notify_consumer_ids_changed_enable", "notified of changes", CellKind.FLAG, wide=True),
)
MEMBER_COLUMNS = (
    Column("client_id", "client id"),
    Column("addresses", "address"),
    Column("language", "language"),
    Column("version", "version"),
    Column("brokers", "known to"),
    Column("queue_count", "queues", CellKind.COUNT, none="?"),
    Column("cached_count", "cached", CellKind.COUNT, none="?"),
    Column("subscriptions", "subscribes", none="?"),
    Column("start_time_ms", "started", CellKind.TIME_MS, wide=True),
    Column("grpc_settings", "gRPC settings", none="-", wide=True),
    Column("held_since_ms", "held since", CellKind.TIME_MS, wide=True),
)
SUBSCRIPTION_COLUMNS = (
    Column("broker", "broker"),
    Column("topic", "topic"),
    Column("expression_type", "type"),
    Column("expression", "expression"),
    Column("version_time_ms", "since", CellKind.TIME_MS),
)
SHARE_COLUMNS = (
    Column("topic", "topic"),
    Column("mode", "mode", none="not set"),
    Column("ready_count", "ready", CellKind.COUNT),
    Column("invisible_count", "invisible", CellKind.COUNT),
    Column("due_count", "overdue", CellKind.COUNT),
    Column("retry_count", "retry", CellKind.COUNT),
    Column("given_up_count", "given up", CellKind.COUNT),
    Column("blocked_queue_count", "ordered blocks", CellKind.COUNT, none="?"),
    Column("back_ms", "next back at", CellKind.TIME_MS),
)


_NOT_KNOWN = sentence("group-members-not-known-store", "members are not known: a store does not tell who is online")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One consumer group, all brokers together; without members its model is not known.

    Attributes:
        consume_mode: `PULL` or `POP` by what brokers say (5.x, 402), both when it differs by topic.
    """

    group: str
    member_count: int
    message_model: str | None
    consume_type: str | None
    consume_mode: str | None
    topics: str
    brokers: str


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

    broker: str
    consume_enable: bool
    consume_broadcast_enable: bool
    retry_max_times: int
    retry_queue_count: int
    broker_id: int
    which_broker_when_consume_slowly: int
    consume_message_orderly: bool
    consume_from_min_enable: bool
    notify_consumer_ids_changed_enable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Machine form of `group config`.

    Attributes:
        consume_mode: `PULL` or `POP` as brokers have it set (5.x, 402), both when it differs by topic; None where
            nothing is set, which means PULL.
    """

    group: str
    brokers: list[GroupOnBroker]
    consume_mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One instance of a group.

    Attributes:
        addresses: of its connections; each broker sees another port.
        queue_count, cached_count: queues it holds and messages in its cache; None when it did not tell.
        subscriptions: topics with their expression, as the instance itself tells.
        version: of the client library; a gRPC client's own, where its endpoint tells it.
        grpc_settings: of a gRPC client, as its endpoint answered them.
        held_since_ms: when a gRPC client got the oldest message that it did not answer for yet.
    """

    client_id: str
    addresses: str
    language: str | None
    version: str | None
    brokers: str
    queue_count: int | None
    cached_count: int | None
    subscriptions: str | None
    start_time_ms: int | None
    grpc_settings: str | None
    held_since_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRow:
    """What one broker filters a topic by for the whole group."""

    broker: str
    topic: str
    expression_type: str
    expression: str
    version_time_ms: int


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


def group_row(
    group: str, brokers: Iterable[str], memberships: Sequence[GroupMembership], modes: Iterable[str] = ()
) -> GroupRow:
    """Builds the row of a group from what brokers say of it.

    Args:
        modes: how brokers have it consume, for a group without members.
    """
    clients = {client for item in memberships for client in item.client_ids}
    topics = {entry.topic for item in memberships for entry in item.subscriptions if not entry.topic.startswith("%")}
    first = memberships[0] if memberships else None
    return GroupRow(
        group=group,
        member_count=len(clients),
        message_model=first.message_model.value if first and first.message_model else None,
        consume_type=first.consume_type if first else None,
        consume_mode=consume_mode(memberships) or ", ".join(sorted(modes)) or None,
        topics=", ".join(sorted(topics)),
        brokers=", ".join(sorted(brokers)),
    )


def list_document(rows: Sequence[GroupRow]) -> Document:
    """Builds the document of `group list`."""
    value = GroupListReport(groups=list(rows))
    some_pop = any(row.consume_mode not in (None, PULL) for row in rows)
    columns = [column for column in LIST_COLUMNS if some_pop or column.key != "consume_mode"]
    return Document(schema="group.list/1", value=value, records=rows, blocks=[Table(columns, rows)])


def config_rows(configs: Mapping[str, SubscriptionGroupConfig]) -> list[GroupOnBroker]:
    """Builds the rows of a group's settings by broker."""
    return [
        GroupOnBroker(
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
        for broker, config in sorted(configs.items())
    ]


def config_document(group: str, rows: Sequence[GroupOnBroker], modes: Iterable[str] = ()) -> Document:
    """Builds the document of `group config`.

    Args:
        modes: how brokers have it consume, of the topics for which that is set.
    """
    value = GroupSettings(group=group, brokers=list(rows), consume_mode=", ".join(sorted(modes)) or None)
    blocks: list[Table | Paragraphs] = [Table(CONFIG_COLUMNS, rows)]
    if value.consume_mode is not None:
        blocks.append(
            Paragraphs(
                [sentence("group-how-members-consume", "how members consume: {kinds}", kinds=value.consume_mode)]
            )
        )
    return Document(schema="group.config/1", value=value, records=rows, blocks=blocks)


def subscription_text(wanted: Subscription) -> str:
    """Writes a subscription as `topic: tags`."""
    shown = " || ".join(wanted.tags) if wanted.expression_type == "TAG" and wanted.tags else wanted.expression
    kind = "" if wanted.expression_type == "TAG" else f"{wanted.expression_type} "
    return f"{wanted.topic}: {kind}{shown}"


def member_rows(memberships: Mapping[str, GroupMembership], running: Sequence[RunningInfo]) -> list[MemberRow]:
    """Joins what brokers say of the members with what these say of themselves."""
    infos = {info.client_id: info for info in running}
    known: dict[str, list[tuple[str, str, str | None, int | None]]] = {}
    for broker, held in sorted(memberships.items()):
        for member in held.members:
            proxy = held.proxied.get(member.client_id)
            entry = (
                sentence("common-proxy", "proxy {proxy}", proxy=proxy) if proxy else broker,
                member.address,
                member.language,
                member.version,
            )
            known.setdefault(member.client_id, []).append(entry)
    return [_member(client, entries, infos.get(client)) for client, entries in sorted(known.items())]


def _member(
    client: str, entries: Sequence[tuple[str, str, str | None, int | None]], info: RunningInfo | None
) -> MemberRow:
    wanted = [item for item in (info.subscriptions if info else ()) if not item.topic.startswith("%")]
    held = [queue for queue in (info.queues if info else ()) if not queue.dropped]
    version = entries[0][3]
    return MemberRow(
        client_id=client,
        addresses=", ".join(dict.fromkeys(address for _, address, _, _ in entries)),
        language=entries[0][2],
        version=_version(version, info),
        brokers=", ".join(dict.fromkeys(broker for broker, _, _, _ in entries)),
        queue_count=len(held) if info else None,
        cached_count=sum(queue.cached_count for queue in held) + sum(info.held_counts.values()) if info else None,
        subscriptions="; ".join(map(subscription_text, wanted)) if info else None,
        start_time_ms=info.start_time_ms if info else None,
        grpc_settings=info.grpc_settings if info else None,
        held_since_ms=info.held_since_ms if info else None,
    )


def _version(ordinal: int | None, info: RunningInfo | None) -> str | None:
    """Returns a client's release; a gRPC client has its own, and brokers know that of its proxy."""
    if info is not None and info.grpc_version is not None:
        return f"{info.grpc_version} (gRPC)"
    return version_text(ordinal) if ordinal else None


def members_document(
    group: str,
    memberships: Mapping[str, GroupMembership],
    running: Sequence[RunningInfo],
    configs: Sequence[GroupOnBroker] = (),
    *,
    pops: Sequence[PopShare] = (),
    refused_by: Sequence[str] = (),
    modes: Iterable[str] = (),
    online_known: bool = True,
) -> Document:
    """Builds the document of `group members`; with settings, that of `group describe`.

    Args:
        modes: how brokers have it consume, for a group without members.
        online_known: whether the source tells who is online; a store does not.
    """
    members = member_rows(memberships, running)
    by_broker = sorted(memberships.items())
    heard = dict.fromkeys((held.known_to(name), item) for name, held in by_broker for item in held.subscriptions)
    subscriptions = [
        SubscriptionRow(
            broker=broker,
            topic=item.topic,
            expression_type=item.expression_type,
            expression=item.expression,
            version_time_ms=item.version_ms,
        )
        for broker, item in heard
    ]
    first = next(iter(memberships.values()), GroupMembership(group=group))
    value = GroupMembers(
        group=group,
        consume_type=first.consume_type,
        message_model=first.message_model.value if first.message_model else None,
        consume_mode=consume_mode(memberships.values()) or ", ".join(sorted(modes)) or None,
        consume_from_where=first.consume_from_where,
        members=members,
        subscriptions=subscriptions,
        brokers=list(configs),
        pops=list(pops),
        refused_by=list(refused_by),
        retries_in_place=_retries_in_place(running),
    )
    kinds = [value.message_model, value.consume_type, value.consume_mode, value.consume_from_where]
    blocks = _online_tables(value, online_known=online_known)
    if pops:
        blocks.append(Table(SHARE_COLUMNS, pops, title=sentence("title-what-the-group-pops", "What the group pops")))
    if any(kinds):
        blocks.append(
            Paragraphs(
                [
                    sentence(
                        "group-how-members-consume",
                        "how members consume: {kinds}",
                        kinds=", ".join(filter(None, kinds)),
                    )
                ]
            )
        )
    blocks += _retry_words(value)
    if refused_by:
        brokers = ", ".join(refused_by)
        blocks.insert(
            0,
            Paragraphs(
                [
                    sentence(
                        "every-pull-refused-no",
                        "{brokers}: every pull of {group} is refused, there are no settings of the group and none "
                        "are made (autoCreateSubscriptionGroup=false). Create it (`mqctl group create`), or check "
                        "its name.",
                        brokers=brokers,
                        group=group,
                    )
                ]
            ),
        )
    if configs:
        blocks.insert(
            0, Table(CONFIG_COLUMNS, configs, title=sentence("consumer-group", "Consumer group {group}", group=group))
        )
    schema = "group.describe/1" if configs else "group.members/1"
    return Document(schema=schema, value=value, records=members, csv_columns=MEMBER_COLUMNS, blocks=blocks)


def _online_tables(value: GroupMembers, *, online_known: bool) -> list[Table | Paragraphs]:
    """Returns who is online and what brokers filter by for them."""
    return [
        Table(
            MEMBER_COLUMNS,
            value.members,
            empty=sentence("no-member-online", "no member of {group} is online", group=value.group)
            if online_known
            else _NOT_KNOWN,
        ),
        Table(
            SUBSCRIPTION_COLUMNS,
            value.subscriptions,
            title=sentence("title-what-brokers-filter-by", "What brokers filter by"),
            empty=sentence("empty-no-subscriptions", "no subscriptions")
            if online_known
            else sentence("not-known", "not known"),
        ),
    ]


def _retries_in_place(running: Iterable[RunningInfo]) -> int | None:
    """Java's orderly consumers take -1, which is what they have unless it is set, for no limit at all."""
    limits = [decimal(info.properties.get("maxReconsumeTimes"), high=MOST_INT32) for info in running if info.orderly]
    return max((MOST_INT32 if limit is None else limit for limit in limits), default=None)


_FOR_EVER = Sentence(
    "group-orderly-members-retry-failed",
    "{group}: orderly members retry a failed message in place, without a limit; its queue stands still meanwhile, "
    "and nothing shows in retry topics (MQ503). The limit of brokers is for concurrent members.",
)
_IN_PLACE = Sentence(
    "group-orderly-members-retry-failed-message",
    "{group}: orderly members retry a failed message in place (at most: {most:,}); its queue stands still "
    "meanwhile, and nothing shows in retry topics (MQ503). The limit of brokers is for concurrent members.",
)


def _retry_words(value: GroupMembers) -> list[Paragraphs]:
    most = value.retries_in_place
    if most is None:
        return []
    if most == MOST_INT32:
        return [Paragraphs([_FOR_EVER(group=value.group)])]
    return [Paragraphs([_IN_PLACE(group=value.group, most=most)])]
