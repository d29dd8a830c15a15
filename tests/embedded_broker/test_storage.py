"""The message store of the embedded broker, through its own face and through the readers of `mqctl.store`."""

from __future__ import annotations

import os
import resource
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from embedded_broker.clock import VirtualClock
from embedded_broker.log.settings import StoreSettings
from embedded_broker.log.store import Appended, DiskFullError, MessageRefused, ReadStatus, Storage
from mqctl.model.damage import DamageGrade
from mqctl.protocol.message_record import decode_message, decode_messages
from mqctl.store.directory import StoreDirectory
from mqctl.store.disk import Disk
from mqctl.store.record_writer import Incoming
from mqctl.store.verify import verify

NOW_MS = 1_795_218_000_000
SMALL = StoreSettings(
    mapped_file_size_commit_log=16_384,
    mapped_file_size_consume_queue=2_000,
    max_hash_slot_num=50,
    max_index_num=200,
)


def opened(root: Path, clock: VirtualClock | None = None, settings: StoreSettings = SMALL) -> Storage:
    storage = Storage(root, settings, clock or VirtualClock(NOW_MS))
    storage.open()
    return storage


def put(
    storage: Storage, body: bytes = b"hello", topic: str = "TopicTest", queue_id: int = 0, key: str = "k1"
) -> Appended:
    message = Incoming(
        topic=topic,
        queue_id=queue_id,
        body=body,
        properties=f"TAGS\x01TagA\x02KEYS\x01{key}",
        born_host="192.0.2.2:40001",
        store_host="127.0.0.1:10911",
        born_ms=NOW_MS - 3,
    )
    return storage.append(message)


def put_numbered(storage: Storage, number: int) -> Appended:
    """Appends message `number`; its body says so, its size and queue follow from it."""
    body = b"%d " % number * (number % 23 + 1)
    return put(storage, body, queue_id=number % 3, key=f"k{number}")


def test_what_was_appended_is_read_and_verifies(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    done = [put(storage, body=b"%d" % number * 50, queue_id=number % 3) for number in range(300)]
    read = storage.read("TopicTest", 1, 3, max_count=10)
    assert read.status is ReadStatus.FOUND
    messages = decode_messages(b"".join(read.data))
    assert [message.queue_offset for message in messages] == list(range(3, 13))
    assert messages[0].body == b"10" * 50
    assert (read.next_offset, read.min_offset, read.max_offset, read.count) == (13, 0, 100, 10)
    assert decode_message(storage.message_at(done[7].physical_offset) or b"").body == b"7" * 50
    storage.close()
    report = verify(StoreDirectory.open(tmp_path))
    assert report.record_count == 300
    assert report.queue_entries == 300
    assert not (tmp_path / "abort").exists()


@pytest.mark.parametrize("clean", [True, False])
def test_a_store_opens_again_with_all_its_messages(tmp_path: Path, *, clean: bool) -> None:
    storage = opened(tmp_path)
    for number in range(300):
        put(storage, body=b"x" * number, queue_id=number % 2)
    end = storage.log.position
    if clean:
        storage.close()
    else:
        storage.abandon()
    again = Storage(tmp_path, SMALL, VirtualClock(NOW_MS))
    recovery = again.open()
    assert recovery.clean is clean
    assert recovery.log_end == end
    assert again.max_offset("TopicTest", 0) == again.max_offset("TopicTest", 1) == 150
    assert put(again).queue_offset == 150
    again.close()


def test_a_full_disk_is_an_error_and_then_over(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    put(storage)
    storage.disk.free_bytes = 100
    with pytest.raises(DiskFullError):
        put(storage, body=b"y" * 1_000)
    storage.disk.free_bytes = None
    assert put(storage).queue_offset == 1
    storage.close()
    report = verify(StoreDirectory.open(tmp_path))
    assert report.record_count == 2
    assert not [damage for damage in report.damages if damage.file.startswith("commitlog")]


def found_by_key(storage: Storage, topic: str, key: str, begin_ms: int, end_ms: int, limit: int) -> list[bytes]:
    """Records that may bear a key, however often looking for them pauses."""
    finding = storage.find_by_key(topic, key, begin_ms, end_ms, limit)
    try:
        while True:
            next(finding)
    except StopIteration as done:
        records = [storage.message_at(offset) for offset in done.value]
        return [record for record in records if record is not None]


def test_messages_are_found_by_key_over_many_index_files(tmp_path: Path) -> None:
    clock = VirtualClock(NOW_MS)
    storage = opened(tmp_path, clock)
    placed = []
    for number in range(500):
        clock.advance(100)
        placed.append(put(storage, body=b"%d" % number, key=f"a{number % 7} b{number}"))
    far_ms = 1 << 62
    (record,) = found_by_key(storage, "TopicTest", "b123", 0, far_ms, 64)
    assert decode_message(record).body == b"123"
    newest = [decode_message(record).body for record in found_by_key(storage, "TopicTest", "a3", 0, far_ms, 3)]
    assert newest == [b"479", b"486", b"493"]
    early = found_by_key(storage, "TopicTest", "a0", 0, NOW_MS + 2_000, 64)
    assert [decode_message(record).body for record in early] == [b"0", b"7", b"14"]
    assert storage.index.last.end_physical == placed[-1].physical_offset
    assert storage.index.last.end_ms == placed[-1].store_ms
    assert found_by_key(storage, "TopicTest", "absent", 0, far_ms, 64) == []
    storage.close()
    store = StoreDirectory.open(tmp_path)
    assert len(store.index_files()) == 6
    for file in store.index_files():
        assert file.slot_table_size == 50
    offsets = [int(offset) for file in store.index_files() for offset in file.lookup("TopicTest", "a5")]
    assert sorted(offsets) == [one.physical_offset for one in placed[5::7]]
    report = verify(store)
    assert [damage for damage in report.damages if damage.file != "config"] == []
    assert report.index_entries == 1_000


def aged(storage: Storage, files: int) -> None:
    """Makes the oldest log files look as if nobody had written them for a while."""
    for start in storage.log.starts[:files]:
        os.utime(storage.log.path(start), (1, 1))


EVERY_HOUR = ";".join(str(hour) for hour in range(24))


@pytest.mark.parametrize("delete_when", ["", EVERY_HOUR])
def test_files_past_their_time_go_and_offsets_follow(tmp_path: Path, delete_when: str) -> None:
    clock = VirtualClock(NOW_MS)
    shape = replace(SMALL, delete_when=delete_when, disk_max_used_space_ratio=100, clean_resource_interval=3_600_000)
    storage = opened(tmp_path, clock, shape)
    put(storage, topic="Idle")
    for number in range(900):
        put(storage, body=b"%d" % number * 20, key=f"k{number}")
        clock.advance(10)
    storage.flush()
    files = len(storage.log.starts)
    aged(storage, 4)
    assert storage.retention.delete_expired() == 0  # the records that follow them are young
    clock.advance(71 * 3_600_000)
    assert len(storage.log.starts) == files
    clock.advance(2 * 3_600_000)
    if not delete_when:
        assert len(storage.log.starts) == files
        assert storage.retention.delete_expired() == 4
    assert len(storage.log.starts) == files - 4
    low = storage.min_offset("TopicTest", 0)
    assert storage.read("TopicTest", 0, 0, max_count=1).status is ReadStatus.OFFSET_TOO_SMALL
    (message,) = decode_messages(b"".join(storage.read("TopicTest", 0, low, max_count=1).data))
    assert message.queue_offset == low
    assert message.physical_offset == storage.log.min_offset
    assert storage.entries("TopicTest", 0, low - 1, 1) == []
    assert storage.min_offset("Idle", 0) == storage.max_offset("Idle", 0) == 1
    assert found_by_key(storage, "TopicTest", "k3", 0, 1 << 62, 64) == []
    bounds = (low, storage.max_offset("TopicTest", 0))
    storage.close()
    again = opened(tmp_path, clock, shape)
    assert (again.min_offset("TopicTest", 0), again.max_offset("TopicTest", 0)) == bounds
    assert put(again, topic="Idle").queue_offset == 1
    again.close()
    report = verify(StoreDirectory.open(tmp_path))
    assert [damage for damage in report.damages if damage.grade is DamageGrade.DAMAGE] == []


def test_expired_and_deleted_queues_leave_no_directory(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    put(storage, topic="Idle")
    for _ in range(200):
        put(storage, body=b"x" * 400)
    put(storage, topic="Other", queue_id=5)
    storage.flush()
    while storage.log.starts[0] < storage.log.position - 16_384:
        storage.log.drop_first()
    storage.retention.follow_log()
    assert storage.retention.delete_expired_queues() == 1
    storage.delete_topic("Other")
    assert sorted(path.name for path in (tmp_path / "consumequeue").iterdir()) == ["TopicTest"]
    assert put(storage, topic="Idle").queue_offset == 0
    storage.close()


def test_many_queues_need_few_open_files(tmp_path: Path) -> None:
    def open_files() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    before = open_files()
    storage = Storage(tmp_path, SMALL, VirtualClock(NOW_MS), disk=Disk(open_files=20))
    storage.open()
    for number in range(400):
        put(storage, topic=f"Topic{number % 20}", queue_id=number // 20)
    storage.flush()
    for number in range(400):
        assert storage.read(f"Topic{number % 20}", number // 20, 0, max_count=32).count == 1
    assert open_files() <= before + 20
    storage.close()
    assert open_files() == before
    again = opened(tmp_path)
    assert len(again.queues.table) == 400
    again.close()


def test_connections_may_take_the_descriptors(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for number in range(60):
        put(storage, topic=f"Topic{number}")
    storage.flush()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, limits[1]))
    try:
        for number in range(60, 160):
            put(storage, topic=f"Topic{number}")
        storage.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert all(storage.read(f"Topic{number}", 0, 0, max_count=32).count == 1 for number in range(160))
    storage.close()


@pytest.mark.parametrize("is_v5", [False, True])
def test_the_abort_file_is_the_release_s(tmp_path: Path, *, is_v5: bool) -> None:
    storage = opened(tmp_path, settings=replace(SMALL, is_v5=is_v5))
    assert (tmp_path / "abort").read_text() == (str(os.getpid()) if is_v5 else "")
    storage.close()
    assert not (tmp_path / "abort").exists()


def test_a_topic_longer_than_127_bytes_needs_release_five(tmp_path: Path) -> None:
    topic = "%RETRY%" + "g" * 200
    with pytest.raises(MessageRefused):
        put(opened(tmp_path / "four"), topic=topic)
    storage = opened(tmp_path / "five", settings=replace(SMALL, is_v5=True))
    put(storage, topic=topic)
    storage.abandon()
    again = opened(tmp_path / "five", settings=replace(SMALL, is_v5=True))
    (message,) = decode_messages(b"".join(again.read(topic, 0, 0, max_count=1).data))
    assert message.topic == topic
    again.close()
    assert verify(StoreDirectory.open(tmp_path / "five")).record_count == 1


def test_a_stop_on_a_full_disk_leaves_the_rest_to_the_next_start(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for number in range(20):
        put_numbered(storage, number)
    storage.disk.free_bytes = 0
    storage.close()
    assert (tmp_path / "abort").exists()
    again = opened(tmp_path)
    assert [again.max_offset("TopicTest", queue_id) for queue_id in range(3)] == [7, 7, 6]
    again.close()


def test_queues_made_from_the_end_of_a_log_begin_in_the_middle_of_a_file(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    for number in range(500):
        put_numbered(storage, number)
    storage.close()
    for start in storage.log.starts[:3]:
        Path(storage.log.path(start)).unlink()
    shutil.rmtree(tmp_path / "consumequeue")
    again = opened(tmp_path)
    low = again.min_offset("TopicTest", 0)
    assert low % 100 > 0
    (message,) = decode_messages(b"".join(again.read("TopicTest", 0, low, max_count=1).data))
    assert message.queue_offset == low
    again.close()
    queue = StoreDirectory.open(tmp_path).consume_queue("TopicTest", 0)
    assert queue.min_offset(again.log.min_offset) == low
    assert queue.max_offset == 167
    report = verify(StoreDirectory.open(tmp_path))
    assert [damage for damage in report.damages if damage.grade is DamageGrade.DAMAGE] == []
    third = opened(tmp_path)
    assert (third.min_offset("TopicTest", 0), third.max_offset("TopicTest", 0)) == (low, 167)
    assert put_numbered(third, 501).queue_offset == 167
    third.close()
