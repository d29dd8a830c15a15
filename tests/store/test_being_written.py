"""A store that a broker is writing: nothing is found there that the same store at rest does not have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from mqctl.errors import NotFoundError
from mqctl.model.damage import DamageCode
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.spark.engines import PlainEngine
from mqctl.spark.query import Kernels, Query
from mqctl.spark.selection import Selection
from mqctl.store.consumequeue import ConsumeQueue
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.store.builder import StoreBuilder, message

HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX, 1)
print("held", flush=True)
sys.stdin.read()
"""
ROUNDS = int(os.environ.get("MQCTL_TEST_LIVE_ROUNDS", "3"))
"""The long form is a thousand."""
_OF_A_RUNNING_BROKER = {DamageCode.CHECKPOINT_ZERO, DamageCode.MISSING_PART, DamageCode.CONFIG_MISSING}
"""A checkpoint that was not written yet, and settings that a bare store has none of."""


@contextmanager
def written(root: Path) -> Iterator[StoreDirectory]:
    command = [sys.executable, "-m", "tests.embedded_broker.append_until_closed", str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == "writing\n"
            yield StoreDirectory.open(root)
        finally:
            writer.stdin.close()
    assert writer.returncode == 0


def test_whole_checks_beside_a_writer_find_what_they_find_at_rest(tmp_path: Path) -> None:
    counts, damages = [], set()
    with written(tmp_path / "store") as store:
        assert store.is_written
        for _ in range(ROUNDS):
            report = verify(StoreDirectory.open(store.path))
            damages |= {damage.code for damage in report.damages}
            counts.append(report.record_count)
            assert (report.behind, report.unconfirmed) == ((), None)
            assert report.queue_entries <= report.record_count
    at_rest = verify(StoreDirectory.open(store.path))
    assert not StoreDirectory.open(store.path).is_written
    assert damages - _OF_A_RUNNING_BROKER <= {damage.code for damage in at_rest.damages}
    assert counts[0] < at_rest.record_count  # it was being written, indeed
    assert counts[-1] <= at_rest.record_count


def test_snapshots_and_reports_beside_a_writer(tmp_path: Path) -> None:
    with written(tmp_path / "store") as store:
        for _ in range(ROUNDS):
            snapshot = gather_store(store.path)
            (broker,) = snapshot.brokers
            assert broker.storage is not None
            assert broker.storage.holder is not None
            assert not broker.storage.behind
            rows = PlainEngine(Kernels.NUMPY).rows("counts", Selection((str(store.path),)), Query(()))
            assert sum(int(row["skipped_bytes"] or 0) for row in rows if "skipped_bytes" in row) == 0


def test_queues_that_stand_still_are_told(tmp_path: Path) -> None:
    """Beside a holder of the lock that writes nothing, what lacked at the first look lacks at the second."""
    builder = StoreBuilder()
    for number in range(20):
        builder.append(message("Orders", 0, properties={"KEYS": f"k{number}"}), dispatch=number < 15)
    store = builder.write(tmp_path / "store")
    command = [sys.executable, "-c", HOLDER, str(store / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        report = verify(StoreDirectory.open(store))
        holder.stdin.close()
    (behind,) = report.behind
    assert (behind.max_offset, behind.log_max_offset) == (15, 16)


@pytest.mark.parametrize("is_held", [True, False])
def test_a_queue_file_that_the_broker_deletes_meanwhile_is_not_missed(tmp_path: Path, is_held: bool) -> None:
    builder = StoreBuilder(queue_file_entries=10)
    for _ in range(40):
        builder.append(message("Orders", 0))
    store = builder.write(tmp_path / "store")
    sizes: list[int] = []

    def look(queue: ConsumeQueue) -> int:
        sizes.append(len(queue.files))
        if len(sizes) == 1:
            queue.files[0].path.unlink()
        return sum(len(file.buffer) for file in queue.files)

    command = [sys.executable, "-c", HOLDER, str(store / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        if not is_held:
            holder.stdin.close()
            holder.wait()
        with nullcontext() if is_held else pytest.raises(NotFoundError):
            assert StoreDirectory.open(store).look_at_queue("Orders", 0, look) == 3 * 10 * 20
        holder.stdin.close()
    assert sizes == ([4, 3] if is_held else [4])


@pytest.mark.parametrize("until", [0, 1, 2])
def test_what_is_behind_the_cut_is_not_looked_at(tmp_path: Path, until: int) -> None:
    """Half of a record, and entries for records behind it, are what a writer leaves between two looks."""
    builder = StoreBuilder(commit_log_file_bytes=4_096)
    for number in range(30):
        builder.append(message("Orders", number % 2, b"x" * 100, properties={"KEYS": f"k{number}"}))
    store = StoreDirectory.open(builder.write(tmp_path / "store"))
    at = builder.messages[10 + until].physical_offset
    cut = replace(store.commit_log, until=at)
    assert cut.max_offset == at
    queue = replace(store.consume_queue("Orders", 0), until=at)
    assert queue.max_offset == sum(item.physical_offset < at for item in builder.messages if item.queue_id == 0)
