"""Recordings that no recorder wrote: each file is refused by name, at once, and what stands beside it is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqctl.errors import MqctlError
from mqctl.recording.kinds import COLUMNS, LATEST_MS, Aspect, RowKind
from mqctl.recording.past import snapshot_at
from mqctl.recording.reader import open_recording
from mqctl.recording.tables import GROUP_ROWS
from tests.conftest import Outcome
from tests.each import each
from tests.recording.worlds import BEGIN_MS, at, broker, look, writer

Change = Callable[[Any], Any]
_MINUTES, _UNREAD = 4, 74


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four looks of two brokers, the last of which changes every kind of row but owners."""
    place = tmp_path_factory.mktemp("sound")
    recorder = writer(place)
    for minute in range(_MINUTES):
        members = {f"one@{minute}": "10.0.0.1:1"}
        changed = broker(end=minute * 10, offset=minute, members=members, config={"a": str(minute)})
        look(recorder, minute, changed, broker("broker-b", end=minute))
    return place


def files(place: Path, kind: RowKind) -> list[Path]:
    return sorted((place / kind).rglob("*.parquet"))


def with_column(name: str, value: object, table: Any) -> Any:
    number = table.schema.names.index(name)
    field = table.schema.field(number)
    return table.set_column(number, field, pa.array([value] * table.num_rows, field.type))


def times(count: int, table: Any) -> Any:
    return table.take(pa.array([0] * count))


def _changes() -> Iterator[tuple[RowKind, str, Change]]:
    """Every column that a reader relies on, empty and beyond its bounds; rows twice, and out of order."""
    for kind, columns in COLUMNS.items():
        for name in ("moment_ms", *columns.key):
            yield kind, f"the column {name} has rows without a value", partial(with_column, name, None)
        for moment_ms in (-1, -(2**62), LATEST_MS + 1, 2**62):
            yield kind, "the column moment_ms has", partial(with_column, "moment_ms", moment_ms)
        yield kind, "its rows are not in the order", partial(times, 2)
        yield kind, "a recorder writes at most", partial(times, GROUP_ROWS + 1)
    for name in ("outcome", "keyframe", "every_ms", "took_ms"):
        yield RowKind.LOOKS, f"the column {name} has rows without a value", partial(with_column, name, None)
    for name in ("every_ms", "took_ms", "clock_jump_ms"):
        yield RowKind.LOOKS, f"the column {name} has", partial(with_column, name, 2**63 - 1)
    for word in ("\x1b[31mevil", "", "WHOLE"):
        yield RowKind.LOOKS, "the column outcome has", partial(with_column, "outcome", word)
        yield RowKind.FACTS, "the column aspect has", partial(with_column, "aspect", word)


@pytest.fixture
def spoiled(sound: Path, tmp_path: Path) -> Callable[[RowKind, Change], tuple[Path, Path]]:
    """Changes the newest file of a kind in a copy of the sound recording; returns the copy, and the file."""

    def spoil(kind: RowKind, change: Change) -> tuple[Path, Path]:
        place = tmp_path / "spoiled"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(sound, place)
        file = files(place, kind)[-1]
        table = pq.read_table(file)
        metadata = table.schema.metadata
        changed = change(table.sort_by([(name, "ascending") for name in (*COLUMNS[kind].key, "moment_ms")]))
        pq.write_table(changed.replace_schema_metadata(metadata), file, row_group_size=10 * GROUP_ROWS)
        return place, file

    return spoil


def read(place: Path, kinds: Iterable[RowKind] = RowKind) -> dict[str, str]:
    """Reads rows of a recording in each way; returns why files of it could not be."""
    recording = open_recording(str(place))
    snapshot_at(recording, recording.looks[-1].moment_ms)
    for kind in kinds:
        recording.table(kind, 0, LATEST_MS)
        list(recording.coded_tables(kind, 0, LATEST_MS, ()))
    return {name: str(problem) for name, problem in recording.problems.items()}


@each("kind, why, change", [case for case in _changes() if case[0] is not RowKind.OWNERS])
def test_a_file_with_rows_of_nobody_is_named(
    spoiled: Callable[[RowKind, Change], tuple[Path, Path]], kind: RowKind, why: str, change: Change
) -> None:
    place, file = spoiled(kind, change)
    problems = read(place, [kind])
    assert list(problems) == [file.relative_to(place).as_posix()], problems
    assert why in problems[file.relative_to(place).as_posix()], problems


def test_texts_that_a_few_bytes_stand_for_are_not_unpacked(
    spoiled: Callable[[RowKind, Change], tuple[Path, Path]],
) -> None:
    """A hundred rows, each with the same 20 MB, in some kilobytes."""

    def long(table: Any) -> Any:
        rows = table.slice(0, 1).take(pa.array([0] * 100))
        names = pa.array([f"name-{number:03}" for number in range(100)])
        value = pa.DictionaryArray.from_arrays([0] * 100, ["x" * 20_000_000])
        for name, column in (("name", names), ("value", value)):
            rows = rows.set_column(rows.schema.names.index(name), name, column)
        return rows

    place, file = spoiled(RowKind.FACTS, long)
    assert file.stat().st_size < 1_000_000
    assert "its texts take more than" in str(read(place))


def _other_files() -> dict[str, Callable[[Path], None]]:
    return {
        "pipe": os.mkfifo,
        "device": lambda file: file.symlink_to("/dev/zero"),
        "terabyte": lambda file: file.touch() or os.truncate(file, 1 << 40),  # type: ignore[func-returns-value]
        "folder": Path.mkdir,
        "leads nowhere": lambda file: file.symlink_to("nothing"),
        "leads to itself": lambda file: file.symlink_to(file.name),
    }


@each("kind, other", [(kind, name) for kind in (RowKind.LOOKS, RowKind.FACTS) for name in _other_files()])
def test_what_is_no_file_of_that_size_is_not_opened(
    sound: Path, tmp_path: Path, mqctl: Callable[..., Outcome], kind: RowKind, other: str
) -> None:
    place = tmp_path / f"{kind}-{other}"
    shutil.copytree(sound, place)
    file = files(place, kind)[-1]
    file.unlink()
    _other_files()[other](file)
    assert list(read(place)) == [file.relative_to(place).as_posix()]
    if other != "pipe":
        return
    trends = mqctl("report", "trends", "--recording", place, "--no-spark", "-o", "json")
    is_read = kind is RowKind.LOOKS  # trends ask for no facts
    assert (trends.exit_code, file.name in trends.stderr) == (_UNREAD if is_read else 0, is_read), trends.stderr
    ended = mqctl("timeline", "--recording", place, "--since", "2026-01-01T00:00:00Z")
    assert (ended.exit_code, file.name in ended.stderr) == (_UNREAD, True), ended.stderr


def test_names_of_moments_that_no_calendar_has_are_none_of_a_recording(sound: Path, tmp_path: Path) -> None:
    place = tmp_path / "named"
    shutil.copytree(sound, place)
    for first, last in ((10**15 - 1, 10**15 - 1), (LATEST_MS + 1, LATEST_MS + 2), (BEGIN_MS, LATEST_MS + 1)):
        folder = place / "looks" / "day=9999-12-31"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{first}-{last}.parquet").write_bytes(b"x")
    assert read(place) == {}
    assert [each.moment_ms for each in open_recording(str(place)).looks] == [at(minute) for minute in range(_MINUTES)]


def test_every_command_ends_with_what_is_wrong(
    spoiled: Callable[[RowKind, Change], tuple[Path, Path]], mqctl: Callable[..., Outcome]
) -> None:
    for kind, column, value in ((RowKind.FACTS, "aspect", Aspect.GAPS + "\x1b"), (RowKind.QUEUES, "queue_id", None)):
        place, file = spoiled(kind, partial(with_column, column, value))
        for words in (["timeline", "--since", "2026-01-01T00:00:00Z"], ["doctor"]):
            ended = mqctl(*words, "--recording", place)
            assert ended.exit_code == (_UNREAD if words[0] == "timeline" else 1), (words, ended.stderr)
            assert file.name in ended.stderr, (words, ended.stderr)
            assert "\x1b" not in ended.stdout + ended.stderr


def test_a_recording_of_nothing_else_is_refused(spoiled: Callable[[RowKind, Change], tuple[Path, Path]]) -> None:
    place, _ = spoiled(RowKind.LOOKS, partial(with_column, "outcome", "none"))
    for file in files(place, RowKind.LOOKS)[:-1]:
        file.unlink()
    with pytest.raises(MqctlError, match="the column outcome has 'none'"):
        open_recording(str(place))
