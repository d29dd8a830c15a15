"""Partial rows make one set of figures, whether Spark combines them or the driver of a local session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mqctl.spark.aggregates.part_tables import PART_TABLES
from mqctl.spark.query import Query
from mqctl.spark.reports.skew import skew_cuts
from mqctl.spark.selection import Selection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mqctl.spark.aggregates.combiner import Row

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def ordered(rows: list[Row]) -> list[list[tuple[str, str]]]:
    # What is free on the disk differs from one moment to the next.
    return sorted(sorted((name, str(value)) for name, value in row.items() if name != "free_bytes") for row in rows)


def test_rows_combined_by_spark_and_by_the_driver_are_the_same(
    golden_store: Callable[[str], Path], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mqctl.spark.reports import gathering
    from mqctl.spark.reports.combining import SparkEngine

    engine = SparkEngine(spark)
    wanted = Selection(tuple(str(golden_store(name)) for name in ("store-clean", "store-5.3.3")), system=True)
    query = Query(skew_cuts(None), at_ms=1_795_300_000_000)
    by_driver = {table: engine.rows(table, wanted, query) for table in PART_TABLES}
    monkeypatch.setattr(gathering, "MOST_TASKS", 0)
    for table, rows in by_driver.items():
        assert gathering.gathered(spark.sparkContext, table, wanted, query) is None
        assert ordered(engine.rows(table, wanted, query)) == ordered(rows)
    assert all(by_driver[table] for table in ("backlog", "counts", "extents"))
