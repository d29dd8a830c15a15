"""All tables of partial aggregates by name."""

from __future__ import annotations

from mqctl.spark.aggregates.parts_backlog import BACKLOG
from mqctl.spark.aggregates.parts_delay import DELAY
from mqctl.spark.aggregates.parts_store import EXTENTS, LAGS
from mqctl.spark.aggregates.parts_transactions import TRANSACTIONS
from mqctl.spark.aggregates.table import COUNTS, PartTable

PART_TABLES: dict[str, PartTable] = {
    "backlog": BACKLOG,
    "counts": COUNTS,
    "extents": EXTENTS,
    "lags": LAGS,
    "delay": DELAY,
    "transactions": TRANSACTIONS,
}
