"""Reports computed the slow and obvious way: one decoded message after the other."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import Message
from mqctl.model.names import group_of, is_system_topic
from mqctl.store.directory import StoreDirectory

Track = tuple[str, Message]


def messages_of(store: Path, *, system: bool = False) -> list[Message]:
    """Every record of a store, decoded one by one."""
    log = StoreDirectory.open(store).commit_log
    messages = [
        log.record_at(file.start + position) for file in log.files for position in log.walk(file).positions.tolist()
    ]
    return [each for each in messages if system or not is_system_topic(each.topic)]


def key_of(message: Message, name: str = "") -> str | None:
    if name:
        return message.properties.get(name)
    return message.properties.get("__SHARDINGKEY") or message.properties.get("KEYS", "").split(" ")[0] or None


def plain_gini(values: list[int]) -> float:
    """The mean difference of all pairs over twice the mean."""
    total = sum(values)
    if not total:
        return 0.0
    return sum(abs(a - b) for a in values for b in values) / (2 * len(values) * total)


def plain_keys(stores: dict[str, list[Message]]) -> dict[tuple[str, str, int, str], tuple[int, int]]:
    """(topic, store, queue id, key) -> messages and bytes."""
    by_place: dict[tuple[str, str, int, str], tuple[int, int]] = {}
    for store, messages in stores.items():
        for each in messages:
            key = key_of(each)
            if key is not None:
                number, size = by_place.get((each.topic, store, each.queue_id, key), (0, 0))
                by_place[(each.topic, store, each.queue_id, key)] = (number + 1, size + each.size_bytes)
    return by_place


def java_selected(key: str, queues: int) -> int:
    """SelectMessageQueueByHash: Java's remainder keeps the sign, then the absolute value is taken."""
    value = java_string_hash(key)
    remainder = abs(value) % queues
    return remainder if value >= 0 else abs(-remainder)


def sequences(stores: dict[str, list[Message]], name: str = "") -> dict[tuple[str, str], list[Track]]:
    """(topic, key) -> its messages in the order of storing, without retries and dead letters."""
    tracks: dict[tuple[str, str], list[Track]] = defaultdict(list)
    for number, store in enumerate(stores):
        del number
        for each in stores[store]:
            key = key_of(each, name)
            if key is not None and group_of(each.topic) is None:
                tracks[(each.topic, key)].append((store, each))
    order = {store: number for number, store in enumerate(stores)}
    for own in tracks.values():
        own.sort(key=lambda item: (item[1].store_time_ms, order[item[0]], item[1].physical_offset))
    return tracks


def host_of(message: Message) -> str:
    return message.born_host.rpartition(":")[0].strip("[]")


def plain_order(tracks: dict[tuple[str, str], list[Track]]) -> dict[str, dict[str, int]]:
    """Figures of the order report by topic."""
    counters: dict[str, Counter[str]] = defaultdict(Counter)
    for (topic, _), own in tracks.items():
        sums = counters[topic]
        sums["messages"] += len(own)
        sums["keys"] += 1
        moves = 0
        for (store, left), (other, right) in itertools.pairwise(own):
            if (store, left.queue_id) != (other, right.queue_id):
                moves += 1
            elif right.born_time_ms < left.born_time_ms and host_of(left) == host_of(right):
                sums["inversions"] += 1
        sums["moves"] += moves
        sums["moved_keys"] += moves > 0
    return {topic: dict(sums) for topic, sums in counters.items()}


def plain_duplicates(tracks: dict[tuple[str, str], list[Track]]) -> dict[str, dict[str, int]]:
    """Figures of the duplicates report by topic."""
    counters: dict[str, Counter[str]] = defaultdict(Counter)
    for (topic, _), own in tracks.items():
        sums = counters[topic]
        sums["messages"] += len(own)
        sums["keys"] += 1
        sums["repeated_keys"] += len(own) > 1
        sums["copies"] += len(own) - 1
        sums["same_host_copies"] += sum(
            host_of(left[1]) == host_of(right[1]) for left, right in itertools.pairwise(own)
        )
    return {topic: dict(sums) for topic, sums in counters.items()}


def by_host(messages: Iterable[Message]) -> Counter[tuple[str, str]]:
    return Counter((each.topic, host_of(each)) for each in messages)
