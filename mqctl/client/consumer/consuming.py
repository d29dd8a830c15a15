"""What the three ways of consuming have in common: calling the listener, and giving failed messages back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mqctl.client.admin.broker_changes import send_back
from mqctl.client.consumer.consume_rates import ConsumeRates
from mqctl.client.consumer.consumer_settings import ConsumerSettings
from mqctl.client.consumer.offset_store import OffsetStore
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.instance import ClientInstance
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, Listener, ReceivedMessage
from mqctl.client.producer.packing import MAX_RECONSUME_TIMES, RECONSUME_TIME
from mqctl.client.producer.producer import Producer
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.timers import listener_error
from mqctl.errors import MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import DELAY, RETRY_TOPIC
from mqctl.model.names import retry_topic
from mqctl.model.queue import MessageQueue
from mqctl.model.retry_limit import DEFAULT_MAX_RECONSUME_TIMES
from mqctl.protocol.bodies_client import ConsumeMessageDirectlyResult

ENDLESS_RECONSUME_TIMES = 0x7FFFFFFF
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
FIRST_RETRY_LEVEL = 3
_NOT_COPIED = {"TRAN_MSG", "WAIT", DELAY}

_DIRECT_RESULTS = {
    Consumed.SUCCESS: "CR_SUCCESS",
    Consumed.RECONSUME_LATER: "CR_LATER",
    Consumed.SUSPEND_CURRENT_QUEUE_A_MOMENT: "CR_LATER",
    Consumed.COMMIT: "CR_COMMIT",
    Consumed.ROLLBACK: "CR_ROLLBACK",
}


@dataclass(frozen=True, slots=True)
class Heard:
    """How one call of the listener ended.

    Attributes:
        result: None when the listener returned None or raised.
        error: what it raised.
        took_ms: on the client's clock.
    """

    result: Consumed | None
    error: BaseException | None
    took_ms: int


AfterConsume = Callable[[Sequence[ReceivedMessage], Heard], None]


class ConsumeService(Protocol):
    """One way of consuming."""

    def start(self) -> None:
        """Starts its threads."""

    def close(self, wait_s: float) -> bool:
        """Ends its threads."""

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        """Takes messages that are in the process queue already."""


class Consuming:
    """The consumer's parts that a way of consuming needs.

    Attributes:
        lock_one: locks one queue on its broker; False when another client has it or the broker is silent.
    """

    def __init__(
        self,
        group: str,
        instance: ClientInstance,
        settings: ConsumerSettings,
        offsets: OffsetStore,
        listener: Listener,
        *,
        lock_one: Callable[[MessageQueue], bool],
        after_consume: AfterConsume | None = None,
    ) -> None:
        self.group = group
        self.instance = instance
        self.clock = instance.clock
        self.settings = settings
        self.offsets = offsets
        self.rates = ConsumeRates(instance.clock)
        self.lock_one = lock_one
        self._listener = listener
        self._after_consume = after_consume
        self._producer = Producer("CLIENT_INNER_PRODUCER", instance.settings, instance=instance)

    def call(self, messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Heard:
        """Calls the listener; whatever it raises is a failure, noted among the client's troubles."""
        clock = self.clock
        began_ms = clock.now_ms()
        for message in messages:
            message.began_ms = began_ms
        result: Consumed | None = None
        raised: BaseException | None = None
        try:
            result = self._listener(messages, context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises, the messages are delivered again
            raised = error
            self.instance.troubles.add(f"consume {messages[0].message_id}", listener_error(error))
        heard = Heard(result, raised, clock.now_ms() - began_ms)
        if self._after_consume is not None:
            self._after_consume(messages, heard)
        return heard

    def directly(self, message: ReceivedMessage, *, ordered: bool) -> ConsumeMessageDirectlyResult:
        """Consumes one message at a broker's request; neither offset nor retry follows from it."""
        context = ConsumeContext(message.queue)
        heard = self.call([message], context)
        result = "CR_RETURN_NULL" if heard.result is None else _DIRECT_RESULTS[heard.result]
        return ConsumeMessageDirectlyResult(
            order=ordered,
            auto_commit=context.auto_commit,
            consume_result="CR_THROW_EXCEPTION" if heard.error is not None else result,
            remark=None if heard.error is None else f"{type(heard.error).__name__}: {heard.error}",
            spent_time_mills=heard.took_ms,
        )

    def later(self, delay_ms: float, doing: str, task: Callable[[], None]) -> None:
        """Runs `task`, which must not block, after a while."""
        self.instance.delays.after(delay_ms, doing, task)

    def lock_later(self, delay_ms: float, process_queue: ProcessQueue, then: Callable[[bool], None]) -> None:
        """Locks a queue after a while, unless it has been given up, and tells `then` whether that worked."""
        queue = process_queue.queue

        def lock() -> None:
            then(not process_queue.dropped and self.lock_one(queue))

        self.instance.timers.after(delay_ms, f"lock {queue}", lock)

    @property
    def shares(self) -> bool:
        """Whether the group shares the queues, so that brokers keep its offsets and locks."""
        return not self.settings.broadcasting

    def lock_holds(self, process_queue: ProcessQueue) -> bool:
        """Tells whether messages of a queue may reach the listener in order."""
        if not self.shares:
            return True
        now_ms = self.clock.now_ms()
        return process_queue.locked and not process_queue.is_lock_expired(now_ms, self.settings.lock_valid_ms)

    # Giving back

    def max_reconsume_times(self, default: int) -> int:
        """Returns after how many failures a message becomes a dead letter."""
        configured = self.settings.max_reconsume_times
        return default if configured == -1 else configured

    def send_back(self, message: ReceivedMessage, delay_level: int) -> bool:
        """Has the broker deliver a message later; falls back to sending a copy. False when neither worked."""
        most = self.max_reconsume_times(DEFAULT_MAX_RECONSUME_TIMES)
        address = self.instance.routes.master(message.queue.broker_name) or message.stored.store_host
        question = send_back(
            self.group,
            physical_offset=message.stored.physical_offset,
            delay_level=delay_level,
            topic=message.topic,
            message_id=message.message_id,
            max_reconsume_times=most,
        )
        try:
            self.instance.links.ask(address, question, Deadline(self.settings.send_back_timeout_ms))
        except MqctlError as error:
            self.instance.troubles.add(f"send back {message.message_id}", error)
            return self.send_copy(message, times=message.reconsume_times + 1, most=most)
        return True

    def send_copy(self, message: ReceivedMessage, *, times: int, most: int) -> bool:
        """Sends a copy of a message to the retry topic; the broker makes it a dead letter when `times` reach `most`."""
        properties = {name: value for name, value in message.properties.items() if name not in _NOT_COPIED}
        properties |= {
            RETRY_TOPIC: message.topic,
            RECONSUME_TIME: str(times),
            MAX_RECONSUME_TIMES: str(most),
            DELAY: str(FIRST_RETRY_LEVEL + message.reconsume_times),
        }
        properties.setdefault(ORIGIN_MESSAGE_ID, message.message_id)
        topic, flag = retry_topic(self.group), message.stored.flag
        try:
            self._producer.send(OutgoingMessage(topic=topic, body=message.body, flag=flag, properties=properties))
        except MqctlError as error:
            self.instance.troubles.add(f"send a copy of {message.message_id} to the retry topic", error)
            return False
        return True
