"""Verification in windows and in parts: whatever their size, the report is that of one look at the whole store."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_broker.log.scratch import make_throw_away_directory
from mqctl.model.damage import DamageCode, DamageGrade
from mqctl.store import kernel, log_rows, verify_index, verify_log
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import VerifyPart, VerifyPlan, VerifyReport, verify, verify_part
from tests.conftest import Outcome
from tests.requires import need_extra
from tests.store.builder import StoreBuilder, message, write_big_store

pytestmark = pytest.mark.slow


@contextmanager
def windows(records: int) -> Iterator[None]:
    """Makes windows, chunks and slices so small that a small store has many."""
    patch = pytest.MonkeyPatch()
    patch.setattr(verify_log, "WINDOW_RECORDS", records)
    patch.setattr(kernel, "CHUNK_RECORDS", max(1, records // 2))
    patch.setattr(verify_index, "SLICE_ENTRIES", records)
    try:
        yield
    finally:
        patch.undo()


def both(root: Path, records: int) -> tuple[VerifyReport, VerifyReport]:
    whole = verify(StoreDirectory.open(root))
    with windows(records):
        return whole, verify(StoreDirectory.open(root))


def by_parts(root: Path, files: int) -> VerifyReport:
    """Verifies so many files of the log at a time, each part in a look of its own that is sent to it and back."""

    def spread(plan: VerifyPlan) -> Iterator[VerifyPart]:
        count = len(StoreDirectory.open(root).commit_log.files)
        for begin in range(0, count, files):
            there = pickle.loads(pickle.dumps(plan))
            part = verify_part(StoreDirectory.open(root), there, range(begin, min(begin + files, count)))
            yield pickle.loads(pickle.dumps(part))

    return verify(StoreDirectory.open(root), spread=spread)


def test_an_index_file_that_is_deleted_meanwhile_is_not_taken_for_another(tmp_path: Path) -> None:
    builder = StoreBuilder()
    for number in range(40):
        builder.append(message("Pay", 0, properties={"KEYS": f"k{number}"}, store_time_ms=1_795_218_000_000 + number))
    builder.write(tmp_path)
    (index,) = (tmp_path / "index").iterdir()
    older = index.with_name(f"{int(index.name) - 1}")
    older.write_bytes(index.read_bytes())

    def spread(plan: VerifyPlan) -> Iterator[VerifyPart]:
        older.unlink()
        store = StoreDirectory.open(tmp_path)
        yield verify_part(store, plan, range(len(store.commit_log.files)))

    report = verify(StoreDirectory.open(tmp_path), spread=spread)
    damages = report.graded(DamageGrade.DAMAGE)
    assert [(each.code, each.file) for each in damages] == [(DamageCode.UNREADABLE_FILE, f"index/{older.name}")]


def by_compiled(root: Path, records: int) -> VerifyReport:
    """Verifies with the compiled twin, which small stores are not worth, in chunks of so many records."""
    need_extra("spark", "numba")
    with windows(records), pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_rows, "WORTH_BYTES", 0)
        patch.setattr(log_rows, "_CHUNK_ROWS", records)
        patch.setattr(log_rows, "_BOOK_ROWS", 2)  # grows with the second topic
        store = StoreDirectory.open(root)
        assert isinstance(log_rows.scanner(store.commit_log, indexed=True), log_rows.CompiledScanner)
        return verify(store)


@pytest.mark.parametrize("records", [pytest.param(3, marks=pytest.mark.long), 100])
@pytest.mark.parametrize("name", ["store-clean", "store-killed", "store-rolled-clean", "store-5.3.3"])
def test_recorded_stores(golden_store: Callable[[str], Path], name: str, records: int) -> None:
    whole, parts = both(golden_store(name), records)
    assert parts == whole
    assert by_compiled(golden_store(name), records) == whole
    assert by_parts(golden_store(name), 1) == whole


TAGS = ("TagA", "标签", "t" * 300, "é", "x")


def made(root: Path) -> list[Path]:
    """A store with a stale queue, a missing entry, a deleted topic and two hosts; returns files to damage."""
    builder = StoreBuilder(commit_log_file_bytes=2_048, queue_file_entries=10, index_slots=16, index_entries=64)
    for number in range(60):
        item = message(
            f"Topic{number % 3}", number % 2, b"body %d" % number * (number % 9),
            {"KEYS": f"a{number} b", "TAGS": TAGS[number % len(TAGS)], "UNIQ_KEY": f"C0A8{number:028X}"},
            store_time_ms=1_795_218_000_000 + number * 10 - 300 * (number == 33),
            store_host="127.0.0.1:10911" if number % 20 else "192.0.2.9:10911",
        )  # fmt: skip
        builder.append(item, dispatch=number not in {17, 58})
    builder.entries.pop(("Topic2", 1))
    builder.write(root)
    (root / "commitlog" / f"{0:020d}").unlink()
    return sorted(path for part in ("commitlog", "consumequeue", "index") for path in (root / part).rglob("[0-9]*"))


@settings(max_examples=40, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 1 << 20), st.integers(1, 255)), max_size=6),
    records=st.integers(1, 20),
)
def test_damaged_stores(flips: list[tuple[int, int, int]], records: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        files = [path for path in made(root) if path.is_file()]
        for number, position, bits in flips:
            path = files[number % len(files)]
            data = bytearray(path.read_bytes())
            data[position % len(data)] ^= bits
            path.write_bytes(data)
        whole, parts = both(root, records)
        assert parts == whole
        assert by_compiled(root, records) == whole
        assert by_parts(root, 1 + records % 3) == whole


def test_many_bad_records_are_counted_and_some_listed(tmp_path: Path) -> None:
    count = write_big_store(tmp_path, total_bytes=1 << 20, body_bytes=100, file_bytes=1 << 20)
    log = tmp_path / "commitlog" / f"{0:020d}"
    data = bytearray(log.read_bytes())
    for at in range(88, len(data), int.from_bytes(data[:4], "big")):
        data[at] ^= 1
    log.write_bytes(data)
    report = verify(StoreDirectory.open(tmp_path))
    bad = [damage for damage in report.damages if damage.code is DamageCode.BAD_CRC]
    first = [damage for damage in bad if damage.file.endswith(log.name)]
    assert len(first) == verify_log.SAMPLED
    assert sum(damage.count for damage in first) == report.record_count == count
    assert sum(damage.length_bytes or 0 for damage in first) == report.record_bytes
    assert by_compiled(tmp_path, 1_000).damages == report.damages


def test_holes_of_sparse_files_are_not_read(tmp_path: Path) -> None:
    write_big_store(tmp_path, total_bytes=1 << 20, body_bytes=1_000, file_bytes=2 << 20, queues=1)
    log = tmp_path / "commitlog" / f"{0:020d}"
    queue = tmp_path / "consumequeue" / "BigTopic0" / "0" / f"{0:020d}"
    entries = queue.read_bytes().rstrip(b"\0")
    queue.write_bytes(entries + bytes(-len(entries) % 20))
    whole = verify(StoreDirectory.open(tmp_path))
    for path in (log, queue):
        with path.open("r+b") as file:
            file.truncate(1 << 40)  # a terabyte that takes up a megabyte: read through, it would take half an hour
    report = verify(StoreDirectory.open(tmp_path))
    assert (report.record_count, report.queue_entries) == (whole.record_count, whole.queue_entries)


def test_looking_makes_no_pages_of_holes_on_tmpfs(mqctl: Callable[..., Outcome]) -> None:
    """There a look at a hole through a mapping takes memory, which stays taken until the file goes."""
    root = make_throw_away_directory()
    try:
        write_big_store(root, total_bytes=1 << 20, body_bytes=1_000, file_bytes=2 << 20, queues=1)
        log = root / "commitlog" / f"{0:020d}"
        with log.open("r+b") as file:
            file.truncate(1 << 30)
        before = log.stat().st_blocks
        for words in (("store", "verify"), ("doctor",)):
            assert mqctl(*words, "--store", root).exit_code in {0, 1, 2}
        assert (log.stat().st_blocks - before) * 512 < 1 << 20
    finally:
        shutil.rmtree(root)


def test_memory_does_not_grow_with_the_store(tmp_path: Path) -> None:
    peaks = []
    for number, total_bytes in enumerate((2 << 20, 12 << 20)):
        root = tmp_path / str(number)
        write_big_store(root, total_bytes=total_bytes, body_bytes=20, file_bytes=1 << 20, queues=16)
        with windows(2_000):
            tracemalloc.start()
            report = verify(StoreDirectory.open(root))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert report.record_count > total_bytes // 400
    assert peaks[1] < 1.5 * peaks[0]
