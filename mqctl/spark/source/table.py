"""What a table of the `rocketmq` data source is: columns, partitions, and how a partition is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqctl.spark.query import Query
from mqctl.spark.selection import Selection

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 32_000
Work = object
"""What one partition reads; any picklable value its table's reader understands."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table.

    Attributes:
        columns: Spark DDL of all columns.
        plan: (wanted, what to count by, partitions at most) -> the work of each partition.
        read: (work, names of the asked columns) -> record batches with exactly those columns.
        filters: columns whose pushed filters `plan` and `read` make use of.
        has_store_time: False where a range of store times cannot be told apart, and asking for one is refused.
        has_offsets: the same of queue ids, queue offsets and physical offsets.
    """

    columns: str
    plan: Callable[[Selection, Query, int], Sequence[Work]]
    read: Callable[[Work, Sequence[str]], Iterator[pa.RecordBatch]]
    filters: frozenset[str] = frozenset()
    has_store_time: bool = False
    has_offsets: bool = False
