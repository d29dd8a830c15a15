"""One instance of a consumer group, as it describes itself."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import HeldQueue, RunningInfo, Subscription, TopicRates
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.findings_alike import with_mode
from mqctl.text import Word, sentence

_QUEUE_COLUMNS = (
    Column("topic", "topic"),
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("commit_offset", "consumer offset", CellKind.COUNT),
    Column("cached_count", "cached", CellKind.COUNT),
    Column("cached_mib", "MiB", CellKind.COUNT),
    Column("locked", "locked", CellKind.FLAG),
    Column("dropped", "dropped", CellKind.FLAG),
    Column("last_pull_time_ms", "last pull", CellKind.TIME_MS),
    Column("last_consume_time_ms", "last consumed", CellKind.TIME_MS),
    Column("cached_min_offset", "cached from", CellKind.COUNT, wide=True),
    Column("cached_max_offset", "cached to", CellKind.COUNT, wide=True),
    Column("transaction_count", "in hand", CellKind.COUNT, wide=True),
    Column("last_lock_time_ms", "last lock", CellKind.TIME_MS, wide=True),
)
_RATE_COLUMNS = (
    Column("topic", "topic"),
    Column("pull_rt_ms", "pull ms", CellKind.RATE),
    Column("pull_tps", "pulled/s", CellKind.RATE),
    Column("consume_rt_ms", "consume ms", CellKind.RATE),
    Column("consume_ok_tps", "consumed/s", CellKind.RATE),
    Column("consume_failed_tps", "failed/s", CellKind.RATE),
    Column("consume_failed_count", "failed in the last hour", CellKind.COUNT),
)
_SUBSCRIPTION_COLUMNS = (
    Column("topic", "topic"),
    Column("expression_type", "type"),
    Column("expression", "expression"),
    Column("version_ms", "since", CellKind.TIME_MS),
)
_PROPERTY_COLUMNS = (Column("key", "property"), Column("value", "value"))


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceQueue:
    """A queue inside the instance; offsets are queue offsets, times epoch milliseconds or None if there was none."""

    topic: str
    broker: str
    queue_id: int
    commit_offset: int
    cached_count: int
    cached_mib: int
    cached_min_offset: int
    cached_max_offset: int
    transaction_count: int
    locked: bool
    dropped: bool
    last_lock_time_ms: int | None
    last_pull_time_ms: int | None
    last_consume_time_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceReport:
    """Machine form of `group member`.

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


@dataclass(frozen=True, slots=True)
class _Property:
    key: str
    value: str


def instance_document(info: RunningInfo, mode: str | None) -> Document:
    """Builds the document of `group member`; its records are the queues. `mode` is how its group consumes."""
    queues = [_queue(item) for item in info.queues]
    value = InstanceReport(
        group=info.group,
        client_id=info.client_id,
        orderly=info.orderly,
        thread_count=info.thread_count,
        start_time_ms=info.start_time_ms,
        subscriptions=list(info.subscriptions),
        queues=queues,
        rates=list(info.rates),
        properties=info.properties,
        consume_mode=mode,
        popped_held_counts=info.held_counts,
    )
    rows = [_Property(key, item) for key, item in sorted(info.properties.items())]
    kind = {True: Word("orderly"), False: Word("concurrent"), None: sentence("instance-not-reported", "not reported")}[
        info.orderly
    ]
    threads = sentence("instance-not-reported", "not reported") if info.thread_count is None else str(info.thread_count)
    return Document(
        schema="group.member/1",
        value=value,
        records=queues,
        csv_columns=_QUEUE_COLUMNS,
        blocks=[
            Paragraphs(
                [
                    sentence(
                        "instance-listener-consume-threads",
                        "{client_id} of {with_mode}: listener {kind}, consume threads {threads}",
                        client_id=info.client_id,
                        with_mode=with_mode(info.group, mode),
                        kind=kind,
                        threads=threads,
                    ),
                    *(
                        sentence(
                            "instance-popped-not-answered",
                            "popped from {topic} and not answered for: {held}",
                            topic=topic,
                            held=counted(held, "message"),
                        )
                        for topic, held in sorted(info.held_counts.items())
                    ),
                ]
            ),
            Table(
                _QUEUE_COLUMNS,
                queues,
                title=sentence("title-queues", "Queues"),
                empty=sentence("empty-it-holds-no-queue", "it holds no queue"),
            ),
            Table(
                _RATE_COLUMNS,
                info.rates,
                title=sentence("title-rates-of-the-last-minute", "Rates of the last minute"),
                empty=sentence("empty-it-reports-no-rates", "it reports no rates"),
            ),
            Table(
                _SUBSCRIPTION_COLUMNS,
                info.subscriptions,
                title=sentence("title-subscriptions", "Subscriptions"),
                empty=sentence("empty-it-subscribes-nothing", "it subscribes nothing"),
            ),
            Table(
                _PROPERTY_COLUMNS,
                rows,
                title=sentence("title-properties", "Properties"),
                empty=sentence("empty-it-reports-no-properties", "it reports no properties"),
            ),
        ],
    )


def _queue(held: HeldQueue) -> InstanceQueue:
    return InstanceQueue(
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
