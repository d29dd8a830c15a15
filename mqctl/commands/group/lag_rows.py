"""Machine forms of `group lag`; their rows are those of `mqctl.model.lag` and `mqctl.model.lag_trend`."""

from __future__ import annotations

from mqctl.model.dead_letter import RepairWindow
from mqctl.model.lag import GroupLag, QueueLag
from mqctl.model.lag_trend import GroupTrend
from mqctl.model.lazy_dataclass import dataclass


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRound:
    """Machine form of one round of `group lag --watch`."""

    observed_at_ms: int
    round: int
    groups: list[GroupTrend]
