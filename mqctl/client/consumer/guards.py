"""Listeners that let go of what is too old or too far behind, count it, and say how to replay it.

Dropping trades completeness for being up to date, so nothing is dropped silently: every dropped message is in the
counts, and in the replay plan, by queue and offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from threading import Lock

from mqctl.client.message.received import ConsumeContext, Consumed, Listener, ReceivedMessage
from mqctl.client.remoting.clock import ClientClock
from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.replay import ReplayPlan, ReplayRange, merged
from mqctl.text import composed, sentence

_MERGE_ABOVE = 256
_SUCCESSES = (Consumed.SUCCESS, Consumed.COMMIT)


class DropReason(StrEnum):
    """Why a message was dropped."""

    TOO_OLD = "too-old"
    TOO_FAR_BEHIND = "too-far-behind"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardLimits:
    """What is still worth consuming.

    Attributes:
        max_age_ms: age since the broker stored the message; that of a retry counts from when the message was born.
        max_behind: messages that lay behind it in its queue when it was pulled.
    """

    max_age_ms: int | None = None
    max_behind: int | None = None

    def check(self) -> None:
        """Raises UsageError when nothing would ever be dropped, or everything."""
        if self.max_age_ms is None and self.max_behind is None:
            raise UsageError(
                sentence("client-guard-needs-limit", "a guard needs a limit"),
                remedy=sentence("client-set-max-age-ms", "set max_age_ms, max_behind, or both"),
            )
        for name, value in (("max_age_ms", self.max_age_ms), ("max_behind", self.max_behind)):
            if value is not None and value < 0:
                raise UsageError(
                    sentence("client-not-possible", "{name} of {value} is not possible", name=name, value=value),
                    reason=sentence("client-must-not-negative", "it must not be negative"),
                )


class Drops:
    """What a guard has dropped: counts by reason and topic, and ranges by queue. Shared by the consume threads.

    Args:
        gap: dropped messages at most so many offsets apart become one range of the replay plan; a larger gap keeps the
            plan short, and makes a replay repeat what lies between.
    """

    def __init__(self, group: str, clock: ClientClock, *, gap: int = 0) -> None:
        self._group = group
        self._clock = clock
        self._gap = gap
        self._lock = Lock()
        self._counts: Counter[tuple[DropReason, str]] = Counter()
        self._ranges: dict[MessageQueue, list[ReplayRange]] = {}

    def add(self, message: ReceivedMessage, reason: DropReason) -> None:
        """Notes one dropped message."""
        offset, time_ms = message.queue_offset, message.stored.store_time_ms
        item = ReplayRange(
            queue=message.queue,
            begin_offset=offset,
            end_offset=offset + 1,
            count=1,
            begin_ms=time_ms,
            end_ms=time_ms,
        )
        with self._lock:
            self._counts[reason, message.topic] += 1
            ranges = self._ranges.setdefault(message.queue, [])
            ranges.append(item)
            if len(ranges) > _MERGE_ABOVE:
                ranges[:] = merged(ranges, gap=self._gap)

    def count(self, reason: DropReason | None = None) -> int:
        """Returns how many messages were dropped, for one reason or for any."""
        with self._lock:
            return sum(number for (why, _), number in self._counts.items() if reason in (None, why))

    def by_topic(self) -> dict[str, int]:
        """Returns the counts by topic."""
        totals: Counter[str] = Counter()
        with self._lock:
            for (_, topic), number in self._counts.items():
                totals[topic] += number
        return dict(totals)

    def replay_plan(self) -> ReplayPlan:
        """Returns what to replay to make up for everything dropped so far."""
        with self._lock:
            every = [item for ranges in self._ranges.values() for item in ranges]
            counts = Counter[DropReason]()
            for (reason, _), number in self._counts.items():
                counts[reason] += number
        skipped = [
            composed("{number:,} {reason}", number=number, reason=reason) for reason, number in sorted(counts.items())
        ]
        return ReplayPlan(
            group=self._group,
            reason=sentence(
                "client-consumer-dropped",
                "the consumer dropped {messages:and}",
                messages=skipped or [sentence("client-nothing-dropped", "nothing")],
            ),
            made_at_ms=self._clock.now_ms(),
            ranges=merged(every, gap=self._gap),
        )


def guarded(
    listener: Listener,
    limits: GuardLimits,
    drops: Drops,
    clock: ClientClock,
    *,
    on_drop: Callable[[ReceivedMessage, DropReason], None] | None = None,
) -> Listener:
    """Wraps a listener: messages beyond the limits are dropped and count as consumed, the others reach it.

    When the listener fails, the whole batch comes back and nothing of it has been dropped yet. The listener's
    `ConsumeContext.ack_index` is about the messages that it saw.
    """
    limits.check()

    def reason(message: ReceivedMessage, now_ms: int) -> DropReason | None:
        stored = message.stored
        if limits.max_age_ms is not None:
            began_ms = stored.born_time_ms if stored.reconsume_times else stored.store_time_ms
            if now_ms - began_ms > limits.max_age_ms:
                return DropReason.TOO_OLD
        if limits.max_behind is not None and message.max_offset - message.queue_offset - 1 > limits.max_behind:
            return DropReason.TOO_FAR_BEHIND
        return None

    def listen(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed | None:
        now_ms = clock.now_ms()
        reasons = [reason(message, now_ms) for message in messages]
        kept = [message for message, why in zip(messages, reasons, strict=True) if why is None]
        result = listener(kept, context) if kept else Consumed.SUCCESS
        if len(kept) < len(messages) and result in _SUCCESSES:
            context.widen([why is None for why in reasons])
            last = len(messages) if context.ack_index is None else context.ack_index + 1
            for message, why in zip(messages[:last], reasons[:last], strict=True):
                if why is not None:
                    drops.add(message, why)
                    if on_drop is not None:
                        on_drop(message, why)
        return result

    return listen
