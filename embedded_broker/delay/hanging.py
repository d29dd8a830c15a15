"""From the properties of a timer message to the record by which it hangs in the wheel of 5.x."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from embedded_broker.delay.timer_records import DEFAULT, DELETE, NO_POSITION, ROLL, TimerRecord
from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import REAL_TOPIC
from mqctl.model.numbers import decimal
from mqctl.protocol.properties import parse_properties
from mqctl.store.layouts import TIMER_LOG_RECORD_BYTES

OUT_MS, DELETE_KEY = "TIMER_OUT_MS", "TIMER_DEL_UNIQKEY"
_LATEST_MS = 1 << 46
"""No message waits for the year 4199; and a slot of the wheel holds no more."""
_topic_hash = lru_cache(maxsize=1_024)(java_string_hash)


class Moment(NamedTuple):
    """What the properties of a timer message say of it; `out_ms` is None when they name no time."""

    out_ms: int | None
    topic: str
    deletes: bool = False


def moment_of(text: str) -> Moment:
    """Reads the properties of a timer message."""
    properties = parse_properties(text)
    out_ms = decimal(properties.get(OUT_MS), high=_LATEST_MS)
    return Moment(out_ms, properties.get(REAL_TOPIC, ""), DELETE_KEY in properties)


@lru_cache(maxsize=256)  # many hang in together, and name few moments
def timer_record(moment: Moment, now_ms: int, read_units: int, precision_ms: int, window_ms: int) -> TimerRecord | None:
    """Returns how a message hangs in the wheel, without its place; None when it names no time.

    Args:
        read_units: the next slot to be emptied.
        window_ms: what waits longer is rolled.
    """
    out_ms = moment.out_ms
    if out_ms is None:
        return None
    write_ms = now_ms // precision_ms * precision_ms
    magic = DEFAULT
    if out_ms - now_ms >= window_ms:
        magic |= ROLL
        out_ms = now_ms + (window_ms // 2 if out_ms - now_ms - window_ms < window_ms // 3 else window_ms)
    if moment.deletes:
        magic |= DELETE
    units = out_ms // precision_ms
    if units < read_units < now_ms // precision_ms:
        # Due, and what recalls it may hang in a slot that is not emptied yet: it goes behind all of them.
        units = now_ms // precision_ms - 1
    return TimerRecord(
        TIMER_LOG_RECORD_BYTES,
        NO_POSITION,
        magic,
        write_ms,
        units * precision_ms - write_ms,
        0,
        0,
        _topic_hash(moment.topic),
    )
