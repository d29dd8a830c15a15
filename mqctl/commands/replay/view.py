"""Replays as tables: the stretches that are planned, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said, said
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Word, keep_texts, sentence

PLAN_COLUMNS = (
    Column("topic", "topic"),
    Column("broker_name", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("begin", "from offset", CellKind.COUNT),
    Column("end", "to offset", CellKind.COUNT),
    Column("message_count", "messages", CellKind.COUNT),
    Column("gone_count", "deleted", CellKind.COUNT),
)
CSV_COLUMNS = (*PLAN_COLUMNS, Column("broker_address", "address"))
PROGRESS_COLUMNS = (
    Column("topic", "topic"),
    Column("broker_name", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("begin", "from offset", CellKind.COUNT),
    Column("end", "to offset", CellKind.COUNT),
    Column("reached", "reached", CellKind.COUNT, none="none"),
    Column("left_count", "left", CellKind.COUNT, none="?"),
    Column("published_count", "published", CellKind.COUNT),
    Column("filtered_count", "filtered out", CellKind.COUNT),
    Column("gone_count", "deleted", CellKind.COUNT, wide=True),
)
LIST_COLUMNS = (
    Column("id", "id"),
    Column("made_at_ms", "when", CellKind.TIME_MS),
    Column("kind", "replay"),
    Column("source", "of"),
    Column("goal", "to"),
    Column("state", "state", CellKind.WORDS),
    Column("published_count", "published", CellKind.COUNT),
    Column("in_doubt_count", "in doubt", CellKind.COUNT),
    Column("who", "who", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRange:
    """A stretch of one queue; `end` is exclusive, `gone_count` messages before `begin` are deleted already."""

    topic: str
    broker_name: str
    broker_address: str
    queue_id: int
    begin: int
    end: int
    message_count: int
    gone_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlanReport:
    """Machine form of a replay that was not made; what `offset skip` leaves behind has neither target nor receivers.

    Attributes:
        receivers: groups that consume the target.
    """

    cluster: str
    source: str
    target: str | None
    filter: str
    rate_per_s: float | None
    message_count: int
    receivers: list[str]
    queues: list[PlannedRange]
    source_key: str | None = None
    source_values: dict[str, Any] | None = None
    filter_key: str | None = None
    filter_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "source", "filter")


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeProgress:
    """A stretch and how far it is. `reached` is the offset read up to, or the one that the group has committed."""

    topic: str
    broker_name: str
    queue_id: int
    begin: int
    end: int
    reached: int | None
    left_count: int | None
    published_count: int
    filtered_count: int
    gone_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtRow:
    """A message that may be in the target twice, by its provenance key."""

    key: str
    reason: str
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """Machine form of one replay.

    Attributes:
        state: `complete`, `in-doubt`, `interrupted`; of a group `started`, `reached` or `unknown`.
        goal: target topic, or consumer group.
        left_count: messages still to be replayed, None when not known.
        found_count: messages whose answer was lost and that were found by their key.
        resumed_at_ms: when a follower was taken up again.
    """

    id: str
    kind: str
    state: str
    who: str
    made_at_ms: int
    cluster: str
    source: str
    goal: str
    filter: str
    published_count: int
    filtered_count: int
    left_count: int | None
    found_count: int
    resumed_at_ms: list[int]
    in_doubt: list[DoubtRow]
    queues: list[RangeProgress]
    source_key: str | None = None
    source_values: dict[str, Any] | None = None
    filter_key: str | None = None
    filter_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "source", "filter")

    @property
    def in_doubt_count(self) -> int:
        return len(self.in_doubt)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayList:
    """Machine form of `replay status` without an id.

    Attributes:
        unreadable: records that are left out, each with the reason.
    """

    replays: list[ReplayReport]
    unreadable: list[str]
    keyed_unreadable: list[Said] = field(default_factory=list)


def replay_plan_document(report: ReplayPlanReport, next_step: str) -> Document:
    """Builds the document of a planned replay."""
    lines = [
        sentence(
            "replay-chosen",
            "chosen: {message_count} of {source}, {filter}",
            message_count=counted(report.message_count, "message"),
            source=report.source,
            filter=report.filter,
        )
    ]
    if report.target is not None:
        to = ", ".join(report.receivers) or sentence("no-group", "no group")
        rate = (
            sentence("replay-most-second", ", at most {rate_per_s} a second", rate_per_s=report.rate_per_s)
            if report.rate_per_s
            else ""
        )
        lines.append(
            sentence(
                "replay-published-consumed",
                "published to {target}{rate}; consumed there by {to}",
                target=report.target,
                rate=rate,
                to=to,
            )
        )
    lines.append(next_step)
    blocks: list[Table | Paragraphs] = [Table(PLAN_COLUMNS, report.queues), Paragraphs(lines)]
    return Document(
        schema="replay.preview/1", value=report, records=report.queues, blocks=blocks, csv_columns=CSV_COLUMNS
    )


def replay_document(report: ReplayReport) -> Document:
    """Builds the document of one replay."""
    if report.kind == "group":
        left = (
            sentence("unknown-number-messages", "an unknown number of messages")
            if report.left_count is None
            else counted(report.left_count, "message")
        )
        lines = [
            sentence(
                "replay-group-left",
                "replay {report} of {source} by group {goal}: {state}, {left} left",
                report=report.id,
                source=report.source,
                goal=report.goal,
                state=Word(report.state),
                left=left,
            )
        ]
    elif report.kind == "follow":
        lines = [
            sentence(
                "replay-follower-copied-copies-cannot",
                "follower {report} of {source} into {goal}: {state}, {published_count:,} copied; "
                "copies cannot be undone",
                report=report.id,
                source=report.source,
                goal=report.goal,
                state=Word(report.state),
                published_count=report.published_count,
            ),
            *(
                sentence("replay-taken-up-again", "taken up again {resumed_time_ms}", resumed_time_ms=moment)
                for moment in report.resumed_at_ms
            ),
        ]
    else:
        lines = [
            sentence(
                "replay-published-filtered-out",
                "replay {report} of {source} to {goal}: {state}, {published_count:,} published, "
                "{filtered_count:,} filtered out, {left_count:,} left",
                report=report.id,
                source=report.source,
                goal=report.goal,
                state=Word(report.state),
                published_count=report.published_count,
                filtered_count=report.filtered_count,
                left_count=report.left_count,
            )
        ]
    lines += [
        sentence("replay-doubt", "in doubt: {key}: {reason}", key=item.key, reason=item.reason)
        for item in report.in_doubt
    ]
    blocks: list[Table | Paragraphs] = [Table(PROGRESS_COLUMNS, report.queues), Paragraphs(lines)]
    return Document(schema="replay.report/1", value=report, records=report.queues, blocks=blocks)


def replay_list_document(reports: Sequence[ReplayReport], unreadable: Sequence[str]) -> Document:
    """Builds the document of all replays."""
    rows = list(reports)
    return Document(
        schema="replay.list/1",
        value=ReplayList(replays=rows, unreadable=list(unreadable), keyed_unreadable=said(unreadable)),
        records=rows,
        blocks=[
            Table(
                LIST_COLUMNS,
                rows,
                empty=sentence("empty-no-replay-was-made-from-this-machine", "no replay was made from this machine"),
            )
        ],
    )
