"""Which rows of lag are wanted, and in which order."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from mqctl.model.lag import GroupLag, QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.operations.lag.view import LagView


class LagSort(StrEnum):
    """By what groups are sorted; words as in the conditions of `--until`."""

    LAG_TIME = "lag_time"
    LAG = "lag"
    LOST = "lost"
    GROUP = "group"
    TOPIC = "topic"


SortOption = Annotated[
    LagSort | None,
    typer.Option("--sort", help="Order of the groups, worst first; lag_time unless given.", show_choices=True),
]
MinLagOption = Annotated[
    int | None,
    typer.Option("--min-lag", metavar="N", min=0, help="Only groups with at least so many messages waiting."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagChoice:
    """What was asked for; a group that never committed has no lag to compare."""

    sort: LagSort | None = None
    min_lag: int | None = None
    queues: tuple[int, ...] = ()

    def of(self, view: LagView) -> LagView:
        """Returns the rows that are wanted, in order; queues are those of the groups and topics that are left."""
        groups = [item for item in view.groups if self.min_lag is None or (item.lag_count or 0) >= self.min_lag]
        left = {(item.group, item.topic) for item in groups}
        if self.sort is not None:
            groups.sort(key=lambda item: _place(item, self.sort))
        return replace(view, groups=groups, queues=[row for row in view.queues if self._wants(row, left)])

    def _wants(self, row: QueueLag, left: set[tuple[str, str]]) -> bool:
        return (row.group, row.topic) in left and (not self.queues or row.queue_id in self.queues)


def _place(item: GroupLag, sort: LagSort | None) -> tuple[float, str, str]:
    numbers = {LagSort.LAG_TIME: item.lag_ms, LagSort.LAG: item.lag_count, LagSort.LOST: item.lost_count}
    names = (item.topic, item.group) if sort is LagSort.TOPIC else (item.group, item.topic)
    return (-(numbers.get(sort) or 0) if sort is not None else 0, *names)
