"""Moves a topic's messages into one with more queues while producers still write, and keeps the order of each key.

A key lies in one queue of the old topic. That queue is read by one thread of one follower at a time (an orderly
consumer with its broker's lock), and a message is sent only when the one before it is stored: copies of a key lie in
one queue of the new topic in the same order. An offset is committed after its message was sent. A follower that was
killed begins at the last commit; it asks the new topic for the copies that follow until one is not there, so that
nothing is left out, and what is there twice all the same is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from threading import Lock
from typing import Self

from mqctl.changes.plan.follow import KeySelector, follower_group, ordering_key
from mqctl.changes.plan.replay import republished
from mqctl.client.admin.broker_messages import messages_by_key
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.spans import FAR, HOUR_MS

_PRODUCER_GROUP = "MQCTL_FOLLOW_OUT"
_ASK_MS = 3_000
# Brokers index a message a moment after they stored it: so many after the first that was not there are looked up again.
_WATCHED = 32
_SUSPEND_MS = 500


@dataclass(frozen=True, slots=True)
class FollowedCopy:
    """A copy to be looked up: its key, its queue, and when its original was stored, epoch milliseconds."""

    key: str
    target: MessageQueue
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowOrder:
    """What is followed into what.

    Attributes:
        selector: how the queue of a key is chosen.
        wait: returns when the next message may be sent.
        noted: the offset behind what is on record as copied, by queue of the old topic: that is not counted again.
        watched: copies that earlier followers may have sent twice, and did not look up.
        watch: keeps a copy on record that may be there twice, before it is sent: whoever is killed cannot tell of it.
    """

    old: str
    new: str
    selector: KeySelector = KeySelector.HASH
    wait: Callable[[], None] = lambda: None
    noted: Mapping[MessageQueue, int] = field(default_factory=dict)
    watched: Sequence[FollowedCopy] = ()
    watch: Callable[[FollowedCopy], None] = lambda _: None

    @property
    def group(self) -> str:
        return follower_group(self.old, self.new)


@dataclass(slots=True)
class _Place:
    """Where a queue of the old topic is.

    Attributes:
        looking: whether copies of the next messages may be there already.
        watch_count: how many of the next copies are looked up once more at the end.
        new_count: messages that are in the new topic and were not on record before.
    """

    next_offset: int = -1
    looking: bool = True
    watch_count: int = 0
    new_count: int = 0


@dataclass(slots=True)
class FollowCounts:
    """What a follower has done.

    Attributes:
        already_there: copies that were there already when it began, or when an answer was lost.
        failed: attempts that failed and were made again.
    """

    sent: int = 0
    already_there: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Repeats:
    """Copies that are there more than once, by key with their number, and the keys that could not be looked up."""

    keys: dict[str, int] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FollowedTo:
    """How far a queue of the old topic is followed: the next offset, and how many messages that were not on record."""

    next_offset: int
    new_count: int


class TopicFollower:
    """Follows until it is shut down. Use as a context manager.

    Args:
        client: name servers, keys, periods. Its instance name must be the same after a kill: locks are freed by it.
        settings: of the consumer.
    """

    def __init__(self, order: FollowOrder, client: ClientSettings, settings: ConsumerSettings | None = None) -> None:
        self.counts = FollowCounts()
        self._order = order
        self._lock = Lock()
        self._places: dict[MessageQueue, _Place] = {}
        self._watched: list[FollowedCopy] = list(order.watched)
        wanted = replace(settings or ConsumerSettings(batch_size=32), consume_from=ConsumeFrom.FIRST_OFFSET)
        self.consumer = PushConsumer(order.group, client, self._consume, wanted, mode=ConsumeMode.ORDERLY)
        self.consumer.subscribe(order.old)
        self._producer = Producer(_PRODUCER_GROUP, client, instance=self.consumer.instance)
        self._targets: tuple[MessageQueue, ...] = ()

    def __enter__(self) -> Self:
        self.consumer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.shutdown()

    def repeats(self) -> Repeats:
        """Looks up once more what was sent where another follower may have stopped."""
        counted = {copy.key: self._count(copy) for copy in list(self._watched)}
        twice = {key: count for key, count in counted.items() if count is not None and count > 1}
        return Repeats(twice, tuple(key for key, count in counted.items() if count is None))

    def reached(self) -> dict[MessageQueue, FollowedTo]:
        """Returns how far each queue is of which a message was copied."""
        places = dict(self._places)
        return {queue: FollowedTo(place.next_offset, place.new_count) for queue, place in places.items()}

    def _consume(self, messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        place = self._places.setdefault(context.queue, _Place())
        try:
            for message in messages:
                if message.queue_offset >= place.next_offset:
                    self._follow(message, context.queue, place)
                    place.new_count += message.queue_offset >= self._order.noted.get(context.queue, 0)
                    place.next_offset = message.queue_offset + 1
        except MqctlError:
            # It may be stored all the same: it is looked up before it is sent again.
            place.looking = True
            self._add(failed=1)
            context.suspend_ms = _SUSPEND_MS
            return Consumed.SUSPEND_CURRENT_QUEUE_A_MOMENT
        return Consumed.SUCCESS

    def _follow(self, message: ReceivedMessage, queue: MessageQueue, place: _Place) -> None:
        if message.queue_offset > place.next_offset >= 0:
            place.looking = True  # somebody else has read the queue meanwhile
        again = republished(message.stored, queue, message.body, self._order.group)
        target = self._order.selector.choose(ordering_key(message.stored, queue), self._queues())
        copy = FollowedCopy(again.key, target, message.stored.store_time_ms)
        if place.looking:
            count = self._count(copy)
            if count:
                self._add(already_there=1)
                return
            # Where the broker does not tell, the message is sent again, and the next one looked up, too: one that is
            # there twice is told, a gap never.
            place.looking, place.watch_count = count is None, _WATCHED
        if place.watch_count:
            place.watch_count -= 1
            self._order.watch(copy)
            self._watched.append(copy)
        self._order.wait()
        message_again = OutgoingMessage(
            topic=self._order.new, body=again.body, flag=again.flag, properties=again.properties
        )
        self._producer.send(message_again, queue=target)
        self._add(sent=1)

    def _queues(self) -> tuple[MessageQueue, ...]:
        """Returns the queues of the new topic as they were at first: with another number, keys would go elsewhere."""
        with self._lock:
            if not self._targets:
                self._targets = self._producer.queues(self._order.new)
            return self._targets

    def _count(self, copy: FollowedCopy) -> int | None:
        """Returns how many copies with a key the new topic has; None when its broker does not answer."""
        instance = self.consumer.instance
        address = instance.routes.master(copy.target.broker_name)
        if address is None:
            return None
        question = messages_by_key(self._order.new, copy.key, begin_ms=copy.since_ms - HOUR_MS, end_ms=FAR)
        try:
            stored = instance.links.ask(address, question, Deadline(_ASK_MS))
        except MqctlError:
            return None
        return sum(copy.key in message.keys for message in stored)

    def _add(self, *, sent: int = 0, already_there: int = 0, failed: int = 0) -> None:
        with self._lock:
            self.counts.sent += sent
            self.counts.already_there += already_there
            self.counts.failed += failed
