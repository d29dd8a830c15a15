"""Writes small or large stores from messages, independently of the readers under test.

Byte layouts are those of `reference` section 2 (records), 5 (consume queue) and 7 (index), written down again with
`struct` so that a slip in the readers cannot hide.
"""

from __future__ import annotations

import ipaddress
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import Message

V1, V2, BLANK = 0xDAA320A7, 0xDAA320AB, 0xCBD43194


def message(
    topic: str = "TopicTest",
    queue_id: int = 0,
    body: bytes = b"hello",
    properties: Mapping[str, str] | None = None,
    *,
    store_time_ms: int = 1_795_218_000_000,
    born_host: str = "192.0.2.2:40001",
    store_host: str = "127.0.0.1:10911",
) -> Message:
    """A message with sensible fields; `StoreBuilder.append` gives it its offsets, size and checksum."""
    return Message(
        topic=topic,
        queue_id=queue_id,
        queue_offset=0,
        physical_offset=0,
        size_bytes=0,
        flag=0,
        sys_flag=0,
        born_time_ms=store_time_ms - 3,
        born_host=born_host,
        store_time_ms=store_time_ms,
        store_host=store_host,
        reconsume_times=0,
        prepared_transaction_offset=0,
        body_crc=0,
        body=body,
        properties=dict(properties or {}),
    )


def host_bytes(host: str) -> bytes:
    ip, _, port = host.rpartition(":")
    return ipaddress.ip_address(ip.strip("[]")).packed + struct.pack(">i", int(port))


def property_bytes(properties: Mapping[str, str], *, trailing: bool = False) -> bytes:
    text = "\x02".join(f"{name}\x01{value}" for name, value in properties.items())
    return (text + ("\x02" if trailing and text else "")).encode()


def record_bytes(item: Message, *, version: int = 1, raw_properties: bytes | None = None) -> bytes:
    """Encodes one record; size, checksum and IPv6 bits follow from the message, not from its fields."""
    born, store = host_bytes(item.born_host), host_bytes(item.store_host)
    sys_flag = item.sys_flag & ~0x30 | (0x10 if len(born) == 20 else 0) | (0x20 if len(store) == 20 else 0)
    topic = item.topic.encode()
    properties = property_bytes(item.properties) if raw_properties is None else raw_properties
    crc = zlib.crc32(item.body) & 0x7FFFFFFF
    rest = struct.pack(
        ">iiiqqiq", crc, item.queue_id, item.flag, item.queue_offset, item.physical_offset, sys_flag, item.born_time_ms
    )
    rest += born + struct.pack(">q", item.store_time_ms) + store
    rest += struct.pack(">iqi", item.reconsume_times, item.prepared_transaction_offset, len(item.body)) + item.body
    rest += struct.pack(">B" if version == 1 else ">h", len(topic)) + topic
    rest += struct.pack(">h", len(properties)) + properties
    return struct.pack(">iI", len(rest) + 8, V1 if version == 1 else V2) + rest


@dataclass
class StoreBuilder:
    """Lays messages out as a broker does: records with blank fillers, consume queues, one index file."""

    commit_log_file_bytes: int = 1 << 16
    queue_file_entries: int = 100
    index_slots: int = 1_024
    index_entries: int = 4_096
    log_start: int = 0
    log: bytearray = field(default_factory=bytearray)
    entries: dict[tuple[str, int], list[tuple[int, int, int]]] = field(default_factory=dict)
    keys: list[tuple[str, int, int]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.log_start + len(self.log)

    def append(self, item: Message, *, version: int = 1, dispatch: bool = True) -> Message:
        """Appends one message and returns it as stored; `dispatch=False` leaves queue and index behind."""
        size = len(record_bytes(item, version=version))
        left = self.commit_log_file_bytes - self.end % self.commit_log_file_bytes
        if size + 8 > left:
            self.log += struct.pack(">iI", left, BLANK) + bytes(left - 8)
        queue = self.entries.setdefault((item.topic, item.queue_id), [])
        stored = replace(
            item,
            physical_offset=self.end,
            queue_offset=len(queue),
            size_bytes=size,
            body_crc=zlib.crc32(item.body) & 0x7FFFFFFF,
            sys_flag=item.sys_flag
            | (0x10 if item.born_host.startswith("[") else 0)
            | (0x20 if item.store_host.startswith("[") else 0),
        )
        self.log += record_bytes(stored, version=version)
        self.messages.append(stored)
        if dispatch:
            tags = stored.tags
            queue.append((stored.physical_offset, size, java_string_hash(tags) if tags else 0))
            names = ([stored.unique_key] if stored.unique_key else []) + stored.keys
            self.keys += [(f"{stored.topic}#{key}", stored.physical_offset, stored.store_time_ms) for key in names]
        return stored

    def extend(self, items: Iterable[Message]) -> None:
        for item in items:
            self.append(item)

    def write(self, root: Path) -> Path:
        """Writes the store's files under `root` and returns it."""
        write_commit_log(root / "commitlog", bytes(self.log), self.log_start, self.commit_log_file_bytes)
        for (topic, queue_id), entries in self.entries.items():
            write_queue(root / "consumequeue" / topic / str(queue_id), entries, self.queue_file_entries)
        if self.keys:
            write_index(root / "index" / "20261120233502127", self.keys, self.index_slots, self.index_entries)
        last = self.messages[-1].store_time_ms if self.messages else 0
        (root / "checkpoint").write_bytes(struct.pack(">qqq", last, last, 0).ljust(4096, b"\0"))
        (root / "config").mkdir(parents=True, exist_ok=True)
        return root


def write_commit_log(directory: Path, log: bytes, start: int, file_bytes: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for at in range(0, max(1, len(log)), file_bytes):
        with (directory / f"{start + at:020d}").open("wb") as file:
            file.write(log[at : at + file_bytes])
            file.truncate(file_bytes)


def write_queue(directory: Path, entries: Iterable[tuple[int, int, int]], file_entries: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    data = b"".join(struct.pack(">qiq", *entry) for entry in entries)
    for at in range(0, max(1, len(data)), 20 * file_entries):
        with (directory / f"{at:020d}").open("wb") as file:
            file.write(data[at : at + 20 * file_entries])
            file.truncate(20 * file_entries)


def write_index(path: Path, keys: list[tuple[str, int, int]], slots: int, entries: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table, rows = [0] * slots, [bytes(20)]
    begin_ms = keys[0][2]
    used = 0
    for number, (key, offset, time_ms) in enumerate(keys[: entries - 1], start=1):
        code = abs(java_string_hash(key))
        code = 0 if code == 1 << 31 else code
        slot = code % slots
        used += table[slot] == 0
        rows.append(struct.pack(">iqii", code, offset, max(0, (time_ms - begin_ms) // 1000), table[slot]))
        table[slot] = number
    header = struct.pack(">qqqqii", begin_ms, keys[-1][2], keys[0][1], keys[-1][1], used, len(rows))
    body = header + struct.pack(f">{slots}i", *table) + b"".join(rows)
    path.write_bytes(body.ljust(40 + 4 * slots + 20 * entries, b"\0"))


def write_big_store(
    root: Path,
    *,
    total_bytes: int,
    body_bytes: int,
    file_bytes: int = 256 << 20,
    topics: int = 4,
    queues: int = 8,
) -> int:
    """Writes about `total_bytes` of alike messages with numpy and returns their number.

    Every message has a key of its own, one of seven tags and a unique key; message `n` goes to topic `n % topics`,
    queue `n // topics % queues`.
    """
    tags = [f"Tag{letter}" for letter in "ABCDEFG"]
    properties = {"KEYS": "k000000000000", "UNIQ_KEY": "C0000202" + "0" * 24, "WAIT": "true", "TAGS": "TagX"}
    body = (b"abcdefghij" * (body_bytes // 10 + 1))[:body_bytes]
    small = [record_bytes(message(f"BigTopic{number}", body=body, properties=properties)) for number in range(topics)]
    size = len(small[0])
    template = np.frombuffer(b"".join(small), dtype=np.uint8).reshape(topics, size)
    key_at, tag_at = small[0].index(b"k0000"), small[0].index(b"TagX") + 3
    per_file = (file_bytes - 8) // size
    count = max(1, total_bytes // size)
    (root / "commitlog").mkdir(parents=True, exist_ok=True)
    (root / "config").mkdir(exist_ok=True)
    offsets = np.empty(count, dtype=np.int64)
    for file_number, begin in enumerate(range(0, count, per_file)):
        numbers = np.arange(begin, min(begin + per_file, count))
        start = file_number * file_bytes
        offsets[begin : begin + len(numbers)] = start + np.arange(len(numbers)) * size
        rows = template[numbers % topics]
        _put(rows, 12, (numbers // topics % queues).astype(">i4"))
        _put(rows, 20, (numbers // (topics * queues)).astype(">i8"))
        _put(rows, 28, offsets[begin : begin + len(numbers)].astype(">i8"))
        _put(rows, 56, (1_795_218_000_000 + numbers // 10).astype(">i8"))
        for digit in range(12):
            rows[:, key_at + 12 - digit] = 48 + numbers // 10**digit % 10
        rows[:, tag_at] = 65 + numbers % 7
        with (root / "commitlog" / f"{start:020d}").open("wb") as file:
            file.write(rows.data)
            left = file_bytes - rows.size
            if begin + per_file < count:
                file.write(struct.pack(">iI", left, BLANK))
            file.truncate(file_bytes)
    codes = np.array([java_string_hash(tag) for tag in tags], dtype=np.int64)
    entry = np.dtype([("offset", ">i8"), ("size", ">i4"), ("code", ">i8")])
    for topic in range(topics):
        for queue in range(queues):
            mine = np.arange(topic + topics * queue, count, topics * queues)
            table = np.zeros(max(300_000, len(mine)), dtype=entry)
            table["offset"][: len(mine)], table["size"][: len(mine)] = offsets[mine], size
            table["code"][: len(mine)] = codes[mine % 7]
            directory = root / "consumequeue" / f"BigTopic{topic}" / str(queue)
            directory.mkdir(parents=True, exist_ok=True)
            for at in range(0, len(table), 300_000):
                part = np.zeros(300_000, dtype=entry)
                part[: len(table[at : at + 300_000])] = table[at : at + 300_000]
                (directory / f"{at * 20:020d}").write_bytes(part.tobytes())
    return count


def _put(rows: NDArray[np.uint8], column: int, values: NDArray[np.int64]) -> None:
    width = values.dtype.itemsize
    rows[:, column : column + width] = values.reshape(-1, 1).view(np.uint8).reshape(-1, width)
