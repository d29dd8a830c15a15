"""Lag over time: one table a round."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lag_trend import GroupTrend
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence
from mqctl.units import instant

COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("lag_count", "lag", CellKind.COUNT, none="?"),
    Column("lag_change_count", "change", CellKind.CHANGE, none="?"),
    Column("lag_ms", "lag time", CellKind.DURATION_MS, none="?"),
    Column("produce_tps", "in/s", CellKind.RATE, none="?"),
    Column("consume_tps", "committed/s", CellKind.RATE, none="?"),
    Column("trend", "trend", CellKind.WORDS),
    Column("caught_up_in_ms", "gone in", CellKind.DURATION_MS),
    Column("lost_count", "lost", CellKind.COUNT, wide=True),
)
POP_COLUMNS = (
    Column("consume_mode", "mode"),
    Column("ready_count", "ready", CellKind.COUNT, none="-"),
    Column("invisible_count", "invisible", CellKind.COUNT, none="-"),
    Column("due_count", "overdue", CellKind.COUNT, none="-"),
    Column("retry_count", "retry", CellKind.COUNT, none="-"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRound:
    """Machine form of one round of `group lag --watch`."""

    observed_at_ms: int
    round: int
    groups: list[GroupTrend]


def round_document(observed_at_ms: int, number: int, rows: Sequence[GroupTrend]) -> Document:
    """Builds the document of one round."""
    columns = (*COLUMNS, *POP_COLUMNS) if any(row.consume_mode is not None for row in rows) else COLUMNS
    return Document(
        schema="group.lag.watch/1",
        value=LagRound(observed_at_ms=observed_at_ms, round=number, groups=list(rows)),
        records=rows,
        csv_columns=columns,
        blocks=[
            Paragraphs(
                [
                    sentence(
                        "lag-round",
                        "{observed_at_ms}  round {number}",
                        observed_at_ms=instant(observed_at_ms),
                        number=number,
                    )
                ]
            ),
            Table(columns, rows, empty=sentence("empty-no-group-has-offsets-there", "no group has offsets there")),
        ],
    )
