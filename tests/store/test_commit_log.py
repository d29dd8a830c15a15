"""The commit log at its edges: the first and the last byte of each file, of each record and of the whole, against what
the builder laid out."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.errors import NotFoundError
from mqctl.model.message import Message
from mqctl.protocol.message_record import RecordError
from mqctl.store.commitlog import CommitLog, records_at
from mqctl.store.kernel import Stop
from mqctl.store.mapped_files import OddFileError
from tests.each import each
from tests.store.builder import BLANK, V1, StoreBuilder, message, record_bytes

FILE_BYTES, BLANK_BYTES = 4_096, 8
START = 3 * FILE_BYTES
A_RECORD = len(record_bytes(message()))


def log_of(root: Path, *, files: int, full: bool = False) -> tuple[CommitLog, list[Message]]:
    """Returns a log of so many files, each but the last closed by a filler, and what it holds.

    Args:
        full: close the last one too; otherwise there is room left in it.
    """
    built = StoreBuilder(commit_log_file_bytes=FILE_BYTES, log_start=START)
    end = START + files * FILE_BYTES
    while built.end + (A_RECORD + BLANK_BYTES if full else 2_000) <= end:
        built.append(message(store_time_ms=1_795_218_000_000 + len(built.messages)))
    if full:
        built.log += struct.pack(">iI", end - built.end, BLANK)
    built.write(root)
    return CommitLog((root / "commitlog",)), built.messages


def end_of(item: Message) -> int:
    return item.physical_offset + item.size_bytes


@each("files", [1, 2, 3])
def test_a_log_ends_behind_its_last_record_or_with_its_full_file(files: int, tmp_path: Path) -> None:
    log, items = log_of(tmp_path / str(files), files=files)
    behind = end_of(items[-1])
    assert (log.min_offset, log.max_offset, log.end.file) == (START, behind, log.files[-1])
    assert log.end.tail is not None and log.end.tail.stop is Stop.UNWRITTEN
    # Whatever is believed to be a record's begin: each record's, each neighbour of one, each edge of a file.
    edges = [*range(START, START + files * FILE_BYTES + 1, FILE_BYTES), *(item.physical_offset for item in items)]
    assert {log.find_end(edge + beside).offset for edge in edges for beside in (-1, 0, 1)} == {behind}
    # A file closed by its filler is full: the next record goes to the next file, which may be there already.
    full, items = log_of(tmp_path / f"full-{files}", files=files, full=True)
    end = START + files * FILE_BYTES
    for ahead in (False, True):
        if ahead:
            (full.directories[0] / f"{end:020d}").write_bytes(bytes(FILE_BYTES))
        log = CommitLog(full.directories)
        hints = (None, items[0].physical_offset, items[-1].physical_offset, end_of(items[-1]), end - 1, end, end + 1)
        assert {log.find_end(hint).offset for hint in hints} == {end}
        assert log.end.file == log.files[files - 1]
        assert log.end.tail is not None and log.end.tail.stop is Stop.BLANK


def test_a_log_without_records_ends_where_it_begins(tmp_path: Path) -> None:
    directory = tmp_path / "commitlog"
    assert CommitLog((directory,)).end.offset == 0
    directory.mkdir()
    (directory / f"{START:020d}").write_bytes(bytes(FILE_BYTES))
    log = CommitLog((directory,))
    assert (log.min_offset, log.max_offset, log.end.file, log.end.tail) == (START, START, log.files[0], None)


def test_each_byte_belongs_to_the_file_that_covers_it(tmp_path: Path) -> None:
    log, _ = log_of(tmp_path, files=3)
    for number, file in enumerate(log.files):
        begin = START + number * FILE_BYTES
        assert (file.start, file.end) == (begin, begin + FILE_BYTES)
        assert {log.file_of(offset) for offset in (begin, begin + 1, begin + FILE_BYTES - 1)} == {file}
    assert [log.file_of(offset) for offset in (0, START - 1, START + 3 * FILE_BYTES)] == [None] * 3
    # Without the middle one there is a hole, as large as a file.
    log.files[1].path.unlink()
    log = CommitLog(log.directories)
    (gap,) = log.gaps
    assert (gap.start, gap.end) == (START + FILE_BYTES, START + 2 * FILE_BYTES)
    assert (gap.before, gap.after) == log.files
    assert [log.file_of(offset) for offset in (gap.start, gap.end - 1)] == [None] * 2
    assert [log.file_of(offset) for offset in (gap.start - 1, gap.end)] == list(log.files)


def test_files_of_several_directories_are_one_log(tmp_path: Path) -> None:
    log, items = log_of(tmp_path / "one", files=3)
    other = tmp_path / "other"
    other.mkdir()
    log.files[1].path.rename(other / log.files[1].path.name)
    for directories in ((log.directories[0], other), (other, log.directories[0])):
        merged = CommitLog(directories)
        assert [file.start for file in merged.files] == [START, START + FILE_BYTES, START + 2 * FILE_BYTES]
        assert (merged.gaps, merged.min_offset, merged.max_offset) == ([], START, end_of(items[-1]))


@pytest.fixture(scope="module")
def three_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[CommitLog, list[Message]]:
    return log_of(tmp_path_factory.mktemp("log"), files=3)


@given(data=st.data())
def test_store_times_of_any_offsets_in_any_order(
    three_files: tuple[CommitLog, list[Message]], data: st.DataObject
) -> None:
    log, items = three_files
    times = {item.physical_offset: item.store_time_ms for item in items}
    end = START + 3 * FILE_BYTES
    offsets = data.draw(st.lists(st.sampled_from(sorted(times)) | st.integers(START - 200, end + 200), max_size=12))
    offsets += data.draw(st.permutations(offsets))  # each at least twice
    assert log.store_times(np.array(offsets, dtype=np.int64)).tolist() == [times.get(offset, -1) for offset in offsets]
    seen = {}
    for file, rows, records in records_at(log, np.array(offsets, dtype=np.int64)):
        for row, time_ms, position in zip(
            rows.tolist(), records.store_time_ms.tolist(), records.position.tolist(), strict=True
        ):
            assert file.start + position == offsets[row]
            seen[row] = time_ms
    assert seen == {row: times[offset] for row, offset in enumerate(offsets) if offset in times}


def test_the_last_record_that_fits_a_file_is_read_and_nothing_behind_it(tmp_path: Path) -> None:
    """A record may end where a copied file ends, and its header may be all that is left of it."""
    log, items = log_of(tmp_path, files=1)
    (path,) = (file.path for file in log.files)
    last = items[-1]
    offsets = np.array([last.physical_offset], dtype=np.int64)
    for cut in (0, 1, last.size_bytes - 88, last.size_bytes - 87, last.size_bytes):
        path.write_bytes(log.files[0].path.read_bytes()[: end_of(last) - START - cut])
        there = CommitLog(log.directories)
        whole = cut == 0
        assert there.store_times(offsets).tolist() == [last.store_time_ms if whole else -1]
        assert sum(len(rows) for _, rows, _ in records_at(there, offsets)) == whole
        assert len(there.headers(offsets)) == (last.size_bytes - cut >= 88)
        assert there.max_offset == (end_of(last) if whole else last.physical_offset)


def test_a_record_is_found_at_its_offset_only(tmp_path: Path) -> None:
    log, items = log_of(tmp_path, files=3)
    for item in (items[0], items[1], items[-2], items[-1]):
        assert log.record_at(item.physical_offset) == item
        for beside in (-1, 1):
            with pytest.raises(NotFoundError):
                log.record_at(item.physical_offset + beside)
    end = START + 3 * FILE_BYTES
    for outside in (0, START - 1, end):
        with pytest.raises(NotFoundError, match=f"holds {START} to {end}"):
            log.record_at(outside)
    for inside in (START + FILE_BYTES - 1, end - 1, end - 8):  # no room for a size and a magic; zeros
        with pytest.raises(NotFoundError, match="no record starts"):
            log.record_at(inside)


def test_records_of_another_log_and_torn_ones_are_named_so(tmp_path: Path) -> None:
    log, items = log_of(tmp_path, files=1)
    data = bytearray(log.files[0].path.read_bytes())
    foreign, torn = items[1], items[-1]
    at = foreign.physical_offset - START
    data[at + 28 : at + 36] = struct.pack(">q", foreign.physical_offset + 1)
    at = torn.physical_offset - START
    data[at : at + 8] = struct.pack(">iI", 1 << 20, V1)
    log.files[0].path.write_bytes(data)
    log = CommitLog(log.directories)
    with pytest.raises(RecordError, match=f"belongs at {foreign.physical_offset + 1}"):
        log.record_at(foreign.physical_offset)
    with pytest.raises(RecordError, match="its size says 1048576"):
        log.record_at(torn.physical_offset)


def test_what_lies_in_a_files_place_is_named_for_all_of_its_bytes(tmp_path: Path) -> None:
    for number in range(3):
        log, _ = log_of(tmp_path / str(number), files=3)
        odd = log.files[number].path
        odd.unlink()
        odd.mkdir()
        log = CommitLog(log.directories)
        low, high = START + number * FILE_BYTES, START + (number + 1) * FILE_BYTES
        assert log.odd_span(log.odd_files[0]) == (low, high)
        assert log.min_offset == START
        for offset in (low, low + 1, high - 1):
            with pytest.raises(OddFileError):
                log.record_at(offset)
        outside = {low - 1: number > 0, high: number < 2}
        for offset in (offset for offset, covered in outside.items() if covered):
            assert log.file_of(offset) is not None


def test_nothing_is_looked_at_behind_the_end_that_was_asked_for(tmp_path: Path) -> None:
    whole, items = log_of(tmp_path, files=3)
    for item in (items[0], items[len(items) // 2], items[-1]):
        for until in (item.physical_offset, end_of(item) - 1, end_of(item)):
            log = CommitLog(whole.directories, until=until)
            before = [other for other in items if end_of(other) <= until]
            times = log.store_times(np.array([other.physical_offset for other in items], dtype=np.int64))
            assert (times >= 0).sum() == len(before)
            assert log.max_offset == (end_of(before[-1]) if before else START)
