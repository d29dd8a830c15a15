"""What `message consume --dedup-by` measures: how often the same thing is delivered, by the wrapper's own states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic, time

from mqctl.client.consumer.dedup import CONSUMED_EXPIRY_MS, SqliteStates, Standing, by_business_key, by_message_id
from mqctl.client.consumer.dedup_redis import RedisStates
from mqctl.client.message.received import ReceivedMessage
from mqctl.commands.message.dedup_view import Deduplication, RepeatedKey
from mqctl.model.dedup_options import DedupOptions

_SHOWN = 20


def measure(options: DedupOptions, messages: Sequence[ReceivedMessage]) -> Deduplication:
    """Enters the messages into the states as the wrapper would, and counts.

    Raises:
        StorageError: the states cannot be used.
        ConfigurationError: they are in Redis, and its client is not installed.
    """
    key_of = _key_of(options.by)
    keyed = [(message, key) for message in messages if (key := key_of(message)) is not None]
    states = RedisStates(options.states) if "://" in options.states else SqliteStates(options.states)
    began = monotonic()
    standings = Counter[Standing]()
    repeats: Counter[str] = Counter()
    try:
        for _, key in keyed:
            now_ms = round(time() * 1000)
            standing = states.begin(key, now_ms, now_ms + CONSUMED_EXPIRY_MS)
            standings[standing] += 1
            if standing is Standing.NEW:
                states.finish(key, now_ms + CONSUMED_EXPIRY_MS)
            else:
                repeats[key] += 1
    finally:
        states.close()
    took_ms = (monotonic() - began) * 1000
    times: dict[str, list[int]] = {}
    for message, key in keyed:
        times.setdefault(key, []).append(message.stored.store_time_ms)
    return Deduplication(
        by=options.by,
        states=options.states,
        message_count=len(messages),
        keyless_count=len(messages) - len(keyed),
        new_count=standings[Standing.NEW],
        consumed_before_count=standings[Standing.CONSUMED],
        consuming_elsewhere_count=standings[Standing.CONSUMING],
        widest_gap_ms=max((max(span) - min(span) for key, span in times.items() if key in repeats), default=None),
        state_us_per_message=round(took_ms * 1000 / len(keyed)) if keyed else None,
        repeated=[RepeatedKey(key=key, repetition_count=count) for key, count in repeats.most_common(_SHOWN)],
    )


def _key_of(by: str) -> Callable[[ReceivedMessage], str | None]:
    if by == "id":
        return by_message_id
    if by == "key":
        return lambda message: by_business_key(message) if message.keys else None
    return lambda message: f"{message.topic}#{value}" if (value := message.properties.get(by)) else None
