"""Lag over time: one table a round."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.column import columns_of
from mqctl.model.lag_trend import GroupTrend
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.text import sentence
from mqctl.units import instant

COLUMNS = columns_of(
    GroupTrend,
    *("group", "topic", "lag_count", "lag_change_count", "lag_ms", "produce_tps", "consume_tps", "trend"),
    *("caught_up_in_ms", "lost_count"),
)
POP_COLUMNS = columns_of(GroupTrend, "consume_mode", "ready_count", "invisible_count", "due_count", "retry_count")


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
