"""Replays planned: which stretches of which queues, which messages of them, and how each is published again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from zlib import crc32

from mqctl.errors import NotFoundError, UsageError
from mqctl.filter.sql import compile_sql
from mqctl.filter.sql_nodes import EvaluationError
from mqctl.filter.tags import parse_tags
from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import (
    DELAY,
    KEYS,
    PRODUCER_GROUP,
    REAL_QID,
    REAL_TOPIC,
    RETRY_TOPIC,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    UNIQ_KEY,
    Message,
)
from mqctl.model.own_messages import REPLAY_ID
from mqctl.model.queue import MessageQueue
from mqctl.model.stretch import ReplayFilter, Republished, Stretch
from mqctl.text import sentence

# What says where a copy comes from.
ORIGIN_TOPIC = "MQCTL_ORIGIN_TOPIC"
ORIGIN_BROKER = "MQCTL_ORIGIN_BROKER"
ORIGIN_QUEUE = "MQCTL_ORIGIN_QUEUE"
ORIGIN_OFFSET = "MQCTL_ORIGIN_OFFSET"
ORIGIN_UNIQ_KEY = "MQCTL_ORIGIN_UNIQ_KEY"
ORIGIN_STORE_TIME = "MQCTL_ORIGIN_STORE_TIME"

# Properties that say what RocketMQ has done with the original; on a copy they would be untrue, or be obeyed.
_NOT_COPIED = frozenset(
    {
        DELAY,
        PRODUCER_GROUP,
        REAL_QID,
        REAL_TOPIC,
        RETRY_TOPIC,
        TRAN_PREPARED_QUEUE_OFFSET,
        TRANSACTION_CHECK_TIMES,
        UNIQ_KEY,
        "CLUSTER",
        "CONSUME_START_TIME",
        "INNER_NUM",
        "MAX_OFFSET",
        "MAX_RECONSUME_TIMES",
        "MIN_OFFSET",
        "MSG_REGION",
        "ORIGIN_MESSAGE_ID",
        "RECONSUME_TIME",
        "TIMER_DELAY_MS",
        "TIMER_DELAY_SEC",
        "TIMER_DELIVER_MS",
        "TIMER_OUT_MS",
        "TIMER_ROLL_TIMES",
        "TIMER_ENQUEUE_MS",
        "TIMER_DEQUEUE_MS",
        "TRACE_ON",
        "TRAN_MSG",
        "WAIT",
        "__transactionId__",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEnds:
    """One queue of the source.

    Attributes:
        begin, end: the stretch that is wanted, as it was asked for or found.
    """

    queue: MessageQueue
    min_offset: int
    max_offset: int
    begin: int
    end: int


def plan_ranges(queues: Iterable[QueueEnds], *, keep_empty: bool = False) -> tuple[Stretch, ...]:
    """Returns the stretches that are still there.

    Args:
        keep_empty: keep queues that have nothing of them, instead of leaving them out.

    Raises:
        UsageError: the end lies before the beginning, or nothing is left at all.
    """
    ranges: list[Stretch] = []
    gone = 0
    for item in sorted(queues, key=lambda known: known.queue):
        if item.end < item.begin:
            raise UsageError(
                sentence(
                    "replay-queue-end-before-begins",
                    "queue {queue_id} of {topic} on {broker_name} would end at {end}, before it begins at {begin}",
                    queue_id=item.queue.queue_id,
                    topic=item.queue.topic,
                    broker_name=item.queue.broker_name,
                    end=item.end,
                    begin=item.begin,
                ),
                remedy=sentence("end-replay-must-lie", "the end of a replay must be after its start"),
            )
        end = min(item.end, item.max_offset)
        begin = min(max(item.begin, item.min_offset), end)
        lost = max(0, min(item.min_offset, end) - item.begin)
        gone += lost
        if begin < end or lost or keep_empty:
            ranges.append(Stretch(queue=item.queue, begin=begin, end=end, gone_count=lost))
    if not any(item.count for item in ranges):
        reason = (
            sentence("deleted-already-messages", "deleted already: {gone:,} of its messages", gone=gone)
            if gone
            else sentence("replay-no-message-range", "there is no message in that range")
        )
        raise UsageError(
            sentence("nothing-replay", "there is nothing to replay"),
            reason=reason,
            remedy=sentence("replay-message-peek-shows", "mqctl message peek shows the stored messages"),
        )
    return tuple(ranges)


def by_queue(ranges: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """Joins the stretches of each queue: a group consumes what lies between as well."""
    stretches: dict[MessageQueue, Stretch] = {}
    for item in ranges:
        known = stretches.get(item.queue, item)
        stretches[item.queue] = Stretch(
            queue=item.queue,
            begin=min(known.begin, item.begin),
            end=max(known.end, item.end),
            gone_count=item.gone_count + (known.gone_count if known is not item else 0),
        )
    return tuple(stretches.values())


def wanted(chosen: ReplayFilter) -> Callable[[Message], bool]:
    """Returns the test of a message.

    Raises:
        MqctlError: the tags or the condition cannot be read.
    """
    tags = parse_tags(chosen.tags) if chosen.tags is not None else None
    condition = compile_sql(chosen.sql, is_v5=True) if chosen.sql is not None else None

    def test(message: Message) -> bool:
        if tags is not None and tags.wants(message.tags) is not True:
            return False
        if chosen.key is not None and chosen.key not in message.keys:
            return False
        if condition is None:
            return True
        try:
            return condition.evaluate(dict(message.properties)) is True
        except EvaluationError:  # brokers do not deliver what they cannot judge
            return False

    return test


def provenance_key(replay_id: str, queue: MessageQueue, offset: int) -> str:
    """Returns the key of a copy; it has no blank, or it would be two keys."""
    return f"replay-{replay_id}-{queue.broker_name}-{queue.topic}-{queue.queue_id}-{offset}".replace(" ", "_")


def republished(message: Message, queue: MessageQueue, body: bytes, replay_id: str) -> Republished:
    """Returns a message as it is published again: body, tags, keys and the application's properties, and its origin.

    Args:
        body: unpacked.
    """
    key = provenance_key(replay_id, queue, message.queue_offset)
    properties = {name: value for name, value in message.properties.items() if name not in _NOT_COPIED}
    properties[KEYS] = " ".join((*message.keys, key))
    properties |= {
        REPLAY_ID: replay_id,
        ORIGIN_TOPIC: queue.topic,
        ORIGIN_BROKER: queue.broker_name,
        ORIGIN_QUEUE: str(queue.queue_id),
        ORIGIN_OFFSET: str(message.queue_offset),
        ORIGIN_STORE_TIME: str(message.store_time_ms),
    }
    if message.unique_key is not None:
        properties[ORIGIN_UNIQ_KEY] = message.unique_key
    return Republished(key=key, flag=message.flag, body=body, properties=properties)


def target_queue(source: MessageQueue, targets: Sequence[MessageQueue]) -> MessageQueue:
    """Returns where the messages of a queue go: one queue for all, so that they keep their order.

    It is the queue of the same number on the same broker where there is one.

    Raises:
        NotFoundError: there is no queue to write.
    """
    if not targets:
        raise NotFoundError(
            sentence("replay-topic-no-queue-written", "the topic has no queue that can be written"),
            remedy=command_line("mqctl topic route"),
        )
    same = [queue for queue in targets if queue.broker_name == source.broker_name]
    among = sorted(same or targets)
    return among[(source.queue_id if same else crc32(f"{source}".encode())) % len(among)]


def not_reached(
    ranges: Mapping[MessageQueue, int], committed: Mapping[MessageQueue, int | None]
) -> dict[MessageQueue, int]:
    """Returns how many messages a group still has before it, by queue, of those that have not reached their end.

    Args:
        ranges: end offset by queue.
        committed: None where the group has no offset.
    """
    return {
        queue: end - (committed.get(queue) or 0) for queue, end in ranges.items() if (committed.get(queue) or 0) < end
    }
