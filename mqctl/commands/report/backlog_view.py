"""The backlog report as a table."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.backlog import BacklogBy, BacklogRow
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.report_rows import Unread
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.text import sentence

_WHERE = {
    BacklogBy.GROUP: (Column("group", "group"),),
    BacklogBy.TOPIC: (Column("group", "group"), Column("topic", "topic")),
    BacklogBy.QUEUE: (
        Column("group", "group"),
        Column("topic", "topic"),
        Column("broker", "broker", none="?"),
        Column("queue_id", "queue", CellKind.COUNT),
        Column("store", "store", wide=True),
    ),
    BacklogBy.TAG: (Column("group", "group"), Column("topic", "topic"), Column("tag", "tag")),
    BacklogBy.TIME: (
        Column("group", "group"),
        Column("topic", "topic"),
        Column("time_ms", "arrived from", CellKind.TIME_MS),
    ),
}
_SUMS = (
    Column("messages", "messages", CellKind.COUNT),
    Column("bytes", "bytes", CellKind.BYTES),
    Column("oldest_ms", "oldest stored", CellKind.TIME_MS),
    Column("newest_ms", "newest stored", CellKind.TIME_MS),
)
_FORECAST = (
    Column("drain_ms", "drained in", CellKind.DURATION_MS),
    Column("expires_ms", "oldest expires", CellKind.TIME_MS),
)
_STATES = (
    Column("lost_count", "lost", CellKind.COUNT),
    Column("dangling_count", "message deleted", CellKind.COUNT),
    Column("never_committed_count", "never committed", CellKind.COUNT),
    Column("lag_count", "lag", CellKind.COUNT, wide=True, none="never committed"),
    Column("beyond_max_count", "beyond max", CellKind.COUNT, wide=True),
    Column("no_queue_count", "no queue", CellKind.COUNT, wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogReport:
    """Machine form of `report backlog`."""

    stores: list[str]
    by: str
    rows: list[BacklogRow]
    unread: list[Unread]


def backlog_document(
    stores: Sequence[str], by: BacklogBy, rows: Sequence[BacklogRow], unread: Sequence[Unread] = ()
) -> Document:
    """Builds the document of `report backlog`; per tag there are no queue states to show."""
    forecast = tuple(column for column in _FORECAST if any(getattr(row, column.key) is not None for row in rows))
    sums = _SUMS[:2] if by is BacklogBy.TIME else _SUMS
    columns = (*_WHERE[by], *sums, *forecast, *(() if by in (BacklogBy.TAG, BacklogBy.TIME) else _STATES))
    return Document(
        schema="report.backlog/1",
        value=BacklogReport(stores=list(stores), by=by.value, rows=list(rows), unread=list(unread)),
        records=rows,
        blocks=[
            Table(
                columns,
                rows,
                empty=sentence("empty-no-consumer-group-has-anything-there", "no consumer group has anything there"),
            )
        ],
    )
