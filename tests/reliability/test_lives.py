"""What a broker that died leaves to the next one: names and data that no disk has, half records, stale progress."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.clock import VirtualClock
from embedded_broker.delay.timer_files import TimerFiles
from embedded_broker.delay.timer_records import DEFAULT, NO_POSITION, TimerCheckpoint, TimerRecord
from embedded_broker.log.settings import ASYNC_FLUSH, SYNC_FLUSH
from embedded_broker.log.store import Storage
from mqctl.errors import StorageError
from mqctl.model.names import HALF_TOPIC, OP_TOPIC, TRANSACTION_GROUP
from mqctl.protocol.message_record import decode_message
from mqctl.store.disk import Disk, DiskFullError
from mqctl.store.layouts import TIMER_CHECK
from tests.embedded_broker.test_storage import NOW_MS, found_by_key, put
from tests.embedded_broker.test_store_recovery import bodies, sound
from tests.reliability.faulty import faulty_files
from tests.reliability.test_deletions import SHAPE, kill_with_entries_missing, opened
from tests.reliability.test_timer_faults import SECOND, came, cluster_at, damages, timed

LATER_MS = NOW_MS + 90_000


def test_a_queue_that_was_about_to_be_made_anew_is_made_anew_by_the_next_life(tmp_path: Path) -> None:
    """The checkpoint went on to vouch for messages whose entries had been deleted for it."""
    kill_with_entries_missing(tmp_path)
    disk = Disk()
    disk.free_bytes = 0
    with pytest.raises(StorageError):
        Storage(tmp_path, SHAPE, VirtualClock(LATER_MS), disk=disk).open()
    again = opened(tmp_path, LATER_MS)
    assert bodies(again) == [0, 1, 2, 3, 4, 57, 58, 59]
    again.close()
    assert sound(tmp_path)


def test_names_of_queue_files_that_a_killed_life_made_are_on_the_disk_before_a_checkpoint_is(tmp_path: Path) -> None:
    with faulty_files(tmp_path, Random(1)) as files:
        first = opened(tmp_path)
        for number in range(5):
            put(first, b"%d" % number)
        first.dispatcher.write_out()
        first.abandon()
        second = opened(tmp_path, NOW_MS + 1_000)
        assert isinstance(second.clock, VirtualClock)
        for number in range(5, 60):
            put(second, b"%d" % number, topic="TopicTest" if number > 56 else "Other")
            second.clock.advance(1_000)
        second.flush()
        second.clock.advance(20_000)
        second.flush()
        second.abandon()
        files.lose_power(0.0)
    third = opened(tmp_path, LATER_MS)
    assert bodies(third) == [0, 1, 2, 3, 4, 57, 58, 59]
    third.close()
    assert sound(tmp_path)


def test_what_a_sync_of_the_last_life_dropped_is_written_again(tmp_path: Path) -> None:
    """For the system it is written: the next life reads it, and no sync of that brings it to the disk."""
    with faulty_files(tmp_path, Random(1)) as files:
        first = opened(tmp_path)
        put(first, b"0")
        first.flush()
        for number in range(1, 3):
            put(first, b"%d" % number)
        files.fail_after(0, errno.EIO, what="sync")
        with pytest.raises(StorageError):
            first.flush()
        files.heal()
        first.abandon()
        second = opened(tmp_path, NOW_MS + 1_000)
        put(second, b"3")
        second.flush()
        second.abandon()
        files.lose_power(0.0)
    third = opened(tmp_path, LATER_MS)
    assert bodies(third) == [0, 1, 2, 3]
    third.close()
    assert sound(tmp_path)


def test_timer_records_that_a_sync_of_the_last_life_dropped_are_written_again(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()

    def opened_timers() -> TimerFiles:
        files = TimerFiles(tmp_path, Disk(), precision_ms=1_000, log_file_bytes=10 * 52 + 16)
        files.open(lambda record: True, lambda record, check: True, 900)
        return files

    with faulty_files(tmp_path, Random(1)) as layer:
        first = opened_timers()
        first.save(TimerCheckpoint(read_ms=900_000, log_pos=0, queue_offset=0), durable=True)
        for number in range(3):
            first.add(TimerRecord(52, NO_POSITION, DEFAULT, 900_000, 100_000, number * 100, 100, 0), 1_000)
        layer.fail_after(0, errno.EIO, what="sync")
        with pytest.raises(StorageError):
            first.sync()
        layer.heal()
        second = opened_timers()
        second.save(TimerCheckpoint(read_ms=900_000, log_pos=second.log_pos, queue_offset=3), durable=True)
        layer.lose_power(0.0)
    third = opened_timers()
    assert (third.log_pos, third.is_shorter) == (3 * 52, False)
    slot = third.slot(1_000)
    assert slot is not None
    assert len(third.chain(slot)) == 3


def test_timer_records_written_together_are_those_written_one_by_one_and_none_hangs_when_a_slot_is_refused(
    tmp_path: Path,
) -> None:
    choice = Random(5)
    hung = [(number * 100, choice.choice((1_000, 1_001, 1_007))) for number in range(64)]

    def opened_timers(name: str, disk: Disk) -> TimerFiles:
        (tmp_path / name / "config").mkdir(parents=True)
        files = TimerFiles(tmp_path / name, disk, precision_ms=1_000, log_file_bytes=10 * 52 + 16)
        files.open(lambda record: True, lambda record, check: True, 900)
        return files

    def record(place: int, units: int) -> TimerRecord:
        return TimerRecord(52, NO_POSITION, DEFAULT, 900_000, (units - 900) * 1_000, place, 100, 0)

    single, disk = opened_timers("single", Disk()), _Refusing()
    together = opened_timers("together", disk)
    for place, units in hung:
        single.add(record(place, units), units)
    waiting = [(record(place, units), units) for place, units in hung]
    refused, counts = 0, set[int]()
    while waiting:
        before = (together.log_pos, [together.slot(units) for units in (1_000, 1_001, 1_007)])
        disk.passes = choice.choice((0, 1, 2))
        try:
            count = together.add_some(waiting)
        except DiskFullError:
            assert (together.log_pos, [together.slot(units) for units in (1_000, 1_001, 1_007)]) == before
            disk.passes, refused = None, refused + 1
            count = together.add_some(waiting)
        disk.passes = None
        counts.add(count)
        del waiting[:count]
    assert refused > 5 and max(counts) > 4
    for files in (single, together):
        files.sync()
    assert together.log_pos == single.log_pos
    for name in ("timerwheel", *(f"timerlog/{start:020d}" for start in range(0, 7 * 536, 536))):
        assert (tmp_path / "together" / name).read_bytes() == (tmp_path / "single" / name).read_bytes(), name


class _Refusing(Disk):
    """A disk that takes some writes, of the next one the half, and then is full."""

    def __init__(self) -> None:
        super().__init__()
        self.passes: int | None = None

    def write(self, path: str, data: bytes | bytearray, position: int) -> None:
        if self.passes == 0:
            super().write(path, data[: len(data) // 2], position)
            raise DiskFullError(path)
        self.passes = None if self.passes is None else self.passes - 1
        super().write(path, data, position)


class _Cramped(Disk):
    """A disk that takes a part of each of the next writes, and then is full."""

    def __init__(self) -> None:
        super().__init__()
        self.takes: list[int] = []

    def write(self, path: str, data: bytes | bytearray, position: int) -> None:
        if not self.takes:
            super().write(path, data, position)
            return
        super().write(path, data[: self.takes.pop(0)], position)
        raise DiskFullError(path)


def test_parts_of_two_refused_messages_make_no_third_one(tmp_path: Path) -> None:
    """Only bodies have a checksum, and theirs are the same: half of one over the rest of the other was a record."""
    disk = _Cramped()
    storage = Storage(tmp_path, SHAPE, VirtualClock(NOW_MS), disk=disk)
    storage.open()
    size = put(storage, b"0").size_bytes
    disk.takes = [size + 8, 0, size - 2, 0, 0]  # of the first one all but the end; nothing of it can be wiped out
    for key in ("a longer key", "k2"):
        with suppress(StorageError):
            put(storage, b"1", key=key)
    storage.abandon()
    again = opened(tmp_path, NOW_MS + 1_000)
    assert bodies(again) == [0]
    put(again, b"2")
    again.close()
    assert sound(tmp_path)


def test_an_index_file_whose_header_was_lost_is_made_anew(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for number in range(3):
        put(storage, b"%d" % number)
    storage.flush()
    storage.abandon()
    (tmp_path / "checkpoint").unlink()
    (path,) = (tmp_path / "index").iterdir()
    data = path.read_bytes()
    path.write_bytes(bytes(40) + b"\1" * 400 + data[440:])
    again = opened(tmp_path, NOW_MS + 1_000)
    records = found_by_key(again, "TopicTest", "k1", 0, NOW_MS + 1_000, 10)
    assert [decode_message(record).body for record in records] == [b"0", b"1", b"2"]
    again.close()
    assert sound(tmp_path)


def test_progress_of_transactions_behind_the_end_comes_back_from_no_file(tmp_path: Path) -> None:
    """A power failure may give back the file of before, or have its backup read, when new messages are there."""
    config = tmp_path / "broker-a" / "config"
    config.mkdir(parents=True)
    topics = f'"{HALF_TOPIC}@{TRANSACTION_GROUP}":{{0:7}},"{OP_TOPIC}@{TRANSACTION_GROUP}":{{0:7}}'
    for name in ("consumerOffset.json", "consumerOffset.json.bak"):
        (config / name).write_text(f'{{"offsetTable":{{{topics}}}}}')
    with (
        faulty_files(tmp_path, Random(1)) as files,
        EmbeddedCluster(data_dir=tmp_path, virtual_time=True, settings={"flushDiskType": ASYNC_FLUSH}) as cluster,
    ):
        cluster.broker().kill()
        files.lose_power(0.0)
        for name in ("consumerOffset.json", "consumerOffset.json.bak"):
            assert "0:7" not in (config / name).read_text()


# What a real 5.3.3 leaves


@pytest.mark.parametrize("clean", [True, False])
def test_a_checkpoint_whose_place_in_the_timer_log_is_older_than_the_rest_loses_nothing(
    tmp_path: Path, *, clean: bool
) -> None:
    """5.3.3 notes the place before it flushes: records behind it were read from the topic, and some delivered."""
    with cluster_at(tmp_path, SYNC_FLUSH, timerRollWindowSlot="172800") as cluster:
        timed(cluster, 0, 600 * SECOND)
        cluster.advance(5 * SECOND)
        check = cluster.broker().store / "config" / "timercheck"
        older = TIMER_CHECK.unpack(check.read_bytes()[: TIMER_CHECK.size])[1]
        timed(cluster, 1, 2 * SECOND)
        timed(cluster, 2, 600 * SECOND)
        cluster.advance(3 * SECOND)
        assert came(cluster) == [1]
        cluster.broker().stop() if clean else cluster.broker().kill()
        fields = list(TIMER_CHECK.unpack(check.read_bytes()[: TIMER_CHECK.size]))
        assert fields[1] > older
        fields[1] = older
        check.write_bytes(TIMER_CHECK.pack(*fields).ljust(4_096, b"\0"))
        cluster.broker().start()
        cluster.advance(700 * SECOND)
        assert came(cluster) == [0, 1, 2]
        assert damages(cluster) == []


def test_a_lost_timer_checkpoint_brings_back_nothing_whose_neighbours_have_expired(tmp_path: Path) -> None:
    with cluster_at(tmp_path, mappedFileSizeCommitLog="8192") as cluster:
        for number in range(40):
            timed(cluster, number, 2 * SECOND)
        cluster.advance(5 * SECOND)
        timed(cluster, 40, 60 * SECOND)
        cluster.advance(2 * SECOND)
        end = cluster.broker().on_loop(lambda broker: broker.storage.max_offset("T", 0))
        cluster.broker().stop()
        store = cluster.broker().store
        (store / "config" / "timercheck").unlink()
        min((store / "commitlog").iterdir()).unlink()
        cluster.broker().start()
        cluster.advance(100 * SECOND)
        assert end == 40
        assert cluster.broker().on_loop(lambda broker: broker.storage.max_offset("T", 0)) == 41
