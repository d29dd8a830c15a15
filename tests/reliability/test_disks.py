"""A few rounds on a failing disk, and what such rounds have found, each by itself."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.clock import VirtualClock
from embedded_broker.delay.levels import DelaySchedule
from embedded_broker.log.settings import SYNC_FLUSH
from embedded_broker.log.store import Storage
from embedded_broker.tables.config_file import write_config
from embedded_broker.transactions.half_messages import Transactions
from embedded_broker.transactions.op_messages import OpReader
from mqctl.errors import StorageError
from mqctl.model.message import Message
from mqctl.protocol.requests_client import GetMaxOffset, QueryConsumerOffset, UpdateConsumerOffset
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.test_storage import NOW_MS, SMALL, put, put_numbered
from tests.embedded_broker.test_store_recovery import bodies, sound
from tests.embedded_broker.wire import Peer
from tests.reliability.admin_traffic import topic_request
from tests.reliability.disks import run
from tests.reliability.faulty import faulty_files
from tests.rings import rest_is_long

_MET = (
    "faults", "taken_back", "lost_entries", "reappeared", "renames_undone", "torn_configs", "repeated_delays_inside",
    "repeated_commits_inside", "timers", "recalled", "offsets_beyond", "named_by_doctor", "corrected", "admin_promised",
)  # fmt: skip


@pytest.mark.long
def test_rounds_of_failing_disks_lose_nothing() -> None:
    """Twenty rounds, and as many again where chance left out something of what they are to meet."""
    missing = set(_MET)
    for seed in range(2, 8):
        figures = run(20, seed)
        assert figures.problems == []
        assert (figures.rounds, figures.lost, figures.repeats_outside, figures.admin_lost) == (20, 0, 0, 0)
        assert figures.acknowledged > 150
        assert figures.offsets_beyond == figures.named_by_doctor == figures.corrected
        missing = {name for name in missing if not getattr(figures, name)}
        if not missing:
            return
    assert missing == set()


@pytest.mark.long
def test_the_checks_see_a_message_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that acknowledges without syncing is found out."""
    from embedded_broker.log import flushing

    def commit_without_sync(flusher: flushing.Flusher) -> None:
        while flusher._waiting:
            flusher._waiting.pop(0)(None)

    monkeypatch.setattr(flushing.Flusher, "_commit", commit_without_sync)
    monkeypatch.setattr("tests.reliability.disks._FAULTS", (("sync", 5),))
    assert any(run(12, seed).lost for seed in range(2, 8))


def _deliver_twice(patch: pytest.MonkeyPatch) -> None:
    original = DelaySchedule._deliver
    patch.setattr(DelaySchedule, "_deliver", lambda self, place: original(self, place) and original(self, place))


def _deliver_and_forget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DelaySchedule, "_persist", lambda self: None)


def _check_what_is_ended(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OpReader, "is_ended", lambda self, offset: False)


def _commit_twice(patch: pytest.MonkeyPatch) -> None:
    original = Transactions._commit

    def commit(self: Transactions, half: Message, properties: str) -> None:
        original(self, half, properties)
        original(self, half, properties)

    patch.setattr(Transactions, "_commit", commit)


@pytest.mark.parametrize(
    "plant", rest_is_long([_deliver_twice, _deliver_and_forget, _check_what_is_ended, _commit_twice], _commit_twice)
)
def test_the_checks_see_what_comes_twice_outside_of_its_window(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert any(run(4, seed).repeats_outside for seed in range(2, 12))


@pytest.mark.parametrize("kept", [8, 11, 13, 16, 19])
def test_a_torn_last_entry_of_a_queue_is_dispatched_again(tmp_path: Path, kept: int) -> None:
    """Of an entry that lies across blocks a full disk leaves the offset and part of the size, or half a tags code."""
    storage = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    storage.open()
    for number in range(12):
        put_numbered(storage, number)
    storage.dispatcher.write_out()
    storage.abandon()
    (path,) = (tmp_path / "consumequeue" / "TopicTest" / "1").iterdir()
    data = bytearray(path.read_bytes())
    data[3 * 20 + kept : 4 * 20] = bytes(20 - kept)
    path.write_bytes(data)
    again = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    assert again.open().log_end == storage.log.position
    assert bodies(again) == list(range(12))
    again.close()
    assert sound(tmp_path)
    assert verify(StoreDirectory.open(tmp_path)).queue_entries == 12


def test_half_a_record_over_the_rest_of_another_is_no_record(tmp_path: Path) -> None:
    """A refused message may leave its begin before the remains of one that was refused earlier: zeros in its text."""
    storage = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    storage.open()
    put(storage)
    last = put(storage, key="a-long-key")
    storage.abandon()
    path = Path(storage.log.path(0))
    data = bytearray(path.read_bytes())
    end = last.physical_offset + last.size_bytes
    data[end - 6 : end - 2] = bytes(4)
    path.write_bytes(data)
    again = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    assert again.open().log_end == last.physical_offset
    again.close()
    assert sound(tmp_path)


@pytest.mark.quick
def test_zeros_that_a_client_sent_are_kept_where_the_log_goes_on(tmp_path: Path) -> None:
    storage = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    storage.open()
    put(storage, key="a\0b")
    put(storage)
    storage.abandon()
    again = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    again.open()
    assert again.max_offset("TopicTest", 0) == 2
    again.close()


def test_the_periodic_flush_takes_nothing_from_those_who_wait(tmp_path: Path) -> None:
    """Between an append and its commit the periodic flush took the file: it was acknowledged before it was on disk."""
    deferred: list[object] = []
    clock = VirtualClock(NOW_MS)
    shape = replace(SMALL, flush_disk_type=SYNC_FLUSH)
    storage = Storage(tmp_path, shape, clock, defer=deferred.append)
    storage.open()
    clock.advance(5_000)
    put(storage)
    failures: list[StorageError | None] = []
    storage.when_durable(failures.append)
    synced: list[str] = []
    original = storage.disk.sync_file
    clock.advance(shape.flush_interval_commit_log)

    def sync_file(_disk: object, path: str) -> None:
        synced.append(path)
        original(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(storage.disk), "sync_file", sync_file)
        deferred.pop()()  # type: ignore[operator]
    assert failures == [None]
    assert storage.log.path(0) in synced
    storage.close()


def test_a_durable_configuration_is_old_or_new_after_a_power_failure(tmp_path: Path) -> None:
    for seed in range(40):
        file = tmp_path / str(seed) / "topics.json"
        with faulty_files(tmp_path, Random(seed)) as files:
            for number in range(3):
                write_config(file.parent, file.name, {"n": number}, durable=True)
            files.lose_power(0.0)
        assert file.read_text().split() == ["{", '"n":2', "}"]


def test_the_clock_that_was_set_back_hides_no_record(tmp_path: Path) -> None:
    """Store times before the checkpoint's belong to records that came after it; the offset in it tells."""
    shape = replace(SMALL, mapped_file_size_commit_log=4_096)
    storage = Storage(tmp_path, shape, VirtualClock(NOW_MS + 3_600_000))
    storage.open()
    put_numbered(storage, 0)
    storage.close()
    again = Storage(tmp_path, shape, VirtualClock(NOW_MS))
    again.open()
    for number in range(1, 60):
        put_numbered(again, number)
    again.dispatcher.write_out()
    assert again.log.position > 2 * 4_096
    again.abandon()
    for path in (tmp_path / "consumequeue" / "TopicTest").glob("*/0*"):
        size = path.stat().st_size
        os.truncate(path, 20 if path.parent.name == "0" else 0)
        os.truncate(path, size)
    last = Storage(tmp_path, shape, VirtualClock(NOW_MS))
    last.open()
    assert bodies(last) == list(range(60))
    last.close()


def test_a_flush_that_failed_between_two_log_files_is_made_up_for(tmp_path: Path) -> None:
    """The end of a log file was forgotten when the periodic flush of it failed: what came after it was cut off."""
    clock = VirtualClock(NOW_MS)
    storage = Storage(tmp_path, replace(SMALL, flush_disk_type=SYNC_FLUSH, mapped_file_size_commit_log=4_096), clock)
    failures: list[StorageError | None] = []
    with faulty_files(tmp_path, Random(5)) as files:
        storage.open()
        while storage.log.position < 4_096 - 2 * 200:
            put(storage)
        storage.when_durable(failures.append)
        files.fail_after(0, errno.EIO, what="sync")
        while storage.log.position < 4_096:
            put(storage)
        storage.when_durable(failures.append)
        clock.advance(storage.settings.flush_interval_commit_log)
        storage.flusher.stop()
        files.heal()
        last = put(storage)
        storage.when_durable(failures.append)
        storage.abandon()
        files.lose_power(0.0)
    assert [error is None for error in failures] == [True, False, True]
    again = Storage(tmp_path, storage.settings, clock)
    assert again.open().log_end == last.physical_offset + last.size_bytes
    again.close()
    assert sound(tmp_path)


def test_what_a_flush_in_the_background_dropped_is_not_taken_for_synced(tmp_path: Path) -> None:
    """Between its failure and the next tick the delay offsets had the log synced: of the failed part nobody knew."""
    with faulty_files(tmp_path, Random(1)) as files:
        clock = VirtualClock(NOW_MS)
        storage = Storage(tmp_path, SMALL, clock)
        storage.open()
        put_numbered(storage, 0)
        clock.advance(1_000)
        storage.flush()
        put_numbered(storage, 1)
        files.fail_after(0, errno.EIO, what="sync")
        clock.advance(SMALL.flush_interval_commit_log)
        assert storage.flusher._thread is not None
        storage.flusher._thread.join()
        files.heal()
        put_numbered(storage, 2)
        storage.sync_log()
        storage.abandon()
        files.lose_power(0.0)
    again = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    again.open()
    assert sorted(bodies(again)) == [0, 1, 2]
    again.close()
    assert sound(tmp_path)


def test_what_a_failed_flush_dropped_is_not_vouched_for(tmp_path: Path) -> None:
    """A sync that works after one that failed says nothing of what that one dropped: a start looks for itself."""
    clock = VirtualClock(NOW_MS)
    storage = Storage(tmp_path, SMALL, clock)
    with faulty_files(tmp_path, Random(5)) as files:
        storage.open()
        for number in range(40):
            put_numbered(storage, number)
        files.fail_after(2, errno.EIO, what="sync")  # behind the log and its directory
        with pytest.raises(StorageError, match="could not use"):
            storage.flush()
        files.heal()
        with pytest.raises(StorageError, match=r"could not write .*checkpoint"):
            storage.flush()
        storage.close()
        files.lose_power(0.0)
    assert (tmp_path / "abort").exists()
    again = Storage(tmp_path, SMALL, clock)
    assert not again.open().clean
    assert bodies(again) == list(range(40))
    again.close()
    assert sound(tmp_path)


def test_the_next_life_syncs_what_the_last_one_left(tmp_path: Path) -> None:
    """A process that died left the end of a file to the system's cache; later files need it."""
    clock = VirtualClock(NOW_MS)
    settings = replace(SMALL, flush_disk_type=SYNC_FLUSH, mapped_file_size_commit_log=4_096)
    with faulty_files(tmp_path, Random(5)) as files:
        storage = Storage(tmp_path, settings, clock)
        storage.open()
        while storage.log.position < 4_096:
            put(storage)
        storage.abandon()
        again = Storage(tmp_path, settings, clock)
        again.open()
        last = put(again)
        failures: list[StorageError | None] = []
        again.when_durable(failures.append)
        again.abandon()
        files.lose_power(0.0)
    assert failures == [None]
    third = Storage(tmp_path, settings, clock)
    assert third.open().log_end == last.physical_offset + last.size_bytes
    third.close()


def test_offsets_reach_the_disk_behind_the_messages_before_them(tmp_path: Path) -> None:
    """A message that nobody waits for, a delayed one's copy, was consumed; its offset survived, the message did not."""
    settings = {"flushDiskType": SYNC_FLUSH, "flushIntervalCommitLog": "600000", "flushConsumerOffsetInterval": "1000"}
    with (
        faulty_files(tmp_path, Random(1)) as files,
        EmbeddedCluster(virtual_time=True, data_dir=tmp_path, settings=settings) as cluster,
    ):
        broker = cluster.broker()
        with Peer(broker.address) as peer:
            assert peer.call(send("Later", properties={"DELAY": "1"}), b"later").code == 0
            cluster.advance(2_500)
            assert peer.call(pull("Later", 0)).code == 0
            peer.call(UpdateConsumerOffset(consumer_group="G", topic="Later", queue_id=0, commit_offset=1))
            cluster.advance(2_500)
        broker.kill()
        files.lose_power(0.0)
        broker.start()
        with Peer(broker.address) as peer:
            known = QueryConsumerOffset(consumer_group="G", topic="Later", queue_id=0)
            assert peer.call(known).ext("offset") == "1"
            assert peer.call(GetMaxOffset(topic="Later", queue_id=0)).ext("offset") == "1"


def test_a_table_that_could_not_be_written_is_tried_again(tmp_path: Path) -> None:
    with (
        faulty_files(tmp_path, Random(1)) as files,
        EmbeddedCluster(virtual_time=True, data_dir=tmp_path) as cluster,
    ):
        broker = cluster.broker()
        with Peer(broker.address) as peer:
            files.fail_after(0, errno.EIO)
            assert peer.call(send("New"), b"refused").code != 0
            files.heal()
        cluster.advance(11_000)
        broker.kill()
        assert "New" in (broker.store / "config" / "topics.json").read_text(encoding="utf-8")


def test_a_topic_that_could_not_be_written_is_when_it_is_asked_for_again(tmp_path: Path) -> None:
    """5.x changes nothing where a topic is as it is to be; its file may be otherwise."""
    with (
        faulty_files(tmp_path, Random(1)) as files,
        EmbeddedCluster(virtual_time=True, data_dir=tmp_path, version="5.3.3") as cluster,
    ):
        broker = cluster.broker()
        with Peer(broker.address) as peer:
            files.fail_after(0, errno.EIO)
            assert peer.call(topic_request("Made", 3, 6)).code == 0
            files.heal()
            assert peer.call(topic_request("Made", 3, 6)).code == 0
        broker.kill()
        assert "Made" in (broker.store / "config" / "topics.json").read_text(encoding="utf-8")
