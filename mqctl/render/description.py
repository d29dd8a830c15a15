"""A snapshot in one screen: where it comes from, its files, topics and groups."""

from __future__ import annotations

from collections.abc import Iterable, Set

from mqctl.model.config import perm_text
from mqctl.model.config_file import FileSource
from mqctl.model.counts import counted
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import LMQ_PREFIX, group_of, is_system_topic
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.storage_state import StorageState
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Word, sentence

_USED = {
    FileSource.BACKUP: sentence("description-backup-used", "; its backup is used"),
    FileSource.NONE: sentence("description-broker-start-without", "; the broker would start without it"),
}
TOPIC_COLUMNS = (
    Column("topic", "topic"),
    Column("kind", "kind", CellKind.WORDS),
    Column("perm", "perm"),
    Column("read_queue_count", "read queues", CellKind.COUNT, none="?"),
    Column("write_queue_count", "write queues", CellKind.COUNT, none="?"),
    Column("message_count", "messages", CellKind.COUNT),
    Column("first_store_time_ms", "oldest", CellKind.TIME_MS),
    Column("last_store_time_ms", "newest", CellKind.TIME_MS),
)
GAP_COLUMNS = (
    Column("part", "part", CellKind.WORDS),
    Column("scope", "where"),
    Column("reason", "reason", CellKind.SENTENCE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTopicRow:
    """One topic: its settings and what its queues hold. Settings are None when topics.json does not know it."""

    broker_name: str | None
    topic: str
    kind: str
    perm: str | None
    read_queue_count: int | None
    write_queue_count: int | None
    message_count: int
    first_store_time_ms: int | None
    last_store_time_ms: int | None


def topic_rows(broker: BrokerSnapshot) -> list[StoreTopicRow]:
    """Returns a row for every topic with settings or messages, by name."""
    configs = {config.name: config for config in broker.topics}
    rows = []
    reserved = {broker.cluster, broker.name}
    for topic in sorted(configs.keys() | {queue.topic for queue in broker.queues}):
        queues = [queue for queue in broker.queues if queue.topic == topic]
        config = configs.get(topic)
        first = [queue.first_store_time_ms for queue in queues if queue.first_store_time_ms is not None]
        last = [queue.last_store_time_ms for queue in queues if queue.last_store_time_ms is not None]
        rows.append(
            StoreTopicRow(
                broker_name=broker.name,
                topic=topic,
                kind=_kind(topic, reserved),
                perm=perm_text(config.perm) if config else None,
                read_queue_count=config.read_queue_count if config else None,
                write_queue_count=config.write_queue_count if config else None,
                message_count=sum(queue.message_count for queue in queues),
                first_store_time_ms=min(first, default=None),
                last_store_time_ms=max(last, default=None),
            )
        )
    return rows


def _kind(topic: str, reserved: Set[str | None]) -> str:
    """Tells what a topic is for; brokers keep one for each name of a cluster and a broker."""
    if group_of(topic) is not None:
        return "retry" if topic.startswith("%RETRY%") else "dead-letter"
    if topic.startswith(LMQ_PREFIX):
        return "lmq"
    return "system" if is_system_topic(topic) or topic in reserved else "normal"


_ORDER = ("normal", "lmq", "dead-letter", "retry", "system")


def _in_order(rows: list[StoreTopicRow]) -> list[StoreTopicRow]:
    """Puts applications' topics first, those with most messages before others; queues of groups that failed to
    consume follow."""
    return sorted(rows, key=lambda row: (_ORDER.index(row.kind), -row.message_count, row.topic))


def description_document(snapshot: ClusterSnapshot, *, schema: str, folded: bool = False) -> Document:
    """Builds the document of `store describe` and `snapshot show`; its machine form is the snapshot itself.

    Args:
        folded: retry topics without messages are counted below the table instead of shown.
    """
    rows = [row for broker in snapshot.brokers for row in topic_rows(broker)]
    gaps = [*snapshot.unavailable, *(gap for broker in snapshot.brokers for gap in broker.unavailable)]
    lines = [line for broker in snapshot.brokers for line in broker_lines(broker)]
    shown = [row for row in rows if not folded or row.kind != "retry" or row.message_count] or rows
    table = Table(_columns(rows, several=len(snapshot.brokers) > 1), _in_order(shown))
    blocks: list[Table | Paragraphs] = [Paragraphs([*_origin_lines(snapshot), *lines]), table]
    if hidden := {row.topic for row in rows} - {row.topic for row in shown}:
        blocks.append(
            Paragraphs(
                [
                    sentence(
                        "empty-retries",
                        "retry topics without messages, not shown: {count:,}; --limit all",
                        count=len(hidden),
                    )
                ]
            )
        )
    if gaps:
        blocks.append(Table(GAP_COLUMNS, gaps, title=sentence("title-not-read", "Not read")))
    return Document(schema=schema, value=snapshot, records=rows, csv_columns=TOPIC_COLUMNS, blocks=blocks)


def _columns(rows: list[StoreTopicRow], *, several: bool) -> list[Column]:
    """Leaves out the oldest store time where nobody told it: live brokers do not say it by topic. Of several brokers
    each row says whose it is."""
    with_times = any(row.first_store_time_ms is not None for row in rows)
    columns = [column for column in TOPIC_COLUMNS if with_times or column.key != "first_store_time_ms"]
    return [columns[0], Column("broker_name", "broker", none="?"), *columns[1:]] if several else columns


def _origin_lines(snapshot: ClusterSnapshot) -> Iterable[str]:
    origin = snapshot.origin
    yield sentence(
        "description-source", "source           {kind} {location}", kind=origin.kind, location=origin.location
    )
    yield sentence(
        "description-observed-at-ms",
        "as of            {observed_at_ms} ({observed_from})",
        observed_at_ms=origin.observed_at_ms,
        observed_from=Word(origin.observed_from),
    )
    if origin.kind is OriginKind.LIVE:
        earlier = snapshot.earlier
        if earlier is None:
            yield sentence(
                "description-looks-without-rates-snapshot",
                "looks            1, without rates; mqctl snapshot save --window 60s FILE saves 2",
            )
        else:
            yield sentence(
                "description-looks-apart-group-lag",
                "looks            2, {span_ms} apart: mqctl group lag --advise --snapshot FILE shows rates",
                span_ms=origin.observed_at_ms - earlier.origin.observed_at_ms,
            )
    if origin.redacted:
        yield sentence(
            "description-redacted-addresses-client-ids",
            "redacted         addresses, client ids, keys and paths are made up",
        )
    if origin.archive:
        yield sentence("description-saved", "saved in         {archive}", archive=origin.archive)


def broker_lines(broker: BrokerSnapshot) -> Iterable[str]:
    """Yields what is worth knowing of a broker beside its topics, one fact a line."""
    yield sentence(
        "description-broker",
        "broker           {broker}",
        broker=broker.name or sentence("description-name-not-known-files", "name not known from the files"),
    )
    if broker.storage is not None:
        yield from _storage_lines(broker.storage)
    committed = {offset.group for offset in broker.consumer_offsets}
    configured = "?" if broker.lacks(Part.GROUPS) else len(broker.groups)
    with_offsets = "?" if broker.lacks(Part.CONSUMER_OFFSETS) else len(committed)
    yield sentence(
        "description-consumer-groups-configured-offsets",
        "consumer groups  {configured} configured, {with_offsets} with offsets",
        configured=configured,
        with_offsets=with_offsets,
    )
    if broker.transactions is not None:
        yield sentence(
            "description-transactions-pending",
            "transactions     {pending_count} pending",
            pending_count=len(broker.transactions.pending),
        )


def _storage_lines(storage: StorageState) -> Iterable[str]:
    yield sentence(
        "description-last-stop",
        "last stop        {has_abort}",
        has_abort=sentence("description-unclean-abort-still-running", "unclean (abort exists), or still running")
        if storage.has_abort
        else sentence("description-clean", "clean"),
    )
    log = storage.commit_log
    if log is not None:
        yield sentence(
            "description-commit-log-offsets",
            "commit log       {files}, offsets {first:,} to {end:,} ({size_bytes})",
            files=counted(log.file_count, "file"),
            first=log.min_offset,
            end=log.max_offset,
            size_bytes=log.max_offset - log.min_offset,
        )
        if log.oldest_store_time_ms is not None and log.newest_store_time_ms is not None:
            yield sentence(
                "description-store-times",
                "store times      {oldest_time_ms} to {newest_time_ms}",
                oldest_time_ms=log.oldest_store_time_ms,
                newest_time_ms=log.newest_store_time_ms,
            )
    if storage.checkpoint is not None:
        yield sentence("description-checkpoint", "checkpoint       {status}", status=storage.checkpoint.status)
    for file in storage.config_files:
        if file.source is not FileSource.MAIN:
            yield sentence(
                "description-config",
                "config           {file}: {main_problem}{used}",
                file=file.name,
                main_problem=file.main_problem,
                used=_USED.get(file.source, ""),
            )
