"""Messages that a consumer group could not consume: waiting to be retried, or given up as dead letters.

Brokers keep no reason for a failure: what is known is how often a message failed, where it came from, and the limit
of the group's members or of its settings.
Source: `AbstractSendMessageProcessor.consumerSendMsgBack` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from mqctl.model.config import PERM_READ
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import RETRY_TOPIC, Message
from mqctl.model.names import popped_topic
from mqctl.model.retry_ladder import RetryLadder
from mqctl.model.retry_limit import LimitOf
from mqctl.model.stored_message import StoredMessage

ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
DLQ_ORIGIN_TOPIC = "DLQ_ORIGIN_TOPIC"
DLQ_ORIGIN_MESSAGE_ID = "DLQ_ORIGIN_MESSAGE_ID"


class GivenUp(StrEnum):
    """Why a message became a dead letter.

    EXHAUSTED: it failed more often than the group allows retries. EARLY: before that, so the consumer has a limit of
    its own (`maxReconsumeTimes`) or asked for it (delay level below 0). UNKNOWN: the group's limit is not known.
    """

    EXHAUSTED = "exhausted"
    EARLY = "early"
    UNKNOWN = "unknown"


class RetryState(StrEnum):
    """WAITING for its delay to pass, or READY in the retry topic."""

    WAITING = "waiting"
    READY = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterTopic:
    """The dead letters of one group on one broker.

    Attributes:
        oldest_store_time_ms, newest_store_time_ms: epoch milliseconds; None when empty or not known.
    """

    group: str
    broker_name: str
    perm: int
    count: int
    oldest_store_time_ms: int | None
    newest_store_time_ms: int | None

    @property
    def readable(self) -> bool:
        return bool(self.perm & PERM_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One message of a dead-letter topic.

    Attributes:
        failed_count: deliveries that failed.
        ladder: the retries that the group's settings on this broker allow; None when they are not known.
    """

    group: str
    broker_name: str
    stored: StoredMessage
    ladder: RetryLadder | None = None

    @property
    def retry_limit(self) -> int | None:
        return self.ladder.retry_max_times if self.ladder else None

    @property
    def failed_by_ms(self) -> tuple[int, ...]:
        """When each failure was at the latest, if the consumer chose no delays of its own; none when not known."""
        return self.ladder.failed_by_ms(self.failed_count, self.stored.message.store_time_ms) if self.ladder else ()

    @property
    def failed_count(self) -> int:
        return self.stored.message.reconsume_times

    @property
    def given_up(self) -> GivenUp:
        if self.retry_limit is None:
            return GivenUp.UNKNOWN
        return GivenUp.EXHAUSTED if self.failed_count > self.retry_limit else GivenUp.EARLY

    @property
    def origin_topic(self) -> str | None:
        return origin_topic(self.stored.message)

    @property
    def origin_message_id(self) -> str | None:
        return origin_message_id(self.stored.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """One message that a group will get again.

    Attributes:
        due_ms: when it is delivered, epoch milliseconds; None when it is ready, or when its level is not known.
        ladder: the waits that follow; None when neither members nor settings tell the limit, or brokers know no end.
        popped: the group pops it: it came back because it was not acknowledged in time, and brokers never give it up.
    """

    group: str
    broker_name: str
    stored: StoredMessage
    state: RetryState
    due_ms: int | None = None
    ladder: RetryLadder | None = None
    popped: bool = False

    @property
    def failed_count(self) -> int:
        return self.stored.message.reconsume_times

    @property
    def origin_topic(self) -> str | None:
        """The topic it was sent to; of what is popped its retry topic names it, where the group is known."""
        return origin_topic(self.stored.message) or (
            popped_topic(self.stored.message.topic, self.group) if self.popped else None
        )

    def tries_ms(self, now_ms: int) -> tuple[int, ...]:
        """Returns when it is tried if every try fails; none when that is not known."""
        next_ms = now_ms if self.state is RetryState.READY else self.due_ms
        if self.ladder is None or next_ms is None:
            return ()
        return self.ladder.tries_ms(self.failed_count, max(next_ms, now_ms))

    def dead_letter_ms(self, now_ms: int) -> int | None:
        """Returns when it becomes a dead letter if every try fails; None when that is not known."""
        times = self.tries_ms(now_ms)
        return times[-1] if times and self.ladder and len(times) == self.ladder.left(self.failed_count) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairWindow:
    """The time that is left to repair a group's consumers before its first failing message is given up.

    Attributes:
        failing_count: messages that failed and wait to be tried again, as far as they were read.
        known_count: those of them of which the end is known.
        closes_ms, closes_in_ms: when the first becomes a dead letter if every try fails; a fix out by then saves all.
        limit_of: whose limit says so.
    """

    group: str
    failing_count: int
    known_count: int
    closes_ms: int
    closes_in_ms: int
    limit_of: LimitOf


def repair_windows(retries: Iterable[Retry], now_ms: int) -> list[RepairWindow]:
    """Returns the windows of groups, the first to close first; a group of which no end is known has none."""
    ends: dict[str, list[tuple[int, LimitOf] | None]] = {}
    for retry in retries:
        end_ms = retry.dead_letter_ms(now_ms)
        end = (end_ms, retry.ladder.limit_of) if end_ms is not None and retry.ladder else None
        ends.setdefault(retry.group, []).append(end)
    windows = []
    for group, moments in ends.items():
        known = [moment for moment in moments if moment is not None]
        if known:
            closes_ms, limit_of = min(known)
            windows.append(
                RepairWindow(
                    group=group,
                    failing_count=len(moments),
                    known_count=len(known),
                    closes_ms=closes_ms,
                    closes_in_ms=closes_ms - now_ms,
                    limit_of=limit_of,
                )
            )
    return sorted(windows, key=lambda window: (window.closes_ms, window.group))


def origin_topic(message: Message) -> str | None:
    """Returns the topic that a retried or dead message was sent to first."""
    return message.properties.get(RETRY_TOPIC) or message.properties.get(DLQ_ORIGIN_TOPIC)


def origin_message_id(message: Message) -> str | None:
    """Returns the offset id that a retried or dead message had at first."""
    return message.properties.get(ORIGIN_MESSAGE_ID) or message.properties.get(DLQ_ORIGIN_MESSAGE_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterChoice:
    """Which dead letters are meant; every one when nothing is given.

    Attributes:
        keys, ids: any of these; an id is a unique id, an offset id, or the offset id it had at first.
        since_ms, until_ms: store times in the dead-letter topic, epoch milliseconds, the end exclusive.
        brokers: names or addresses.
    """

    keys: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    since_ms: int | None = None
    until_ms: int | None = None
    brokers: frozenset[str] = frozenset()

    def takes(self, stored: StoredMessage) -> bool:
        """Tells whether a message is meant."""
        message = stored.message
        if self.since_ms is not None and message.store_time_ms < self.since_ms:
            return False
        if self.until_ms is not None and message.store_time_ms >= self.until_ms:
            return False
        if self.keys and not self.keys & set(message.keys):
            return False
        names = {stored.message_id, message.unique_key, origin_message_id(message)}
        return not self.ids or bool(self.ids & names)
