"""Pulling: one request in flight per queue, paused while too much is cached.

Source: `DefaultMQPushConsumerImpl.pullMessage` and `PullAPIWrapper` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import SimpleQueue
from threading import Thread, current_thread

from mqctl.client.admin.broker_messages import (
    SYS_FLAG_COMMIT,
    SYS_FLAG_SUBSCRIPTION,
    SYS_FLAG_SUSPEND,
    Pulled,
    PullStatus,
    read_pull,
)
from mqctl.client.consumer.consume_rates import ConsumeRates
from mqctl.client.consumer.consumer_settings import ConsumeMode, ConsumerSettings
from mqctl.client.consumer.consuming import ConsumeService
from mqctl.client.consumer.offset_store import OffsetStore
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.instance import ClientInstance
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.remoting.answers import AnswerError, refusal
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import PendingRequest
from mqctl.errors import MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import SubscriptionData
from mqctl.protocol.codes import PULL_RESULTS, ResponseCode
from mqctl.protocol.requests_client import PullMessage

_MIB = 1024 * 1024
_BUSY_DELAY_MS = 20
_SUBSCRIPTION_CODES = frozenset(
    {
        ResponseCode.SUBSCRIPTION_NOT_EXIST,
        ResponseCode.SUBSCRIPTION_NOT_LATEST,
        ResponseCode.FILTER_DATA_NOT_EXIST,
        ResponseCode.FILTER_DATA_NOT_LATEST,
    }
)


@dataclass(slots=True)
class PullRequest:
    """The pull loop of one queue.

    Attributes:
        next_offset: queue offset wanted next.
        was_locked: the start offset was asked for again after the queue was locked (orderly, key-ordered).
    """

    process_queue: ProcessQueue
    next_offset: int
    was_locked: bool = False


@dataclass(slots=True)
class Thresholds:
    """Limits of one queue's cache; those of a topic are divided by its queues."""

    messages: int
    mib: int


class Pulling:
    """The thread that pulls, and what is done with the answers.

    Args:
        subscriptions: by topic, as they are now.
        restored_topic: the retry topic of the group, whose messages get their first topic back.
        start: computes the start offset of a queue.
        on_moved: told that a queue has no such offset, with the offset to go on from.
        limits: the thresholds of a topic's queues.
    """

    def __init__(
        self,
        instance: ClientInstance,
        group: str,
        settings: ConsumerSettings,
        *,
        offsets: OffsetStore,
        service: ConsumeService,
        rates: ConsumeRates,
        mode: ConsumeMode,
        subscriptions: Mapping[str, SubscriptionData],
        restored_topic: str,
        start: Callable[[MessageQueue], int],
        on_moved: Callable[[ProcessQueue, int], None],
        limits: Callable[[str], Thresholds],
    ) -> None:
        self._instance = instance
        self._group = group
        self._settings = settings
        self._offsets = offsets
        self._service = service
        self._rates = rates
        self._mode = mode
        self._subscriptions = subscriptions
        self._restored_topic = restored_topic
        self._start_offset = start
        self._on_moved = on_moved
        self._limits = limits
        self._requests: SimpleQueue[PullRequest | None] = SimpleQueue()
        self._broker_ids: dict[MessageQueue, int] = {}
        self._closed = False
        self.suspended = False
        self._thread = Thread(target=self._run, name="PullMessageService", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stops pulling; answers that still come are dropped."""
        self._closed = True
        self._requests.put(None)
        if self._thread is not current_thread() and self._thread.ident is not None:
            self._thread.join()

    def begin(self, process_queue: ProcessQueue, offset: int) -> None:
        """Begins the pull loop of a queue."""
        self._requests.put(PullRequest(process_queue, offset))

    def forget(self, queue: MessageQueue) -> None:
        """Forgets which broker was suggested for a queue."""
        self._broker_ids.pop(queue, None)

    def _later(self, request: PullRequest, delay_ms: float) -> None:
        if not self._closed:
            self._instance.delays.after(delay_ms, "pull", lambda: self._requests.put(request))

    def _run(self) -> None:
        while (request := self._requests.get()) is not None and not self._closed:
            try:
                self._pull(request)
            except MqctlError as error:
                self._failed(request, error)

    def _failed(self, request: PullRequest, error: MqctlError) -> None:
        queue = request.process_queue.queue
        if self._closed:
            return
        self._instance.troubles.add(f"pull {queue.topic} queue {queue.queue_id} of {queue.broker_name}", error)
        delay_ms = self._settings.failure_delay_ms
        if isinstance(error, AnswerError):
            if error.code in _SUBSCRIPTION_CODES:
                self._instance.heartbeat_soon()
            elif error.code == ResponseCode.FLOW_CONTROL:
                delay_ms = _BUSY_DELAY_MS
        self._later(request, delay_ms)

    # Asking

    def _pull(self, request: PullRequest) -> None:
        process_queue = request.process_queue
        if process_queue.dropped:
            return
        settings, queue = self._settings, process_queue.queue
        process_queue.last_pull_ms = self._instance.clock.now_ms()
        subscription = self._subscriptions.get(queue.topic)
        if self.suspended or subscription is None:
            self._later(request, settings.failure_delay_ms)
            return
        if self._is_full(process_queue):
            self._later(request, settings.flow_control_delay_ms)
            return
        if self._mode is not ConsumeMode.CONCURRENT and not settings.broadcasting and not self._own(request):
            self._later(request, settings.failure_delay_ms)
            return
        readable = self._instance.routes.readable(queue.broker_name, self._broker_ids.get(queue, 0))
        if readable is None:
            self._instance.refresh_route_soon(queue.topic)
            self._later(request, settings.failure_delay_ms)
            return
        address, is_slave = readable
        began_ms = process_queue.last_pull_ms
        self._instance.links.get(address).submit(
            self._message(request, subscription, is_slave=is_slave),
            deadline=Deadline(settings.pull_timeout_ms),
            on_done=lambda call: self._answered(request, subscription, call, began_ms),
        )

    def _own(self, request: PullRequest) -> bool:
        """Tells whether the queue is locked; the first time after locking its offset is asked for again."""
        if not request.process_queue.locked:
            return False
        if not request.was_locked:
            request.next_offset = self._start_offset(request.process_queue.queue)
            request.was_locked = True
        return True

    def _is_full(self, process_queue: ProcessQueue) -> bool:
        limits = self._limits(process_queue.queue.topic)
        if process_queue.count > limits.messages or process_queue.size_bytes > limits.mib * _MIB:
            return True
        if self._mode is ConsumeMode.CONCURRENT:
            return process_queue.span > self._settings.max_span
        return self._mode is ConsumeMode.KEY_ORDERED and process_queue.reach > self._settings.max_span

    def _message(self, request: PullRequest, subscription: SubscriptionData, *, is_slave: bool) -> PullMessage:
        settings, queue = self._settings, request.process_queue.queue
        sys_flag, commit = SYS_FLAG_SUSPEND, 0
        if not settings.broadcasting:
            commit = self._offsets.in_memory(queue) or 0
            if commit > 0 and not is_slave:
                sys_flag |= SYS_FLAG_COMMIT
        with_subscription = settings.post_subscription_when_pull
        if with_subscription:
            sys_flag |= SYS_FLAG_SUBSCRIPTION
        return PullMessage(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=request.next_offset,
            max_msg_nums=settings.pull_batch_size,
            sys_flag=sys_flag,
            commit_offset=commit,
            suspend_timeout_millis=settings.broker_suspend_ms,
            subscription=subscription.sub_string if with_subscription else None,
            sub_version=subscription.sub_version,
            expression_type=subscription.expression_type,
            bname=queue.broker_name,
        )

    # Answers

    def _answered(
        self, request: PullRequest, subscription: SubscriptionData, pending: PendingRequest, began_ms: int
    ) -> None:
        if self._closed:
            return
        try:
            answer = pending.result()
            if answer.code not in PULL_RESULTS:
                raise refusal(pending.code, pending.address, answer)
            self._take(request, subscription, read_pull(answer), began_ms)
        except MqctlError as error:
            self._failed(request, error)

    def _take(self, request: PullRequest, subscription: SubscriptionData, pulled: Pulled, began_ms: int) -> None:
        process_queue = request.process_queue
        queue = process_queue.queue
        self._broker_ids[queue] = pulled.suggested_broker_id
        if pulled.status is PullStatus.OFFSET_MOVED:
            process_queue.dropped = True
            self._on_moved(process_queue, pulled.next_offset)
            return
        request.next_offset = pulled.next_offset
        if pulled.status is PullStatus.FOUND and not process_queue.dropped:
            restored = queue.topic == self._restored_topic
            messages = [
                ReceivedMessage(message, queue, max_offset=pulled.max_offset, restored=restored)
                for message in pulled.messages
                if not subscription.tags_set or message.tags in subscription.tags_set
            ]
            took_ms = self._instance.clock.now_ms() - began_ms
            self._rates.pulled(queue.topic, messages=len(pulled.messages), took_ms=took_ms)
            if messages:
                process_queue.put(messages)
                self._service.submit(process_queue, messages)
        if not process_queue.count and not process_queue.dropped:
            self._offsets.update(queue, pulled.next_offset, increase_only=True)
        if self._settings.pull_interval_ms and pulled.status is PullStatus.FOUND:
            self._later(request, self._settings.pull_interval_ms)
        else:
            self._requests.put(request)
