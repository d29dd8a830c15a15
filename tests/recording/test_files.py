"""Files of a recording: merged, killed over, cut, of others, old; and clocks that jump."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqctl.errors import BadInputError, NotFoundError, RefusedError, StorageError
from mqctl.model.gap import Cause, Gap, Part
from mqctl.recording.kinds import RowKind
from mqctl.recording.reader import open_recording
from mqctl.recording.writer import LookTime
from tests.recording.worlds import BEGIN_MS, DAY_MS, at, broker, cluster, look, writer

KEY = ("broker-a", "Pay", 0)


def ends(directory: Path) -> list[tuple[int, int]]:
    """Returns minute and end of queue 0 at every row."""
    recording = open_recording(str(directory))
    rows = recording.changes(RowKind.QUEUES, 0, recording.looks[-1].moment_ms)
    return [(round((row.moment_ms - BEGIN_MS) / 60_000), int(row.values[1] or 0)) for row in rows if row.values]


def test_hours_that_are_over_become_one_file_with_the_same_rows(tmp_path: Path) -> None:
    recorder = writer(tmp_path)
    for minute in (0, 1, 2, 3):
        look(recorder, minute, broker(end=minute * 10))
    look(recorder, 61, broker(end=100))
    before = ends(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "queues", copy / "queues")
    shutil.copytree(tmp_path / "looks", copy / "looks")
    recorder.tidy()
    assert ends(tmp_path) == before == [(0, 0), (1, 10), (2, 20), (3, 30), (61, 100)]
    assert len(list((tmp_path / "queues").rglob("*.parquet"))) == 2
    # Killed after the merged file was written and before those in it were removed.
    shutil.copytree(tmp_path / "queues", copy / "queues", dirs_exist_ok=True)
    assert len(list((copy / "queues").rglob("*.parquet"))) == 6
    assert ends(copy) == before


def test_what_does_not_change_has_one_row_until_the_next_keyframe(tmp_path: Path) -> None:
    recorder = writer(tmp_path)
    for minute in (0, 20, 40, 60, 80):
        look(recorder, minute, broker(end=7))
    assert ends(tmp_path) == [(0, 7), (60, 7)]


def test_a_row_without_its_look_does_not_count(tmp_path: Path) -> None:
    recorder = writer(tmp_path)
    look(recorder, 0, broker(end=1))
    look(recorder, 1, broker(end=2))
    (lost,) = (tmp_path / "looks").rglob(f"{at(1)}-*.parquet")
    lost.unlink()
    assert ends(tmp_path) == [(0, 1)]


def test_files_that_are_cut_or_of_another_version_are_named_and_the_rest_is_used(tmp_path: Path) -> None:
    recorder = writer(tmp_path)
    for minute in (0, 1, 2):
        look(recorder, minute, broker(end=minute))
    files = sorted((tmp_path / "queues").rglob("*.parquet"))
    files[1].write_bytes(files[1].read_bytes()[:40])
    table = pq.read_table(files[2]).replace_schema_metadata({"format": "recording/9"})
    pq.write_table(table, files[2])
    recording = open_recording(str(tmp_path))
    assert [row.moment_ms for row in recording.changes(RowKind.QUEUES, 0, at(9))] == [at(0)]
    assert [Path(name).name for name in recording.problems] == [file.name for file in files[1:]]
    cut, newer = recording.problems.values()
    assert "cut or damaged" in str(cut)
    assert "a newer mqctl: it has form 9" in str(newer)


def test_nothing_there_is_not_found_and_nothing_readable_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no recording in"):
        open_recording(str(tmp_path))
    day = tmp_path / "looks" / "day=2026-01-01"
    day.mkdir(parents=True)
    (day / f"{BEGIN_MS}-{BEGIN_MS}.parquet").write_bytes(b"no Parquet")
    with pytest.raises(BadInputError, match="cut or damaged"):
        open_recording(str(tmp_path))
    pq.write_table(pa.table({"moment_ms": [1]}), day / f"{BEGIN_MS}-{BEGIN_MS}.parquet")
    with pytest.raises(BadInputError, match="its format is none"):
        open_recording(str(tmp_path))


def test_two_clusters_in_one_place_are_refused_and_named(tmp_path: Path) -> None:
    look(writer(tmp_path / "one"), 0, broker())
    with pytest.raises(RefusedError, match="it holds the recording of ns:9876, not of other:9876"):
        writer(tmp_path / "one", name_server="other:9876")
    look(writer(tmp_path / "two", name_server="other:9876"), 1, broker())
    shutil.copytree(tmp_path / "two", tmp_path / "one", dirs_exist_ok=True)
    with pytest.raises(BadInputError, match="several clusters: ns:9876, other:9876"):
        open_recording(str(tmp_path / "one"))


def test_moments_go_on_where_the_clock_goes_back_and_the_jump_is_recorded(tmp_path: Path) -> None:
    recorder = writer(tmp_path)
    for steady_ms, wall_ms in ((0, at(0)), (60_000, at(-30)), (120_000, at(-29)), (180_000, at(3))):
        recorder.look(cluster(broker(end=steady_ms)), LookTime(wall_ms=wall_ms, steady_ms=steady_ms))
    looks = open_recording(str(tmp_path)).looks
    assert [look.moment_ms - BEGIN_MS for look in looks] == [0, 1, 2, 180_000]
    assert [look.clock_jump_ms for look in looks] == [None, -31 * 60_000, None, 31 * 60_000]
    assert writer(tmp_path).look(cluster(broker()), LookTime(wall_ms=at(1), steady_ms=0)).moment_ms == at(3) + 1


def test_looks_whose_whole_one_is_gone_do_not_count(tmp_path: Path) -> None:
    """Somebody moved the files away while the recorder ran: it notices, and begins anew with a whole look."""
    recorder = writer(tmp_path)
    look(recorder, 0, broker(end=1), broker("broker-b", end=9))
    look(recorder, 1, broker(end=2), broker("broker-b", end=9))
    for lost in [*tmp_path.rglob(f"{at(0)}-*.parquet")]:
        lost.unlink()
    with pytest.raises(BadInputError, match=r"no sample of .* is complete"):
        open_recording(str(tmp_path))
    with pytest.raises(StorageError, match=r"files of the recording .* are gone"):
        recorder.tidy()
    look(recorder, 2, broker(end=3), broker("broker-b", end=9))
    recorder.tidy()
    recording = open_recording(str(tmp_path))
    assert [(each.moment_ms, each.keyframe) for each in recording.looks] == [(at(2), True)]
    assert {key[0] for key in recording.state_at(at(2))[RowKind.QUEUES]} == {"broker-a", "broker-b"}
    with pytest.raises(NotFoundError):
        recording.state_at(at(1))


def test_days_that_are_not_kept_are_removed(tmp_path: Path) -> None:
    recorder = writer(tmp_path, keep_ms=2 * DAY_MS)
    for day in range(5):
        look(recorder, day * 24 * 60, broker(end=day))
        recorder.tidy()
    days = sorted(folder.name for folder in (tmp_path / "queues").iterdir())
    assert days == ["day=2026-01-03", "day=2026-01-04", "day=2026-01-05"]


def test_what_a_broker_did_not_answer_is_not_gone_and_what_it_did_is(tmp_path: Path) -> None:
    recorder = writer(tmp_path)
    look(recorder, 0, broker(end=5, members={"one@1": "10.0.0.1:1", "two@1": "10.0.0.2:1"}))
    silent = broker().__class__(
        name="broker-a",
        broker_id=0,
        unavailable=(Gap(part=Part.QUEUES, cause=Cause.SILENT, reason="nobody answers"),),
    )
    look(recorder, 1, silent)
    state = open_recording(str(tmp_path)).state_at(at(1))
    assert state[RowKind.QUEUES][KEY][1] == 5
    assert state[RowKind.MEMBERS] == {}
    assert open_recording(str(tmp_path)).looks[1].outcome == "partial"
