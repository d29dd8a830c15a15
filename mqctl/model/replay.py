"""Messages to be consumed later: what was skipped or dropped, precisely enough to fetch it again."""

from __future__ import annotations

from collections.abc import Iterable

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue

SCHEMA = "replay.plan/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRange:
    """Neighbouring messages of one queue.

    Attributes:
        begin_offset, end_offset: queue offsets, the end exclusive.
        count: messages in it that are to be replayed; fewer than the offsets it spans when others lie between.
        begin_ms, end_ms: store times of the first and the last of them, epoch milliseconds.
    """

    queue: MessageQueue
    begin_offset: int
    end_offset: int
    count: int
    begin_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """What a group left out and may take up again.

    Attributes:
        reason: why it was left out, as one sentence without a final full stop.
        made_at_ms: epoch milliseconds.
    """

    group: str
    reason: str
    made_at_ms: int
    ranges: tuple[ReplayRange, ...]

    @property
    def count(self) -> int:
        """Messages to be replayed."""
        return sum(item.count for item in self.ranges)

    def document(self) -> dict[str, object]:
        """Returns the plan as a JSON document."""
        return {
            "schema": SCHEMA,
            "group": self.group,
            "reason": self.reason,
            "made_at_ms": self.made_at_ms,
            "count": self.count,
            "ranges": [
                {
                    "topic": item.queue.topic,
                    "broker_name": item.queue.broker_name,
                    "queue_id": item.queue.queue_id,
                    "begin_offset": item.begin_offset,
                    "end_offset": item.end_offset,
                    "count": item.count,
                    "begin_ms": item.begin_ms,
                    "end_ms": item.end_ms,
                }
                for item in self.ranges
            ],
        }


def merged(ranges: Iterable[ReplayRange], *, gap: int) -> tuple[ReplayRange, ...]:
    """Joins ranges of one queue that overlap or lie at most `gap` offsets apart; sorted by queue and offset."""
    result: list[ReplayRange] = []
    for item in sorted(ranges, key=lambda item: (item.queue, item.begin_offset)):
        last = result[-1] if result else None
        if last is None or last.queue != item.queue or item.begin_offset > last.end_offset + gap:
            result.append(item)
            continue
        result[-1] = ReplayRange(
            queue=item.queue,
            begin_offset=last.begin_offset,
            end_offset=max(last.end_offset, item.end_offset),
            count=last.count + item.count,
            begin_ms=min(last.begin_ms, item.begin_ms),
            end_ms=max(last.end_ms, item.end_ms),
        )
    return tuple(result)
