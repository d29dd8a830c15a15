"""Reconciliation by business key: messages of a topic against another store's, or against a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.errors import NotFoundError, UsageError
from mqctl.model.message import KEYS
from mqctl.model.reconciliation import ReconciledKey, Reconciliation
from mqctl.spark.carried import delivered
from mqctl.spark.query import Query
from mqctl.spark.reports.combining import SparkEngine
from mqctl.spark.reports.figures import stores_read
from mqctl.spark.selection import Selection
from mqctl.spark.source.data_source import FORMAT, register, wanted_options
from mqctl.text import sentence

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_DIFFERENT = ("missing", "extra", "repeated", "short")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A file with one expected key a row: CSV with a header.

    Attributes:
        path: a path, or any URL that Spark opens.
        column: the column that holds the key.
    """

    path: str
    column: str


def reconciled(
    spark: SparkSession, stored: Selection, expected: Selection | Listed, *, key: str, top: int
) -> Reconciliation:
    """Compares both sides in one pass over each: how often every key is there.

    Args:
        key: property of messages that holds the key; of KEYS each of its words is one.
        top: keys shown of each kind.

    Raises:
        NotFoundError: the file of expected keys is not there.
        UsageError: it has no such column.
        MqctlError: a store or the file cannot be read.
    """
    with delivered():
        listed = _rows_of(spark, expected) if isinstance(expected, Listed) else _messages(spark, expected, key)
        both = _side(listed, "expected").unionByName(_side(_messages(spark, stored, key), "stored"))
        compared = _compared(both).cache()
        try:
            counts = _counts(compared)
            shown = _first(compared, top)
        finally:
            compared.unpersist()
    stores = [stored] if isinstance(expected, Listed) else [stored, expected]
    engine = SparkEngine(spark)
    return Reconciliation(
        expected=f"{expected.path} ({expected.column})" if isinstance(expected, Listed) else _named(expected),
        stored=_named(stored),
        key=key,
        expected_count=counts["expected_count"],
        expected_key_count=counts["matched"] + counts["missing"] + counts["repeated"] + counts["short"],
        expected_keyless_count=counts["expected_keyless_count"],
        stored_count=counts["stored_count"],
        stored_key_count=counts["matched"] + counts["extra"] + counts["repeated"] + counts["short"],
        stored_keyless_count=counts["stored_keyless_count"],
        matched_key_count=counts["matched"],
        missing_key_count=counts["missing"],
        extra_key_count=counts["extra"],
        repeated_key_count=counts["repeated"],
        short_key_count=counts["short"],
        missing=shown["missing"],
        extra=shown["extra"],
        repeated=shown["repeated"],
        short=shown["short"],
        read=[row for each in stores for row in stores_read(engine.rows("counts", each, Query(())))],
    )


def _named(wanted: Selection) -> str:
    return f"{', '.join(wanted.topics)} in {', '.join(wanted.stores)}"


def _messages(spark: SparkSession, wanted: Selection, key: str) -> DataFrame:
    """One row for each key of each message, the key null where there is none."""
    from pyspark.sql import functions as f

    register(spark)
    options = {**wanted_options(wanted), "table": "messages"}
    if key == KEYS:
        frame = spark.read.format(FORMAT).schema("keys string, store_time_ms bigint").options(**options).load()
        # Words apart; a message without KEYS, or with blanks only, keeps one row without a key.
        words = f.filter(f.split("keys", " "), lambda word: f.length(word) > 0)
        return frame.select(f.explode_outer(words).alias("key"), f.col("store_time_ms").alias("time_ms"))
    schema = "properties map<string,string>, store_time_ms bigint"
    frame = spark.read.format(FORMAT).schema(schema).options(**options).load()
    return frame.select(_filled(f.col("properties")[key]).alias("key"), f.col("store_time_ms").alias("time_ms"))


def _filled(column: Column) -> Column:
    from pyspark.sql import functions as f

    return f.when(f.length(column) > 0, column)


def _rows_of(spark: SparkSession, listed: Listed) -> DataFrame:
    from pyspark.sql import functions as f

    if "://" not in listed.path and not Path(listed.path).exists():
        raise NotFoundError(
            sentence("spark-no-file", "no file {path}", path=listed.path),
            remedy=sentence("spark-name-csv-file-header", "name a CSV file with a header, as --csv FILE"),
        )
    where = listed.path if "://" in listed.path else Path(listed.path).absolute().as_uri()
    frame = spark.read.option("header", "true").option("multiLine", "true").option("escape", '"').csv(where)
    if listed.column not in frame.columns:
        raise UsageError(
            sentence("spark-no-column", "{path} has no column {column}", path=listed.path, column=listed.column),
            reason=sentence(
                "spark-columns",
                "its columns: {columns}",
                columns=frame.columns[:20],
            ),
            remedy=sentence("spark-name-column", "name one of them as --column NAME"),
        )
    cell = f.trim(f.col(f"`{listed.column}`"))
    return frame.select(_filled(cell).alias("key"), f.lit(None).cast("bigint").alias("time_ms"))


def _side(rows: DataFrame, side: str) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.withColumn("side", f.lit(side))


def _compared(both: DataFrame) -> DataFrame:
    """One row for each key, and one for all without: how often on each side, when, and what that means."""
    from pyspark.sql import functions as f

    def on(side: str) -> Column:
        return f.count_if(f.col("side") == side)

    frame = both.groupBy("key").agg(
        on("expected").alias("expected_count"),
        on("stored").alias("stored_count"),
        f.min("time_ms").alias("first_ms"),
        f.max("time_ms").alias("last_ms"),
    )
    expected, stored = f.col("expected_count"), f.col("stored_count")
    kind = (
        f.when(f.col("key").isNull(), "keyless")
        .when(stored == 0, "missing")
        .when(expected == 0, "extra")
        .when(stored > expected, "repeated")
        .when(stored < expected, "short")
        .otherwise("matched")
    )
    return frame.withColumn("kind", kind)


def _counts(compared: DataFrame) -> dict[str, int]:
    from pyspark.sql import functions as f

    rows = (
        compared.groupBy("kind")
        .agg(
            f.count("*").alias("keys"), f.sum("expected_count").alias("expected"), f.sum("stored_count").alias("stored")
        )
        .collect()
    )
    counts = dict.fromkeys(("matched", *_DIFFERENT, "expected_count", "stored_count"), 0)
    counts |= {"expected_keyless_count": 0, "stored_keyless_count": 0}
    for row in rows:
        suffix = "_keyless_count" if row["kind"] == "keyless" else "_count"
        counts[f"expected{suffix}"] += row["expected"]
        counts[f"stored{suffix}"] += row["stored"]
        if row["kind"] != "keyless":
            counts[row["kind"]] = row["keys"]
    return counts


def _first(compared: DataFrame, top: int) -> dict[str, list[ReconciledKey]]:
    """Returns the first keys of each kind on which both sides differ."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    columns: Sequence[str] = ("key", "expected_count", "stored_count", "first_ms", "last_ms")
    place = f.row_number().over(Window.partitionBy("kind").orderBy("key"))
    differing = compared.where(f.col("kind").isin(*_DIFFERENT)).withColumn("place", place)
    rows = (
        differing.where(f.col("place") <= top).orderBy("kind", "key").select("kind", *columns).collect() if top else []
    )
    return {
        kind: [ReconciledKey(**{name: row[name] for name in columns}) for row in rows if row["kind"] == kind]
        for kind in _DIFFERENT
    }
