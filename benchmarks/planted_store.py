"""Writes a store with known faults, and a snapshot of its consumers: what the reports must name.

    python -m benchmarks.planted_store DIRECTORY [--megabytes 2048] [--body 900]
    mqctl report run --store DIRECTORY/store --snapshot DIRECTORY/cluster.snap --html report.html

The plants: a hot key (`orders`), a period with another queue count (`payments`), messages sent twice (`orders`), a tag
that an inconsistent member keeps from a group (`events`), a delay level whose delivery stopped (level 3). Prints the
figures that a report has to find. 2 GiB take about a minute and a half.
"""

from __future__ import annotations

import argparse
import json
import struct
from array import array
from collections import defaultdict, deque
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from mqctl.model.java_hash import java_string_hash
from mqctl.model.member import GroupMembership, HeldQueue, RunningInfo, Subscription
from mqctl.model.message import Message
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.snapshot.archive import save_snapshot
from tests.store.builder import message, record_bytes

START_MS = 1_795_218_000_000
SPAN_MS = 7_200_000
HOT_KEY, HOT_EVERY = "customer-0000042", 3
FEW, MANY = 4, 6
RESHARDED = (0.40, 0.60)
"""Part of the time in which producers of `payments` saw more queues."""
RESENT = (0.70, 0.72)
RESENT_AFTER_MS = 3_000
STUCK_AT = 0.80
LEVEL, LEVEL_MS = 3, 10_000
BROKER = "broker-a"
BLANK = 0xCBD43194
QUEUE_FILE_ENTRIES = 300_000


@dataclass
class Planted:
    """What a report has to find."""

    messages: int = 0
    hot_key: str = HOT_KEY
    hot_key_messages: int = 0
    hot_queue: int = -1
    resharded_from_ms: int = START_MS + int(SPAN_MS * RESHARDED[0])
    resharded_until_ms: int = START_MS + int(SPAN_MS * RESHARDED[1])
    moves: int = 0
    moved_keys: int = 0
    copies: int = 0
    resent_from_ms: int = START_MS + int(SPAN_MS * RESENT[0])
    deleted_messages: int = 0
    lost_messages: int = 0
    overdue: int = 0
    first_overdue_ms: int = 0
    behind: int = 0


@dataclass
class Writer:
    """Streams records to commit log files and keeps the queues' entries."""

    root: Path
    file_bytes: int
    at: int = 0
    path: Path | None = None
    file: BinaryIO | None = None
    entries: dict[tuple[str, int], array[int]] = field(default_factory=lambda: defaultdict(lambda: array("q")))

    def append(self, item: Message, tags_code: int) -> None:
        """Appends one message; its offsets are given here."""
        queue = self.entries[(item.topic, item.queue_id)]
        item = replace(item, queue_offset=len(queue) // 3, physical_offset=self.at)
        data = record_bytes(item)
        left = self.file_bytes - self.at % self.file_bytes
        if len(data) + 8 > left:
            self._write(struct.pack(">iI", left, BLANK).ljust(left, b"\0"))
            item = replace(item, physical_offset=self.at)
            data = record_bytes(item)
        queue.extend((self.at, len(data), tags_code))
        self._write(data)

    def _write(self, data: bytes) -> None:
        start = self.at // self.file_bytes * self.file_bytes
        path = self.root / "commitlog" / f"{start:020}"
        if self.file is None or self.path != path:
            if self.file is not None:
                self.file.close()
            path.parent.mkdir(parents=True, exist_ok=True)
            self.path, self.file = path, path.open("ab", buffering=1 << 20)
        self.file.write(data)
        self.at += len(data)

    def finish(self) -> None:
        """Writes queues and pads the last file."""
        assert self.file is not None
        self.file.flush()
        self.file.truncate(self.file_bytes)
        self.file.close()
        layout = np.dtype([("physical", ">i8"), ("size", ">i4"), ("tags", ">i8")])
        for (topic, queue_id), flat in self.entries.items():
            columns = np.frombuffer(flat, dtype=np.int64).reshape(-1, 3)
            rows = np.zeros(len(columns), dtype=layout)
            rows["physical"], rows["size"], rows["tags"] = columns.T
            directory = self.root / "consumequeue" / topic / str(queue_id)
            directory.mkdir(parents=True)
            for first in range(0, len(rows), QUEUE_FILE_ENTRIES):
                with (directory / f"{first * 20:020}").open("wb") as file:
                    rows[first : first + QUEUE_FILE_ENTRIES].tofile(file)
                    file.truncate(QUEUE_FILE_ENTRIES * 20)


def selected(key: str, queues: int) -> int:
    """The queue that SelectMessageQueueByHash takes."""
    value = java_string_hash(key)
    return abs(value) % queues


def write_planted(directory: Path, total_bytes: int, body_bytes: int = 900, file_bytes: int = 1 << 30) -> Planted:
    """Writes `store` and `cluster.snap` below `directory`; returns what was planted."""
    count = max(2_000, total_bytes // (body_bytes + 250))
    accounts = max(50, min(997, count // 60))
    planted, writer = Planted(), Writer(directory / "store", file_bytes)
    body = bytes(97 + at % 26 for at in range(body_bytes))
    resent: deque[Message] = deque()
    place_of: dict[str, int] = {}
    moved: set[str] = set()
    per_key: dict[str, int] = defaultdict(int)
    for number in range(count):
        now = START_MS + number * SPAN_MS // count
        part = number / count
        while resent and resent[0].store_time_ms <= now:
            item = resent.popleft()
            writer.append(replace(item, store_time_ms=now), java_string_hash("created"))
            planted.copies += 1
            per_key[item.properties["KEYS"]] += 1
        unique = {"UNIQ_KEY": f"C0A80001{number:024X}"}
        kind = number % 10
        host = f"192.0.2.{1 + number % 3}:40001"
        if kind < 5:
            key = HOT_KEY if number % HOT_EVERY == 0 else f"customer-{1_000_000 + number * 7919 % 100_003:07}"
            properties = {"KEYS": key, "TAGS": "created", **unique}
            item = message("orders", selected(key, 8), body, properties, store_time_ms=now, born_host=host)
            writer.append(item, java_string_hash("created"))
            per_key[key] += 1
            if RESENT[0] <= part < RESENT[1] and number % 4 == 0:
                resent.append(replace(item, store_time_ms=now + RESENT_AFTER_MS))
        elif kind < 7:
            key = f"account-{number * 31 % accounts:04}"
            queue = selected(key, MANY if planted.resharded_from_ms <= now < planted.resharded_until_ms else FEW)
            if place_of.setdefault(key, queue) != queue:
                planted.moves += 1
                moved.add(key)
                place_of[key] = queue
            properties = {"KEYS": key, "TAGS": "paid", **unique}
            item = message("payments", queue, body, properties, store_time_ms=now, born_host=host)
            writer.append(item, java_string_hash("paid"))
        elif kind < 9:
            tag, queue = ("deleted" if number % 4 == 0 else "created"), number // 10 % 4
            planted.deleted_messages += tag == "deleted"
            planted.lost_messages += tag == "deleted" and queue >= 2
            properties = {"TAGS": tag, **unique}
            item = message("events", queue, body, properties, store_time_ms=now, born_host=host)
            writer.append(item, java_string_hash(tag))
        else:
            properties = {"DELAY": str(LEVEL), "REAL_TOPIC": "reminders", "REAL_QID": "0", **unique}
            item = message("SCHEDULE_TOPIC_XXXX", LEVEL - 1, body, properties, store_time_ms=now, born_host=host)
            writer.append(item, now + LEVEL_MS)
    writer.finish()
    planted.messages = sum(len(flat) // 3 for flat in writer.entries.values())
    planted.moved_keys = len(moved)
    planted.hot_key_messages, planted.hot_queue = per_key[HOT_KEY], selected(HOT_KEY, 8)
    _configure(directory, writer, planted)
    return planted


def _configure(directory: Path, writer: Writer, planted: Planted) -> None:
    sizes = {where: len(flat) // 3 for where, flat in writer.entries.items()}
    waiting = sizes[("SCHEDULE_TOPIC_XXXX", LEVEL - 1)]
    stuck = int(waiting * STUCK_AT)
    last_ms = START_MS + SPAN_MS
    due = writer.entries[("SCHEDULE_TOPIC_XXXX", LEVEL - 1)][2::3]
    planted.overdue = sum(at + 2_000 < last_ms for at in due[stuck:])
    planted.first_overdue_ms = due[stuck]
    offsets = {str(queue): size * 6 // 10 for (topic, queue), size in sizes.items() if topic == "orders"}
    planted.behind = sum(sizes[("orders", int(queue))] - offset for queue, offset in offsets.items())
    config = directory / "store" / "config"
    config.mkdir()
    (config / "delayOffset.json").write_text(json.dumps({"offsetTable": {str(LEVEL): stuck}}))
    (config / "consumerOffset.json").write_text(json.dumps({"offsetTable": {"orders@biller": offsets}}))
    table = {
        name: {"topicName": name, "readQueueNums": queues, "writeQueueNums": queues, "perm": 6}
        for name, queues in (("orders", 8), ("payments", MANY), ("events", 4))
    }
    (config / "topics.json").write_text(json.dumps({"topicConfigTable": table}))
    save_snapshot(_snapshot(), directory / "cluster.snap")


def _snapshot() -> ClusterSnapshot:
    """Two members of `mailer`: the one that owns queues 2 and 3 of `events` wants fewer tags."""
    both = Subscription(topic="events", expression="created || deleted", tags=("created", "deleted"), version_ms=2)
    one = Subscription(topic="events", expression="created", tags=("created",), version_ms=1)

    def member(client: str, wants: Subscription, *queues: int) -> RunningInfo:
        held = tuple(HeldQueue(queue=MessageQueue("events", BROKER, queue), commit_offset=0) for queue in queues)
        return RunningInfo(group="mailer", client_id=client, subscriptions=(wants,), queues=held)

    clients = ("10.0.0.1@a", "10.0.0.2@b")
    membership = GroupMembership(group="mailer", client_ids=clients, subscriptions=(both,))
    return ClusterSnapshot(
        origin=Origin(kind=OriginKind.LIVE, location=BROKER, observed_at_ms=START_MS, observed_from=ObservedFrom.GIVEN),
        brokers=(BrokerSnapshot(name=BROKER, memberships=(membership,)),),
        running=(member(clients[0], both, 0, 1), member(clients[1], one, 2, 3)),
    )


def main() -> None:
    """Writes a store as asked and prints what was planted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--megabytes", type=int, default=2_048)
    parser.add_argument("--body", type=int, default=900)
    options = parser.parse_args()
    options.directory.mkdir(parents=True)
    planted = write_planted(options.directory, options.megabytes << 20, options.body)
    print(json.dumps(asdict(planted), indent=2))


if __name__ == "__main__":
    main()
