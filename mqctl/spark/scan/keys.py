"""Keys of messages: where they stand, their digests, their text, and the queue that a selector would give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import KEYS, SHARDING_KEY
from mqctl.spark.query import Selector
from mqctl.store.kernel import Headers, Int32s, Int64s
from mqctl.store.mapped_files import Buffer
from mqctl.store.texts import Spans, digests, first_words, java_hashes, property_spans

LONGEST_SHOWN = 200
"""Bytes of a key that are shown; a longer one is followed by its length and digest, so that no two look alike."""


def key_spans(buffer: Buffer, headers: Headers, key_property: str) -> Spans:
    """Finds the key of each record: that property, or by default `__SHARDINGKEY`, else the first of KEYS."""
    if key_property:
        return property_spans(buffer, headers, [key_property])[key_property]
    return _first_key(buffer, property_spans(buffer, headers, [SHARDING_KEY, KEYS]))


def spans_of_keys(
    buffer: Buffer, headers: Headers, names: Mapping[int, str], marks: Sequence[str]
) -> tuple[dict[int, Spans], NDArray[np.bool_]]:
    """Finds the keys of several kinds (see `key_spans`) in one search, and the records that have one of `marks`."""
    wanted = {each for name in names.values() for each in ([name] if name else [SHARDING_KEY, KEYS])}
    spans = property_spans(buffer, headers, [*sorted(wanted), *marks])
    marked = np.zeros(len(headers), dtype=bool)
    for mark in marks:
        marked |= spans[mark].present
    return {kind: spans[name] if name else _first_key(buffer, spans) for kind, name in names.items()}, marked


def _first_key(buffer: Buffer, spans: Mapping[str, Spans]) -> Spans:
    sharding, keys = spans[SHARDING_KEY], first_words(buffer, spans[KEYS])
    has = sharding.present
    return Spans(np.where(has, sharding.start, keys.start), np.where(has, sharding.size, keys.size))


def key_text(buffer: Buffer, start: int, size: int) -> str:
    """Reads one key for people."""
    text = bytes(buffer[start : start + min(size, LONGEST_SHOWN)]).decode("utf-8", "replace")
    if size <= LONGEST_SHOWN:
        return text
    digest = int(digests(buffer, np.array([start]), np.array([size], dtype=np.int32))[0])
    return f"{text}... ({size} bytes, {digest:016x})"


def key_hashes(buffer: Buffer, spans: Spans) -> Int32s:
    """Returns Java's `hashCode` of each key; 0 where there is none."""
    hashes, known = java_hashes(buffer, spans.start, spans.size, np.zeros(len(spans.start), dtype=np.int32))
    for row in np.flatnonzero(spans.present & ~known).tolist():  # not ASCII, or very long: few
        start, size = int(spans.start[row]), int(spans.size[row])
        hashes[row] = java_string_hash(bytes(buffer[start : start + size]).decode("utf-8", "replace"))
    return np.where(spans.present, hashes, 0)


def selected_queues(buffer: Buffer, spans: Spans, queues: int, selector: Selector) -> Int64s:
    """Returns the index of the queue each key would go to; -1 without a key, or where it is no number."""
    if selector is Selector.HASH:
        # Java's % keeps the sign; the absolute value of what is left is the queue.
        index = np.abs(np.fmod(key_hashes(buffer, spans).astype(np.int64), queues))
        return np.where(spans.present, index, -1)
    return _numbers(buffer, spans, queues)


def _numbers(buffer: Buffer, spans: Spans, queues: int) -> Int64s:
    """Reads keys of decimal digits and takes them modulo `queues`, digit by digit so that nothing overflows."""
    value = np.zeros(len(spans.start), dtype=np.int64)
    good = spans.present & (spans.size <= 19)
    rows = np.flatnonzero(good)
    for at in range(int(spans.size[rows].max(initial=0))):
        rows = rows[spans.size[rows] > at]
        digit = buffer[spans.start[rows] + at].astype(np.int64) - 48
        value[rows] = (value[rows] * 10 + digit) % queues
        good[rows[(digit < 0) | (digit > 9)]] = False
    return np.where(good, value, -1)
