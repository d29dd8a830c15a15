"""How groups moved between the two looks of a diagnosis, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column

if TYPE_CHECKING:
    from mqctl.lag.advice import BacklogAdvice

LINE_COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("movement", "movement", CellKind.WORDS),
    Column("lag_count", "lag", CellKind.COUNT, none="never committed"),
    Column("in_tps", "in/s", none="?"),
    Column("out_tps", "committed/s", none="?"),
    Column("drain", "drain", CellKind.WORDS),
    Column("drain_ms", "drains in", CellKind.DURATION_MS),
    Column("loses", "deleted before read", CellKind.FLAG, none="?"),
    Column("bound", "limited by"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogLine:
    """How one group moves on one topic, between the two looks of a diagnosis.

    Attributes:
        movement: the worst of its queues: `ok`, `catching-up`, `falling-behind`, `stalled`, `stopped`, `rewinding` or
            `unknown`. Of queues that wait for others of their owner (`waits-its-turn`) what it does in all of them.
        drain, drain_ms, loses, bound: as in `group lag --advise`.
    """

    group: str
    topic: str
    movement: str
    lag_count: int | None
    in_tps: float | None
    out_tps: float | None
    drain: str
    drain_ms: int | None
    loses: bool | None
    bound: str


def backlog_line(advice: BacklogAdvice) -> BacklogLine:
    """Builds the line of one group."""
    return BacklogLine(
        group=advice.group,
        topic=advice.topic,
        movement=advice.movement.value,
        lag_count=advice.lag_count,
        in_tps=_rounded(advice.in_tps),
        out_tps=_rounded(advice.out_tps),
        drain=advice.drain.outlook.value,
        drain_ms=advice.drain.after_ms,
        loses=advice.loses,
        bound=advice.bound.value,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
