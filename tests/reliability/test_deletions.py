"""Deleted and renamed files that a power failure brings back, and what a broker makes of them."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from embedded_broker.clock import VirtualClock
from embedded_broker.delay.timer_files import TimerFiles
from embedded_broker.delay.timer_records import DEFAULT, NO_POSITION, TimerCheckpoint, TimerRecord
from embedded_broker.log.store import Storage
from mqctl.errors import StorageError
from mqctl.model.damage import DamageCode, DamageGrade
from mqctl.store.directory import StoreDirectory
from mqctl.store.disk import Disk, sync_path
from mqctl.store.layouts import QUEUE_ENTRY_BYTES, QUEUE_ENTRY_STRUCT
from mqctl.store.verify import verify
from tests.embedded_broker.test_storage import NOW_MS, SMALL, put, put_numbered
from tests.embedded_broker.test_store_recovery import bodies, sound
from tests.reliability.faulty import faulty_files

SHAPE = replace(SMALL, mapped_file_size_commit_log=4_096, mapped_file_size_consume_queue=200)


def opened(root: Path, now_ms: int = NOW_MS) -> Storage:
    storage = Storage(root, SHAPE, VirtualClock(now_ms))
    storage.open()
    return storage


def log_files(root: Path) -> list[Path]:
    return sorted((root / "commitlog").iterdir())


# The layer


@pytest.mark.parametrize("synced", [False, True])
def test_a_deletion_holds_when_its_directory_was_synced(tmp_path: Path, *, synced: bool) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"content")
    with faulty_files(tmp_path, Random(1)) as files:
        path.unlink()
        if synced:
            sync_path(str(tmp_path))
        files.lose_power(0.0)
    assert path.exists() is not synced
    assert synced or path.read_bytes() == b"content"
    assert files.reappeared == (not synced)


@pytest.mark.parametrize("synced", [False, True])
def test_a_removed_directory_comes_back_with_its_files_or_not_at_all(tmp_path: Path, *, synced: bool) -> None:
    directory = tmp_path / "a" / "b"
    directory.mkdir(parents=True)
    (directory / "file").write_bytes(b"1")
    with faulty_files(tmp_path, Random(1)) as files:
        (directory / "file").unlink()
        directory.rmdir()
        if synced:
            sync_path(str(tmp_path / "a"))
        directory.mkdir()
        sync_path(str(tmp_path / "a"))
        (directory / "new").write_bytes(b"2")
        files.lose_power(1.0, small=0.0)
    assert directory.exists()
    assert not (directory / "file").exists()


@pytest.mark.parametrize("synced", [False, True])
def test_a_rename_holds_when_its_directory_was_synced(tmp_path: Path, *, synced: bool) -> None:
    path, fresh = tmp_path / "config", tmp_path / "config.tmp"
    path.write_bytes(b"old")
    with faulty_files(tmp_path, Random(1)) as files:
        fresh.write_bytes(b"new")
        sync_path(str(fresh))
        fresh.replace(path)
        if synced:
            sync_path(str(tmp_path))
        files.lose_power(0.0)
    assert path.read_bytes() == (b"new" if synced else b"old")
    assert fresh.exists() is not synced
    assert files.renames_undone == (not synced)


# The commit log


@pytest.mark.parametrize("survive", [0.0, 0.5])
def test_retention_deletes_for_good(tmp_path: Path, survive: float) -> None:
    """Files that came back stood before a gap, and the broker did not start."""
    for seed in range(3):
        root = tmp_path / str(seed)
        with faulty_files(tmp_path, Random(seed)) as files:
            storage = opened(root)
            for number in range(120):
                put_numbered(storage, number)
            storage.flush()
            storage.retention.delete_all_but_the_newest(3)
            kept = bodies(storage)
            storage.abandon()
            files.lose_power(survive)
        assert len(log_files(root)) == 3
        again = opened(root)
        assert bodies(again) == kept
        again.close()
        assert sound(root)


def test_a_deletion_that_cannot_be_synced_is_the_last(tmp_path: Path) -> None:
    """With queues and index it waits: a log file that comes back without them would not be found in them."""
    with faulty_files(tmp_path, Random(1)) as files:
        storage = opened(tmp_path)
        for number in range(120):
            put_numbered(storage, number)
        storage.flush()
        count = len(log_files(tmp_path))
        files.fail_after(0, errno.EIO, what="sync")
        for _ in range(2):
            with pytest.raises(StorageError):
                storage.retention.delete_all_but_the_newest(3)
        with pytest.raises(StorageError):
            storage.retention.follow_log()
        assert len(log_files(tmp_path)) == count - 1
        files.heal()
        storage.abandon()
        files.lose_power(0.0)
    assert len(log_files(tmp_path)) == count
    again = opened(tmp_path)
    assert sorted(bodies(again)) == list(range(120))
    again.close()
    assert sound(tmp_path)


@pytest.mark.parametrize("cleanly", [True, False])
def test_old_log_files_before_a_gap_are_set_aside(tmp_path: Path, *, cleanly: bool) -> None:
    """A real broker syncs no directory: what it deleted may come back, each file or not."""
    storage = opened(tmp_path)
    for number in range(120):
        put_numbered(storage, number)
    storage.flush()
    first = log_files(tmp_path)[0]
    data = first.read_bytes()
    storage.retention.delete_all_but_the_newest(3)
    kept = bodies(storage)
    if cleanly:
        storage.close()
    else:
        storage.abandon()
    first.write_bytes(data)
    again = opened(tmp_path)
    assert bodies(again) == kept
    put_numbered(again, 120)
    again.close()
    assert (tmp_path / "commitlog.set-aside" / first.name / "commitlog" / first.name).read_bytes() == data
    assert sound(tmp_path)


def test_new_log_files_behind_a_gap_are_set_aside(tmp_path: Path) -> None:
    """Two files were made and not synced, and the power failure took the first of them."""
    storage = opened(tmp_path)
    for number in range(60):
        put_numbered(storage, number)
    storage.flush()
    flushed = len(log_files(tmp_path))
    for number in range(60, 160):
        put_numbered(storage, number)
    storage.abandon()
    lost, last = log_files(tmp_path)[flushed], log_files(tmp_path)[-1]
    assert lost != last
    lost.unlink()
    again = opened(tmp_path)
    stored = bodies(again)
    again.close()
    assert set(stored) >= set(range(60))
    assert list((tmp_path / "commitlog.set-aside").glob(f"*/commitlog/{last.name}"))
    assert sound(tmp_path)


def test_what_was_cut_off_the_log_does_not_follow_its_new_end(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    numbers = 0
    while len(storage.log.starts) < 3:
        put_numbered(storage, numbers)
        numbers += 1
    storage.flush()
    storage.abandon()
    torn = log_files(tmp_path)[1]
    data = bytearray(torn.read_bytes())
    data[2_000:] = bytes(len(data) - 2_000)
    torn.write_bytes(data)
    os.truncate(tmp_path / "checkpoint", 0)
    with faulty_files(tmp_path, Random(1)) as files:
        opened(tmp_path).abandon()
        files.lose_power(0.0)
    assert log_files(tmp_path)[-1] == torn


# What is derived from it


@pytest.mark.parametrize("cleanly", [True, False])
def test_expired_queue_files_before_a_gap_go(tmp_path: Path, *, cleanly: bool) -> None:
    storage = opened(tmp_path)
    for number in range(150):
        put(storage, b"%d" % number)
    storage.flush()
    first = min((tmp_path / "consumequeue" / "TopicTest" / "0").iterdir())
    data = first.read_bytes()
    storage.retention.delete_all_but_the_newest(2)
    bounds = storage.min_offset("TopicTest", 0), storage.max_offset("TopicTest", 0)
    assert bounds[0] > 20
    storage.close() if cleanly else storage.abandon()
    first.write_bytes(data)
    again = opened(tmp_path)
    assert not first.exists()
    assert (again.min_offset("TopicTest", 0), again.max_offset("TopicTest", 0)) == bounds
    again.close()
    assert sound(tmp_path)


@pytest.mark.parametrize("lost", [1, 4])
def test_queue_files_behind_a_gap_are_made_again(tmp_path: Path, lost: int) -> None:
    storage = opened(tmp_path)
    for number in range(80):
        put(storage, b"%d" % number)
    storage.dispatcher.write_out()
    storage.abandon()
    sorted((tmp_path / "consumequeue" / "TopicTest" / "0").iterdir())[lost].unlink()
    again = opened(tmp_path)
    assert (again.min_offset("TopicTest", 0), again.max_offset("TopicTest", 0)) == (0, 80)
    again.close()
    assert sound(tmp_path)


def test_an_empty_queue_file_does_not_say_where_the_queue_begins(tmp_path: Path) -> None:
    """A topic was deleted and made anew; of the new queue the power failure left the name, of its messages nothing."""
    storage = opened(tmp_path)
    assert isinstance(storage.clock, VirtualClock)
    for number in range(60):
        put(storage, topic="Again" if number < 5 else "TopicTest")
    storage.clock.advance(20_000)
    while storage.log.position % SHAPE.mapped_file_size_commit_log > 500:
        put(storage)
    for _ in range(3):
        put(storage, topic="Again")
    storage.flush()
    storage.clock.advance(20_000)
    storage.flush()
    storage.delete_topic("Again")
    path = tmp_path / "consumequeue" / "Again" / "0" / f"{0:020d}"
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes(200))
    storage.abandon()
    again = opened(tmp_path, NOW_MS + 50_000)
    assert again.max_offset("Again", 0) == 8
    again.close()
    mismatches = [
        item for item in verify(StoreDirectory.open(tmp_path)).damages if item.code is DamageCode.QUEUE_OFFSET_MISMATCH
    ]
    assert mismatches == []


def test_an_entry_of_another_log_leaves_no_message_out(tmp_path: Path) -> None:
    """A power failure left an entry of before the log was cut, which points behind where its message stands now."""
    storage = opened(tmp_path)
    for number in range(12):
        put(storage, topic="TopicTest" if number < 4 else "Other")
    storage.flush()
    storage.abandon()
    entries = tmp_path / "consumequeue" / "TopicTest" / "0" / f"{0:020d}"
    others = tmp_path / "consumequeue" / "Other" / "0" / f"{0:020d}"
    data = bytearray(entries.read_bytes())
    data[:20] = others.read_bytes()[100:120]
    entries.write_bytes(data)
    (tmp_path / "checkpoint").unlink()
    again = opened(tmp_path)
    assert again.max_offset("TopicTest", 0) == 4
    again.close()
    assert sound(tmp_path)


def _entries(root: Path, start: int = 0, topic: str = "TopicTest") -> Path:
    return root / "consumequeue" / topic / "0" / f"{start:020d}"


def test_half_an_entry_that_seems_to_lead_to_an_expired_message_is_none(tmp_path: Path) -> None:
    """A full disk left its length and not its offset: it was taken for one of a file that retention had deleted."""
    storage = opened(tmp_path)
    for number in range(45):
        put(storage, b"%d" % number)
    storage.flush()
    storage.retention.delete_all_but_the_newest()
    for number in range(45, 53):
        put(storage, b"%d" % number)
    storage.dispatcher.write_out()
    storage.abandon()
    assert storage.log.min_offset > 0
    path, at = _entries(tmp_path, 1_000), 2 * QUEUE_ENTRY_BYTES
    data = bytearray(path.read_bytes())
    data[at : at + 8] = bytes(8)
    path.write_bytes(data[: at + 20].ljust(len(data), b"\0"))
    again = opened(tmp_path)
    assert again.max_offset("TopicTest", 0) == 53
    assert bodies(again) == list(range(again.min_offset("TopicTest", 0), 53))
    again.close()
    assert sound(tmp_path)


def kill_with_entries_missing(root: Path) -> None:
    """Leaves a store that was killed behind a checkpoint, and lacks entries of messages that this vouches for."""
    storage = opened(root)
    assert isinstance(storage.clock, VirtualClock)
    for number in range(60):
        put(storage, b"%d" % number, topic="TopicTest" if number < 5 or number > 56 else "Other")
        storage.clock.advance(1_000)
    storage.flush()
    storage.clock.advance(20_000)
    storage.flush()
    storage.abandon()
    os.truncate(_entries(root), 3 * QUEUE_ENTRY_BYTES)
    os.truncate(_entries(root), 200)


def test_a_queue_that_lacks_entries_is_made_anew_from_the_whole_log(tmp_path: Path) -> None:
    """Recovery begins behind the messages whose entries are missing, where the checkpoint says that all is there."""
    kill_with_entries_missing(tmp_path)
    again = opened(tmp_path, NOW_MS + 90_000)
    assert bodies(again) == [0, 1, 2, 3, 4, 57, 58, 59]
    again.close()
    assert sound(tmp_path)


def test_a_queue_of_which_only_later_entries_are_left_begins_with_what_the_log_has(tmp_path: Path) -> None:
    """A topic was deleted and made anew; of the new queue the entries survived, of its messages nothing."""
    storage = opened(tmp_path)
    assert isinstance(storage.clock, VirtualClock)
    for number in range(60):
        put(storage, b"%d" % number, topic="TopicTest" if number < 2 or number > 56 else "Other")
        storage.clock.advance(1_000)
    storage.flush()
    storage.abandon()
    entry = QUEUE_ENTRY_STRUCT.pack(storage.log.position + 1_000, 200, 0)
    _entries(tmp_path).write_bytes((entry * 2).ljust(200, b"\0"))
    again = opened(tmp_path, NOW_MS + 90_000)
    assert (again.min_offset("TopicTest", 0), again.max_offset("TopicTest", 0)) == (2, 5)
    assert bodies(again) == [57, 58, 59]
    again.close()


def test_a_file_that_could_not_be_deleted_is_still_to_be_synced(tmp_path: Path) -> None:
    """It counted as gone: a checkpoint came that vouched for entries which no disk had."""
    with faulty_files(tmp_path, Random(1)) as files:
        storage = opened(tmp_path)
        for _ in range(5):
            put(storage, topic="Kept")
        storage.dispatcher.write_out()
        files.fail_after(0, errno.EIO)
        with pytest.raises(StorageError):
            storage.delete_topic("Kept")
        files.heal()
        storage.flush()
        storage.abandon()
        files.lose_power(0.0)
    path = tmp_path / "consumequeue" / "Kept" / "0" / f"{0:020d}"
    assert path.read_bytes()[80:100] != bytes(20)


def test_a_checkpoint_comes_behind_the_deletion_of_a_queue(tmp_path: Path) -> None:
    """The old queue came back where the records that tell of its end were not looked at again."""
    with faulty_files(tmp_path, Random(1)) as files:
        storage = opened(tmp_path)
        for _ in range(5):
            put(storage, topic="Gone")
        put(storage)
        storage.flush()
        storage.delete_topic("Gone")
        put(storage)
        storage.flush()
        storage.abandon()
        files.lose_power(0.0)
    assert not (tmp_path / "consumequeue" / "Gone").exists()


def test_an_index_that_was_rebuilt_does_not_come_back(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for number in range(60):
        put_numbered(storage, number)
    storage.dispatcher.write_out()
    storage.abandon()
    before = {path.name for path in (tmp_path / "index").iterdir()}
    with faulty_files(tmp_path, Random(1)) as files:
        opened(tmp_path, NOW_MS + 1_000).abandon()
        files.lose_power(0.0)
    assert not before & {path.name for path in (tmp_path / "index").iterdir()}


# Timer files


def test_timer_log_files_before_a_gap_go(tmp_path: Path) -> None:
    files = _timer_files(tmp_path)
    assert files.log_pos == 5 * 536
    files.drop_before(3_000)
    kept = sorted((tmp_path / "timerlog").iterdir())
    assert kept[0].name == f"{3 * 536:020d}"
    (tmp_path / "timerlog" / f"{536:020d}").write_bytes(bytes(536))
    again = _opened_timers(tmp_path)
    assert sorted((tmp_path / "timerlog").iterdir()) == kept
    assert again.log_pos == 5 * 536
    slot = again.slot(1_000)
    assert slot is not None
    assert len(again.chain(slot)) == 20


def test_timer_log_files_behind_a_gap_go_when_the_checkpoint_is_before_it(tmp_path: Path) -> None:
    """A file was lost with its name, and the one after it was not: those before had been deleted for that."""
    files = _timer_files(tmp_path)
    files.save(TimerCheckpoint(read_ms=900_000, log_pos=3 * 536 + 52, queue_offset=31), durable=True)
    (tmp_path / "timerlog" / f"{4 * 536:020d}").rename(tmp_path / "timerlog" / f"{5 * 536:020d}")
    again = _opened_timers(tmp_path)
    assert [path.name for path in sorted((tmp_path / "timerlog").iterdir())] == [f"{n * 536:020d}" for n in range(4)]
    assert again.log_pos == 4 * 536
    slot = again.slot(1_000)
    assert slot is not None
    assert len(again.chain(slot)) == 40


@pytest.mark.parametrize("after", range(4))
def test_a_timer_log_file_that_was_made_at_the_second_try_is_there(tmp_path: Path, after: int) -> None:
    """The try that failed left the file, and its directory was never synced."""
    with faulty_files(tmp_path, Random(1)) as layer:
        files = _timer_files(tmp_path)
        record = TimerRecord(52, NO_POSITION, DEFAULT, 900_000, 100_000, 5_000, 100, 0)
        layer.fail_after(after, errno.EIO)
        for _ in range(2):
            with suppress(StorageError):
                files.add(record, 1_000)
        layer.heal()
        files.add(record, 1_000)
        end = files.log_pos
        files.save(TimerCheckpoint(read_ms=900_000, log_pos=end, queue_offset=51), durable=True)
        layer.lose_power(0.0)
    again = _opened_timers(tmp_path)
    assert (again.log_pos, again.is_shorter) == (end, False)


def _opened_timers(root: Path) -> TimerFiles:
    (root / "config").mkdir(exist_ok=True)
    files = TimerFiles(root, Disk(), precision_ms=1_000, log_file_bytes=10 * 52 + 16)
    files.open(lambda record: True, lambda record, check: True, 900)
    return files


def _timer_files(root: Path) -> TimerFiles:
    """Fifty records in one slot, of messages a hundred bytes long, in five files."""
    files = _opened_timers(root)
    for number in range(50):
        files.add(TimerRecord(52, NO_POSITION, DEFAULT, 900_000, 100_000, number * 100, 100, 0), 1_000)
    files.save(TimerCheckpoint(read_ms=900_000, log_pos=files.log_pos, queue_offset=50), durable=True)
    return files


def test_records_of_a_topic_that_was_deleted_and_made_anew_are_no_damage(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for _ in range(30):
        put(storage, topic="Again")
    storage.delete_topic("Again")
    for _ in range(10):
        put(storage, topic="Again")
    storage.close()
    assert sound(tmp_path)
    odd = verify(StoreDirectory.open(tmp_path)).graded(DamageGrade.ODD)
    assert [(item.code, item.count) for item in odd if item.topic] == [(DamageCode.QUEUE_MISSING_RECORD, 30)]
