"""Lag as tables: by group and topic, and by queue."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum

from mqctl import units
from mqctl.model.column import columns_of
from mqctl.model.command_line import command_line
from mqctl.model.dead_letter import RepairWindow
from mqctl.model.lag import GroupLag, QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import RETRY_PREFIX
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.layout import middle_cut
from mqctl.text import composed, sentence

GROUP_COLUMNS = columns_of(
    GroupLag, "group", "topic", "queue_count", "lag_count", "lag_ms", "lost_count", "never_committed_count"
)
_AT_LEAST = (
    Column("queue_count", "queues seen", CellKind.COUNT),
    Column("lag_count", "lag at least", CellKind.COUNT, none="never committed"),
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


_NAMED, _NAME = 3, 40
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LagReport:
    """Machine form of `group lag`.

    Attributes:
        windows: of groups with failing messages, where these were looked for.
        slaves: names of brokers whose master is gone: what is told of them is their slave's, as far as it followed.
    """

    observed_at_ms: int
    groups: list[GroupLag]
    queues: list[QueueLag]
    windows: list[RepairWindow]
    slaves: list[str]


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
            "{group} ({span} ago)",
            group=middle_cut(group.group, _NAME),
            span=units.duration(group.lag_ms or 0),
        )
        for group in last[:_NAMED]
    ]
    lines = [
        sentence(
            "offline-folded",
            "groups with nobody online, not shown: {count:,} (--sort lag shows them)",
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
    at, span = units.instant(window.closes_ms), units.duration(window.closes_in_ms)
    failing = window.failing_count
    retries = command_line("mqctl retry list -g {}", window.group)
    return sentence(
        "lag-messages-failed-wait-tried",
        "{group}: messages that failed and wait to be tried again: {failing:,}. If every try fails, the first "
        "becomes a dead letter at {at}, in {span}: have the fix out by then ({retries})",
        group=window.group,
        failing=failing,
        at=at,
        span=span,
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


def _group_blocks(
    groups: Sequence[GroupLag],
    online: Mapping[str, int] | None,
    *,
    with_consumers: bool,
    folded: bool,
    without_offline: bool,
    members_first: bool,
    in_part: bool,
) -> Iterator[Table | Paragraphs]:
    """Yields the table of groups, and a line for each kind of rows that it leaves out."""
    columns = (*GROUP_COLUMNS[:2], *(() if online is None else (_MEMBERS,)), *GROUP_COLUMNS[2:])
    columns = (*columns, *CONSUMER_COLUMNS) if with_consumers else columns
    if any(group.consume_mode is not None for group in groups):
        columns = (*columns, *POP_COLUMNS)
    if in_part:
        at_least = {column.key: column for column in _AT_LEAST}
        columns = tuple(at_least.get(column.key, column) for column in columns)
    telling = [group for group in groups if not (folded and _is_idle_retry(group))] or list(groups)
    known = online or {}
    served = [group for group in telling if group.group in known] if without_offline else []
    yield Table(
        columns,
        _with_members(served or telling, online),
        empty=sentence("empty-no-group-has-offsets-there", "no group has offsets there"),
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
    elif online is not None and members_first:
        yield _behind_in_all(telling, online)


def lag_document(
    observed_at_ms: int,
    groups: Sequence[GroupLag],
    queues: Sequence[QueueLag],
    *,
    by: By = By.GROUP,
    with_consumers: bool = False,
    folded: bool = False,
    windows: Sequence[RepairWindow] = (),
    slaves: Sequence[str] = (),
    online: Mapping[str, int] | None = None,
    next_options: str | None = None,
    members_first: bool = False,
    without_offline: bool = False,
    in_part: bool = False,
) -> Document:
    """Builds the document of `group lag`.

    Args:
        by, with_consumers: the tables that people see; consumers were asked, so that what they hold has columns.
        folded: retry topics without lag are counted below the table of groups instead of shown.
        windows, slaves, online: see `LagView`.
        without_offline: groups of which nobody is online are summed up in a line, where there are others.
        in_part: offsets or queues of a broker are not known.
        next_options, members_first: of the command to type next, None for none; groups with members come first.
    """
    blocks: list[Table | Paragraphs] = []
    if by is not By.QUEUE:
        blocks += _group_blocks(
            groups,
            online,
            with_consumers=with_consumers,
            folded=folded,
            without_offline=without_offline,
            members_first=members_first,
            in_part=in_part,
        )
    if by is not By.GROUP:
        shown = (*QUEUE_COLUMNS, *OWNER_COLUMNS) if with_consumers else QUEUE_COLUMNS
        places = {(group.group, group.topic): place for place, group in enumerate(groups)}
        worst_first = sorted(queues, key=lambda row: places.get((row.group, row.topic), len(places)))
        blocks.append(Table(_telling(shown, queues), worst_first))
    blocks += [Paragraphs([_window(window) for window in windows])] if windows else []
    blocks += (
        [
            Paragraphs(
                [
                    sentence(
                        "lag-master-gone-figures-slave",
                        "master gone: {names}; figures are the slave's, which may lack the master's last messages",
                        names=", ".join(slaves),
                    )
                ]
            )
        ]
        if slaves
        else []
    )
    blocks += _next(groups, next_options)
    return Document(
        schema="group.lag/1",
        value=LagReport(
            observed_at_ms=observed_at_ms,
            groups=list(groups),
            queues=list(queues),
            windows=list(windows),
            slaves=list(slaves),
        ),
        records=queues,
        csv_columns=(*QUEUE_COLUMNS, *OWNER_COLUMNS),
        blocks=blocks,
    )
