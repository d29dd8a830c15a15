"""A relay that delivers at any moment on brokers that know delay levels only.

A message for later is sent to the relay's topic with the first level of its chain; when it arrives, the relay sends it
on with the next one, reckoned anew from what is left, so that hops that were late do not add up. The last stretch,
shorter than any level, it waits itself. A message is acknowledged after it was sent on: a relay that dies repeats at
most what it had in hand, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Event, Lock
from typing import Self

from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import WAIT, OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.errors import MqctlError
from mqctl.model.delay_chain import next_level
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.message import DELAY, REAL_QID, REAL_TOPIC, RETRY_TOPIC
from mqctl.model.numbers import decimal

RELAY_TOPIC = "MQCTL_DELAY_RELAY"
RELAY_GROUP = "MQCTL_DELAY_RELAY"
DELIVER_AT = "MQCTL_DELIVER_MS"
FINAL_TOPIC = "MQCTL_TOPIC"
_PRODUCER_GROUP = "MQCTL_DELAY_RELAY_OUT"
# What brokers and consumers added on the way, and what only the relay reads.
_OWN = frozenset(
    {DELAY, REAL_TOPIC, REAL_QID, RETRY_TOPIC, WAIT, DELIVER_AT, FINAL_TOPIC, "ORIGIN_MESSAGE_ID", "MIN_OFFSET",
     "MAX_OFFSET", "CONSUME_START_TIME", "MSG_REGION", "TRACE_ON", "CLUSTER"}
)  # fmt: skip
_THREADS, _BATCH = 64, 64


def for_later(message: OutgoingMessage, deliver_ms: int, table: DelayLevelTable, *, now_ms: int) -> OutgoingMessage:
    """Returns the message that brings `message` to the relay; one that is due is returned as it is.

    Args:
        deliver_ms: when consumers shall see it, epoch milliseconds.
        table: the delay levels of the brokers.
    """
    if deliver_ms <= now_ms:
        return message
    return replace(
        message,
        topic=RELAY_TOPIC,
        delay_level=next_level(table, deliver_ms - now_ms) or 0,
        properties={**message.properties, DELIVER_AT: str(deliver_ms), FINAL_TOPIC: message.topic},
    )


class RelayCounts:
    """What a relay has done: hops sent on, messages delivered, attempts that failed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.relayed = 0
        self.delivered = 0
        self.failed = 0

    def add(self, *, relayed: int = 0, delivered: int = 0, failed: int = 0) -> None:
        """Adds to the counts."""
        with self._lock:
            self.relayed += relayed
            self.delivered += delivered
            self.failed += failed


class DelayRelay:
    """Relays until it is shut down. Use as a context manager.

    Several relays share the work as members of one group.

    Args:
        client: name servers, keys, periods.
        table: the delay levels of the brokers.
        settings: of the consumer; the batch and the threads decide how many messages can wait for their last moment.
    """

    def __init__(
        self, client: ClientSettings, table: DelayLevelTable, settings: ConsumerSettings | None = None
    ) -> None:
        self.counts = RelayCounts()
        self._table = table
        self._ended = Event()
        wanted = settings or ConsumerSettings(threads=_THREADS, batch_size=_BATCH, pull_batch_size=_BATCH)
        wanted = replace(wanted, consume_from=ConsumeFrom.FIRST_OFFSET)
        self.consumer = PushConsumer(RELAY_GROUP, client, self._consume, wanted)
        self.consumer.subscribe(RELAY_TOPIC)
        self._clock = self.consumer.instance.clock
        self._producer = Producer(_PRODUCER_GROUP, client, instance=self.consumer.instance)

    def __enter__(self) -> Self:
        self.consumer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.shutdown()
        self._ended.set()

    def _consume(self, messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        """Sends a batch on, what is due first; what could not be sent comes again, and what stands behind it."""
        done = [False] * len(messages)
        order = sorted(range(len(messages)), key=lambda number: _moment(messages[number].properties) or 0)
        for number in order:
            try:
                done[number] = self._send_on(messages[number])
            except MqctlError:
                self.counts.add(failed=1)
        if all(done):
            return Consumed.SUCCESS
        context.ack_index = done.index(False) - 1
        return Consumed.SUCCESS if context.ack_index >= 0 else Consumed.RECONSUME_LATER

    def _send_on(self, received: ReceivedMessage) -> bool:
        """Sends one message on; False when the relay ends before its moment."""
        deliver_ms, topic = _moment(received.properties), received.properties.get(FINAL_TOPIC)
        if deliver_ms is None or topic is None:
            self.counts.add(failed=1)
            return True  # nobody can say where it belongs: it would only come back for ever
        message = OutgoingMessage(
            topic=topic, body=received.body, flag=received.stored.flag, properties=_kept(received.properties)
        )
        hop = for_later(message, deliver_ms, self._table, now_ms=self._clock.now_ms())
        if hop.delay_level:
            self._producer.send(hop)
            self.counts.add(relayed=1)
            return True
        rest_ms = deliver_ms - self._clock.now_ms()
        if rest_ms > 0 and self._ended.wait(self._clock.seconds(rest_ms)):
            return False
        self._producer.send(message)
        self.counts.add(delivered=1)
        return True


def _moment(properties: Mapping[str, str]) -> int | None:
    return decimal(properties.get(DELIVER_AT))


def _kept(properties: Mapping[str, str]) -> dict[str, str]:
    """The producer's own properties, unique id, tags and keys among them."""
    return {name: value for name, value in properties.items() if name not in _OWN}
