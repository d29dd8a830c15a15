"""Popping: one request in flight per assigned queue, and what becomes of each message.

What the listener is content with is acknowledged, what it is not becomes visible again after a while, and what it had
for longer than the invisible time belongs to somebody else by then. Source: `DefaultMQPushConsumerImpl.popMessage` and
`ConsumeMessagePopConcurrentlyService` of 5.3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from threading import Lock, Thread, current_thread

from mqctl.client.admin.broker_pops import acknowledge, change_invisible, pop
from mqctl.client.consumer.consumer_settings import ConsumeFrom
from mqctl.client.consumer.consuming import Consuming
from mqctl.client.consumer.workers import Workers
from mqctl.client.message.popped import Popped, PoppedMessage
from mqctl.client.message.received import ConsumeContext, Consumed
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import PendingRequest
from mqctl.client.remoting.question import Question
from mqctl.errors import MqctlError, UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import PopProcessQueueInfo, SubscriptionData
from mqctl.protocol.requests_pop import ChangeInvisibleTimeReply, PopMessage
from mqctl.text import sentence

RETRY_PAUSES_MS = tuple(
    1_000 * pause_s for pause_s in (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200)
)
"""How long a message stays invisible after its first, second, ... failure."""
_TOO_OLD_MS = 2 * RETRY_PAUSES_MS[-1]
_LONGEST_INVISIBLE_MS = 300_000
_MOST_AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PopSettings:
    """Java's settings of a push consumer that pops. Durations are milliseconds of the client's clock.

    Attributes:
        batch_size: messages wanted by one pop.
        invisible_ms: how long others do not get what was popped; up to 300 s, and Java's clients take no less than 5.
        wait_ms: how long a broker holds a pop that finds nothing.
        threshold_for_queue: messages not answered for that pause the pops of a queue.
        retry_pauses_ms: how long a message stays away after its first, second, ... failure.
        ordered: pop in order: a queue gives out nothing while a message of its last batch is not acknowledged.
    """

    batch_size: int = _MOST_AT_ONCE
    invisible_ms: int = 60_000
    wait_ms: int = 15_000
    threshold_for_queue: int = 96
    retry_pauses_ms: tuple[int, ...] = RETRY_PAUSES_MS
    ordered: bool = False

    def check(self) -> None:
        """Checks the ranges. Raises UsageError."""
        ranges = (
            ("batch_size", self.batch_size, 1, _MOST_AT_ONCE),
            ("invisible_ms", self.invisible_ms, 1, _LONGEST_INVISIBLE_MS),
            ("threshold_for_queue", self.threshold_for_queue, 1, 1_000),
        )
        for name, value, least, most in ranges:
            if not least <= value <= most:
                raise UsageError(
                    sentence("client-not-possible", "{name} of {value} is not possible", name=name, value=value),
                    reason=sentence("client-must", "it must be from {least} to {most}", least=least, most=most),
                )


class PopProcessQueue:
    """The pop loop of one assigned queue; queue id -1 stands for all queues of its broker.

    Attributes:
        waiting: messages that are neither acknowledged nor given back yet.
    """

    def __init__(self, queue: MessageQueue) -> None:
        self.queue = queue
        self.dropped = False
        self.last_pop_ms = 0
        self.waiting = 0
        self._lock = Lock()

    def count(self, change: int) -> None:
        """Notes messages that came, or were answered for."""
        with self._lock:
            self.waiting += change

    def info(self) -> PopProcessQueueInfo:
        """Returns its part of the running information."""
        return PopProcessQueueInfo(
            dropped=self.dropped, last_pop_timestamp=self.last_pop_ms, wait_ack_count=self.waiting
        )


_Batch = tuple[PopProcessQueue, Sequence[PoppedMessage]]


class Popping:
    """The thread that pops, the threads that consume, and the answers for what they consumed."""

    def __init__(
        self, consuming: Consuming, settings: PopSettings, subscriptions: Mapping[str, SubscriptionData]
    ) -> None:
        self._consuming = consuming
        self._instance = consuming.instance
        self._group = consuming.group
        self._settings = settings
        self._subscriptions = subscriptions
        self.queues: dict[MessageQueue, PopProcessQueue] = {}
        self.suspended = False
        self._closed = False
        self._requests: SimpleQueue[PopProcessQueue | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="PopMessageService", daemon=True)
        self._workers: Workers[_Batch] = Workers(consuming.group, consuming.settings.threads, self._consume)

    def start(self) -> None:
        """Starts the threads."""
        self._workers.start()
        self._thread.start()

    def close(self, wait_s: float) -> bool:
        """Ends the threads; what was not consumed becomes visible by itself. False when a listener still runs."""
        self._closed = True
        self._requests.put(None)
        if self._thread is not current_thread() and self._thread.ident is not None:
            self._thread.join()
        return self._workers.close(wait_s)

    def take(self, topic: str, queues: set[MessageQueue]) -> bool:
        """Pops these queues of a topic and no others; tells whether that is news."""
        before = {queue for queue in self.queues if queue.topic == topic}
        for queue in before - queues:
            self.queues.pop(queue).dropped = True
        for queue in sorted(queues - before):
            self.queues[queue] = PopProcessQueue(queue)
            self._requests.put(self.queues[queue])
        return before != queues

    # Popping

    def _run(self) -> None:
        while (queue := self._requests.get()) is not None and not self._closed:
            try:
                self._pop(queue)
            except MqctlError as error:
                self._failed(queue, error)

    def _later(self, queue: PopProcessQueue, delay_ms: float) -> None:
        if not self._closed:
            self._instance.delays.after(delay_ms, "pop", lambda: self._requests.put(queue))

    def _failed(self, queue: PopProcessQueue, error: MqctlError) -> None:
        if not self._closed:
            self._instance.troubles.add(f"pop {queue.queue.topic} of {queue.queue.broker_name}", error)
            self._later(queue, self._consuming.settings.failure_delay_ms)

    def _pop(self, queue: PopProcessQueue) -> None:
        if queue.dropped:
            return
        settings, instance = self._consuming.settings, self._instance
        subscription = self._subscriptions.get(queue.queue.topic)
        address = instance.routes.master(queue.queue.broker_name)
        if self.suspended or subscription is None or address is None:
            if address is None:
                instance.refresh_route_soon(queue.queue.topic)
            self._later(queue, settings.failure_delay_ms)
            return
        if queue.waiting > self._settings.threshold_for_queue:
            self._later(queue, settings.flow_control_delay_ms)
            return
        queue.last_pop_ms = instance.clock.now_ms()
        question = pop(self._request(queue, subscription), queue.queue.broker_name)
        limit_ms = settings.pull_timeout_ms + round(instance.clock.seconds(self._settings.wait_ms) * 1_000)
        instance.links.get(address).submit(
            question.request,
            deadline=Deadline(limit_ms),
            on_done=lambda call: self._answered(queue, question, call),
        )

    def _request(self, queue: PopProcessQueue, subscription: SubscriptionData) -> PopMessage:
        settings = self._settings
        return PopMessage(
            consumer_group=self._group,
            topic=queue.queue.topic,
            queue_id=queue.queue.queue_id,
            max_msg_nums=settings.batch_size,
            invisible_time=settings.invisible_ms,
            poll_time=settings.wait_ms,
            born_time=queue.last_pop_ms,
            init_mode=int(self._consuming.settings.consume_from is not ConsumeFrom.FIRST_OFFSET),
            exp_type=subscription.expression_type,
            exp=subscription.sub_string,
            order=settings.ordered,
        )

    def _answered(self, queue: PopProcessQueue, question: Question[Popped], call: PendingRequest) -> None:
        if self._closed:
            return
        try:
            popped = question.value(call.result(), call.address).messages
        except MqctlError as error:
            self._failed(queue, error)
            return
        if popped:
            now_ms = self._instance.clock.now_ms()
            self._consuming.rates.pulled(
                queue.queue.topic, messages=len(popped), took_ms=max(0, now_ms - queue.last_pop_ms)
            )
            self._hand_out(queue, self._wanted(queue.queue.topic, popped))
        self._requests.put(queue)

    def _wanted(self, topic: str, messages: Sequence[PoppedMessage]) -> list[PoppedMessage]:
        """Acknowledges what only the hash of its tag is like a tag of ours, and returns the rest."""
        subscription = self._subscriptions.get(topic)
        tags = subscription.tags_set if subscription is not None else ()
        wanted = [message for message in messages if not tags or message.tags in tags]
        for message in messages:
            if message not in wanted:
                self._ask(acknowledge(self._group, message), message, "acknowledge")
        return wanted

    def _hand_out(self, queue: PopProcessQueue, messages: Sequence[PoppedMessage]) -> None:
        queue.count(len(messages))
        for batch in self._batches(messages):
            self._workers.submit((queue, batch))

    def _batches(self, messages: Sequence[PoppedMessage]) -> list[list[PoppedMessage]]:
        if self._settings.ordered:
            by_queue: dict[MessageQueue, list[PoppedMessage]] = {}
            for message in messages:
                by_queue.setdefault(message.queue, []).append(message)
            return list(by_queue.values())
        size = self._consuming.settings.batch_size
        return [list(messages[start : start + size]) for start in range(0, len(messages), size)]

    # Consuming

    def _consume(self, batch: _Batch) -> None:
        queue, messages = batch
        try:
            if self._settings.ordered:
                self._consume_in_order(messages)
            else:
                self._consume_together(messages)
        finally:
            queue.count(-len(messages))

    def _is_over(self, messages: Sequence[PoppedMessage]) -> bool:
        """Tells whether the invisible time has run out, so that the messages are somebody else's."""
        return min(message.receipt.due_ms for message in messages) <= self._instance.clock.now_ms()

    def _consume_together(self, messages: Sequence[PoppedMessage]) -> None:
        if self._is_over(messages):
            return
        context = ConsumeContext(messages[0].queue)
        heard = self._consuming.call(messages, context)
        acked = 0
        if heard.result is Consumed.SUCCESS:
            last = len(messages) - 1 if context.ack_index is None else context.ack_index
            acked = max(0, min(last + 1, len(messages)))
        self._count(messages, acked, heard.took_ms)
        if not self._is_over(messages):
            self._finish(messages, acked)

    def _consume_in_order(self, messages: Sequence[PoppedMessage]) -> None:
        for index, message in enumerate(messages):
            if self._is_over([message]):
                return
            heard = self._consuming.call([message], ConsumeContext(message.queue))
            succeeded = heard.result in (Consumed.SUCCESS, Consumed.COMMIT)
            self._count([message], int(succeeded), heard.took_ms)
            if self._is_over([message]):
                return
            if not succeeded:  # the ones behind it must not come before it
                for other in messages[index:]:
                    self._give_back(other, self._consuming.settings.suspend_queue_ms)
                return
            self._ask(acknowledge(self._group, message), message, "acknowledge")

    def _count(self, messages: Sequence[PoppedMessage], acked: int, took_ms: int) -> None:
        rates = self._consuming.rates
        rates.consumed(messages[0].topic, succeeded=acked, failed=len(messages) - acked, took_ms=took_ms)

    def _finish(self, messages: Sequence[PoppedMessage], acked: int) -> None:
        pauses = self._settings.retry_pauses_ms
        most = self._consuming.max_reconsume_times(len(pauses))
        for index, message in enumerate(messages):
            tried = message.reconsume_times
            too_old = tried >= most and self._instance.clock.now_ms() - message.stored.born_time_ms > _TOO_OLD_MS
            if index < acked or too_old:
                self._ask(acknowledge(self._group, message), message, "acknowledge")
            else:
                self._give_back(message, pauses[min(tried, len(pauses) - 1)])

    def _give_back(self, message: PoppedMessage, pause_ms: int) -> None:
        self._ask(change_invisible(self._group, message, pause_ms), message, "change the invisible time of")

    def _ask(
        self, question: Question[None] | Question[ChangeInvisibleTimeReply], message: PoppedMessage, doing: str
    ) -> None:
        """Answers for a message; a failure is noted, and the message comes again by itself."""
        instance, doing = self._instance, f"{doing} {message.message_id}"

        def answered(call: PendingRequest) -> None:
            try:
                question.value(call.result(), call.address)
            except MqctlError as error:
                instance.troubles.add(doing, error)

        try:
            address = instance.routes.master(message.queue.broker_name) or message.stored.store_host
            deadline = Deadline(self._consuming.settings.send_back_timeout_ms)
            instance.links.get(address).submit(question.request, deadline=deadline, on_done=answered)
        except MqctlError as error:
            instance.troubles.add(doing, error)
