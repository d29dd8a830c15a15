"""Where groups and brokers went over weeks and months, from recordings of many clusters."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOverTime:
    """One group on one topic, at the last look of each period.

    Attributes:
        period_count: periods in which it was seen.
        first_ms, last_ms: begin of the first and of the last of them.
        lag_change_per_day: the slope of a straight line through all; None with one period.
        produced_count, committed_count: what came and what was committed between the first and the last; None with one.
            A reset to an earlier offset counts against what was committed.
    """

    cluster: str
    group: str
    topic: str
    period_count: int
    first_ms: int
    last_ms: int
    first_lag_count: int
    last_lag_count: int
    most_lag_count: int
    lag_change_per_day: float | None
    produced_count: int | None
    committed_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOverTime:
    """One broker process, at the last look of each period; None where it told nothing.

    Attributes:
        disk_change_per_day: share of the disk, by a straight line through all periods.
    """

    cluster: str
    broker: str
    broker_id: int
    period_count: int
    first_ms: int
    last_ms: int
    first_disk_share: float | None
    last_disk_share: float | None
    most_disk_share: float | None
    disk_change_per_day: float | None
    most_put_tps: float | None

    @property
    def full_in_ms(self) -> int | None:
        """How long until the disk is full if it goes on like that; None when it does not grow."""
        if self.last_disk_share is None or not self.disk_change_per_day or self.disk_change_per_day <= 0:
            return None
        return round((1 - self.last_disk_share) / self.disk_change_per_day * 86_400_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendsReported:
    """Machine form of `report trends`."""

    recordings: Sequence[str]
    period_ms: int
    groups: Sequence[GroupOverTime]
    brokers: Sequence[BrokerOverTime]
