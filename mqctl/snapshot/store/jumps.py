"""Forced offset changes that a store's OFFSET_MOVED_EVENT topic records."""

from __future__ import annotations

import json

from mqctl.errors import MqctlError
from mqctl.model.gap import GapSubject, Part
from mqctl.model.names import OFFSET_MOVED_TOPIC
from mqctl.model.numbers import decimal
from mqctl.model.queue_state import OffsetJump
from mqctl.snapshot.store.reading import Reading
from mqctl.text import sentence

_MAX_JUMPS = 10_000


def offset_jumps(reading: Reading) -> tuple[OffsetJump, ...]:
    """Returns the forced offset changes that the broker recorded in OFFSET_MOVED_EVENT, the newest last."""
    jumps = []
    for (topic, _), bounds in reading.bounds.items():
        if topic != OFFSET_MOVED_TOPIC:
            continue
        _, entries = reading.entries(bounds, bounds.max_offset - _MAX_JUMPS)
        for physical in entries["physical_offset"].tolist():
            jump = _jump(reading, physical)
            if jump is None:
                reading.miss(
                    Part.OFFSET_JUMPS,
                    sentence("event-cannot-read", "the event cannot be read"),
                    subject=GapSubject(offset=physical),
                )
            else:
                jumps.append(jump)
    return tuple(jumps)


def _jump(reading: Reading, physical_offset: int) -> OffsetJump | None:
    try:
        message = reading.store.commit_log.record_at(physical_offset)
        event = json.loads(message.body)
        queue = event["messageQueue"]
        return OffsetJump(
            group=str(event["consumerGroup"]),
            topic=str(queue["topic"]),
            queue_id=_whole(queue["queueId"]),
            broker_name=queue.get("brokerName"),
            requested_offset=_whole(event["offsetRequest"]),
            corrected_offset=_whole(event["offsetNew"]),
            store_time_ms=message.store_time_ms,
        )
    except (MqctlError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _whole(value: object) -> int:
    number = decimal(str(value), low=-1)
    if number is None:
        raise ValueError("no offset")
    return number
