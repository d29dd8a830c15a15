"""Lag as tables: by group and topic, by queue, and round after round."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from mqctl.cli.emit import Output
from mqctl.cli.options.limit import ALL, limited
from mqctl.lag.current import OF_LAG, CurrentLag, LagRequest
from mqctl.model.column import columns_of
from mqctl.model.command_line import command_line
from mqctl.model.dead_letter import RepairWindow
from mqctl.model.lag import GroupLag, LagState, QueueLag
from mqctl.model.lag_trend import GroupTrend, LagRound
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.retry_limit import LimitOf
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.layout import middle_cut
from mqctl.text import composed, sentence

GROUP_COLUMNS = columns_of(
    GroupLag, "group", "topic", "queue_count", "lag_count", "lag_ms", "lost_count", "never_committed_count"
)
_AT_LEAST = (
    Column("queue_count", "queues seen", CellKind.COUNT),
    Column("lag_count", "lag at least", CellKind.COUNT, none="?"),
    Column("lag_ms", "lag time at least", CellKind.DURATION_MS, none="?"),
)
"""Sums that lack a broker."""
_CONSUMERS = ("in_flight_count", "cached_count")
CONSUMER_COLUMNS = columns_of(GroupLag, *_CONSUMERS, "consumed_tps", "consume_tps")
POP_COLUMNS = columns_of(
    GroupLag,
    *("consume_mode", "ready_count", "invisible_count", "due_count", "retry_count", "given_up_count"),
    *("blocked_queue_count", "next_visible_ms", "held_since_ms"),
)
QUEUE_COLUMNS = columns_of(
    QueueLag,
    *("group", "topic", "broker_name", "queue_id", "min_offset", "broker_offset", "consumer_offset", "lag_count"),
    *("lag_ms", "lost_count", "next_store_time_ms", "state"),
)
OWNER_COLUMNS = columns_of(QueueLag, *_CONSUMERS, "owners", "owner_addresses")
TREND_COLUMNS = columns_of(
    GroupTrend,
    *("group", "topic", "lag_count", "lag_change_count", "lag_ms", "produce_tps", "consume_tps", "trend"),
    *("caught_up_in_ms", "lost_count"),
)
TREND_POP_COLUMNS = columns_of(GroupTrend, "consume_mode", "ready_count", "invisible_count", "due_count", "retry_count")


_POPPED = frozenset({"invisible_count", "due_count"})
_NAMED, _NAME = 3, 40
_MANY_NAMED = 10
_MEMBERS = Column("member_count", "members", CellKind.COUNT)


@dataclass(frozen=True, slots=True)
class _WithMembers:
    """A group's lag, and how many members of it are online."""

    lag: GroupLag
    member_count: int

    def __getattr__(self, name: str) -> object:
        return getattr(self.lag, name)


class By(StrEnum):
    """Which rows of lag people see."""

    GROUP = "group"
    QUEUE = "queue"
    BOTH = "both"


class LagSort(StrEnum):
    """By what groups are sorted; words as in the conditions of `--until`."""

    LAG_TIME = "lag_time"
    LAG = "lag"
    LOST = "lost"
    GROUP = "group"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class LagChoice:
    """What was asked for; a group that never committed has no lag to compare."""

    sort: LagSort | None = None
    min_lag: int | None = None
    queues: tuple[int, ...] = ()

    def of(self, lag: CurrentLag) -> CurrentLag:
        """Returns the rows that are wanted, in order; queues are those of the groups and topics that are left."""
        groups = [item for item in lag.report.groups if self.min_lag is None or (item.lag_count or 0) >= self.min_lag]
        left = {(item.group, item.topic) for item in groups}
        if self.sort is not None:
            groups.sort(key=lambda item: _place(item, self.sort))
        return lag.with_rows(groups=groups, queues=[row for row in lag.report.queues if self._wants(row, left)])

    def _wants(self, row: QueueLag, left: set[tuple[str, str]]) -> bool:
        wanted = (row.group, row.topic) in left or (row.state is LagState.REMOVED and self.min_lag is None)
        return wanted and (not self.queues or row.queue_id in self.queues)


def _place(item: GroupLag, sort: LagSort | None) -> tuple[float, str, str]:
    numbers = {LagSort.LAG_TIME: item.lag_ms, LagSort.LAG: item.lag_count, LagSort.LOST: item.lost_count}
    names = (item.topic, item.group) if sort is LagSort.TOPIC else (item.group, item.topic)
    return (-(numbers.get(sort) or 0) if sort is not None else 0, *names)


@dataclass(frozen=True, slots=True, kw_only=True)
class LagDisplay:
    """How lag is shown.

    Attributes:
        limit: how many rows, as typed; with `all` nothing is folded either.
        members_first: where there are more groups than a table shows, those with members online come first.
        next_options: those that lead to the cluster again, typed as they were; None where nobody is told what to ask
            next.
    """

    by: By
    output: Output
    limit: str | None = None
    members_first: bool = False
    next_options: str | None = None


def _telling(columns: Sequence[Column], rows: Sequence[QueueLag]) -> list[Column]:
    """Leaves out what says the same in every row: the one group that was asked for, and losses where there are none."""
    silent = set()
    if len({row.group for row in rows}) == 1:
        silent.add("group")
    if not any(row.lost_count for row in rows):
        silent.add("lost_count")
    return [column for column in columns if column.key not in silent]


def _is_idle_retry(group: GroupLag) -> bool:
    held = (group.lag_count, group.lost_count, group.in_flight_count, group.ready_count, group.invisible_count)
    return group.topic.startswith(RETRY_PREFIX) and group.lag_count == 0 and not any(held)


def _offline(groups: Sequence[GroupLag], online: Collection[str]) -> Paragraphs:
    """Says of groups of which nobody is online how many there are, and which of them fell behind last: they may have
    lost their consumers a moment ago."""
    offline = [group for group in groups if group.group not in online]
    behind = [group for group in offline if group.lag_count]
    last = sorted((group for group in behind if group.lag_ms is not None), key=lambda group: group.lag_ms or 0)
    names = [
        sentence(
            "offline-since",
            "{group} ({span_ms} ago)",
            group=middle_cut(group.group, _NAME),
            span_ms=group.lag_ms or 0,
        )
        for group in last[:_NAMED]
    ]
    lines = [
        sentence(
            "offline-folded",
            "groups without members online, not shown: {count:,} (--sort lag shows them)",
            count=len({group.group for group in offline}),
        )
    ]
    if behind:
        said = sentence(
            "offline-behind",
            "of these behind: {behind:,}, messages waiting: {waiting:,}; most recently fell behind: {last}",
            behind=len({group.group for group in behind}),
            waiting=sum(group.lag_count or 0 for group in behind),
            last=names or "?",
        )
        lines.append(composed("  {said}", said=said))
    return Paragraphs(lines)


def _behind_in_all(groups: Sequence[GroupLag], online: Collection[str]) -> Paragraphs:
    behind = {group.group for group in groups if group.lag_count}
    waiting = sum(group.lag_count or 0 for group in groups)
    line = sentence(
        "lag-groups-behind-messages-waiting",
        "groups behind: {behind:,}, messages waiting: {waiting:,}; those with members online ({online:,}) come first",
        behind=len(behind),
        waiting=waiting,
        online=len(behind.intersection(online)),
    )
    return Paragraphs([line])


def _window(window: RepairWindow) -> str:
    failing = window.failing_count
    retries = command_line("mqctl retry list -g {}", window.group)
    if window.limit_of is LimitOf.GROUP:
        return sentence(
            "lag-messages-failed-wait-group",
            "{group}: messages that failed and wait to be tried again: {failing:,}. If every try fails, the first "
            "becomes a dead letter at {closes_time_ms}, in {closes_in_ms}, by the group's settings (no "
            "member online told a limit of its "
            "own): have the fix out by then ({retries})",
            group=window.group,
            failing=failing,
            closes_time_ms=window.closes_ms,
            closes_in_ms=window.closes_in_ms,
            retries=retries,
        )
    return sentence(
        "lag-messages-failed-wait-tried",
        "{group}: messages that failed and wait to be tried again: {failing:,}. If every try fails, the first "
        "becomes a dead letter at {closes_time_ms}, in {closes_in_ms}: have the fix out by then ({retries})",
        group=window.group,
        failing=failing,
        closes_time_ms=window.closes_ms,
        closes_in_ms=window.closes_in_ms,
        retries=retries,
    )


def _with_members(rows: Sequence[GroupLag], online: Mapping[str, int] | None) -> Sequence[object]:
    return rows if online is None else [_WithMembers(row, online.get(row.group, 0)) for row in rows]


def _next(groups: Sequence[GroupLag], options: str | None) -> list[Paragraphs]:
    """Says what to ask next about the first group that is behind."""
    first = next((group for group in groups if group.lag_count), None)
    if options is None or first is None:
        return []
    where = shlex.split(options)
    doctor = command_line("mqctl doctor {} {}", first.group, where)
    advise = command_line("mqctl group lag {} --advise {}", first.group, where)
    return [
        Paragraphs(
            [
                sentence(
                    "lag-why-until-when",
                    "why, and what to do: {doctor}; until when: {advise}",
                    doctor=doctor,
                    advise=advise,
                )
            ]
        )
    ]


def _group_columns(lag: CurrentLag, request: LagRequest) -> Sequence[Column]:
    columns = (*GROUP_COLUMNS[:2], *(() if lag.online is None else (_MEMBERS,)), *GROUP_COLUMNS[2:])
    columns = (*columns, *CONSUMER_COLUMNS) if request.with_consumers else columns
    if any(group.consume_mode is not None for group in lag.report.groups):
        columns = (*columns, *POP_COLUMNS)
    if any(group.ready_count is not None and group.invisible_count is None for group in lag.report.groups):
        columns = tuple(replace(column, none="?") if column.key in _POPPED else column for column in columns)
    if any(gap.part in OF_LAG for gap in lag.gaps):
        at_least = {column.key: column for column in _AT_LEAST}
        columns = tuple(at_least.get(column.key, column) for column in columns)
    if any(group.not_read_count for group in lag.report.groups):
        columns = (*columns, *columns_of(GroupLag, "not_read_count"))
    return columns


def _group_blocks(lag: CurrentLag, request: LagRequest, limit: str | None) -> Iterator[Table | Paragraphs]:
    """Yields the table of groups, and a line for each kind of rows that it leaves out: retry topics without lag, and
    groups of which nobody is online where there are others."""
    groups = lag.report.groups
    folded = not request.groups and limit != ALL
    telling = [group for group in groups if not (folded and _is_idle_retry(group))] or groups
    known = lag.online or {}
    served = [group for group in telling if group.group in known] if lag.members_first and limit is None else []
    yield Table(
        _group_columns(lag, request),
        _with_members(served or telling, lag.online),
        empty=sentence("empty-no-group-has-offsets-there", "no group has committed offsets there"),
    )
    if len(telling) < len(groups):
        yield Paragraphs(
            [
                sentence(
                    "retry-topics-without-lag",
                    "retry topics without lag, not shown: {count:,}; --limit all",
                    count=len(groups) - len(telling),
                )
            ]
        )
    if served and len(served) < len(telling):
        yield _offline(telling, known)
    elif lag.online is not None and lag.members_first:
        yield _behind_in_all(telling, lag.online)


def _queue_table(lag: CurrentLag, request: LagRequest) -> Table:
    columns = (*QUEUE_COLUMNS, *OWNER_COLUMNS) if request.with_consumers else QUEUE_COLUMNS
    places = {(group.group, group.topic): place for place, group in enumerate(lag.report.groups)}
    there = [row for row in lag.report.queues if row.state is not LagState.REMOVED]
    worst_first = sorted(there, key=lambda row: places.get((row.group, row.topic), len(places)))
    return Table(_telling(columns, there), worst_first)


def _removed(queues: Sequence[QueueLag]) -> list[Paragraphs]:
    """Says that offsets are left in queues that topics had before they were made smaller."""
    count = sum(row.state is LagState.REMOVED for row in queues)
    line = sentence(
        "lag-removed-queues",
        "offsets remain in {count:removed queue} (topics made smaller or deleted), which count as none",
        count=count,
    )
    return [Paragraphs([line])] if count else []


def lag_document(lag: CurrentLag, request: LagRequest, display: LagDisplay) -> Document:
    """Builds the document of `group lag`."""
    blocks: list[Table | Paragraphs] = []
    if display.by is not By.QUEUE:
        blocks += _group_blocks(lag, request, display.limit)
    if display.by is not By.GROUP:
        blocks.append(_queue_table(lag, request))
    blocks += _removed(lag.report.queues)
    if lag.report.windows:
        blocks.append(Paragraphs([_window(window) for window in lag.report.windows]))
    if lag.report.slaves:
        line = sentence(
            "lag-master-gone-figures-slave",
            "master gone: {names}; figures are the slave's, which may lack the master's last messages",
            names=lag.report.slaves,
        )
        blocks.append(Paragraphs([line]))
    if lag.report.broadcasting:
        names = ", ".join(middle_cut(name, _NAME) for name in lag.report.broadcasting[:_MANY_NAMED])
        line = sentence(
            "lag-broadcasting-left-out",
            "not shown, as their members broadcast and keep their offsets themselves: {names}; offsets of them at "
            "brokers are of an earlier life",
            names=names,
        )
        blocks.append(Paragraphs([line]))
    blocks += _next(lag.report.groups, display.next_options)
    document = Document(
        schema="group.lag/1",
        value=lag.report,
        records=lag.report.queues,
        csv_columns=(*QUEUE_COLUMNS, *OWNER_COLUMNS),
        blocks=blocks,
    )
    return limited(document, display.output, display.limit)


def round_document(observed_at_ms: int, number: int, rows: Sequence[GroupTrend]) -> Document:
    """Builds the document of one round of `--watch`."""
    popping = any(row.consume_mode is not None for row in rows)
    columns = (*TREND_COLUMNS, *TREND_POP_COLUMNS) if popping else TREND_COLUMNS
    head = sentence(
        "lag-round",
        "{observed_at_ms}  round {number}",
        observed_at_ms=observed_at_ms,
        number=number,
    )
    return Document(
        schema="group.lag.watch/1",
        value=LagRound(observed_at_ms=observed_at_ms, round=number, groups=list(rows)),
        records=rows,
        csv_columns=columns,
        blocks=[
            Paragraphs([head]),
            Table(
                columns,
                rows,
                empty=sentence("empty-no-group-has-offsets-there", "no group has committed offsets there"),
            ),
        ],
    )
