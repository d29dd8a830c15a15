"""All tables of partial aggregates by name."""

from __future__ import annotations

from mqctl.spark.aggregates.backlog_segments import BACKLOG
from mqctl.spark.aggregates.delay_levels import DELAY
from mqctl.spark.aggregates.extents import EXTENTS, LAGS
from mqctl.spark.aggregates.half_messages import TRANSACTIONS
from mqctl.spark.aggregates.table import COUNTS, PartTable

PART_TABLES: dict[str, PartTable] = {
    "backlog": BACKLOG,
    "counts": COUNTS,
    "extents": EXTENTS,
    "lags": LAGS,
    "delay": DELAY,
    "transactions": TRANSACTIONS,
}
