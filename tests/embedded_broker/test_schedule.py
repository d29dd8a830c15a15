"""Delay levels of the embedded broker on a virtual clock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded_broker.clock import VirtualClock
from embedded_broker.delay.levels import DelaySchedule
from embedded_broker.log.settings import StoreSettings
from embedded_broker.log.store import Storage
from embedded_broker.release import as_version
from embedded_broker.stats import Stats
from mqctl.model.delay_level import DEFAULT_TABLE, DelayLevelTable
from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import Message
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.protocol.message_record import decode_message
from mqctl.protocol.properties import format_properties
from mqctl.store.record_writer import Incoming

NOW_MS = 1_795_218_000_000
SMALL = StoreSettings(mapped_file_size_commit_log=1 << 16, mapped_file_size_consume_queue=2_000)


@dataclass
class Running:
    """A store with its schedule."""

    root: Path
    clock: VirtualClock
    levels: DelayLevelTable = DEFAULT_TABLE
    release: str = "4.9.8"

    def __post_init__(self) -> None:
        self.storage = Storage(self.root, SMALL, self.clock, levels=self.levels)
        self.storage.open()
        self.schedule = DelaySchedule(
            self.storage,
            Stats(self.clock, "DefaultCluster"),
            self.clock,
            as_version(self.release),
            self.root / "config",
        )
        self.schedule.load()
        self.schedule.start()

    def send(self, level: int, topic: str = "TopicDelay", queue_id: int = 1, body: bytes = b"later") -> None:
        """Puts a message where the broker puts one with property DELAY."""
        level = min(level, self.levels.max_level)
        properties = {
            "TAGS": "TagD", "WAIT": "true", "DELAY": str(level), "REAL_TOPIC": topic, "REAL_QID": str(queue_id),
        }  # fmt: skip
        self.put(SCHEDULE_TOPIC, level - 1, format_properties(properties), body)

    def put(self, topic: str, queue_id: int, properties: str, body: bytes = b"later") -> None:
        message = Incoming(
            topic=topic,
            queue_id=queue_id,
            body=body,
            properties=properties,
            born_host="192.0.2.2:40001",
            store_host="127.0.0.1:10911",
            born_ms=self.clock.now_ms() - 3,
        )
        self.storage.append(message)

    def delivered(self, topic: str = "TopicDelay", queue_id: int = 1) -> list[Message]:
        bodies = []
        for physical_offset, _, code in self.storage.entries(topic, queue_id, 0, 1_000):
            message = decode_message(self.storage.message_at(physical_offset) or b"")
            assert code == java_string_hash("TagD")
            bodies.append(message)
        return bodies

    def stop(self) -> None:
        self.schedule.stop()
        self.storage.close()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(NOW_MS)


def test_a_message_waits_for_its_level_and_arrives_whole(tmp_path: Path, clock: VirtualClock) -> None:
    running = Running(tmp_path, clock)
    clock.advance(1_000)
    running.send(level=2)
    ((_, _, due_ms),) = running.storage.entries(SCHEDULE_TOPIC, 1, 0, 10)
    assert due_ms == NOW_MS + 1_000 + 5_000
    clock.advance(4_999)
    assert running.delivered() == []
    clock.advance(1)
    (message,) = running.delivered()
    assert (message.topic, message.queue_id, message.body) == ("TopicDelay", 1, b"later")
    assert message.properties == {
        "TAGS": "TagD", "WAIT": "true", "DELAY": "2", "REAL_TOPIC": "TopicDelay", "REAL_QID": "1",
    }  # fmt: skip
    assert (message.born_time_ms, message.store_time_ms) == (NOW_MS + 997, NOW_MS + 6_000)
    running.stop()
    assert (tmp_path / "config" / "delayOffset.json").read_text() == '{\n\t"offsetTable":{2:1\n\t}\n}'


def test_a_level_above_the_last_counts_as_the_last(tmp_path: Path, clock: VirtualClock) -> None:
    running = Running(tmp_path, clock, levels=DelayLevelTable.parse("1s 2m"))
    running.send(level=9)
    clock.advance(119_999)
    assert running.delivered() == []
    clock.advance(1)
    assert running.delivered()[0].properties["DELAY"] == "2"


def test_after_a_stop_delivery_goes_on_where_it_was(tmp_path: Path, clock: VirtualClock) -> None:
    first = Running(tmp_path, clock)
    first.send(level=1)
    first.send(level=3)
    clock.advance(2_000)
    first.send(level=1)
    first.stop()
    clock.advance(20_000)
    second = Running(tmp_path, clock)
    assert second.schedule.offsets == {1: 1}
    clock.advance(1_000)
    assert len(second.delivered()) == 3


def test_after_a_kill_at_most_ten_seconds_are_delivered_again(tmp_path: Path, clock: VirtualClock) -> None:
    first = Running(tmp_path, clock)
    first.send(level=1)
    clock.advance(10_000)
    first.send(level=1)
    clock.advance(2_000)
    first.schedule.abandon()
    first.storage.abandon()
    second = Running(tmp_path, clock)
    assert second.schedule.offsets == {1: 1}
    clock.advance(1_000)
    assert len(second.delivered()) == 3


@pytest.mark.parametrize(("recorded", "expected"), [(7, 2), (-3, 0), (1, 1)])
def test_offsets_outside_of_the_queue_are_brought_within(
    tmp_path: Path, clock: VirtualClock, recorded: int, expected: int
) -> None:
    first = Running(tmp_path, clock)
    first.send(level=3)
    first.send(level=3)
    first.stop()
    (tmp_path / "config" / "delayOffset.json").write_text(f'{{"offsetTable":{{3:{recorded},99:5}}}}')
    second = Running(tmp_path, clock)
    assert second.schedule.offsets == {3: expected, 99: 5}


def test_a_message_without_a_target_holds_up_its_level(tmp_path: Path, clock: VirtualClock) -> None:
    running = Running(tmp_path, clock)
    running.put(SCHEDULE_TOPIC, 0, "TAGS\x01TagD\x02DELAY\x011\x02REAL_TOPIC\x01TopicDelay")
    running.send(level=1)
    running.send(level=2)
    clock.advance(60_000)
    assert [message.properties["DELAY"] for message in running.delivered()] == ["2"]
    assert 1 not in running.schedule.offsets


def test_a_full_disk_delays_and_loses_nothing(tmp_path: Path, clock: VirtualClock) -> None:
    running = Running(tmp_path, clock)
    running.send(level=1)
    running.storage.flush()
    running.storage.disk.free_bytes = 0
    clock.advance(400)
    running.storage.disk.free_bytes = 0
    clock.advance(100)
    assert running.delivered() == []
    running.storage.disk.free_bytes = None
    clock.advance(1_100)
    assert len(running.delivered()) == 1


def test_a_shortened_level_delivers_at_once(tmp_path: Path, clock: VirtualClock) -> None:
    first = Running(tmp_path, clock, levels=DelayLevelTable.parse("1h"))
    first.send(level=1)
    clock.advance(2_000)
    first.stop()
    second = Running(tmp_path, clock, levels=DelayLevelTable.parse("1m"))
    clock.advance(1_000)
    assert len(second.delivered()) == 1


def test_release_five_writes_its_data_version(tmp_path: Path, clock: VirtualClock) -> None:
    running = Running(tmp_path, clock, release="5.3.3")
    running.send(level=1)
    clock.advance(5_000)
    running.schedule.stop()
    assert (
        '"dataVersion":{\n\t\t"counter":0,\n\t\t"stateVersion":0,'
        in (tmp_path / "config" / "delayOffset.json").read_text()
    )
