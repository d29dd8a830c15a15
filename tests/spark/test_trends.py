"""Trends over recordings: the figures of both engines, and that they are the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mqctl.spark.trends import RecordedFiles, TrendQuestion, local_trends, recorded_files, spark_trends
from tests.conftest import Outcome
from tests.recording.worlds import BEGIN_MS, DAY_MS, broker, look, writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

DAY = TrendQuestion(period_ms=DAY_MS, since_ms=0, until_ms=1 << 62)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedFiles]:
    """Two clusters. In `eu` G falls behind by 24 a day for four days, 6 a look; broker-b goes on day 3.
    In `us` it keeps up, is reset back once, and nobody recorded on the second day."""
    eu, us = (tmp_path_factory.mktemp(name) for name in ("eu", "us"))
    recorder = writer(eu)
    for hour in range(0, 96, 6):
        brokers = [broker(end=hour * 3, offset=hour * 2), broker("broker-b", end=10, offset=10)]
        look(recorder, hour * 60, *(brokers if hour < 60 else brokers[:1]))
    recorder = writer(us)
    for hour in (0, 18, 48, 66):
        look(recorder, hour * 60, broker(end=hour * 5, offset=20 if hour == 66 else hour * 5))
    return [recorded_files("eu", str(eu)), recorded_files("us", str(us))]


def test_lag_and_traffic_by_period(recordings: list[RecordedFiles]) -> None:
    (behind, reset), brokers = local_trends(recordings, DAY)
    if behind.cluster == "us":
        behind, reset = reset, behind
    assert (behind.cluster, behind.group, behind.topic, behind.period_count) == ("eu", "G", "Pay", 4)
    assert (behind.first_ms, behind.last_ms) == (BEGIN_MS, BEGIN_MS + 3 * DAY_MS)
    assert (behind.first_lag_count, behind.last_lag_count, behind.most_lag_count) == (18, 90, 90)
    assert (behind.lag_change_per_day, behind.produced_count, behind.committed_count) == (24.0, 216, 144)
    assert (reset.period_count, reset.first_lag_count, reset.last_lag_count) == (2, 0, 310)
    assert (reset.produced_count, reset.committed_count) == (240, 20 - 90)
    assert reset.lag_change_per_day == 155.0  # over two days: the one between was not recorded
    assert {(row.cluster, row.broker, row.period_count) for row in brokers} == {
        ("eu", "broker-a", 4),
        ("eu", "broker-b", 2),
        ("us", "broker-a", 2),
    }


@pytest.mark.long
def test_spark_has_the_figures_of_the_local_engine(recordings: list[RecordedFiles], spark: SparkSession) -> None:
    local = local_trends(recordings, DAY)
    assert local[0]
    assert spark_trends(spark, recordings, DAY) == local


def test_the_command_uses_what_is_whole(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    recorder = writer(tmp_path / "prod")
    for hour in range(0, 30, 6):
        look(recorder, hour * 60, broker(end=hour * 10, offset=hour))
    words = ("report", "trends", "--no-spark", "--recording", tmp_path / "prod")
    (row,) = mqctl(*words, "-o", "json").json["groups"]
    assert (row["cluster"], row["group"], row["last_lag_count"]) == ("prod", "G", 216)
    newest = max((tmp_path / "prod" / "offsets").rglob("*.parquet"))
    newest.write_bytes(newest.read_bytes()[:100])
    outcome = mqctl(*words)
    assert (outcome.exit_code, "was left out: cut or damaged" in outcome.stderr, "G" in outcome.stdout) == (
        74,
        True,
        True,
    )
    outcome = mqctl(*words, "--bucket", "1m")
    assert (outcome.exit_code, "1h or more" in outcome.stderr) == (64, True)
    outcome = mqctl("report", "trends", "--no-spark", "--recording", tmp_path / "none")
    assert (outcome.exit_code, "mqctl record" in outcome.stderr) == (66, True)
