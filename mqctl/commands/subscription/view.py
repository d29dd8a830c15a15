"""What members of a group want, where they differ, and what is lost by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.remark import on_one_line
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.findings_alike import with_mode
from mqctl.text import composed, sentence

WANT_COLUMNS = (
    Column("topic", "topic"),
    Column("client_id", "client id"),
    Column("expression_type", "type", none="?"),
    Column("wanted", "wants", none="nothing"),
    Column("queues", "holds queues", none="?"),
    Column("version_time_ms", "since", CellKind.TIME_MS),
    Column("differs", "differs", CellKind.FLAG),
)
BROKER_COLUMNS = (
    Column("broker", "broker"),
    Column("topic", "topic"),
    Column("wanted", "filters by"),
    Column("version_time_ms", "since", CellKind.TIME_MS),
)
LOSS_COLUMNS = (
    Column("topic", "topic"),
    Column("tag", "tag"),
    Column("sampled_count", "with this tag", CellKind.COUNT),
    Column("lost_count", "skipped", CellKind.COUNT),
    Column("lost_share", "share", CellKind.SHARE),
    Column("margin_share", "+/-", CellKind.SHARE),
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


ORPHAN_COLUMNS = (
    Column("topic", "topic"),
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("slot", "should be owned by", none="nobody"),
    Column("waiting_count", "waiting", CellKind.COUNT, none="?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanRow:
    """A queue that nobody consumes: `slot` names whom the allocation gives it to, wanted or not."""

    topic: str
    broker: str
    queue_id: int
    slot: str | None
    waiting_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionReport:
    """Machine form of `subscription check`.

    Attributes:
        consistent: None when some member did not tell and the others agree, or when nobody is online.
        orphans: queues that no member holds, once all of them told what they hold.
        consume_mode: `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        refused_by: brokers that refuse all pulls of the group, for want of its settings.
    """

    group: str
    consistent: bool | None
    wants: list[WantRow]
    brokers: list[BrokerWantRow]
    losses: list[LossRow]
    orphans: list[OrphanRow] = field(default_factory=list)
    refused_by: list[str] = field(default_factory=list)
    consume_mode: str | None = None


_WORDS = {
    True: sentence("subscriptions-same", "all members subscribe to the same"),
    False: sentence("subscriptions-differ", "members differ"),
    None: sentence("subscriptions-not-reported", "not every member reported its subscription"),
}
_OFFLINE = sentence("subscriptions-nobody-online", "no member is online, so the subscriptions are not known")
_COUNTED = sentence(
    "skipped-counted", "Would be skipped by the broker's filter or by the owner of the queue, counted in all messages"
)
_SAMPLED = sentence(
    "skipped-sampled",
    "Would be skipped by the broker's filter or by the owner of the queue, of the newest messages of each queue",
)


def subscription_document(report: SubscriptionReport, *, archive: str | None = None) -> Document:
    """Builds the document of a group's subscriptions.

    Args:
        archive: the snapshot that they are read from: commands to type next are about it.
    """
    words = _WORDS[report.consistent] if report.wants or report.brokers else _OFFLINE
    blocks: list[Table | Paragraphs] = [
        Paragraphs(
            [composed("{with_mode}: {words}", with_mode=with_mode(report.group, report.consume_mode), words=words)]
        ),
        Table(
            WANT_COLUMNS,
            report.wants,
            empty=sentence("no-member-online", "no member of {group} is online", group=report.group),
        ),
        Table(
            BROKER_COLUMNS,
            report.brokers,
            title=sentence("title-what-brokers-filter-by", "What brokers filter by"),
            empty=sentence("empty-no-subscriptions", "no subscriptions"),
        ),
    ]
    if report.refused_by:
        named = ", ".join(report.refused_by)
        blocks.insert(
            1,
            Paragraphs(
                [
                    sentence(
                        "every-pull-refused-no",
                        "{brokers}: every pull of {group} is refused, there are no settings of the group and none "
                        "are made (autoCreateSubscriptionGroup=false). Create it (`mqctl group create`), or check "
                        "its name.",
                        brokers=named,
                        group=report.group,
                    )
                ]
            ),
        )
    if report.orphans:
        blocks.append(
            Table(
                ORPHAN_COLUMNS,
                report.orphans,
                title=sentence("title-queues-that-nobody-consumes", "Queues without a consumer"),
            )
        )
    if report.losses:
        exact = all(row.margin_share == 0 for row in report.losses)
        blocks.append(Table(LOSS_COLUMNS, report.losses, title=_COUNTED if exact else _SAMPLED))
    if report.consistent is False:
        doctor = command_line("mqctl doctor {} {}", report.group, ["--snapshot", archive] if archive else [])
        playbook = command_line("mqctl playbook run tag-loss -p {}", f"group={report.group}")
        line = sentence(
            "subscription-costs-how-fix",
            "what it costs: {doctor}; how to fix it: {playbook}",
            doctor=doctor,
            playbook="mqctl playbook show tag-loss" if archive else playbook,
        )
        blocks.append(Paragraphs([line]))
    return Document(
        schema="subscription.check/1", value=report, records=report.wants, csv_columns=WANT_COLUMNS, blocks=blocks
    )


GROUP_COLUMNS = (
    Column("group", "group"),
    Column("consume_mode", "mode"),
    Column("verdict", "verdict", CellKind.WORDS),
    Column("member_count", "members", CellKind.COUNT),
    Column("silent_count", "silent", CellKind.COUNT),
    Column("topics", "differ in"),
    Column("lost_count", "skipped", CellKind.COUNT),
    Column("sampled_count", "of the newest", CellKind.COUNT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheckRow:
    """One group in one line.

    Attributes:
        verdict: `same`, `differ`, `unknown` (some member did not tell) or `offline` (nobody to ask).
        topics: where members differ.
        consume_mode: `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        lost_count, sampled_count: messages skipped for it, of the newest of those topics (MQ203 counts the same); None
            when none were looked at.
    """

    group: str
    verdict: str
    member_count: int
    silent_count: int
    topics: str | None
    lost_count: int | None
    sampled_count: int | None
    consume_mode: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionCheckAll:
    """Machine form of `subscription check --all`."""

    groups: list[GroupCheckRow]


_WORST = ("refused", "differ", "unknown", "same", "offline")


def check_all_document(
    rows: Sequence[GroupCheckRow],
    reports: Sequence[SubscriptionReport],
    *,
    folded: bool = False,
) -> Document:
    """Builds the document of `subscription check` of all groups: a line for each, worst first, then those that differ.

    Args:
        folded: groups with nobody online are counted below the table instead of shown.
    """
    online = [row for row in rows if not folded or row.verdict != "offline"]
    shown = sorted(online, key=lambda row: _WORST.index(row.verdict))
    some_pop = any("POP" in (row.consume_mode or "") for row in rows)
    columns = [column for column in GROUP_COLUMNS if some_pop or column.key != "consume_mode"]
    blocks: list[Table | Paragraphs] = (
        [Table(columns, shown, empty=sentence("empty-no-consumer-groups", "no consumer groups"))]
        if shown or not rows
        else []
    )
    if len(shown) < len(rows):
        blocks.append(
            Paragraphs(
                [
                    sentence(
                        "offline-left-out",
                        "groups without members online, not shown: {count:,}; --all",
                        count=len(rows) - len(shown),
                    )
                ]
            )
        )
    for report in reports:
        if report.consistent is False:
            blocks += subscription_document(report).blocks
    return Document(
        schema="subscription.check-all/1",
        value=SubscriptionCheckAll(groups=list(rows)),
        records=rows,
        csv_columns=GROUP_COLUMNS,
        blocks=blocks,
    )


FORECAST_COLUMNS = (
    Column("tag", "tag"),
    Column("wanted_by", "wanted by"),
    Column("sampled_count", "messages", CellKind.COUNT),
    Column("lost_if_old_share", "skipped while brokers filter by the old tags", CellKind.SHARE),
    Column("lost_if_new_share", "by the new", CellKind.SHARE),
    Column("margin_share", "+/-", CellKind.SHARE),
    Column("queues", "where (queue: owner)", wide=True),
)
STEP_COLUMNS = (
    Column("before", "all members from"),
    Column("after", "to"),
    Column("lost_count", "skipped on the way", CellKind.COUNT, none="?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
    """One tag during the release.

    Attributes:
        wanted_by: `both`, `old` or `new`.
        lost_if_old_count, lost_if_new_count: skipped while brokers hold the old, or the new, subscription: the newest
            heartbeat decides, so that it may change at any time.
        margin_share: half of the 95 % interval around the larger share; 0 when all messages were counted.
    """

    tag: str
    wanted_by: str
    sampled_count: int
    lost_if_old_count: int
    lost_if_new_count: int
    lost_if_old_share: float
    lost_if_new_share: float
    margin_share: float
    queues: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseStepRow:
    """One deployment of the safe way; `lost_count` of messages that both its ends want, None without a sample."""

    before: str
    after: str
    lost_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """Machine form of `subscription simulate`.

    Attributes:
        changed: members that have the new tags, the others have the old ones.
        owners_from: `held` (what members say that they hold), or the strategy that was computed.
        sampled_count: messages that shares were computed from; 0 when none could be looked at.
    """

    group: str
    topic: str
    old: str
    new: str
    changed: list[str]
    member_count: int
    owners_from: str
    sampled_count: int
    losses: list[ForecastRow]
    safe_way: list[ReleaseStepRow]


def release_document(report: ReleaseReport) -> Document:
    """Builds the document of `subscription simulate`."""
    share = f"{len(report.changed)} of {report.member_count}"
    head = sentence(
        "subscription-members",
        "{group} on {topic}: from {old} to {new}, members {share}",
        group=report.group,
        topic=report.topic,
        old=report.old,
        new=report.new,
        share=share,
    )
    changed = ", ".join(map(on_one_line, report.changed))
    lines = [composed("{head}: {changed}", head=head, changed=changed)]
    if not report.sampled_count:
        lines.append(
            sentence(
                "subscription-no-message-could-looked",
                "no message could be looked at: how much is skipped is not known, only that it is",
            )
        )
    ways = [
        sentence(
            "subscription-group-own-new-tags",
            "A group of its own for the new tags loses nothing: clone the offsets (mqctl offset "
            "clone), start it there.",
        ),
        sentence(
            "subscription-within-group-deploy-every",
            "Within this group, deploy to every member in turn, and wait until mqctl subscription check ends with 0:",
        ),
    ]
    blocks: list[Table | Paragraphs] = [
        Paragraphs(lines),
        Table(
            FORECAST_COLUMNS,
            report.losses,
            title=sentence("title-would-be-skipped-meanwhile", "Would be skipped meanwhile"),
            empty=sentence("empty-nothing-was-looked-at", "nothing was looked at"),
        ),
        Paragraphs(ways),
        Table(STEP_COLUMNS, report.safe_way),
    ]
    return Document(
        schema="subscription.simulate/1",
        value=report,
        records=report.losses,
        csv_columns=FORECAST_COLUMNS,
        blocks=blocks,
    )
