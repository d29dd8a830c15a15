"""What a start makes of a store that was killed, torn, or written by a real broker."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_broker.clock import VirtualClock
from embedded_broker.log.settings import ASYNC_FLUSH, SYNC_FLUSH, StoreSettings
from embedded_broker.log.store import Appended, DiskFullError, Storage
from mqctl.errors import ConfigurationError, StorageError
from mqctl.model.damage import DamageGrade
from mqctl.model.java_hash import java_string_hash
from mqctl.protocol.message_record import decode_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.disk import Disk
from mqctl.store.record_writer import Incoming
from mqctl.store.recovery import RecordScan
from mqctl.store.verify import verify
from tests.conftest import REPOSITORY
from tests.embedded_broker.test_storage import NOW_MS, SMALL, found_by_key, opened, put, put_numbered
from tests.store.builder import StoreBuilder, message

QUEUES = 3
BODY_AT = 88


def shape_of(store: StoreDirectory) -> StoreSettings:
    """Settings under which the store at hand was written."""
    index = store.index_files()[0]
    queue = next(store.consume_queue(*name) for name in store.queue_ids())
    assert store.commit_log.file_size_bytes is not None
    assert queue.file_size_bytes is not None
    return StoreSettings(
        mapped_file_size_commit_log=store.commit_log.file_size_bytes,
        mapped_file_size_consume_queue=queue.file_size_bytes,
        max_hash_slot_num=index.slot_table_size,
        max_index_num=index.entry_capacity,
    )


def bodies(storage: Storage) -> list[int]:
    """The numbers of all messages that can be read, which `put_numbered` wrote."""
    bodies_read = []
    for queue_id in range(QUEUES):
        offset = storage.min_offset("TopicTest", queue_id)
        while offset < storage.max_offset("TopicTest", queue_id):
            entries = storage.entries("TopicTest", queue_id, offset, 1_000)
            for number, (physical_offset, size, _) in enumerate(entries):
                record = storage.message_at(physical_offset)
                assert record is not None
                assert len(record) == size
                decoded = decode_message(record)
                assert (decoded.queue_id, decoded.queue_offset) == (queue_id, offset + number)
                bodies_read.append(int(decoded.body.split(b" ")[0]))
            offset += len(entries)
    return sorted(bodies_read)


def sound(root: Path) -> bool:
    report = verify(StoreDirectory.open(root))
    bad = [damage for damage in report.damages if damage.grade is DamageGrade.DAMAGE]
    assert bad == []
    return True


# Stores of a real broker


def test_a_killed_store_recovers_as_the_real_broker_recovered_it(
    store_copy: Callable[[str], Path], golden_store: Callable[[str], Path]
) -> None:
    root = store_copy("store-killed")
    real = StoreDirectory.open(golden_store("store-killed-recovered-clean"))
    storage = Storage(root, shape_of(StoreDirectory.open(root)), VirtualClock(NOW_MS))
    recovery = storage.open()
    assert (recovery.clean, recovery.dispatched_count, recovery.log_end) == (False, 1, 231_215)
    storage.close()
    ours = StoreDirectory.open(root)
    assert ours.commit_log.max_offset == 231_215
    for name in ours.queue_ids():
        entries, expected = ours.consume_queue(*name).entries(), real.consume_queue(*name).entries()
        for column in ("physical_offset", "size"):
            assert np.array_equal(entries[column], expected[column][: len(entries)])
    assert sum(len(ours.consume_queue(*name).entries()) for name in ours.queue_ids()) == 1_207
    (index,), (expected_index,) = ours.index_files(), real.index_files()
    assert np.array_equal(index.entries, expected_index.entries[: len(index.entries)])
    assert index.header.begin_time_ms == expected_index.header.begin_time_ms
    assert not ours.abort()


@pytest.mark.parametrize("name", ["store-clean", "store-rolled-clean"])
def test_opening_a_clean_store_changes_no_message(store_copy: Callable[[str], Path], name: str) -> None:
    root = store_copy(name)

    def contents() -> dict[str, str]:
        parts = [root / part for part in ("commitlog", "consumequeue", "index")]
        files = [path for part in parts for path in sorted(part.rglob("*")) if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = contents()
    storage = Storage(root, shape_of(StoreDirectory.open(root)), VirtualClock(NOW_MS))
    recovery = storage.open()
    assert recovery.clean
    assert (recovery.dispatched_count, recovery.cut_bytes, recovery.cut_queue_count) == (0, 0, 0)
    storage.close()
    assert contents() == before


def test_tags_codes_that_a_real_broker_kept_beside_its_queues_are_followed(store_copy: Callable[[str], Path]) -> None:
    root = store_copy("store-clean")
    storage = Storage(root, shape_of(StoreDirectory.open(root)), VirtualClock(NOW_MS))
    storage.open()
    seen: set[int] = set()
    storage.read("TopicDelay", 0, 0, max_count=32, wants=lambda code: not seen.add(code))  # type: ignore[func-returns-value]
    assert seen == {java_string_hash("TagD")}
    ((_, _, code), *_) = storage.entries("SCHEDULE_TOPIC_XXXX", 1, 0, 10)
    assert storage.plain_code("SCHEDULE_TOPIC_XXXX", 1, code) == 1_795_217_243_555 + 5_000
    storage.close()


@pytest.mark.parametrize(
    "other",
    [
        replace(SMALL, mapped_file_size_commit_log=60_000),
        replace(SMALL, mapped_file_size_consume_queue=60_000),
        replace(SMALL, max_index_num=60_000),
    ],
)
def test_files_of_another_size_are_refused_and_left_alone(tmp_path: Path, other: StoreSettings) -> None:
    storage = opened(tmp_path)
    put_numbered(storage, 0)
    storage.close()
    with pytest.raises(ConfigurationError, match="says"):
        Storage(tmp_path, other, VirtualClock(NOW_MS)).open()
    again = opened(tmp_path)
    assert bodies(again) == [0]
    again.close()


def test_the_bytes_are_those_of_the_reference_builder(tmp_path: Path) -> None:
    builder = StoreBuilder(commit_log_file_bytes=16_384, queue_file_entries=100, index_slots=50, index_entries=1_000)
    clock = VirtualClock(NOW_MS)
    shape = replace(SMALL, max_index_num=1_000)
    storage = opened(tmp_path / "ours", clock, shape)
    for number in range(250):
        item = message(
            "TopicA" if number % 5 else "%RETRY%group",
            number % 2,
            b"%d " % number * (number % 40),
            {"TAGS": "TagA", "KEYS": f"k{number}", "UNIQ_KEY": f"{number:032X}"} if number % 3 else {},
            store_time_ms=NOW_MS + number * 10,
            born_host="[2001:db8::1]:40001" if number % 7 == 0 else "192.0.2.2:40001",
        )
        stored = builder.append(item)
        text = "\x02".join(f"{name}\x01{value}" for name, value in item.properties.items())
        incoming = Incoming(
            topic=item.topic,
            queue_id=item.queue_id,
            body=item.body,
            properties=text,
            born_host=item.born_host,
            store_host=item.store_host,
            born_ms=item.born_time_ms,
        )
        appended = storage.append(incoming)
        assert (appended.physical_offset, appended.queue_offset) == (stored.physical_offset, stored.queue_offset)
        clock.advance(10)
    storage.close()
    builder.write(tmp_path / "reference")
    for part in ("commitlog", "consumequeue"):
        ours = sorted((tmp_path / "ours" / part).rglob("*"))
        reference = sorted((tmp_path / "reference" / part).rglob("*"))
        assert [path.relative_to(tmp_path / "ours") for path in ours] == [
            path.relative_to(tmp_path / "reference") for path in reference
        ]
        for path, twin in zip(ours, reference, strict=True):
            assert path.is_dir() or path.read_bytes() == twin.read_bytes(), path
    (index,), (twin,) = (tmp_path / "ours" / "index").iterdir(), (tmp_path / "reference" / "index").iterdir()
    assert index.read_bytes() == twin.read_bytes()


# Torn tails


def _covered(records: list[Appended], position: int) -> int:
    """Draws `position` back to where damage shows: topic and properties have no checksum, nor have the other fields."""
    for number, record in enumerate(records):
        if record.physical_offset <= position < record.physical_offset + record.size_bytes:
            body_start = record.physical_offset + BODY_AT
            body_size = len(b"%d " % number * (number % 23 + 1))
            if position < body_start:
                return record.physical_offset + 4
            return min(position, body_start + body_size - 1)
    return position


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 120),
    flushed=st.integers(0, 120),
    back=st.integers(1, 1_500),
    junk=st.sampled_from(["zeros", "garbage", "flip"]),
)
def test_a_torn_tail_is_cut_and_the_rest_kept(count: int, flushed: int, back: int, junk: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        clock = VirtualClock(NOW_MS)
        storage = opened(root, clock)
        ends = []
        for number in range(count):
            if number == flushed:
                storage.flush()
            ends.append(put_numbered(storage, number))
            clock.advance(2_000)
        storage.dispatcher.write_out()
        storage.abandon()
        end = storage.log.position
        file_start = ends[-1].physical_offset - ends[-1].physical_offset % SMALL.mapped_file_size_commit_log
        cut = _covered(ends, max(file_start, end - back))
        path = Path(storage.log.path(cut))
        with path.open("r+b") as file:
            file.seek(cut % SMALL.mapped_file_size_commit_log)
            if junk == "flip":
                old = file.read(1)
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes((old[0] ^ 0x55,)))
            else:
                pattern = b"\0\0\0\0" if junk == "zeros" else b"\xda\xa3\x20\xa7"
                file.write(pattern * ((end - cut) // 4 + 1))
        again = Storage(root, SMALL, VirtualClock(clock.now_ms()))
        recovery = again.open()
        kept = bodies(again)
        whole = [number for number, one in enumerate(ends) if one.physical_offset + one.size_bytes <= cut]
        assert kept == whole
        assert recovery.log_end == again.log.position
        more = put_numbered(again, len(kept))
        assert bodies(again) == [*kept, len(kept)]
        assert more.physical_offset >= recovery.log_end
        again.close()
        assert sound(root)


@pytest.mark.parametrize("clean", [True, False])
def test_records_larger_than_what_recovery_reads_at_once(tmp_path: Path, *, clean: bool) -> None:
    shape = replace(SMALL, mapped_file_size_commit_log=1 << 24)
    storage = opened(tmp_path, settings=shape)
    sizes = [1, 4 << 20, 100, 70_000, (4 << 20) - 1, *range(30_000, 30_150), 4 << 20, 5]
    ends = [put(storage, b"z" * size) for size in sizes]
    if clean:
        storage.close()
    else:
        storage.abandon()
    again = Storage(tmp_path, shape, VirtualClock(NOW_MS))
    recovery = again.open()
    assert (recovery.checked_count, recovery.log_end) == (len(sizes), ends[-1].physical_offset + ends[-1].size_bytes)
    assert again.max_offset("TopicTest", 0) == len(sizes)
    again.close()


def test_recovery_counts_the_same_whatever_it_reads_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = opened(tmp_path)
    for number in range(300):
        put_numbered(storage, number)
    end = storage.log.position
    for window_bytes in [*range(90, 700, 7), 16_384, 20_000]:
        monkeypatch.setattr("mqctl.store.recovery._WINDOW_BYTES", window_bytes)
        for count in (lambda scan: scan.count(), lambda scan: len(list(scan))):
            scan = RecordScan(storage.log, 0, check_crc=True)
            assert (count(scan), scan.position) == (300, end)
    storage.close()


# Power failures


class VolatileDisk(Disk):
    """A disk that remembers what it was told to write and not to sync, so that a power failure can take it back."""

    def __init__(self) -> None:
        super().__init__()
        self.at_risk: dict[str, list[tuple[int, bytes]]] = {}

    def write(self, path: str, data: bytes | bytearray, position: int) -> None:
        self.at_risk.setdefault(path, []).append((position, self.read(path, len(data), position)))
        super().write(path, data, position)

    def write_each(self, path: str, pieces: Iterable[tuple[int, bytes]]) -> None:
        for position, data in pieces:
            self.write(path, data, position)

    def sync_file(self, path: str) -> None:
        super().sync_file(path)
        self.at_risk.pop(path, None)

    def fail(self, lost: Callable[[], bool]) -> None:
        """Takes back writes that were not synced, those of which `lost` says so."""
        for path, writes in self.at_risk.items():
            for position, before in reversed(writes):
                if lost() and Path(path).exists():
                    super().write(path, before, position)


@settings(max_examples=80, deadline=None)
@given(
    steps=st.lists(st.sampled_from(["put", "put", "put", "commit", "write out", "flush"]), max_size=150),
    survive=st.sampled_from([0.0, 0.5, 0.9]),
    random=st.randoms(use_true_random=False),
)
def test_a_power_failure_takes_nothing_that_was_flushed(steps: list[str], survive: float, random: Random) -> None:
    shape = replace(SMALL, flush_disk_type=SYNC_FLUSH, flush_interval_commit_log=1 << 60)
    with tempfile.TemporaryDirectory() as name:
        root, disk, clock = Path(name), VolatileDisk(), VirtualClock(NOW_MS)
        storage = Storage(root, shape, clock, disk=disk)
        storage.open()
        count = acknowledged = 0
        for step in steps:
            if step == "put":
                put_numbered(storage, count)
                count += 1
                clock.advance(1_500)
            elif step == "commit":
                failures: list[StorageError | None] = []
                storage.when_durable(failures.append)
                assert failures == [None]
                acknowledged = count
            elif step == "write out":
                storage.dispatcher.write_out()
            else:
                storage.flush()
                acknowledged = count
        disk.fail(lambda: random.random() >= survive)
        storage.abandon()
        again = Storage(root, shape, clock)
        again.open()
        stored = bodies(again)
        assert stored == list(range(len(stored)))
        assert acknowledged <= len(stored) <= count
        put_numbered(again, len(stored))
        assert bodies(again) == [*stored, len(stored)]
        again.close()
        assert sound(root)


# Full disks


@settings(max_examples=80, deadline=None)
@given(
    steps=st.lists(st.one_of(st.none(), st.integers(0, 3_000), st.integers(0, 60)), max_size=120),
    clean=st.booleans(),
)
def test_a_full_disk_refuses_and_damages_nothing(steps: list[int | None], *, clean: bool) -> None:
    """Each step appends a message with so many bytes of room left; None frees the disk and flushes."""
    with tempfile.TemporaryDirectory() as name:
        root, clock = Path(name), VirtualClock(NOW_MS)
        storage = opened(root, clock)
        count = 0
        for room in steps:
            storage.disk.free_bytes = room
            clock.advance(700)  # the periodic flush meets the full disk, too
            try:
                if room is None:
                    storage.flush()
                put_numbered(storage, count)
                count += 1
                if room is not None and room % 5 == 0:
                    storage.dispatcher.write_out()
            except DiskFullError:
                assert room is not None
        storage.disk.free_bytes = None
        assert bodies(storage) == list(range(count))
        if clean:
            storage.close()
        else:
            storage.abandon()
        again = opened(root, clock)
        assert bodies(again) == list(range(count))
        for number in range(count):
            (record,) = found_by_key(again, "TopicTest", f"k{number}", 0, 1 << 62, 64)
            assert decode_message(record).body.startswith(b"%d " % number)
        again.close()
        assert sound(root)


# Kills


@pytest.mark.parametrize("flush_disk_type", [SYNC_FLUSH, ASYNC_FLUSH])
def test_nothing_acknowledged_is_lost_to_kills_under_traffic(tmp_path: Path, flush_disk_type: str) -> None:
    acknowledged = 0
    for wanted in (1, 40, 200, 75, 500):
        command = [sys.executable, "-m", "tests.embedded_broker.append_until_killed", str(tmp_path), flush_disk_type]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY) as process:
            assert process.stdout is not None
            started_with = int(process.stdout.readline())
            assert started_with >= acknowledged
            for _ in range(wanted):
                acknowledged = int(process.stdout.readline()) + 1
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read().split()
            acknowledged = int(rest[-1]) + 1 if rest else acknowledged
    storage = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    recovery = storage.open()
    assert not recovery.clean
    stored = bodies(storage)
    assert stored == list(range(len(stored)))
    assert len(stored) >= acknowledged
    storage.close()
    assert sound(tmp_path)


def test_a_topic_made_anew_keeps_its_new_messages_over_a_kill(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for number in range(9):
        put_numbered(storage, number)
    storage.flush()
    storage.delete_topic("TopicTest")
    for number in range(100, 106):
        put_numbered(storage, number)
    storage.abandon()
    again = opened(tmp_path)
    assert bodies(again) == list(range(100, 106))
    again.close()
