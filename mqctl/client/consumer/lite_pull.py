"""A lite pull consumer: the application polls; queues are shared with the group or assigned by hand.

Source: `DefaultLitePullConsumerImpl` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from mqctl.allocation.strategies import Average, Strategy
from mqctl.client.admin.broker_queries import max_offset, min_offset, offset_by_time
from mqctl.client.consumer.callbacks import answer_callback
from mqctl.client.consumer.consume_rates import ConsumeRates
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.lite_pull_tasks import Fetched, LitePulling
from mqctl.client.consumer.offset_store import RemoteOffsets
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.rebalancing import Rebalancing
from mqctl.client.consumer.running_info import RunningInfoParts, running_info
from mqctl.client.consumer.start_offset import HALF_AN_HOUR_MS, start_offset
from mqctl.client.consumer.subscription import TAG, subscription
from mqctl.client.instance import ClientInstance, ClientSettings
from mqctl.client.message.outgoing import check_group, check_topic
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.remoting.deadline import LONGEST_WAIT_S, Deadline
from mqctl.client.remoting.link import Link
from mqctl.client.remoting.question import Question
from mqctl.errors import NotFoundError, RefusedError, UnreachableError, UsageError
from mqctl.filter.tags import ALL
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import (
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    SubscriptionData,
)
from mqctl.protocol.frame import RemotingCommand
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class LitePullSettings:
    """Java's settings and their defaults. Durations are milliseconds of the client's clock.

    Attributes:
        auto_commit: commit what earlier polls returned, inside `poll`, every `auto_commit_period_ms`.
        pull_threshold_for_queue, pull_threshold_for_all: messages waiting for `poll` that pause pulling.
        poll_timeout_ms: how long `poll` waits when nothing is there.
    """

    auto_commit: bool = True
    auto_commit_period_ms: int = 5_000
    consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET
    consume_time_ms: int | None = None
    pull_batch_size: int = 10
    pull_threshold_for_queue: int = 1_000
    pull_threshold_mib_for_queue: int = 100
    pull_threshold_for_all: int = 10_000
    max_span: int = 2_000
    poll_timeout_ms: int = 5_000
    broker_suspend_ms: int = 20_000
    pull_timeout_ms: int = 30_000
    rebalance_period_ms: int = 20_000
    failure_delay_ms: int = 1_000
    flow_control_delay_ms: int = 50


class LitePullConsumer:
    """Polls messages. Use as a context manager, or `start` and `shutdown`; `poll` from one thread.

    Either `subscribe` topics, whose queues are shared with the other members of the group, or `assign` queues.
    """

    def __init__(
        self,
        group: str,
        client: ClientSettings,
        settings: LitePullSettings | None = None,
        *,
        strategy: Strategy | None = None,
    ) -> None:
        check_group(group)
        self._group = group
        self.settings = settings or LitePullSettings()
        self._shared = ConsumerSettings(
            rebalance_period_ms=self.settings.rebalance_period_ms,
            consume_from=self.settings.consume_from,
            pull_batch_size=self.settings.pull_batch_size,
        )
        self._strategy = strategy or Average()
        self.instance = ClientInstance(client)
        self.instance.member = self
        self.instance.on_route_change = self._route_changed
        self.offsets = RemoteOffsets(self.instance, group)
        self._subscriptions: dict[str, SubscriptionData] = {}
        self._assigned: tuple[MessageQueue, ...] | None = None
        self._consumed: dict[MessageQueue, int] = {}
        self._fetched: SimpleQueue[Fetched] = SimpleQueue()
        self._rates = ConsumeRates(self.instance.clock)
        self._pulling = LitePulling(
            self.instance,
            group,
            pull_batch_size=self.settings.pull_batch_size,
            limits=(self.settings.pull_threshold_for_queue, self.settings.pull_threshold_mib_for_queue),
            limit_for_all=self.settings.pull_threshold_for_all,
            max_span=self.settings.max_span,
            suspend_ms=self.settings.broker_suspend_ms,
            timeout_ms=self.settings.pull_timeout_ms,
            failure_delay_ms=self.settings.failure_delay_ms,
            flow_control_delay_ms=self.settings.flow_control_delay_ms,
            subscriptions=self._subscriptions,
            fetched=self._fetched,
            rates=self._rates,
        )
        self._rebalancing = Rebalancing(
            group,
            self.instance,
            self._shared,
            offsets=self.offsets,
            strategy=self._strategy,
            owner=self,
            ordered=False,
            topics=self._subscriptions,
        )
        self._next_commit_ms = 0
        self._started_ms = 0
        self._running = False

    # Life

    @property
    def group(self) -> str:
        return self._group

    @property
    def client_id(self) -> str:
        return self.instance.client_id

    def subscribe(self, topic: str, expression: str | None = ALL, *, kind: str = TAG) -> None:
        """Shares the queues of a topic with the group. Raises UsageError when queues were assigned."""
        check_topic(topic)
        if self._assigned is not None:
            raise UsageError(
                sentence("client-queues-assigned", "queues were assigned"),
                reason=sentence(
                    "client-lite-pull-consumer-either",
                    "a lite pull consumer either subscribes or is assigned",
                ),
            )
        self._subscriptions[topic] = subscription(topic, expression, kind=kind, version=self.instance.clock.now_ms())
        if self._running:
            self.instance.refresh_route(topic)
            self.instance.heartbeat()
            self._rebalancing.wake()

    def assign(self, queues: Iterable[MessageQueue]) -> None:
        """Takes exactly these queues, whatever the group does. Raises UsageError when topics were subscribed."""
        if self._subscriptions and self._assigned is None:
            raise UsageError(
                sentence("client-topics-subscribed", "topics were subscribed"),
                reason=sentence(
                    "client-lite-pull-consumer-either",
                    "a lite pull consumer either subscribes or is assigned",
                ),
            )
        self._assigned = tuple(dict.fromkeys(queues))
        for topic in {queue.topic for queue in self._assigned}:
            if topic not in self._subscriptions:
                self._subscriptions[topic] = subscription(topic, version=self.instance.clock.now_ms())
        if self._running:
            self._take_assigned()

    def start(self) -> None:
        """Starts the threads and registers with the brokers.

        Raises:
            UnreachableError, DeadlineError: no name server answers.
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
        instance = self.instance
        self._started_ms = instance.clock.now_ms()
        self._next_commit_ms = self._started_ms + self.settings.auto_commit_period_ms
        instance.start()
        self._pulling.start()
        try:
            for topic in list(self._subscriptions):
                instance.refresh_route(topic)
            instance.heartbeat()
            self._running = True
            if self._assigned is not None:
                self._take_assigned()
            else:
                self._rebalancing.start()
        except BaseException:
            self._running = False
            self._pulling.close()
            instance.shutdown()
            raise

    def shutdown(self) -> None:
        """Commits what was polled (with `auto_commit`), leaves the group and ends the threads."""
        if not self._running:
            return
        self._running = False
        self._rebalancing.close()
        self._pulling.close()
        if self.settings.auto_commit:
            self.commit()
        self._rebalancing.drop_all()
        self.instance.shutdown()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    # Polling

    def poll(self, timeout_ms: int | None = None) -> list[ReceivedMessage]:
        """Returns the next messages of some queue, none when nothing came within the timeout."""
        clock = self.instance.clock
        if self.settings.auto_commit and clock.now_ms() >= self._next_commit_ms:
            self.commit()
            self._next_commit_ms = clock.now_ms() + self.settings.auto_commit_period_ms
        wait = Deadline(int(clock.seconds(self.settings.poll_timeout_ms if timeout_ms is None else timeout_ms) * 1000))
        while True:
            try:
                process_queue, messages = self._fetched.get(timeout=min(wait.remaining_s, LONGEST_WAIT_S))
            except Empty:
                if wait.expired:
                    return []
                continue
            offset = None if process_queue.dropped else process_queue.remove(messages)
            if offset is not None:
                now_ms = clock.now_ms()
                process_queue.last_consume_ms = now_ms
                self._consumed[process_queue.queue] = max(message.queue_offset for message in messages) + 1
                return messages

    def commit(self) -> None:
        """Commits the offsets behind what was polled."""
        mine = set(self._rebalancing.process_queues)
        for queue, offset in list(self._consumed.items()):
            if queue in mine:
                self.offsets.update(queue, offset, increase_only=False)
        self.offsets.persist(mine)

    def committed(self, queue: MessageQueue) -> int | None:
        """Returns the offset that the group committed. Raises MqctlError when it cannot be learnt."""
        return self.offsets.stored(queue)

    def seek(self, queue: MessageQueue, offset: int) -> None:
        """Goes on from another offset of a queue that is ours.

        Raises:
            RefusedError: it is not ours.
        """
        if not self._rebalancing.replace(queue, offset):
            raise RefusedError(
                sentence(
                    "client-cannot-search-queue",
                    "cannot search {topic} queue {queue_id} of {broker_name}",
                    topic=queue.topic,
                    queue_id=queue.queue_id,
                    broker_name=queue.broker_name,
                ),
                reason=sentence("client-not-assigned-consumer", "it is not assigned to this consumer"),
            )
        self._consumed[queue] = offset

    def seek_to_begin(self, queue: MessageQueue) -> None:
        """Goes on from the first message."""
        self.seek(queue, self._ask(queue, min_offset(queue.topic, queue.queue_id)))

    def seek_to_end(self, queue: MessageQueue) -> None:
        """Goes on behind the last message."""
        self.seek(queue, self._ask(queue, max_offset(queue.topic, queue.queue_id)))

    def offset_at(self, queue: MessageQueue, time_ms: int) -> int:
        """Returns the offset for a store time (epoch milliseconds)."""
        return self._ask(queue, offset_by_time(queue.topic, queue.queue_id, time_ms))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Stops pulling queues; what is fetched is still polled."""
        self._pulling.paused.update(queues)

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Goes on pulling queues."""
        self._pulling.paused.difference_update(queues)

    def assignment(self) -> tuple[MessageQueue, ...]:
        """Returns the queues that are ours."""
        table = self._rebalancing.process_queues
        return tuple(sorted(queue for queue, process_queue in table.items() if not process_queue.dropped))

    def queues_of(self, topic: str) -> tuple[MessageQueue, ...]:
        """Returns all readable queues of a topic.

        Raises:
            NotFoundError: there is no such topic.
        """
        self.instance.refresh_route(topic)
        queues = self.instance.routes.to_subscribe(topic)
        if not queues:
            raise NotFoundError(
                sentence("client-topic-no-queue-read", "Topic {topic} has no queue to read", topic=topic),
                reason=sentence("name-servers-know-no", "the name servers know no route of it"),
            )
        return queues

    def _ask(self, queue: MessageQueue, question: Question[int]) -> int:
        address = self.instance.routes.master(queue.broker_name)
        if address is None:
            raise UnreachableError(
                sentence("client-cannot-queried", "{broker_name} cannot be queried", broker_name=queue.broker_name),
                reason=sentence("client-no-address-master-known", "no address of its master is known"),
            )
        return self.instance.links.ask(address, question, Deadline(self.instance.settings.api_timeout_ms))

    # What rebalancing needs

    def start_offset(self, queue: MessageQueue) -> int:
        consumed = self._consumed.get(queue)
        default_ms = self._started_ms - HALF_AN_HOUR_MS
        return start_offset(
            self.instance,
            queue,
            self.offsets.stored(queue) if consumed is None else consumed,
            self.settings.consume_from,
            consume_time_ms=default_ms if self.settings.consume_time_ms is None else self.settings.consume_time_ms,
        )

    def begin(self, process_queue: ProcessQueue, offset: int) -> None:
        self._pulling.begin(process_queue, offset)

    def assignment_changed(self, topic: str) -> None:
        mine = set(self._rebalancing.process_queues)
        for queue in [queue for queue in self._consumed if queue not in mine]:
            self._consumed.pop(queue, None)
        self.instance.heartbeat_soon()

    def _take_assigned(self) -> None:
        for topic in {queue.topic for queue in self._assigned or ()}:
            self.instance.refresh_route(topic)
        self._rebalancing.take_exactly(set(self._assigned or ()))

    def _route_changed(self, topic: str) -> None:
        if self._running and self._assigned is None and topic in self._subscriptions:
            self._rebalancing.wake()

    # What the instance and brokers need

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(
            consume_from_where=str(self.settings.consume_from),
            consume_type="CONSUME_ACTIVELY",
            group_name=self._group,
            subscription_data_set=tuple(self._subscriptions.values()),
        )

    def topics(self) -> tuple[str, ...]:
        return tuple(self._subscriptions)

    def persist(self) -> None:
        self.offsets.persist(set(self._rebalancing.process_queues))

    def answer(self, link: Link, request: RemotingCommand) -> RemotingCommand | None:
        return answer_callback(self, link, request)

    def members_changed(self) -> None:
        if self._assigned is None:
            self._rebalancing.wake()

    def take_offsets(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Does nothing: only push consumers obey a reset, as in Java."""

    def offsets_in_memory(self, topic: str) -> Mapping[MessageQueue, int]:
        return self.offsets.all_in_memory(topic)

    def running_info(self, *, with_stacks: bool) -> ConsumerRunningInfo:
        parts = RunningInfoParts(
            group=self._group,
            mode=ConsumeMode.CONCURRENT,
            consume_type="CONSUME_ACTIVELY",
            strategy=self._strategy.name,
            settings=self._shared,
            name_servers=self.instance.name_servers.addresses(),
            version=self.instance.settings.links.version,
            started_ms=self._started_ms,
        )
        return running_info(
            parts,
            subscriptions=tuple(self._subscriptions.values()),
            process_queues=dict(self._rebalancing.process_queues),
            offsets=self.offsets,
            rates=self._rates,
            with_stacks=with_stacks,
        )

    def consume_directly(self, message: Message, broker_name: str) -> ConsumeMessageDirectlyResult:
        raise RefusedError(
            sentence("client-lite-pull-consumer-consumes", "A lite pull consumer consumes nothing directly"),
            reason=sentence("client-no-listener-application-polls", "it has no listener; its application polls"),
        )
