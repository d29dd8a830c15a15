"""The backlog of every group computed the slow and obvious way: one entry, one record, one property at a time."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

FILLER = 2_147_483_647


@dataclass
class Found:
    """What lies behind one group in one queue; `tags` maps a tag (or None) to its store times and sizes."""

    lag: int | None = None
    lost: int = 0
    dangling: int = 0
    no_queue: bool = False
    tags: dict[str | None, list[tuple[int, int]]] = field(default_factory=dict)


def offsets_of(store: Path) -> dict[tuple[str, str], dict[int, int]]:
    """Reads consumerOffset.json: (topic, group) -> queue id -> offset."""
    path = store / "config" / "consumerOffset.json"
    text = path.read_text() if path.exists() else "{}"
    quoted = re.sub(r"([{,]\s*)(-?\d+)\s*:", r'\1"\2":', text)
    table = json.loads(quoted).get("offsetTable", {})
    return {
        (key.split("@")[0], key.split("@")[1]): {int(queue): offset for queue, offset in queues.items()}
        for key, queues in table.items()
        if key.count("@") == 1
    }


def entries_of(queue: Path) -> dict[int, tuple[int, int]]:
    """Reads a consume queue: queue offset -> (physical offset, size), fillers included, unwritten ones not."""
    entries = {}
    for file in sorted(queue.iterdir()):
        data = file.read_bytes()
        for number in range(len(data) // 20):
            physical, size, _ = struct.unpack_from(">qiq", data, number * 20)
            if size <= 0:
                break
            entries[int(file.name) // 20 + number] = (physical, size)
    return entries


def record(log: dict[int, bytes], physical: int, size: int) -> tuple[int, str | None] | None:
    """Returns store time and tag of the record at a physical offset, or None when none of that size is there."""
    start = max((each for each in log if each <= physical), default=None)
    if start is None:
        return None
    data, at = log[start], physical - start
    if at + size > len(data):
        return None
    total, magic = struct.unpack_from(">iI", data, at)
    (own,) = struct.unpack_from(">q", data, at + 28)
    if total != size or magic not in (0xDAA320A7, 0xDAA320AB) or own != physical:
        return None
    (flags,) = struct.unpack_from(">i", data, at + 36)
    at += 56 + (12 if flags & 0x10 else 0)
    (store_time,) = struct.unpack_from(">q", data, at)
    at += 28 + (12 if flags & 0x20 else 0)
    (body,) = struct.unpack_from(">i", data, at)
    at += 4 + body
    if magic == 0xDAA320AB:
        at += 2 + struct.unpack_from(">h", data, at)[0]
    else:
        at += 1 + data[at]
    (length,) = struct.unpack_from(">h", data, at)
    properties = data[at + 2 : at + 2 + length].split(b"\x02")
    tags = [item[5:].decode() for item in properties if item.startswith(b"TAGS\x01") and len(item) > 5]
    return store_time, tags[0] if tags else None


def plain_backlog(store: Path) -> dict[tuple[str, str, int], Found]:
    """Computes the backlog by (group, topic, queue id)."""
    log = {int(file.name): file.read_bytes() for file in (store / "commitlog").iterdir() if file.name.isdigit()}
    lowest = min(log, default=0)
    topics = json.loads((store / "config" / "topics.json").read_text(encoding="utf-8"))["topicConfigTable"]
    by_place: dict[tuple[str, str, int], Found] = {}
    for (topic, group), committed in offsets_of(store).items():
        directory = store / "consumequeue" / topic
        queues = {int(each.name): entries_of(each) for each in directory.iterdir()} if directory.is_dir() else {}
        for queue_id in queues.keys() | committed.keys():
            offset = committed.get(queue_id)
            if topic in topics and queue_id >= max(topics[topic]["readQueueNums"], topics[topic]["writeQueueNums"]):
                continue  # the topic had it once
            if queue_id not in queues:
                if offset != 0:
                    by_place[(group, topic, queue_id)] = Found(no_queue=True)
                continue
            result = by_place.setdefault((group, topic, queue_id), Found())
            if offset is None:
                continue
            entries = queues[queue_id]
            first = min((int(file.name) // 20 for file in (directory / str(queue_id)).iterdir()), default=0)
            end = max(entries, default=first - 1) + 1
            live = [at for at, (physical, size) in sorted(entries.items()) if physical >= lowest and size != FILLER]
            begin = live[0] if live else end
            result.lag, result.lost = end - offset, max(0, begin - offset)
            for at in range(max(offset, begin), end):
                message = record(log, *entries[at]) if at in entries else None
                if message is None:
                    result.dangling += 1
                else:
                    result.tags.setdefault(message[1], []).append((message[0], entries[at][1]))
    return by_place
