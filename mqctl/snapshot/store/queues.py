"""Queues and consumer offsets of a store."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mqctl.errors import MqctlError
from mqctl.model.message import SHARDING_KEY
from mqctl.model.queue_state import ConsumerOffsetState, HotKey, QueueState
from mqctl.snapshot.store.reading import QueueBounds, Reading
from mqctl.store.consumequeue import is_message

_SAMPLE = 400
_HOT_FACTOR = 2


def queue_states(reading: Reading, *, with_bytes: bool) -> tuple[QueueState, ...]:
    """Returns every consume queue with bounds and the store times at both ends.

    Args:
        with_bytes: also sum message sizes, and sample the keys of queues that hold far more than their neighbours.
    """
    ends = {key: _end_offsets(reading, bounds) for key, bounds in reading.bounds.items()}
    times = reading.store_times(offset for pair in ends.values() for offset in pair if offset is not None)
    means = _mean_counts(reading)
    states = []
    for (topic, queue_id), bounds in reading.bounds.items():
        first, last = ends[(topic, queue_id)]
        count = bounds.max_offset - bounds.min_offset
        hot = with_bytes and count > _HOT_FACTOR * means[topic] and count >= _SAMPLE
        states.append(
            QueueState(
                topic=topic,
                queue_id=queue_id,
                min_offset=bounds.min_offset,
                max_offset=bounds.max_offset,
                first_store_time_ms=None if first is None else times.get(first),
                last_store_time_ms=None if last is None else times.get(last),
                message_bytes=_message_bytes(bounds) if with_bytes else None,
                hot_key=_hot_key(reading, bounds) if hot else None,
            )
        )
    return tuple(states)


def _end_offsets(reading: Reading, bounds: QueueBounds) -> tuple[int | None, int | None]:
    return (
        reading.physical_offset(bounds, bounds.min_offset),
        reading.physical_offset(bounds, bounds.max_offset - 1),
    )


def _mean_counts(reading: Reading) -> dict[str, float]:
    counts: dict[str, list[int]] = {}
    for (topic, _), bounds in reading.bounds.items():
        counts.setdefault(topic, []).append(bounds.max_offset - bounds.min_offset)
    return {topic: sum(values) / len(values) for topic, values in counts.items()}


def _message_bytes(bounds: QueueBounds) -> int:
    total = 0
    for _, entries in bounds.queue.runs(bounds.min_offset, bounds.max_offset):
        total += int(entries["size"][is_message(entries)].sum(dtype=np.int64))
    return total


def _hot_key(reading: Reading, bounds: QueueBounds) -> HotKey | None:
    """Samples evenly spread messages and returns the commonest sharding key (or key), None when none has one."""
    keys: Counter[str] = Counter()
    for offset in np.linspace(bounds.min_offset, bounds.max_offset - 1, _SAMPLE).astype(int).tolist():
        physical = reading.physical_offset(bounds, offset)
        try:
            message = None if physical is None else reading.store.commit_log.record_at(physical)
        except MqctlError:
            continue  # verification reports what is wrong with the record
        if message is not None:
            key = message.properties.get(SHARDING_KEY) or next(iter(message.keys), None)
            keys.update([key] if key else [])
    if not keys:
        return None
    (key, count), *_ = keys.most_common(1)
    return HotKey(key=key, sampled_count=_SAMPLE, key_count=count)


def offset_states(reading: Reading) -> tuple[ConsumerOffsetState, ...]:
    """Returns every committed consumer offset with the store times around it."""
    committed = [
        (group, topic, queue_id, offset)
        for (topic, group), queues in reading.offset_table.offsets.items()
        for queue_id, offset in queues.items()
    ]
    around = {}
    for _, topic, queue_id, offset in committed:
        bounds = reading.bounds.get((topic, queue_id))
        if bounds is not None:
            # Below the minimum the next message to consume is the first that is left.
            upcoming = reading.physical_offset(bounds, max(offset, bounds.min_offset))
            around[(topic, queue_id, offset)] = upcoming, reading.physical_offset(bounds, offset - 1)
    times = reading.store_times(place for pair in around.values() for place in pair if place is not None)
    states = []
    for group, topic, queue_id, offset in sorted(committed):
        upcoming, consumed = around.get((topic, queue_id, offset), (None, None))
        states.append(
            ConsumerOffsetState(
                group=group,
                topic=topic,
                queue_id=queue_id,
                offset=offset,
                next_store_time_ms=None if upcoming is None else times.get(upcoming),
                last_consumed_store_time_ms=None if consumed is None else times.get(consumed),
            )
        )
    return tuple(states)
