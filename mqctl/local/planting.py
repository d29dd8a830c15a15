"""Putting topics, groups, messages and offsets of a scenario onto its brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.admin.broker_pops import set_request_mode
from mqctl.client.admin.broker_queries import max_offset, min_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.client.producer.transactions import LocalTransactionState, TransactionProducer
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.question import Question
from mqctl.errors import UsageError
from mqctl.local.actor import client_settings, keys_in_turn, with_key
from mqctl.local.faults import ResizeTopic
from mqctl.local.scenario import MessagesDeclared, OffsetDeclared, Scenario, TopicDeclared
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_pop import POP
from mqctl.text import sentence

_TIMEOUT_MS = 15_000
_STATES = {
    "commit": LocalTransactionState.COMMIT,
    "rollback": LocalTransactionState.ROLLBACK,
    "pending": LocalTransactionState.UNKNOWN,
}


class Planting:
    """What changes brokers in the course of a scenario.

    Args:
        cluster: number of the cluster; what is declared for another one is not planted.
        namesrv: its name servers.
        addresses: `host:port` by broker.
    """

    def __init__(self, scenario: Scenario, cluster: int, namesrv: str, addresses: Mapping[str, str]) -> None:
        self._scenario = scenario
        self._cluster = cluster
        self._namesrv = namesrv
        self._addresses = addresses

    def ask(self, questions: Iterable[tuple[str, Question[None]]]) -> None:
        """Asks brokers one thing after the other. Raises what their answers mean."""
        with Cluster(self._namesrv) as cluster:
            for broker, question in questions:
                cluster.ask(self._addresses[broker], question, Deadline(_TIMEOUT_MS))

    def topics_and_groups(self) -> None:
        """Creates the topics where they are declared, the groups on every broker, and chooses what they pop."""
        self.ask(
            [
                (broker, put_topic(_config(topic)))
                for topic in self._scenario.topics
                if topic.cluster == self._cluster
                for broker in self.brokers_of(topic)
            ]
        )
        self.ask(
            [
                (
                    broker,
                    put_group(
                        SubscriptionGroupConfig(
                            name=group.name, retry_max_times=group.retry_max_times, consume_enable=group.consume_enable
                        )
                    ),
                )
                for group in self._scenario.groups
                for broker in self._addresses
            ]
        )

        topics = {topic.name: topic for topic in self._scenario.topics}
        self.ask(
            [
                (broker, set_request_mode(pops.group, pops.topic, POP))
                for pops in self._scenario.pops
                if pops.cluster == self._cluster
                for broker in self.brokers_of(topics[pops.topic])
            ]
        )

    def brokers_of(self, topic: TopicDeclared | ResizeTopic) -> tuple[str, ...]:
        """Returns the brokers that a topic is on."""
        return topic.brokers or tuple(self._addresses)

    def addresses_of(self, topics: Iterable[str]) -> set[str]:
        """Returns where the brokers of topics listen: those that their consumers talk to."""
        declared = [topic for topic in self._scenario.topics if topic.cluster == self._cluster and topic.name in topics]
        return {self._addresses[broker] for topic in declared for broker in self.brokers_of(topic)}

    def resize(self, change: ResizeTopic) -> None:
        """Gives a topic other numbers of queues."""
        declared = TopicDeclared(
            name=change.topic,
            queues=change.queues,
            read_queues=change.read_queues,
            perm=change.perm,
            brokers=change.brokers,
        )
        self.ask([(broker, put_topic(_config(declared))) for broker in self.brokers_of(change)])

    def send(self, messages: MessagesDeclared) -> None:
        """Sends messages. Raises what the producer raises."""
        client = client_settings(self._namesrv, self._scenario.time_scale, name=f"{messages.producer}-planting")
        if messages.transaction is not None:
            state = _STATES[messages.transaction]
            with TransactionProducer(
                messages.producer, client, lambda _: LocalTransactionState.UNKNOWN
            ) as transactions:
                for message in _messages(messages):
                    transactions.send(message, lambda _, __: state)
            return
        with Producer(messages.producer, client) as producer:
            send = _sender(producer, messages)
            for message in _messages(messages):
                send(message)

    def move(self, change: OffsetDeclared) -> None:
        """Commits an offset for a group that is not there."""
        (topic,) = [
            topic for topic in self._scenario.topics if (topic.name, topic.cluster) == (change.topic, change.cluster)
        ]
        named = None if change.queue is None else _queue(change.topic, change.queue)
        queues = [
            MessageQueue(topic.name, broker, queue_id)
            for broker in self.brokers_of(topic)
            for queue_id in range(topic.queues)
        ]
        with Cluster(self._namesrv) as cluster:
            for queue in queues if named is None else [named]:
                address = self._addresses[queue.broker_name]
                if isinstance(change.at, int):
                    offset = change.at
                else:
                    ask = max_offset if change.at == "end" else min_offset
                    offset = cluster.ask(address, ask(queue.topic, queue.queue_id), Deadline(_TIMEOUT_MS))
                question = commit_offset(change.group, queue.topic, queue.queue_id, offset)
                cluster.ask(address, question, Deadline(_TIMEOUT_MS))


def _config(topic: TopicDeclared) -> TopicConfig:
    return TopicConfig(
        name=topic.name,
        read_queue_count=topic.queues if topic.read_queues is None else topic.read_queues,
        write_queue_count=topic.queues,
        perm=topic.perm,
        order=topic.order,
    )


def _queue(topic: str, text: str) -> MessageQueue:
    broker, _, slash = text.partition("/")
    queue_id = decimal(slash, high=MOST_INT32)
    if queue_id is None:
        raise UsageError(
            sentence("local-scenario-names-queue", "a scenario names the queue {text!r}", text=text),
            remedy=sentence("local-write-broker-queue", "write BROKER/QUEUE, broker-a/0 for instance"),
        )
    return MessageQueue(topic, broker, queue_id)


def _messages(declared: MessagesDeclared) -> Iterable[OutgoingMessage]:
    keys = keys_in_turn(declared.sharding_keys)
    for number in range(declared.count):
        message = OutgoingMessage(
            topic=declared.topic,
            body=b"%d " % number + b"." * max(0, declared.body_bytes - len(f"{number} ")),
            tags=declared.tags[number % len(declared.tags)] if declared.tags else None,
            keys=declared.keys.replace("{n}", str(number)) if declared.keys else (),
            delay_level=declared.delay_level,
        )
        key = next(keys, None)
        yield message if key is None else with_key(message, key)


def _sender(producer: Producer, declared: MessagesDeclared) -> Callable[[OutgoingMessage], object]:
    keys = keys_in_turn(declared.sharding_keys)
    if declared.sharding_keys:
        return lambda message: producer.send(message, select=by_key(next(keys)))
    if declared.queue is not None:
        queue = _queue(declared.topic, declared.queue)
        return lambda message: producer.send(message, queue=queue)
    turn = iter(range(declared.count))
    queues = producer.queues(declared.topic)
    return lambda message: producer.send(message, queue=queues[next(turn) % len(queues)])
