"""Delivered copies of schedule records: the same message, further on in the log, in the queue a record is for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mqctl.errors import MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.names import HALF_TOPIC
from mqctl.snapshot.delay_records import target
from mqctl.snapshot.store.reading import QueueBounds, Reading
from mqctl.store import config_files as configs

_MAX_CANDIDATES = 20_000
_FIRST_LOOK = 512
# Entries before the recorded offset that are looked at in any case: what was passed over may lie before sound ones.
_ALWAYS = 8_192
_Identity = tuple[object, ...]
_Keys = dict[_Identity, list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class CopySearch:
    """What became of schedule records, by physical offset; one in neither is one of which nothing can be said.

    Attributes:
        found: store time of the delivered copy.
        none: records without a copy, although all of their target queue that could hold it was read.
    """

    found: Mapping[int, int]
    none: frozenset[int]


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Messages before the recorded offset that were never delivered.

    Attributes:
        count: how many; first_offset: queue offset of the oldest.
        looked_from: queue offset of the oldest message that was looked at.
    """

    count: int
    first_offset: int | None
    looked_from: int


def search_copies(reading: Reading, wanted: Mapping[int, int]) -> CopySearch:
    """Looks for delivered copies.

    Args:
        wanted: physical offset of a schedule record -> earliest store time its copy can have.
    """
    by_queue: dict[tuple[str, int], _Keys] = {}
    for place, earliest_ms in wanted.items():
        try:
            message = reading.store.commit_log.record_at(place)
        except MqctlError:
            continue  # counted as missing
        queue = target(message)
        if queue is not None and queue[0] != HALF_TOPIC:  # brokers drop those of the half topic
            by_queue.setdefault(queue, {}).setdefault(_identity(message), []).append((place, earliest_ms))
    copies: dict[int, int] = {}
    none: set[int] = set()
    for queue, keys in by_queue.items():
        own = _in_queue(reading, queue, keys)
        copies.update(own.found)
        none.update(own.none)
    return CopySearch(copies, frozenset(none))


def _identity(message: Message) -> _Identity:
    """What a delivered copy has in common with its message: ScheduleMessageService keeps where and when it was born."""
    if message.unique_key is not None:
        return (message.unique_key,)
    return (message.born_host, message.born_time_ms, message.body_crc)


def _in_queue(reading: Reading, queue: tuple[str, int], keys: _Keys) -> CopySearch:
    places = {place for items in keys.values() for place, _ in items}
    bounds = reading.bounds.get(queue)
    if queue in reading.gone_queues or (bounds is None and reading.was_written(queue)):
        return CopySearch({}, frozenset())
    if bounds is None:  # nothing ever came there, or the topic was deleted with what had
        known = {topic.name for topic in configs.topic_configs(reading.config(configs.TOPICS))}
        empty = queue[0] in known and queue not in set(reading.store.queue_ids())
        return CopySearch({}, frozenset(places if empty else ()))
    first = max(bounds.min_offset, bounds.max_offset - _MAX_CANDIDATES)
    _, entries = reading.entries(bounds, first)
    physical = entries["physical_offset"].astype(np.int64)
    read_from = int(physical[0]) if first > bounds.min_offset and len(physical) else -1
    copies: dict[int, int] = {}
    for at in physical[physical > min(places)][::-1].tolist():
        try:
            copy = reading.store.commit_log.record_at(at)
        except MqctlError:
            read_from = max(read_from, at)  # it may be the copy; verification reports what is wrong with it
            continue
        for original, earliest_ms in keys.get(_identity(copy), ()):
            if original < at and copy.store_time_ms >= earliest_ms:
                copies[original] = copy.store_time_ms
        if len(copies) == len(places):
            break
    return CopySearch(copies, frozenset(place for place in places - copies.keys() if place >= read_from))


def passed_over(reading: Reading, bounds: QueueBounds, recorded: int | None) -> PassedOver:
    """Looks back from a level's recorded offset for messages that were never delivered, due or not.

    The newest ones are looked at first, and twice as many more until so many were looked at, and for as long as some
    of them were passed over.
    """
    end = min(bounds.max_offset, recorded or 0)
    enough = end - _ALWAYS
    step, count, oldest = _FIRST_LOOK, 0, None
    while end > bounds.min_offset:
        begin = max(bounds.min_offset, end - step)
        offsets, entries = reading.entries(bounds, begin)
        places = dict(zip(entries["physical_offset"].tolist(), offsets.tolist(), strict=True))
        none = search_copies(reading, {place: 0 for place, offset in places.items() if offset < end}).none
        if none:
            count, oldest = count + len(none), min(places[place] for place in none)
        end, step = begin, step * 2
        if not none and end <= enough:
            break
    return PassedOver(count, oldest, end)
