"""All tables of partial aggregates by name."""

from __future__ import annotations

from mqctl.spark.parts import COUNTS, PartTable
from mqctl.spark.parts_backlog import BACKLOG
from mqctl.spark.parts_delay import DELAY
from mqctl.spark.parts_store import EXTENTS, LAGS
from mqctl.spark.parts_transactions import TRANSACTIONS

PART_TABLES: dict[str, PartTable] = {
    "backlog": BACKLOG,
    "counts": COUNTS,
    "extents": EXTENTS,
    "lags": LAGS,
    "delay": DELAY,
    "transactions": TRANSACTIONS,
}
