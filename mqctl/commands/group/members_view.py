"""One instance of a consumer group, as it describes itself."""

from __future__ import annotations

from mqctl.commands.group.rows import InstanceQueue, InstanceReport
from mqctl.model.column import columns_of
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import Subscription, TopicRates
from mqctl.render.document import Column, Document, Paragraphs, Table
from mqctl.render.findings_alike import with_mode
from mqctl.text import Word, sentence

_QUEUE_COLUMNS = columns_of(
    InstanceQueue,
    *("topic", "broker", "queue_id", "commit_offset", "cached_count", "cached_mib", "locked", "dropped"),
    *("last_pull_time_ms", "last_consume_time_ms", "cached_min_offset", "cached_max_offset", "transaction_count"),
    "last_lock_time_ms",
)
_SUBSCRIPTION_COLUMNS = columns_of(Subscription, "topic", "expression_type", "expression", "version_ms")
_PROPERTY_COLUMNS = (Column("key", "property"), Column("value", "value"))


@dataclass(frozen=True, slots=True)
class _Property:
    key: str
    value: str


def instance_document(instance: InstanceReport) -> Document:
    """Builds the document of `group members --client`; its records are the queues."""
    rows = [_Property(key, item) for key, item in sorted(instance.properties.items())]
    kind = {True: Word("orderly"), False: Word("concurrent"), None: sentence("instance-not-reported", "not reported")}[
        instance.orderly
    ]
    count = instance.thread_count
    threads = sentence("instance-not-reported", "not reported") if count is None else str(count)
    return Document(
        schema="group.member/1",
        value=instance,
        records=instance.queues,
        csv_columns=_QUEUE_COLUMNS,
        blocks=[
            Paragraphs(
                [
                    sentence(
                        "instance-listener-consume-threads",
                        "{client_id} of {with_mode}: listener {kind}, consume threads {threads}",
                        client_id=instance.client_id,
                        with_mode=with_mode(instance.group, instance.consume_mode),
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
                        for topic, held in sorted(instance.popped_held_counts.items())
                    ),
                ]
            ),
            Table(
                _QUEUE_COLUMNS,
                instance.queues,
                title=sentence("title-queues", "Queues"),
                empty=sentence("empty-it-holds-no-queue", "it holds no queue"),
            ),
            Table(
                columns_of(TopicRates),
                instance.rates,
                title=sentence("title-rates-of-the-last-minute", "Rates of the last minute"),
                empty=sentence("empty-it-reports-no-rates", "it reports no rates"),
            ),
            Table(
                _SUBSCRIPTION_COLUMNS,
                instance.subscriptions,
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
