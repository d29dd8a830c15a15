"""`top`: brokers, groups and topics in one frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from mqctl.model.counts import counted
from mqctl.model.gap import Gap
from mqctl.model.lag_trend import GroupTrend, Trend
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import is_retry_topic
from mqctl.model.said import Said
from mqctl.model.topic_rate import TopicRate
from mqctl.render.brokers import REPLICATION, BrokerRow
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Word, composed, sentence

_BROKER_COLUMNS = (
    Column("name", "broker"),
    Column("broker_id", "id", CellKind.COUNT),
    Column("put_tps", "in/s", CellKind.RATE, none="?"),
    Column("get_tps", "out/s", CellKind.RATE, none="?"),
    Column("disk_used_share", "disk", CellKind.SHARE, none="?"),
    Column("commit_log_bytes", "commit log", CellKind.BYTES, none="?"),
    *REPLICATION,
    Column("problem", "problem"),
)
_GROUP_COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("consume_mode", "mode"),
    Column("lag_count", "lag", CellKind.COUNT, none="?"),
    Column("lag_change_count", "change", CellKind.CHANGE, none="?"),
    Column("lag_ms", "lag time", CellKind.DURATION_MS, none="?"),
    Column("produce_tps", "in/s", CellKind.RATE, none="?"),
    Column("consume_tps", "committed/s", CellKind.RATE, none="?"),
    Column("trend", "trend", CellKind.WORDS),
    Column("member_count", "owners", CellKind.COUNT, none="?"),
    Column("owner_change_count", "moved", CellKind.COUNT, none="?"),
)
_TOPIC_COLUMNS = (
    Column("topic", "topic"),
    Column("produce_tps", "in/s", CellKind.RATE, none="?"),
    Column("message_count", "messages", CellKind.COUNT),
    Column("queue_count", "queues", CellKind.COUNT),
)


class Sort(StrEnum):
    """By what groups are sorted."""

    TIME = "time"
    LAG = "lag"
    IN = "in"
    OUT = "out"
    MOVED = "moved"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopGroup:
    """One group on one topic.

    Attributes:
        produce_tps, consume_tps, trend: as `group lag --watch` has them.
        member_count: instances that hold a queue; None when not asked yet, or not told.
        consume_mode: `POP` or `PULL`; None where nothing is set and nothing was popped, which means PULL.
        owner_change_count: queues that changed hands since the start, as far as it was looked at, for the groups shown.
    """

    group: str
    topic: str
    lag_count: int | None
    lag_change_count: int | None
    lag_ms: int | None
    produce_tps: float | None
    consume_tps: float | None
    trend: Trend
    member_count: int | None
    owner_change_count: int | None
    consume_mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopFrame:
    """Machine form of one frame of `top`.

    Attributes:
        problems, unavailable: what could not be asked, one sentence each, and as it stands in all answers.
    """

    observed_at_ms: int
    round: int
    brokers: Sequence[BrokerRow]
    groups: Sequence[TopGroup]
    topics: Sequence[TopicRate]
    problems: Sequence[str]
    unavailable: Sequence[Gap] = ()
    keyed_problems: Sequence[Said] = ()


def top_group(trend: GroupTrend, members: int | None, moved: int | None) -> TopGroup:
    """Joins a group's lag with its owners."""
    return TopGroup(
        group=trend.group,
        topic=trend.topic,
        lag_count=trend.lag_count,
        lag_change_count=trend.lag_change_count,
        lag_ms=trend.lag_ms,
        produce_tps=trend.produce_tps,
        consume_tps=trend.consume_tps,
        trend=trend.trend,
        member_count=members,
        owner_change_count=moved,
    )


_KEYS: dict[Sort, Callable[[TopGroup], float]] = {
    Sort.TIME: lambda row: row.lag_ms or 0,
    Sort.LAG: lambda row: row.lag_count or 0,
    Sort.IN: lambda row: row.produce_tps or 0,
    Sort.OUT: lambda row: row.consume_tps or 0,
    Sort.MOVED: lambda row: row.owner_change_count or 0,
    Sort.NAME: lambda row: 0,
}


def sorted_groups(rows: Sequence[TopGroup], sort: Sort) -> list[TopGroup]:
    """Returns the rows, the largest first; names decide between equals. By time, those on which anything moves come
    before those that stand: of thousands of groups nobody runs any more the oldest lag is always the largest."""
    key = _KEYS[sort]
    return sorted(rows, key=lambda row: (sort is Sort.TIME and not _moves(row), -key(row), row.group, row.topic))


def _moves(row: TopGroup) -> bool:
    return bool(row.lag_change_count or row.produce_tps or row.consume_tps)


def _is_idle_retry(row: TopicRate) -> bool:
    return is_retry_topic(row.topic) and not row.message_count and not row.produce_tps


def frame_document(frame: TopFrame, *, sort: Sort, groups: int | None = None, topics: int | None = None) -> Document:
    """Builds the document of a frame.

    Args:
        groups, topics: how many rows of each people see; None for all.
    """
    unknown = (
        sentence("unknown-not-everything-could", "unknown: not everything could be asked") if frame.problems else ""
    )
    head = [_head(frame, sort)]
    if frame.problems:
        head.append(
            sentence(
                "top-not-answered",
                "{problems} not answered: {problems_2}",
                problems=counted(len(frame.problems), "question"),
                problems_2=frame.problems[0],
            )
        )
    telling = [row for row in frame.topics if not _is_idle_retry(row)]
    return Document(
        schema="top/1",
        value=frame,
        records=[frame],
        blocks=[
            Paragraphs(head),
            Table(
                _broker_columns(frame.brokers),
                frame.brokers,
                empty=unknown or sentence("empty-no-brokers", "no brokers"),
            ),
            Table(
                _group_columns(frame.groups),
                frame.groups[:groups],
                empty=unknown or sentence("empty-no-group-offsets", "no group has offsets"),
            ),
            Table(_TOPIC_COLUMNS, telling[:topics], empty=unknown or sentence("empty-no-topics", "no topics")),
        ],
    )


def _group_columns(rows: Sequence[TopGroup]) -> list[Column]:
    some_pop = any(row.consume_mode for row in rows)
    return [column for column in _GROUP_COLUMNS if some_pop or column.key != "consume_mode"]


def _broker_columns(rows: Sequence[BrokerRow]) -> list[Column]:
    has_slaves = any(row.replica_state for row in rows)
    return [column for column in _BROKER_COLUMNS if has_slaves or column not in REPLICATION]


@dataclass(frozen=True, slots=True)
class Totals:
    """The whole cluster in a line: messages in and out per second, None where no master told; what groups lag, at
    least that much unless `complete`."""

    coming: float | None
    going: float | None
    lag_count: int
    complete: bool


def totals(frame: TopFrame) -> Totals:
    """Adds up what masters and groups of a frame tell."""
    coming = [row.put_tps for row in frame.brokers if row.broker_id == 0 and row.put_tps is not None]
    going = [row.get_tps for row in frame.brokers if row.broker_id == 0 and row.get_tps is not None]
    return Totals(
        coming=sum(coming) if coming and going else None,
        going=sum(going) if coming and going else None,
        lag_count=sum(max(0, row.lag_count or 0) for row in frame.groups),
        complete=not frame.problems,
    )


def _head(frame: TopFrame, sort: Sort) -> str:
    whole = totals(frame)
    lag = composed("{lag_count}", lag_count=whole.lag_count)
    if not whole.complete:
        lag = (
            sentence("top-more", "{lag_count} or more", lag_count=whole.lag_count)
            if frame.groups
            else sentence("not-known", "not known")
        )
    known = whole.coming is not None and whole.going is not None
    rates = (
        sentence(
            "top-out", "{coming_tps} in/s, {going_tps} out/s", coming_tps=whole.coming or 0, going_tps=whole.going or 0
        )
        if known
        else sentence("top-rates-not-known", "rates not known")
    )
    brokers = counted(len(frame.brokers), "broker")
    return sentence(
        "top-lag-sorted",
        "{observed_at_ms}  {brokers}, {rates}, lag {lag}, sorted by {sort}",
        observed_at_ms=frame.observed_at_ms,
        brokers=brokers,
        rates=rates,
        lag=lag,
        sort=Word(sort),
    )
