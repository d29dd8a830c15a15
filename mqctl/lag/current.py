"""Lag as it is now: from the evidence of any source to the rows that were asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace

from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.dead_letter import RepairWindow
from mqctl.model.gap import Gap, Part
from mqctl.model.lag import GroupLag, LagEvidence, QueueLag, group_lags, lag_rows
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

OF_LAG = frozenset({Part.CONSUMER_OFFSETS, Part.QUEUES})
"""Parts without which sums of lag lack something."""
_BESIDE_LAG = frozenset({Part.MEMBERS, Part.RUNNING_INFO, Part.CONSUMPTION, Part.POP})
_KNOWN_NAMED = 10


@dataclass(frozen=True, slots=True)
class LagRequest:
    """Whose lag, and how much beside it.

    Attributes:
        groups, topics: names; none for all.
        system: RocketMQ's own groups and topics too; a group that is named is shown whatever it is.
        with_consumers: what is in flight, who holds the queues, and the rates.
        online: only groups of which somebody is online.
    """

    groups: Collection[str] = ()
    topics: Collection[str] = ()
    system: bool = False
    with_consumers: bool = False
    online: bool = False

    @property
    def with_system(self) -> bool:
        """Whether RocketMQ's own groups are looked at: all of them, or one that is named."""
        return self.system or bool(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class LagReport:
    """Machine form of `group lag`.

    Attributes:
        groups: those that wait longest first, unless another order was asked for.
        windows: of groups with failing messages, where these were looked for.
        slaves: names of brokers whose master is gone: what is told of them is their slave's, as far as it followed.
        broadcasting: groups that are left out: their members broadcast and keep their offsets themselves, and those at
            brokers are of an earlier life.
    """

    observed_at_ms: int
    groups: list[GroupLag]
    queues: list[QueueLag]
    windows: list[RepairWindow]
    slaves: list[str]
    broadcasting: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentLag:
    """Lag at one moment, and what is known of it beside.

    Attributes:
        gaps: of lag itself.
        minor_gaps: of the columns beside lag only.
        online: how many members groups have that have any; None where nobody was asked.
        members_first: whether groups with members come first.
    """

    report: LagReport
    gaps: Sequence[Gap] = ()
    minor_gaps: Sequence[Gap] = ()
    online: Mapping[str, int] | None = None
    members_first: bool = False

    @property
    def open_gaps(self) -> list[Gap]:
        """What keeps the answer from being whole: gaps of lag, and of pops where a group pops and that is in no sum."""
        unknown = any(row.ready_count is not None and row.invisible_count is None for row in self.report.groups)
        return [*self.gaps, *(gap for gap in self.minor_gaps if unknown and gap.part is Part.POP)]

    @property
    def side_gaps(self) -> list[Gap]:
        """The others."""
        open_gaps = self.open_gaps
        return [gap for gap in self.minor_gaps if gap not in open_gaps]

    def with_rows(self, *, groups: list[GroupLag], queues: list[QueueLag] | None = None) -> CurrentLag:
        """Returns the same with other groups, or in another order, and with certain queues where they are given."""
        held = self.report.queues if queues is None else queues
        return replace(self, report=replace(self.report, groups=groups, queues=held))


def without_broadcasting(lag: CurrentLag, groups: Collection[str]) -> CurrentLag:
    """Leaves out groups all of whose members broadcast, and names them."""
    shown = sorted({row.group for row in lag.report.groups} & set(groups))
    if not shown:
        return lag
    left = lag.with_rows(
        groups=[row for row in lag.report.groups if row.group not in shown],
        queues=[row for row in lag.report.queues if row.group not in shown],
    )
    return replace(left, report=replace(left.report, broadcasting=shown))


def current_lag(evidence: Sequence[LagEvidence], request: LagRequest, *, now_ms: int) -> CurrentLag:
    """Computes the lag that was asked for.

    Args:
        now_ms: the moment of an answer that rests on no broker; otherwise it is that of the evidence.

    Raises:
        NotFoundError: a group that was named has no offsets, and everybody who could know it was asked.
    """
    moment_ms = max((item.origin.observed_at_ms for item in evidence), default=now_ms)
    rows = lag_rows(evidence, moment_ms, system=request.with_system)
    rows = [row for row in rows if not request.topics or row.topic in request.topics]
    missing = [gap.at(item.name) for item in evidence for gap in item.unavailable]
    gaps = [gap for gap in missing if gap.part not in _BESIDE_LAG]
    if not gaps:
        _require_groups(request, {row.group for row in rows})
    rows = [row for row in rows if not request.groups or row.group in request.groups]
    report = LagReport(
        observed_at_ms=moment_ms,
        groups=group_lags(rows, evidence),
        queues=rows,
        windows=[],
        slaves=sorted({item.name for item in evidence if item.name and item.broker_id}),
    )
    return CurrentLag(report=report, gaps=gaps, minor_gaps=[gap for gap in missing if gap.part in _BESIDE_LAG])


def _require_groups(request: LagRequest, known: set[str]) -> None:
    """Raises NotFoundError for a group that was named and has no offsets."""
    missing = next((name for name in request.groups if name not in known), None)
    if missing is None:
        return
    raise NotFoundError(
        sentence(
            "lag-no-consumer-group-offsets",
            "no consumer group {name} with offsets{on}",
            name=missing,
            on=sentence("lag-on-topics", " on {topics:or}", topics=sorted(request.topics)) if request.topics else "",
        ),
        remedy=sentence(
            "lag-groups-offsets", "groups with committed offsets there: {known}", known=sorted(known)[:_KNOWN_NAMED]
        )
        if known - set(request.groups)
        else command_line("mqctl group list --all"),
    )
