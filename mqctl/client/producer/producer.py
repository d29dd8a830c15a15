"""A producer that behaves as Java's: synchronous, asynchronous, oneway and batch sends, retries within one deadline.

Source: `DefaultMQProducerImpl` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from random import randrange
from types import TracebackType
from typing import Self

from mqctl.client.instance import ClientInstance, ClientSettings
from mqctl.client.message.outgoing import (
    OutgoingMessage,
    SendResult,
    SendStatus,
    check_batch,
    check_group,
    check_message,
)
from mqctl.client.producer.latency import FAILED_LATENCY_MS, LatencyFaults
from mqctl.client.producer.packing import Packed, Packer, ProducerSettings, send_result
from mqctl.client.producer.selectors import QueueSelector
from mqctl.client.remoting.answers import AnswerError
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import PendingRequest
from mqctl.errors import DeadlineError, MqctlError, NotFoundError, UnreachableError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.protocol.codes import ResponseCode
from mqctl.text import sentence

RETRIED_CODES = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
    }
)
OnSent = Callable[[SendResult | None, MqctlError | None], None]


@dataclass(frozen=True, slots=True)
class Sent:
    """One send that has ended, for those who trace.

    Attributes:
        result: None when it failed.
        began_ms, took_ms: on the client's clock.
    """

    message: OutgoingMessage
    message_id: str
    result: SendResult | None
    began_ms: int
    took_ms: int


AfterSend = Callable[[Sent], None]


class Producer:
    """Sends messages. Use as a context manager, or `start` and `shutdown`.

    Args:
        group: producer group.
        client: name servers, keys, periods.
        after_send: told of every message sent synchronously or asynchronously.
        instance: an instance to share (that of a consumer), which is neither started nor shut down from here.
    """

    def __init__(
        self,
        group: str,
        client: ClientSettings,
        settings: ProducerSettings | None = None,
        *,
        after_send: AfterSend | None = None,
        instance: ClientInstance | None = None,
    ) -> None:
        check_group(group)
        self.group = group
        self.settings = settings or ProducerSettings()
        self._own = instance is None
        self.instance = instance or ClientInstance(client, producer_groups=(group,))
        self._packer = Packer(group, self.settings, self.instance.clock, self.instance.unique_ids)
        self._after_send = after_send
        self._turns = count(randrange(1 << 16))
        self._faults = LatencyFaults(self.instance.clock) if self.settings.latency_fault_enable else None

    def start(self) -> None:
        """Starts the threads; connections are made when they are needed."""
        if self._own:
            self.instance.start()

    def shutdown(self) -> None:
        """Leaves the brokers; what is still in flight fails."""
        if self._own:
            self.instance.shutdown()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    # Sending

    def queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Returns the queues of `topic` that can be written, those it will have when the first message creates it.

        Raises:
            NotFoundError: the topic exists nowhere and no broker creates topics by itself.
            UnreachableError, DeadlineError: no name server answered.
        """
        instance = self.instance
        instance.publish_topics.add(topic)
        queues = instance.routes.to_publish(topic)
        if queues:
            return queues
        instance.refresh_route(topic)
        queues = instance.routes.to_publish(topic)
        if queues or instance.routes.route(topic) is not None:
            return self._some(
                queues, topic, sentence("route-has-no-writable-queue", "its route has no writable queue on a master")
            )
        try:
            if instance.routes.refresh_from_template(topic, queues=self.settings.default_topic_queues):
                instance.after_route_change(topic)
        except NotFoundError as error:
            raise self._no_route(
                topic,
                sentence(
                    "topic-absent-and-not-created", "it does not exist, and brokers do not create topics automatically"
                ),
            ) from error
        return self._some(
            instance.routes.to_publish(topic),
            topic,
            sentence("no-creating-broker-writable", "no broker that creates topics can be written"),
        )

    def _some(self, queues: tuple[MessageQueue, ...], topic: str, reason: str) -> tuple[MessageQueue, ...]:
        if not queues:
            raise self._no_route(topic, reason)
        return queues

    def _no_route(self, topic: str, reason: str) -> NotFoundError:
        return NotFoundError(
            sentence("client-topic-no-queue-send", "Topic {topic} has no queue to send to", topic=topic),
            reason=reason,
            remedy=sentence(
                "client-create-topic-check-permissions",
                "create the topic, check the permissions of topic and brokers, or allow autoCreateTopicEnable",
            ),
        )

    def send(
        self,
        message: OutgoingMessage,
        *,
        queue: MessageQueue | None = None,
        select: QueueSelector | None = None,
        timeout_ms: int | None = None,
    ) -> SendResult:
        """Sends one message and waits until it is stored.

        Without `queue` and `select` the queues take turns, and another broker is tried when one fails.

        Raises:
            UsageError: the message cannot be sent anywhere.
            NotFoundError: the topic has no queue.
            UnreachableError, DeadlineError, AnswerError: how the last attempt failed.
        """
        check_message(message, self.settings.max_message_bytes)
        began_ms = self.instance.clock.now_ms()
        packed = self._packer.pack(message)
        result: SendResult | None = None
        try:
            result = self._send(packed, message, queue, select, timeout_ms)
        finally:
            if self._after_send is not None:
                took_ms = self.instance.clock.now_ms() - began_ms
                self._after_send(Sent(message, packed.unique_id, result, began_ms, took_ms))
        return result

    def send_batch(
        self, messages: Sequence[OutgoingMessage], *, queue: MessageQueue | None = None, timeout_ms: int | None = None
    ) -> SendResult:
        """Sends messages of one topic as one request into one queue.

        Raises:
            UsageError: they cannot travel together.
            UnreachableError, DeadlineError, AnswerError: how the last attempt failed.
        """
        check_batch(messages, self.settings.max_message_bytes)
        return self._send(self._packer.pack_batch(messages), messages[0], queue, None, timeout_ms)

    def send_oneway(
        self, message: OutgoingMessage, *, queue: MessageQueue | None = None, select: QueueSelector | None = None
    ) -> None:
        """Sends one message and does not ask what became of it.

        Raises:
            NotFoundError: the topic has no queue.
        """
        check_message(message, self.settings.max_message_bytes)
        target = self._target(message, queue, select, None)
        packed = self._packer.pack(message)
        link = self.instance.links.get(self._address(target))
        link.oneway(self._packer.request(packed, target), body=packed.body)

    def send_async(
        self,
        message: OutgoingMessage,
        on_sent: OnSent,
        *,
        queue: MessageQueue | None = None,
        select: QueueSelector | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        """Sends one message; `on_sent` hears the result or the error, on a thread of the client that it must not block.

        Raises:
            UsageError, NotFoundError: it could not even be sent.
        """
        check_message(message, self.settings.max_message_bytes)
        target = self._target(message, queue, select, None)
        deadline = Deadline(timeout_ms or self.settings.send_timeout_ms)
        _AsyncSend(self, message, self._packer.pack(message), on_sent, deadline).go(target)

    # Below

    def _address(self, queue: MessageQueue) -> str:
        address = self.instance.routes.master(queue.broker_name)
        if address is None:
            self.instance.refresh_route(queue.topic)
            address = self.instance.routes.master(queue.broker_name)
        if address is None:
            raise UnreachableError(
                sentence(
                    "client-cannot-send-broker", "cannot send to broker {broker_name}", broker_name=queue.broker_name
                ),
                reason=sentence("client-name-servers-know-no", "the name servers know no address of its master"),
                remedy=sentence("client-check-broker-runs-registered", "check that the broker runs and has registered"),
            )
        return address

    def _target(
        self,
        message: OutgoingMessage,
        queue: MessageQueue | None,
        select: QueueSelector | None,
        last_broker: str | None,
    ) -> MessageQueue:
        if queue is not None:
            return queue
        queues = self.queues(message.topic)
        if select is not None:
            return select(queues, message)
        return self._choose(queues, last_broker)

    def _choose(self, queues: Sequence[MessageQueue], last_broker: str | None) -> MessageQueue:
        start = next(self._turns)
        if self._faults is not None:
            return self._faults.choose(queues, start)
        for step in range(len(queues) if last_broker is not None else 0):
            queue = queues[(start + step) % len(queues)]
            if queue.broker_name != last_broker:
                return queue
        return queues[start % len(queues)]

    def _send(
        self,
        packed: Packed,
        message: OutgoingMessage,
        queue: MessageQueue | None,
        select: QueueSelector | None,
        timeout_ms: int | None,
    ) -> SendResult:
        deadline = Deadline(timeout_ms or self.settings.send_timeout_ms)
        directed = queue is not None or select is not None
        attempts = 1 if directed else 1 + self.settings.retries
        last_broker: str | None = None
        for attempt in range(1, attempts + 1):
            target = self._target(message, queue, select, last_broker)
            last_broker = target.broker_name
            try:
                result = self._attempt(packed, target, deadline, attempt)
            except (UnreachableError, DeadlineError, AnswerError) as error:
                if attempt == attempts or deadline.expired or not _is_retried(error):
                    error.reason += f" (attempt {attempt} of {attempts})" if attempts > 1 else ""
                    raise
                continue
            again = self.settings.retry_another_broker_when_not_stored and attempt < attempts
            if result.status is SendStatus.SEND_OK or not again:
                return result
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, packed: Packed, queue: MessageQueue, deadline: Deadline, attempt: int) -> SendResult:
        address = self._address(queue)
        request = self._packer.request(packed, queue)
        began_ms = self.instance.clock.now_ms()
        latency_ms = FAILED_LATENCY_MS
        try:
            answer = self.instance.links.get(address).call(request, body=packed.body, deadline=deadline)
            latency_ms = self.instance.clock.now_ms() - began_ms
        finally:
            if self._faults is not None:
                self._faults.note(queue.broker_name, latency_ms)
        return send_result(answer, packed, queue, address=address, attempt=attempt)


def _is_retried(error: MqctlError) -> bool:
    return not isinstance(error, AnswerError) or error.code in RETRIED_CODES


class _AsyncSend:
    """One asynchronous send: after a failure of the connection the next broker gets the same queue id."""

    def __init__(
        self, producer: Producer, message: OutgoingMessage, packed: Packed, on_sent: OnSent, deadline: Deadline
    ) -> None:
        self._producer = producer
        self._message = message
        self._packed = packed
        self._on_sent = on_sent
        self._deadline = deadline
        self._attempt = 1
        self._began_ms = producer.instance.clock.now_ms()

    def go(self, queue: MessageQueue) -> None:
        producer = self._producer
        link = producer.instance.links.get(producer._address(queue))
        request = producer._packer.request(self._packed, queue)
        in_background = producer.instance.in_background
        link.submit(
            request,
            body=self._packed.body,
            deadline=self._deadline,
            on_done=lambda call: in_background(lambda: self._done(queue, call)),
        )

    def _done(self, queue: MessageQueue, pending: PendingRequest) -> None:
        try:
            retries = self._producer.settings.async_retries
            if pending.answer is None and self._attempt <= retries and not self._deadline.expired:
                self._attempt += 1
                other = self._producer._choose(self._producer.queues(queue.topic), queue.broker_name)
                self.go(MessageQueue(queue.topic, other.broker_name, queue.queue_id))
                return
            result = send_result(pending.result(), self._packed, queue, address=pending.address, attempt=self._attempt)
        except MqctlError as error:
            self._tell(None, error)
        else:
            self._tell(result, None)

    def _tell(self, result: SendResult | None, error: MqctlError | None) -> None:
        producer = self._producer
        if producer._after_send is not None:
            took_ms = producer.instance.clock.now_ms() - self._began_ms
            producer._after_send(Sent(self._message, self._packed.unique_id, result, self._began_ms, took_ms))
        self._on_sent(result, error)
