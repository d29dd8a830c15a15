"""A topic that is followed into another one: the plan with its cut-over, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from mqctl.commands.replay.view import CSV_COLUMNS, PLAN_COLUMNS, PlannedRange
from mqctl.model.command_line import command_line, shell_word
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Word, composed, joined, keep_texts, sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedKeys:
    """What a sample of the old topic's newest messages says about its keys.

    Attributes:
        kind: what kind of keys they are, in words.
        placed_count: messages that lie where the hash of their key puts them.
        scattered_count: keys that lie in several queues: their order is lost already.
    """

    kind: str
    message_count: int
    key_count: int
    placed_count: int
    scattered_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowPlan:
    """Machine form of a follower that was not started.

    Attributes:
        group: the follower's own; its offsets say where it is.
        begin: where it begins, in words.
        message_count: messages that wait to be copied now.
        readers: groups that read the old topic, with the messages they have left.
        receivers: groups that read the new topic.
        steps: the cut-over, in order.
        keyed_warnings, keyed_steps: the same with keys and values.
    """

    old: str
    new: str
    group: str
    selector: str
    begin: str
    old_queue_count: int
    new_queue_count: int
    message_count: int
    readers: dict[str, int]
    receivers: list[str]
    keys: FollowedKeys
    warnings: list[str]
    steps: list[str]
    queues: list[PlannedRange]
    keyed_warnings: list[Said] = field(default_factory=list)
    keyed_steps: list[Said] = field(default_factory=list)
    begin_key: str | None = None
    begin_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "begin")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowReport:
    """Machine form of what a follower did.

    Attributes:
        id: of its record in the journal.
        state: `drained`, or `stopped`: the same command goes on.
        sent_count: copies that were sent.
        found_count: copies that were there already.
        failed_count: attempts that failed and were made again.
        repeated: copies that are there more than once, by key with their number.
        unknown_count: copies that could not be looked up.
        left_count: messages that are not copied yet; None when brokers did not tell.
    """

    id: str
    old: str
    new: str
    group: str
    state: str
    sent_count: int
    found_count: int
    failed_count: int
    repeated: dict[str, int]
    unknown_count: int
    left_count: int | None


def follow_plan_document(plan: FollowPlan) -> Document:
    """Builds the document of a planned follower."""
    keys = plan.keys
    readers = joined(
        ", ",
        (
            sentence("follow-left", "{group} ({left:,} left)", group=group, left=left)
            for group, left in plan.readers.items()
        ),
    ) or sentence("no-group", "no group")
    lines = [
        sentence(
            "follow-followed-group",
            "{old} ({old_queue_count}) is followed into {new} ({new_queue_count}) by group {group}, {begin}",
            old=plan.old,
            old_queue_count=counted(plan.old_queue_count, "queue"),
            new=plan.new,
            new_queue_count=counted(plan.new_queue_count, "queue"),
            group=plan.group,
            begin=plan.begin,
        ),
        sentence(
            "follow-waiting-now-read",
            "waiting now: {message_count}; {old} is read by {readers}, {new} by {receivers}",
            message_count=counted(plan.message_count, "message"),
            old=plan.old,
            readers=readers,
            new=plan.new,
            receivers=plan.receivers or sentence("no-group", "no group"),
        ),
        sentence(
            "follow-sample-where-hash-key",
            "{kind} in a sample of {message_count}: {key_count:,}, {placed_count:,} where a hash "
            "of the key puts them, {scattered_count:,} in several queues",
            kind=Word(keys.kind),
            message_count=counted(keys.message_count, "message"),
            key_count=keys.key_count,
            placed_count=keys.placed_count,
            scattered_count=keys.scattered_count,
        ),
        *(sentence("common-warning", "warning: {line}", line=line) for line in plan.warnings),
        "cut-over:",
        *(composed("  {number}. {step}", number=number, step=step) for number, step in enumerate(plan.steps, 1)),
        sentence(
            "follow-nothing-copied-add-execute",
            "nothing was copied; add --execute --confirm {new} to begin",
            new=shell_word(plan.new),
        ),
    ]
    return Document(
        schema="replay.follow-plan/1",
        value=plan,
        records=plan.queues,
        blocks=[Table(PLAN_COLUMNS, plan.queues), Paragraphs(lines)],
        csv_columns=CSV_COLUMNS,
    )


_COLUMNS = (
    Column("old", "from"),
    Column("new", "to"),
    Column("state", "state", CellKind.WORDS),
    Column("sent_count", "published", CellKind.COUNT),
    Column("found_count", "there already", CellKind.COUNT),
    Column("repeated_count", "repeated", CellKind.COUNT),
    Column("left_count", "left", CellKind.COUNT, none="?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    old: str
    new: str
    state: str
    sent_count: int
    found_count: int
    repeated_count: int
    left_count: int | None


def follow_document(report: FollowReport) -> Document:
    """Builds the document of what a follower did."""
    row = _Row(
        old=report.old,
        new=report.new,
        state=report.state,
        sent_count=report.sent_count,
        found_count=report.found_count,
        repeated_count=len(report.repeated),
        left_count=report.left_count,
    )
    lines = [
        sentence("follow-twice-more-times", "twice or more: {key}: {count} times", key=key, count=count)
        for key, count in report.repeated.items()
    ]
    if report.unknown_count:
        lines.append(
            sentence(
                "follow-could-not-looked-up",
                "{unknown_count} could not be looked up and may be there twice",
                unknown_count=counted(report.unknown_count, "copy"),
            )
        )
    lines.append(
        sentence(
            "follow-shows-queue",
            "{value} shows it queue by queue",
            value=command_line("mqctl replay status {}", report.id),
        )
    )
    if report.state == "stopped":
        lines.append(
            sentence("follow-run-same-command-again", "run the same command again: it continues where it stopped")
        )
    rows: Sequence[_Row] = [row]
    blocks: list[Table | Paragraphs] = [Table(_COLUMNS, rows)]
    blocks += [Paragraphs(lines)] if lines else []
    return Document(schema="replay.follow/1", value=report, records=rows, blocks=blocks)
