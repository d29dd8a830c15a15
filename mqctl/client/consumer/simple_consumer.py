"""A simple consumer: the application takes messages, and answers for each when and where it likes (POP, 5.x).

It pops from every broker of a topic, whatever mode is set, as clients of gRPC do. What is neither acknowledged nor
changed comes again when its invisible time is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Self

from mqctl.client.admin.broker_pops import ALL_QUEUES, acknowledge, change_invisible, pop
from mqctl.client.admin.broker_queries import check_subscription
from mqctl.client.consumer.callbacks import answer_callback
from mqctl.client.consumer.consumer_settings import ConsumeFrom
from mqctl.client.consumer.subscription import TAG, subscription
from mqctl.client.instance import ClientInstance, ClientSettings
from mqctl.client.message.outgoing import check_group, check_topic
from mqctl.client.message.popped import PoppedMessage
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import Link
from mqctl.errors import RefusedError, UnreachableError, UsageError
from mqctl.filter.tags import ALL
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import (
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    SubscriptionData,
)
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_pop import PopMessage
from mqctl.text import sentence

MOST_AT_ONCE = 32
_SLICE_MS = 1_000
"""How long one broker of several is waited for before the next has its turn."""
_LONGEST_MS = 5_000
"""How long a single one is waited for at once: what arrives in a retry topic wakes nobody."""


class SimpleConsumer:
    """Takes messages of its subscribed topics. Use as a context manager, or `start` and `shutdown`; one thread only.

    Args:
        consume_from: where a group without offsets begins.
    """

    def __init__(
        self, group: str, client: ClientSettings, *, consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET
    ) -> None:
        check_group(group)
        self._group = group
        self._from = consume_from
        self.instance = ClientInstance(client)
        self.instance.member = self
        self._subscriptions: dict[str, SubscriptionData] = {}
        self._turns = count()
        self._started_ms = 0

    @property
    def group(self) -> str:
        return self._group

    @property
    def client_id(self) -> str:
        return self.instance.client_id

    def subscribe(self, topic: str, expression: str | None = ALL, *, kind: str = TAG) -> None:
        """Subscribes a topic before the start. Raises UsageError."""
        check_topic(topic)
        self._subscriptions[topic] = subscription(topic, expression, kind=kind, version=self.instance.clock.now_ms())

    def start(self) -> None:
        """Registers with the brokers.

        Raises:
            UsageError: nothing is subscribed.
            UnreachableError, DeadlineError: no name server answers.
            RefusedError: a broker refuses the condition of a subscription.
        """
        if not self._subscriptions:
            raise UsageError(
                sentence(
                    "client-consumer-subscribes-nothing",
                    "the consumer of {group} subscribes nothing",
                    group=self._group,
                )
            )
        self._started_ms = self.instance.clock.now_ms()
        self.instance.start()
        try:
            for topic in self._subscriptions:
                self.instance.refresh_route(topic)
                self._check_condition(self._subscriptions[topic])
            self.instance.heartbeat()
        except BaseException:
            self.instance.shutdown()
            raise

    def _check_condition(self, item: SubscriptionData) -> None:
        if item.expression_type != TAG:
            question = check_subscription(self.client_id, self._group, item)
            for _, address in self._brokers(item.topic):
                self.instance.links.ask(address, question, self._deadline())

    def shutdown(self) -> None:
        """Leaves the group; what was taken and not answered for comes again by itself."""
        self.instance.shutdown()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    # Taking and answering

    def receive(
        self, topic: str, *, most: int = MOST_AT_ONCE, invisible_ms: int = 60_000, wait_ms: int = 15_000
    ) -> Sequence[PoppedMessage]:
        """Takes messages of a topic: from the first broker that has some, in turn, or none after `wait_ms`.

        Args:
            most: messages at most, up to 32.
            invisible_ms: how long they are ours; broker's clock.

        Raises:
            UsageError: the topic is not subscribed.
            MqctlError: a broker cannot be asked, or refuses.
        """
        if topic not in self._subscriptions:
            raise UsageError(
                sentence(
                    "client-consumer-not-subscribe",
                    "the consumer of {group} does not subscribe {topic}",
                    group=self._group,
                    topic=topic,
                )
            )
        ends_ms = self.instance.clock.now_ms() + wait_ms
        looks = 0
        while True:
            brokers = self._brokers(topic)
            if not brokers:
                raise UnreachableError(
                    sentence("client-no-broker-known", "No broker of {topic} is known", topic=topic),
                    reason=sentence("client-topic-no-route", "the topic has no route"),
                )
            left_ms = max(0, ends_ms - self.instance.clock.now_ms())
            slice_ms = _LONGEST_MS if len(brokers) == 1 else _SLICE_MS
            poll_ms = 0 if looks < len(brokers) else min(left_ms, slice_ms)
            popped = self._take(topic, brokers[next(self._turns) % len(brokers)], (most, invisible_ms, poll_ms))
            looks += 1
            if popped or (looks >= len(brokers) and self.instance.clock.now_ms() >= ends_ms):
                return popped

    def _take(self, topic: str, broker: tuple[str, str], limits: tuple[int, int, int]) -> tuple[PoppedMessage, ...]:
        name, address = broker
        most, invisible_ms, poll_ms = limits
        wanted = self._subscriptions[topic]
        request = PopMessage(
            consumer_group=self._group,
            topic=topic,
            queue_id=ALL_QUEUES,
            max_msg_nums=min(most, MOST_AT_ONCE),
            invisible_time=invisible_ms,
            poll_time=poll_ms,
            born_time=self.instance.clock.now_ms() if poll_ms else 0,
            init_mode=int(self._from is not ConsumeFrom.FIRST_OFFSET),
            exp_type=wanted.expression_type,
            exp=wanted.sub_string,
        )
        limit = Deadline(self.instance.settings.api_timeout_ms + round(self.instance.clock.seconds(poll_ms) * 1_000))
        popped = self.instance.links.ask(address, pop(request, name), limit).messages
        for message in popped:
            if wanted.tags_set and message.tags not in wanted.tags_set:
                self.acknowledge(message)  # another tag of the same hash
        return tuple([item for item in popped if not wanted.tags_set or item.tags in wanted.tags_set])

    def acknowledge(self, message: PoppedMessage) -> None:
        """Is done with a message. Raises MqctlError; brokers take what comes too late without a word."""
        self.instance.links.ask(self._holder(message), acknowledge(self._group, message), self._deadline())

    def change_invisible(self, message: PoppedMessage, invisible_ms: int) -> None:
        """Has a message come again `invisible_ms` from now; its old handle is void. Raises MqctlError."""
        question = change_invisible(self._group, message, invisible_ms)
        message.receipt = message.changed(self.instance.links.ask(self._holder(message), question, self._deadline()))

    def _holder(self, message: PoppedMessage) -> str:
        return self.instance.routes.master(message.queue.broker_name) or message.stored.store_host

    def _deadline(self) -> Deadline:
        return Deadline(self.instance.settings.api_timeout_ms)

    def _brokers(self, topic: str) -> list[tuple[str, str]]:
        route = self.instance.routes.route(topic)
        datas = route.broker_datas if route is not None else ()
        return sorted((data.broker_name, data.broker_addrs[0]) for data in datas if 0 in data.broker_addrs)

    # What the instance and brokers need

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(
            consume_from_where=str(self._from),
            consume_type="CONSUME_POP",
            group_name=self._group,
            subscription_data_set=tuple(self._subscriptions.values()),
        )

    def topics(self) -> tuple[str, ...]:
        return tuple(self._subscriptions)

    def persist(self) -> None:
        """Commits nothing: brokers move the offsets of what is popped."""

    def answer(self, link: Link, request: RemotingCommand) -> RemotingCommand | None:
        return answer_callback(self, link, request)

    def members_changed(self) -> None:
        """Shares no queues with the others."""

    def take_offsets(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Has none of its own."""

    def offsets_in_memory(self, topic: str) -> Mapping[MessageQueue, int]:
        return {}

    def running_info(self, *, with_stacks: bool) -> ConsumerRunningInfo:
        properties = {
            "PROP_CONSUME_TYPE": "CONSUME_POP",
            "PROP_CONSUMER_START_TIMESTAMP": str(self._started_ms),
            "consumerGroup": self._group,
        }
        wanted = tuple(sorted(self._subscriptions.values(), key=lambda item: item.topic))
        return ConsumerRunningInfo(mq_pop_table={}, properties=properties, subscription_set=wanted)

    def consume_directly(self, message: Message, broker_name: str) -> ConsumeMessageDirectlyResult:
        raise RefusedError(
            sentence("client-simple-consumer-consumes-nothing", "A simple consumer consumes nothing by order"),
            reason=sentence("client-no-listener", "it has no listener"),
        )
