"""A key with more messages than a task should hold is cut by time; the reports say the same."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mqctl.spark import engines
from mqctl.spark.aggregates import heavy, tracks
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.tracks import PackedTracks
from mqctl.spark.aggregates.whole_tracks import Tracks, unpacked
from mqctl.spark.engines import Engine, PlainEngine
from mqctl.spark.query import Query
from mqctl.spark.reports.duplicates import duplicates
from mqctl.spark.reports.order import order
from mqctl.spark.selection import Selection
from tests.spark.plain_reports import messages_of, plain_duplicates, plain_order, sequences
from tests.store.builder import StoreBuilder, message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_MS = 1_795_218_000_000


def giant_store(root: Path, seed: int, share: float) -> Path:
    """One key has most messages, over several queues, from two hosts whose clocks jump."""
    rng = random.Random(seed)
    builder = StoreBuilder(commit_log_file_bytes=1 << 18)
    for number in range(3_000):
        key = "giant" if rng.random() < share else f"k{rng.randrange(40)}"
        made = message(
            "Orders",
            rng.choice((0, 1, -1)),  # no client sends to queue -1, but a record may say so
            b"x" * 40,
            {"KEYS": key, "UNIQ_KEY": f"u{rng.randrange(2_500)}"},
            store_time_ms=START_MS + number * 7 // 3,
            born_host=f"10.0.0.{rng.randrange(2)}:10911",
        )
        builder.append(replace(made, born_time_ms=START_MS + number * 2 + rng.randrange(5)))
    return builder.write(root)


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy, "HEAVY_MESSAGES", 600)
    monkeypatch.setattr(heavy, "_SAMPLE_BYTES", 2_048)
    monkeypatch.setattr(tracks, "FLUSH_MESSAGES", 700)


def both(engine: Engine, wanted: Selection) -> tuple[object, object]:
    return order(engine, wanted, top=50, bucket_ms=500), duplicates(engine, wanted, top=50, bucket_ms=500)


@pytest.mark.parametrize(("stores", "share"), [(1, 1.0), (1, 0.7), (2, 0.6), (2, 1.0)])
def test_a_key_that_is_cut_is_judged_as_one(
    stores: int, share: float, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [giant_store(tmp_path / f"store{number}", number, share) for number in range(stores)]
    wanted = Selection(tuple(map(str, paths)))
    monkeypatch.setattr(tracks, "BUCKET_MESSAGES", 400)
    whole = both(PlainEngine(), wanted)
    request.getfixturevalue("small_limits")
    sizes: list[int] = []

    def measured(packed: list[PackedTracks], query: Query) -> Tracks:
        judged_order = unpacked(packed, query)
        sizes.append(len(judged_order))
        return judged_order

    monkeypatch.setattr(engines, "unpacked", measured)
    cut_order, cut_duplicates = both(PlainEngine(), wanted)
    assert max(sizes) < 1_200, "no task holds the key"
    assert cut_duplicates == whole[1]
    for name in ("topics", "periods", "times", "keys", "read"):
        expected, judged_order = getattr(whole[0], name), getattr(cut_order, name)
        if name == "topics":  # what explains moves is a guess from samples, which are others
            guessed = ("queues_before", "queues_after", "explained_moves", "moves_back")
            assert [{k: getattr(r, k) for k in r.__slots__ if k not in guessed} for r in judged_order] == [
                {k: getattr(r, k) for k in r.__slots__ if k not in guessed} for r in expected
            ]
        else:
            assert judged_order == expected, name
    truth = sequences({str(path): messages_of(path) for path in paths})
    (topic,) = cut_order.topics  # type: ignore[attr-defined]
    plain = plain_order(truth)["Orders"]
    assert (topic.keys, topic.moves, topic.inversions) == (plain["keys"], plain["moves"], plain.get("inversions", 0))
    business = next(row for row in cut_duplicates.topics if row.by == "business key")  # type: ignore[attr-defined]
    assert business.copies == plain_duplicates(truth)["Orders"]["copies"]


@pytest.mark.spark
@pytest.mark.parametrize("table", ["order", "duplicates", "keyed"])
def test_spark_cuts_and_joins_alike(table: str, tmp_path: Path, spark: SparkSession) -> None:
    from mqctl.spark.reports.combining import SparkEngine

    wanted = Selection((str(giant_store(tmp_path / "store", 7, 0.9)),))
    query = Query((), bucket_ms=500, unique_keys=table != "order", heavy_messages=600)
    spark_rows = SparkEngine(spark).rows(table, wanted, query)
    slices = [row for row in spark_rows if row["cut"] == heavy.EDGE]
    assert len(slices) >= 6, "2,700 messages in slices of 300 or so"
    usual = replace(query, heavy_messages=0)
    whole = PlainEngine().rows(table, wanted, usual)

    def told(rows: list[Row]) -> list[tuple[str, ...]]:
        sums = [row for row in rows if row["cut"] in ("topics", "moves", "inversions", "times", "hosts", "gaps")]
        return sorted(tuple(f"{name}={row[name]}" for name in sorted(row) if row[name] is not None) for row in sums)

    assert told(engines.whole_keys(spark_rows, table, query)) == told(whole)
