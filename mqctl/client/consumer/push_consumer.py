"""A push consumer on real threads: concurrent, orderly or key-ordered.

Source: `DefaultMQPushConsumerImpl` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from mqctl.allocation.strategies import Average, Strategy
from mqctl.client.admin.broker_queries import check_subscription
from mqctl.client.consumer.callbacks import answer_callback
from mqctl.client.consumer.consume_concurrently import ConcurrentService
from mqctl.client.consumer.consume_keyed import KeyOf, KeyOrderedService, sharding_key
from mqctl.client.consumer.consume_orderly import OrderlyService
from mqctl.client.consumer.consumer_settings import ConsumeMode, ConsumerSettings
from mqctl.client.consumer.consuming import AfterConsume, ConsumeService, Consuming
from mqctl.client.consumer.offset_store import LOCAL_DIRECTORY, LocalOffsets, OffsetStore, RemoteOffsets
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.pull_service import Pulling, Thresholds
from mqctl.client.consumer.rebalancing import Rebalancing
from mqctl.client.consumer.running_info import RunningInfoParts, running_info
from mqctl.client.consumer.start_offset import HALF_AN_HOUR_MS, start_offset
from mqctl.client.consumer.subscription import TAG, subscription
from mqctl.client.identity import DEFAULT_INSTANCE
from mqctl.client.instance import ClientInstance, ClientSettings
from mqctl.client.message.outgoing import check_group, check_topic
from mqctl.client.message.received import Listener, ReceivedMessage
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import Link
from mqctl.errors import RefusedError, StorageError, UsageError
from mqctl.filter.tags import ALL
from mqctl.model.message import Message
from mqctl.model.names import retry_topic
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import (
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    SubscriptionData,
)
from mqctl.protocol.declared import replaced
from mqctl.protocol.frame import RemotingCommand
from mqctl.text import sentence


class PushConsumer:
    """Consumes the topics it subscribes to. Use as a context manager, or `start` and `shutdown`.

    Args:
        group: consumer group.
        client: name servers, keys, periods.
        listener: consumes messages; called on the consume threads.
        mode: how the messages of one queue reach the listener.
        strategy: which queues are ours; every member of a group needs the same.
        key_of: the key that decides about order (key-ordered).
        after_consume: told of every call of the listener, on its thread.
    """

    def __init__(
        self,
        group: str,
        client: ClientSettings,
        listener: Listener,
        settings: ConsumerSettings | None = None,
        *,
        mode: ConsumeMode = ConsumeMode.CONCURRENT,
        strategy: Strategy | None = None,
        key_of: KeyOf = sharding_key,
        after_consume: AfterConsume | None = None,
    ) -> None:
        check_group(group)
        self.settings = settings or ConsumerSettings()
        self.settings.check()
        self._group = group
        self.mode = mode
        self.strategy = strategy or Average()
        stable = self.settings.broadcasting and client.instance_name == DEFAULT_INSTANCE
        self.instance = ClientInstance(client, stable_id=stable)
        self.instance.member = self
        self.instance.on_route_change = self._route_changed
        self._subscriptions: dict[str, SubscriptionData] = {}
        self.offsets = self._offset_store()
        self.rebalancing = Rebalancing(
            group,
            self.instance,
            self.settings,
            offsets=self.offsets,
            strategy=self.strategy,
            owner=self,
            ordered=mode is not ConsumeMode.CONCURRENT,
            topics=self._subscriptions,
        )
        self._consuming = Consuming(
            group,
            self.instance,
            self.settings,
            self.offsets,
            listener,
            lock_one=self.rebalancing.locks.lock_one,
            after_consume=after_consume,
        )
        self._service: ConsumeService = self._make_service(key_of)
        self._thresholds: dict[str, Thresholds] = {}
        self._pulling = self._make_pulling()
        self._started_ms = 0
        self._running = False

    def _offset_store(self) -> OffsetStore:
        if not self.settings.broadcasting:
            return RemoteOffsets(self.instance, self._group)
        directory = self.settings.local_offset_dir or Path.home() / LOCAL_DIRECTORY
        return LocalOffsets(directory, self.instance.client_id, self._group)

    def _make_service(self, key_of: KeyOf) -> ConsumeService:
        if self.mode is ConsumeMode.ORDERLY:
            return OrderlyService(self._consuming)
        if self.mode is ConsumeMode.KEY_ORDERED:
            return KeyOrderedService(self._consuming, key_of)
        return ConcurrentService(self._consuming)

    def _make_pulling(self) -> Pulling:
        return Pulling(
            self.instance,
            self._group,
            self.settings,
            offsets=self.offsets,
            service=self._service,
            rates=self._consuming.rates,
            mode=self.mode,
            subscriptions=self._subscriptions,
            restored_topic=retry_topic(self._group),
            start=self.start_offset,
            on_moved=self._offset_moved,
            limits=self._limits,
        )

    # Life

    @property
    def group(self) -> str:
        return self._group

    @property
    def client_id(self) -> str:
        return self.instance.client_id

    def subscribe(self, topic: str, expression: str | None = ALL, *, kind: str = TAG) -> None:
        """Subscribes a topic, by tags (`A || B`, `*`) or by a condition in SQL92; also while running.

        Raises:
            UsageError: no topic can have that name, or the expression is none.
        """
        check_topic(topic)
        self._subscriptions[topic] = subscription(topic, expression, kind=kind, version=self.instance.clock.now_ms())
        if self._running:
            self.instance.refresh_route(topic)
            self.instance.heartbeat()
            self.rebalancing.wake()

    def unsubscribe(self, topic: str) -> None:
        """Gives a topic up."""
        self._subscriptions.pop(topic, None)
        if self._running:
            self.instance.heartbeat()
            self.rebalancing.wake()

    def start(self) -> None:
        """Starts the threads, registers with the brokers and begins to consume.

        Raises:
            UsageError: nothing is subscribed, or it was started before.
            UnreachableError, DeadlineError: no name server answers.
            RefusedError: a broker refuses the condition of a subscription.
        """
        if self._started_ms:
            raise UsageError(
                sentence(
                    "client-consumer-started-before",
                    "the consumer of {group} has been started before",
                    group=self._group,
                ),
                remedy=sentence("client-make-new", "make a new one"),
            )
        if not self._subscriptions:
            raise UsageError(
                sentence(
                    "client-consumer-subscribes-nothing",
                    "the consumer of {group} subscribes nothing",
                    group=self._group,
                )
            )
        instance, settings = self.instance, self.settings
        if not settings.broadcasting:
            retries = retry_topic(self._group)
            self._subscriptions[retries] = subscription(retries, version=instance.clock.now_ms())
        if isinstance(self.offsets, LocalOffsets):
            self.offsets.load()
        self._started_ms = instance.clock.now_ms()
        instance.start()
        self._start_threads()
        try:
            for topic in list(self._subscriptions):
                instance.refresh_route(topic)
            self._check_conditions()
            instance.heartbeat()
        except BaseException:
            self._stop_threads()
            instance.shutdown()
            raise
        self._running = True
        self._start_timers()
        self.rebalancing.start()

    def _start_threads(self) -> None:
        self._service.start()
        self._pulling.start()

    def _start_timers(self) -> None:
        settings, every = self.settings, self.instance.timers.every
        if self.mode is not ConsumeMode.CONCURRENT and not settings.broadcasting:
            every(1_000, settings.lock_period_ms, "renew locks", self.rebalancing.locks.renew)
        service = self._service
        if isinstance(service, ConcurrentService) and not settings.broadcasting:
            period_ms = settings.consume_timeout_ms
            every(
                period_ms,
                period_ms,
                "give back expired messages",
                lambda: service.give_back_expired(list(self.rebalancing.process_queues.values())),
            )

    def _check_conditions(self) -> None:
        instance = self.instance
        for item in list(self._subscriptions.values()):
            if item.expression_type == TAG:
                continue
            route = instance.routes.route(item.topic)
            for data in route.broker_datas if route is not None else ():
                address = data.broker_addrs.get(0)
                if address is not None:
                    question = check_subscription(self.client_id, self._group, item)
                    instance.links.ask(address, question, Deadline(instance.settings.api_timeout_ms))

    def shutdown(self) -> None:
        """Waits for the listener, commits the offsets, gives locks back, leaves the group and ends the threads."""
        if not self._running:
            return
        self._running = False
        self.rebalancing.close()
        self._stop_threads()
        queues = set(self.rebalancing.process_queues)
        try:
            self.offsets.persist(queues)
        except StorageError as error:
            self.instance.troubles.add("commit offsets", error)
        if self.mode is not ConsumeMode.CONCURRENT and not self.settings.broadcasting:
            self.rebalancing.locks.unlock_all()
        self.rebalancing.drop_all()
        self.instance.shutdown()

    def _stop_threads(self) -> None:
        if not self._end_threads(self.instance.clock.seconds(self.settings.await_termination_ms)):
            reason = sentence(
                "still-running-after",
                "it is still running after {waited_ms}",
                waited_ms=self.settings.await_termination_ms,
            )
            self.instance.troubles.add(
                "shut down",
                RefusedError(sentence("client-listener-did-not-return", "the listener did not return"), reason=reason),
            )

    def _end_threads(self, wait_s: float) -> bool:
        self._pulling.close()
        return self._service.close(wait_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def suspend(self) -> None:
        """Pauses pulling; what is cached is still consumed."""
        self._pulling.suspended = True

    def resume(self) -> None:
        """Goes on pulling."""
        self._pulling.suspended = False

    def queues(self) -> tuple[MessageQueue, ...]:
        """Returns the queues that are ours."""
        table = list(self.rebalancing.process_queues.items())  # at once: the rebalancing thread changes it meanwhile
        return tuple(sorted(queue for queue, process_queue in table if not process_queue.dropped))

    # What the instance needs

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(
            consume_from_where=str(self.settings.consume_from),
            consume_type="CONSUME_PASSIVELY",
            group_name=self._group,
            message_model=str(self.settings.message_model),
            subscription_data_set=tuple(self._subscriptions.values()),
            unit_mode=self.settings.unit_mode,
        )

    def topics(self) -> tuple[str, ...]:
        return tuple(self._subscriptions)

    def persist(self) -> None:
        self.offsets.persist(set(self.rebalancing.process_queues))

    def answer(self, link: Link, request: RemotingCommand) -> RemotingCommand | None:
        return answer_callback(self, link, request)

    def _route_changed(self, topic: str) -> None:
        if self._running and topic in self._subscriptions:
            self.rebalancing.wake()

    # What rebalancing and pulling need

    def start_offset(self, queue: MessageQueue) -> int:
        settings = self.settings
        default_ms = self._started_ms - HALF_AN_HOUR_MS
        return start_offset(
            self.instance,
            queue,
            self.offsets.stored(queue),
            settings.consume_from,
            consume_time_ms=default_ms if settings.consume_time_ms is None else settings.consume_time_ms,
        )

    def begin(self, process_queue: ProcessQueue, offset: int) -> None:
        self._pulling.forget(process_queue.queue)
        self._pulling.begin(process_queue, offset)

    def assignment_changed(self, topic: str) -> None:
        known = self._subscriptions.get(topic)
        if known is not None:
            self._subscriptions[topic] = replaced(known, sub_version=self.instance.clock.now_ms())
        self._thresholds.clear()
        self.instance.heartbeat_soon()

    def _limits(self, topic: str) -> Thresholds:
        thresholds = self._thresholds.get(topic)
        if thresholds is None:
            settings = self.settings
            count = sum(1 for queue in list(self.rebalancing.process_queues) if queue.topic == topic) or 1
            thresholds = Thresholds(settings.pull_threshold_for_queue, settings.pull_threshold_mib_for_queue)
            if settings.pull_threshold_for_topic != -1:
                thresholds.messages = max(1, settings.pull_threshold_for_topic // count)
            if settings.pull_threshold_mib_for_topic != -1:
                thresholds.mib = max(1, settings.pull_threshold_mib_for_topic // count)
            self._thresholds[topic] = thresholds
        return thresholds

    def _offset_moved(self, process_queue: ProcessQueue, offset: int) -> None:
        def correct() -> None:
            self.offsets.update(process_queue.queue, offset, increase_only=False)
            self.rebalancing.take_out(process_queue.queue)

        self.instance.timers.after(self.settings.correction_delay_ms, "correct an offset", correct)

    # What brokers ask

    def members_changed(self) -> None:
        self.rebalancing.wake()

    def take_offsets(self, offsets: Mapping[MessageQueue, int]) -> None:
        self.suspend()
        table = self.rebalancing.process_queues
        for queue in offsets:
            process_queue = table.get(queue)
            if process_queue is not None:
                process_queue.dropped = True
                process_queue.clear()

        def apply() -> None:
            for queue, offset in offsets.items():
                if queue in table:
                    self.offsets.update(queue, offset, increase_only=False)
                    self.rebalancing.take_out(queue)
            self.resume()

        self.instance.timers.after(self.settings.reset_delay_ms, "take other offsets", apply)

    def offsets_in_memory(self, topic: str) -> Mapping[MessageQueue, int]:
        return self.offsets.all_in_memory(topic)

    def running_info(self, *, with_stacks: bool) -> ConsumerRunningInfo:
        parts = RunningInfoParts(
            group=self._group,
            mode=self.mode,
            strategy=self.strategy.name,
            settings=self.settings,
            name_servers=self.instance.name_servers.addresses(),
            version=self.instance.settings.links.version,
            started_ms=self._started_ms,
        )
        return running_info(
            parts,
            subscriptions=tuple(self._subscriptions.values()),
            process_queues=dict(self.rebalancing.process_queues),
            offsets=self.offsets,
            rates=self._consuming.rates,
            with_stacks=with_stacks,
        )

    def consume_directly(self, message: Message, broker_name: str) -> ConsumeMessageDirectlyResult:
        queue = MessageQueue(message.topic, broker_name, message.queue_id)
        received = ReceivedMessage(message, queue, restored=message.topic == retry_topic(self._group))
        return self._consuming.directly(received, ordered=self.mode is not ConsumeMode.CONCURRENT)
