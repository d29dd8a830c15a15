"""Files of hours, and of quarters of a day: the same rows, in fewer files, of which long looks back read a part."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqctl.recording import merging, tables
from mqctl.recording.kinds import RowKind
from mqctl.recording.reader import RowChange, open_recording
from mqctl.recording.writer import RecordingWriter
from tests.recording.worlds import at, broker, look, writer

MEMBERS = {"one@1": "10.0.0.1:1"}
KINDS = [kind for kind in RowKind if kind is not RowKind.LOOKS]


def record_hours(directory: Path, hours: int) -> RecordingWriter:
    """Three looks an hour; the broker with a member is there in every other hour."""
    recorder = writer(directory)
    for hour in range(hours):
        for minute in (0, 20, 40):
            end = hour * 100 + minute
            more = [broker("broker-b", end=end * 2, offset=hour, members=MEMBERS)] if hour % 2 else []
            look(recorder, hour * 60 + minute, broker(end=end, offset=end // 2), *more)
        recorder.tidy()
    return recorder


def rows(directory: Path) -> dict[RowKind, list[tuple[int, str, object]]]:
    """Returns all rows of each kind, in an order of their own."""
    recording = open_recording(str(directory))
    assert recording.problems == {}

    def line(change: RowChange) -> tuple[int, str, object]:
        return (change.moment_ms, repr(change.key), change.values)

    last_ms = recording.looks[-1].moment_ms
    return {kind: sorted(map(line, recording.changes(kind, 0, last_ms)), key=repr) for kind in KINDS}


def spans(directory: Path, kind: RowKind) -> list[str]:
    return sorted(file.stem for file in (directory / kind).rglob("*.parquet"))


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of three rows: what takes a day's rows in production takes a few here."""
    for module in (tables, merging):
        monkeypatch.setattr(module, "GROUP_ROWS", 3)


@pytest.mark.usefixtures("small_groups")
def test_the_hours_of_a_quarter_become_one_file_with_the_same_rows(tmp_path: Path) -> None:
    recorder = record_hours(tmp_path, 6)
    look(recorder, 360, broker(end=1_000, offset=1_000))
    before = rows(tmp_path)
    states = [open_recording(str(tmp_path)).state_at(at(minute)) for minute in (0, 59, 140, 350, 360)]
    hours = tmp_path / "hours"
    shutil.copytree(tmp_path, hours, ignore=shutil.ignore_patterns("hours"))
    for _ in RowKind:
        recorder.tidy()
    quarter = f"{at(0)}-{at(340)}"
    assert spans(tmp_path, RowKind.QUEUES) == [quarter, f"{at(360)}-{at(360)}"]
    assert {kind for kind in RowKind if len(spans(tmp_path, kind)) > 2} == set()
    assert rows(tmp_path) == before
    assert [open_recording(str(tmp_path)).state_at(at(minute)) for minute in (0, 59, 140, 350, 360)] == states
    # Killed after the quarter was written and before its hours were removed.
    shutil.copytree(tmp_path / "queues", hours / "queues", dirs_exist_ok=True)
    assert len(spans(hours, RowKind.QUEUES)) > 6
    assert rows(hours) == before


def test_keyframes_stand_apart_so_that_a_look_back_reads_only_them(tmp_path: Path) -> None:
    recorder = record_hours(tmp_path, 6)
    look(recorder, 360, broker())
    for _ in RowKind:
        recorder.tidy()
    (file,) = (tmp_path / "queues").rglob(f"{at(0)}-{at(340)}.parquet")
    bounds = [
        (group.column(0).statistics.min, group.column(0).statistics.max)
        for group in map(pq.read_metadata(file).row_group, range(pq.read_metadata(file).num_row_groups))
    ]
    assert bounds == [*((at(hour * 60), at(hour * 60)) for hour in range(6)), (at(20), at(340))]
    table = open_recording(str(tmp_path)).rows_at(RowKind.QUEUES, frozenset({at(60), at(120)}))
    assert sorted(zip(table["moment_ms"].to_pylist(), table["broker"].to_pylist(), strict=True)) == [
        (at(60), "broker-a"),
        (at(60), "broker-b"),
        (at(120), "broker-a"),
        (at(120), "broker-b"),
    ]


def test_nothing_is_merged_over_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    recorder = record_hours(tmp_path, 6)
    (broken,) = (tmp_path / "queues").rglob(f"{at(120)}-*.parquet")
    broken.write_bytes(broken.read_bytes()[:30])
    look(recorder, 360, broker())
    for minute in (1, 2, 3):
        look(recorder, 360 + minute, broker(end=minute))
    (single,) = (tmp_path / "queues").rglob(f"{at(362)}-*.parquet")
    single.write_bytes(b"")
    look(recorder, 420, broker(end=9))
    for _ in range(2 * len(RowKind)):
        recorder.tidy()
    assert broken.exists()
    assert single.exists()
    problems = open_recording(str(tmp_path))
    problems.table(RowKind.QUEUES, 0, at(500))
    assert sorted(Path(name).name for name in problems.problems) == [broken.name, single.name]
    moments = {change.moment_ms for change in problems.changes(RowKind.QUEUES, at(300), at(500))}
    assert {at(300), at(360), at(361), at(363), at(420)} <= moments
