"""What members of a group want, where they differ, and what is lost by it."""

from __future__ import annotations

from dataclasses import dataclass

from mqctl.render.document import Column, Document, Kind, Paragraphs, Table

WANT_COLUMNS = (
    Column("topic", "topic"),
    Column("client_id", "client id"),
    Column("expression_type", "type", none="?"),
    Column("wanted", "wants", none="nothing"),
    Column("queues", "holds queues", none="?"),
    Column("version_time_ms", "since", Kind.TIME_MS),
    Column("differs", "differs", Kind.FLAG),
)
BROKER_COLUMNS = (
    Column("broker", "broker"),
    Column("topic", "topic"),
    Column("wanted", "filters by"),
    Column("version_time_ms", "since", Kind.TIME_MS),
)
LOSS_COLUMNS = (
    Column("topic", "topic"),
    Column("tag", "tag"),
    Column("sampled_count", "sampled", Kind.COUNT),
    Column("lost_count", "skipped", Kind.COUNT),
    Column("lost_share", "share", Kind.SHARE),
    Column("margin_share", "+/-", Kind.SHARE),
    Column("queues", "where (queue: owner)"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantRow:
    """What one instance wants of one topic.

    Attributes:
        wanted: tags in normal form, or the expression; None for nothing.
        differs: whether it wants something else than most members.
    """

    topic: str
    client_id: str
    expression_type: str | None
    wanted: str | None
    queues: str | None
    version_time_ms: int | None
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerWantRow:
    """What one broker filters a topic by for the whole group."""

    broker: str
    topic: str
    wanted: str
    version_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRow:
    """Messages of one tag that nobody of the group gets, in the newest messages of each queue.

    Attributes:
        margin_share: half of the 95 % interval around `lost_share`, from the size of the sample.
    """

    topic: str
    tag: str
    sampled_count: int
    lost_count: int
    lost_share: float
    margin_share: float
    queues: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionReport:
    """Machine form of `subscription show` and `subscription check`.

    Attributes:
        consistent: None when some member did not tell, and the others agree.
    """

    group: str
    consistent: bool | None
    wants: list[WantRow]
    brokers: list[BrokerWantRow]
    losses: list[LossRow]


def subscription_document(schema: str, report: SubscriptionReport) -> Document:
    """Builds the document of a group's subscriptions."""
    words = {True: "all members want the same", False: "members differ", None: "not every member told what it wants"}
    blocks: list[Table | Paragraphs] = [
        Paragraphs([f"{report.group}: {words[report.consistent]}"]),
        Table(WANT_COLUMNS, report.wants, empty=f"nobody of {report.group} is online"),
        Table(BROKER_COLUMNS, report.brokers, title="What brokers filter by", empty="no subscriptions"),
    ]
    if report.losses:
        title = "Skipped for good, in the newest messages of each queue"
        blocks.append(Table(LOSS_COLUMNS, report.losses, title=title))
    return Document(schema=schema, value=report, records=report.wants, csv_columns=WANT_COLUMNS, blocks=blocks)
