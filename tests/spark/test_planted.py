"""A store with planted faults: every plant is named, with its figure; 2 GiB of it by `benchmarks.planted_store`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from benchmarks.planted_store import LEVEL, LEVEL_MS, SPAN_MS, START_MS, Planted, write_planted
from mqctl.commands.report.runs_view import RunDiff, RunReported
from mqctl.model.reports import (
    BacklogOverview,
    DelayReport,
    DuplicatesReport,
    OrderReport,
    SkewReport,
    TagsReport,
)
from mqctl.render.reports.words import findings
from mqctl.snapshot.archive import load_snapshot
from mqctl.spark.engines import Engine
from mqctl.spark.reports.run import NAMES, RunSettings, run_report
from mqctl.spark.selection import Selection
from mqctl.text import encoded
from tests.conftest import Outcome
from tests.requires import need_extra

pytestmark = [pytest.mark.spark]
Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Planted]:
    directory = tmp_path_factory.mktemp("planted")
    return directory, write_planted(directory, 4 << 20, body_bytes=300, file_bytes=1 << 20)


def test_every_plant_is_named_with_its_figure(planted: tuple[Path, Planted], engine: Engine) -> None:
    directory, truth = planted
    store = str(directory / "store")
    settings = RunSettings(snapshot=load_snapshot(directory / "cluster.snap"), brokers={store: "broker-a"})
    reports = run_report(engine, Selection((store,)), settings)
    assert tuple(reports) == NAMES
    words = {name: " ".join(findings(name, value)) for name, value in reports.items()}

    skew = reports["skew"]
    assert isinstance(skew, SkewReport)
    orders = next(row for row in skew.topics if row.topic == "orders")
    assert (orders.hot_key, orders.hot_queue_id) == (truth.hot_key, truth.hot_queue)
    hot = next(row for row in skew.keys if row.key == truth.hot_key)
    assert hot.messages == truth.hot_key_messages
    assert f"the cause is key {truth.hot_key}: {truth.hot_key_messages:,} messages" in words["skew"]

    order = reports["order"]
    assert isinstance(order, OrderReport)
    payments = next(row for row in order.topics if row.topic == "payments")
    assert (payments.moves, payments.moved_keys) == (truth.moves, truth.moved_keys)
    assert (payments.queues_before, payments.queues_after, payments.explained_moves) == (4, 6, truth.moves)
    own = [row for row in order.periods if row.topic == "payments"]
    assert own[0].begin_ms <= truth.resharded_from_ms + order.bucket_ms
    assert own[0].queues_in_use_before == 4
    first = min(row.begin_ms for row in own if row.begin_ms >= truth.resharded_until_ms - order.bucket_ms)
    assert first <= truth.resharded_until_ms + order.bucket_ms
    assert f"from 4 to 6 queues and back explains {truth.moves:,} of {truth.moves:,} moves" in words["order"]

    duplicates = reports["duplicates"]
    assert isinstance(duplicates, DuplicatesReport)
    (again,) = [row for row in duplicates.topics if row.by == "unique key" and row.copies]
    assert (again.topic, again.copies, again.same_host_copies) == ("orders", truth.copies, truth.copies)
    assert again.typical_gap_ms == 2_048  # they came 3 s later: of the class from 2,048 ms on
    windows = [row for row in duplicates.windows if row.by == "unique key"]
    assert sum(row.copies for row in windows) == truth.copies
    assert abs(windows[0].begin_ms - truth.resent_from_ms) <= 2 * duplicates.bucket_ms
    assert f"{truth.copies:,} messages were stored again" in words["duplicates"]

    tags = reports["tags"]
    assert isinstance(tags, TagsReport)
    (lost,) = tags.lost
    assert (lost.group, lost.topic, lost.tag) == ("mailer", "events", "deleted")
    assert (lost.lost_messages, lost.messages) == (truth.lost_messages, truth.deleted_messages)
    assert f"{truth.lost_messages:,} of {truth.deleted_messages:,} messages with tag deleted" in words["tags"]

    delay = reports["delay"]
    assert isinstance(delay, DelayReport)
    (level,) = [row for row in delay.levels if row.overdue]
    late = sum(at + 2_000 < delay.at_ms for at in due_times(truth))
    assert (level.level, level.overdue, level.first_overdue_ms) == (LEVEL, late, truth.first_overdue_ms)
    assert f"{late:,} messages are overdue" in words["delay"]

    backlog = reports["backlog"]
    assert isinstance(backlog, BacklogOverview)
    (row,) = [each for each in backlog.topics if each.messages]
    assert (row.group, row.topic, row.messages) == ("biller", "orders", truth.behind)
    assert sum(each.messages for each in backlog.arrivals) == truth.behind


def due_times(truth: Planted) -> list[int]:
    """When the messages that nobody delivered are due: every tenth message of the span waits on the level."""
    count = max(2_000, (4 << 20) // 550)
    times = [START_MS + number * SPAN_MS // count + LEVEL_MS for number in range(9, count, 10)]
    return [time for time in times if time >= truth.first_overdue_ms]


def test_a_run_is_written_and_compared(mqctl: Run, planted: tuple[Path, Planted], tmp_path: Path) -> None:
    need_extra("spark", "pyspark")
    store, snapshot = planted[0] / "store", planted[0] / "cluster.snap"
    page, first, second = tmp_path / "report.html", tmp_path / "a.parquet", tmp_path / "b.parquet"
    common = ("report", "run", "--store", store, "--snapshot", snapshot, "--no-spark")
    outcome = mqctl(*common, "--html", page, "--save", first, "-o", "json")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    document = outcome.json
    assert document.pop("schema") == "report.run/1"
    assert json.loads(msgspec.json.encode(msgspec.convert(document, RunReported), enc_hook=encoded)) == document
    text = page.read_text()
    assert all(row["finding"].replace("'", "&#x27;") in text for row in document["findings"])
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/", "")
    assert "<script" not in text

    same = mqctl("report", "diff", first, first, "-o", "json")
    assert (same.exit_code, same.json["changes"]) == (0, [])
    assert mqctl(*common, "-t", "orders", "--save", second).exit_code == 0
    changed = mqctl("report", "diff", first, second, "--only", "skew", "-o", "json").json
    assert changed.pop("schema") == "report.diff/1"
    assert json.loads(msgspec.json.encode(msgspec.convert(changed, RunDiff), enc_hook=encoded)) == changed
    gone = {row["subject"] for row in changed["changes"] if row["section"] == "topics" and row["after"] is None}
    assert gone == {"topic events", "topic payments"}
    assert not any("orders" in row["subject"] for row in changed["changes"] if row["section"] == "topics")


@pytest.mark.parametrize(("content", "code"), [(None, 66), (b"no parquet", 65)])
def test_what_is_no_saved_run_is_said(mqctl: Run, tmp_path: Path, content: bytes | None, code: int) -> None:
    need_extra("spark", "pyspark")
    path = tmp_path / "run.parquet"
    if content is not None:
        path.write_bytes(content)
    outcome = mqctl("report", "diff", path, path)
    assert (outcome.exit_code, outcome.stdout) == (code, "")
    assert "saved run" in outcome.stderr


def test_sections_are_saved_as_parquet(mqctl: Run, planted: tuple[Path, Planted], tmp_path: Path) -> None:
    directory = tmp_path / "figures"
    words = ("report", "skew", "--store", planted[0] / "store", "--no-spark", "-o", "json", "--parquet", directory)
    rows = mqctl(*words).json["report"]
    names = {path.name for path in directory.iterdir()}
    assert names == {f"skew.{section}.parquet" for section in rows}
    for section, expected in rows.items():
        assert pq.read_table(directory / f"skew.{section}.parquet").to_pylist() == expected
    assert mqctl(*words).exit_code == 65
