"""Pulling for a consumer that polls: no commit on the way, the subscription travels with each request.

Source: `DefaultLitePullConsumerImpl.PullTaskImpl` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from queue import SimpleQueue
from threading import Thread, current_thread

from mqctl.client.admin.broker_messages import (
    SYS_FLAG_LITE,
    SYS_FLAG_SUBSCRIPTION,
    SYS_FLAG_SUSPEND,
    Pulled,
    PullStatus,
    read_pull,
)
from mqctl.client.consumer.consume_rates import ConsumeRates
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.pull_service import PullRequest
from mqctl.client.consumer.subscription import TAG
from mqctl.client.instance import ClientInstance
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.remoting.answers import refusal
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import PendingRequest
from mqctl.errors import MqctlError
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import SubscriptionData
from mqctl.protocol.codes import PULL_RESULTS
from mqctl.protocol.requests_client import PullMessage

Fetched = tuple[ProcessQueue, list[ReceivedMessage]]
_MIB = 1024 * 1024
_PAUSED_DELAY_MS = 1_000


class LitePulling:
    """The thread that pulls for a lite pull consumer.

    Args:
        limits: messages and MiB of one queue that pause its pulls.
        limit_for_all: messages of all queues that pause all pulls.
        fetched: where messages wait for `poll`.

    Attributes:
        paused: queues that are not pulled.
    """

    def __init__(
        self,
        instance: ClientInstance,
        group: str,
        *,
        pull_batch_size: int,
        limits: tuple[int, int],
        limit_for_all: int,
        max_span: int,
        suspend_ms: int,
        timeout_ms: int,
        failure_delay_ms: int,
        flow_control_delay_ms: int,
        subscriptions: Mapping[str, SubscriptionData],
        fetched: SimpleQueue[Fetched],
        rates: ConsumeRates,
    ) -> None:
        self._instance = instance
        self._group = group
        self._batch = pull_batch_size
        self._limits = limits
        self._limit_for_all = limit_for_all
        self._max_span = max_span
        self._suspend_ms = suspend_ms
        self._timeout_ms = timeout_ms
        self._failure_delay_ms = failure_delay_ms
        self._flow_control_delay_ms = flow_control_delay_ms
        self._subscriptions = subscriptions
        self._fetched = fetched
        self._rates = rates
        self.paused: set[MessageQueue] = set()
        self._requests: SimpleQueue[PullRequest | None] = SimpleQueue()
        self._closed = False
        self._thread = Thread(target=self._run, name=f"PullMsgThread-{group}_1", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stops pulling."""
        self._closed = True
        self._requests.put(None)
        if self._thread is not current_thread() and self._thread.ident is not None:
            self._thread.join()

    def begin(self, process_queue: ProcessQueue, offset: int) -> None:
        """Begins the pull loop of a queue; it ends when the process queue is dropped."""
        self._requests.put(PullRequest(process_queue, offset))

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
        if not self._closed:
            queue = request.process_queue.queue
            self._instance.troubles.add(f"pull {queue.topic} queue {queue.queue_id} of {queue.broker_name}", error)
            self._later(request, self._failure_delay_ms)

    def _pull(self, request: PullRequest) -> None:
        process_queue = request.process_queue
        if process_queue.dropped:
            return
        queue = process_queue.queue
        process_queue.last_pull_ms = self._instance.clock.now_ms()
        if queue in self.paused:
            self._later(request, min(_PAUSED_DELAY_MS, self._failure_delay_ms))
            return
        count, mib = self._limits
        crowded = self._fetched.qsize() * self._batch > self._limit_for_all
        if (
            crowded
            or process_queue.count > count
            or process_queue.size_bytes > mib * _MIB
            or process_queue.span > self._max_span
        ):
            self._later(request, self._flow_control_delay_ms)
            return
        readable = self._instance.routes.readable(queue.broker_name, 0)
        subscription = self._subscriptions.get(queue.topic)
        if readable is None or subscription is None:
            self._later(request, self._failure_delay_ms)
            return
        self._instance.links.get(readable[0]).submit(
            self._message(request, subscription),
            deadline=Deadline(self._timeout_ms),
            on_done=lambda call: self._answered(request, subscription, call),
        )

    def _message(self, request: PullRequest, subscription: SubscriptionData) -> PullMessage:
        queue = request.process_queue.queue
        return PullMessage(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=request.next_offset,
            max_msg_nums=self._batch,
            sys_flag=SYS_FLAG_SUSPEND | SYS_FLAG_SUBSCRIPTION | SYS_FLAG_LITE,
            commit_offset=0,
            suspend_timeout_millis=self._suspend_ms,
            subscription=subscription.sub_string,
            sub_version=0 if subscription.expression_type == TAG else subscription.sub_version,
            expression_type=subscription.expression_type,
            bname=queue.broker_name,
        )

    def _answered(self, request: PullRequest, subscription: SubscriptionData, pending: PendingRequest) -> None:
        if self._closed:
            return
        try:
            answer = pending.result()
            if answer.code not in PULL_RESULTS:
                raise refusal(pending.code, pending.address, answer)
            self._take(request, subscription, read_pull(answer))
        except MqctlError as error:
            self._failed(request, error)

    def _take(self, request: PullRequest, subscription: SubscriptionData, pulled: Pulled) -> None:
        process_queue = request.process_queue
        if process_queue.dropped:
            return
        request.next_offset = pulled.next_offset
        if pulled.status is PullStatus.FOUND:
            now_ms = self._instance.clock.now_ms()
            topic = process_queue.queue.topic
            messages = [
                ReceivedMessage(message, process_queue.queue, max_offset=pulled.max_offset)
                for message in pulled.messages
                if not subscription.tags_set or message.tags in subscription.tags_set
            ]
            took_ms = now_ms - process_queue.last_pull_ms
            self._rates.pulled(topic, messages=len(pulled.messages), took_ms=took_ms)
            if messages:
                process_queue.put(messages)
                self._fetched.put((process_queue, messages))
        self._requests.put(request)
