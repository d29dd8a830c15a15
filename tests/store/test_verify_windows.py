"""Verification in windows: whatever their size, the report is that of one look at the whole store."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.store import kernel, verify_index, verify_log
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import VerifyReport, verify
from tests.store.builder import StoreBuilder, message, write_big_store


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


@pytest.mark.parametrize("records", [3, 100])
@pytest.mark.parametrize("name", ["store-clean", "store-killed", "store-rolled-clean", "store-5.3.3"])
def test_recorded_stores(golden_store: Callable[[str], Path], name: str, records: int) -> None:
    whole, parts = both(golden_store(name), records)
    assert parts == whole


def made(root: Path) -> list[Path]:
    """A store with a stale queue, a missing entry, a deleted topic and two hosts; returns files to damage."""
    builder = StoreBuilder(commit_log_file_bytes=2_048, queue_file_entries=10, index_slots=16, index_entries=64)
    for number in range(60):
        item = message(
            f"Topic{number % 3}", number % 2, b"body %d" % number, {"KEYS": f"a{number} b", "TAGS": "TagA"},
            store_time_ms=1_795_218_000_000 + number * 10 - 300 * (number == 33),
            store_host="127.0.0.1:10911" if number % 20 else "192.0.2.9:10911",
        )  # fmt: skip
        builder.append(item, dispatch=number not in {17, 58})
    builder.entries.pop(("Topic2", 1))
    builder.write(root)
    (root / "commitlog" / f"{0:020d}").unlink()
    return sorted(path for part in ("commitlog", "consumequeue", "index") for path in (root / part).rglob("[0-9]*"))


@settings(max_examples=60, deadline=None)
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
