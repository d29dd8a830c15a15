"""What the consumers' tests share: settings that do not wait, and listeners that can be waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition, Event
from time import monotonic

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage, SendResult
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import TopicConfig

LONG_S = 60.0
"""Limit of a wait, in seconds; it is spent only by a test that fails."""


def quick_client(cluster: EmbeddedCluster, **changes: object) -> ClientSettings:
    """Client settings with periods short enough for a test."""
    return ClientSettings(
        **{
            "name_servers": cluster.namesrv,
            "client_ip": "127.0.0.1",
            "persist_period_ms": 50,
            "route_period_ms": 200,
            "heartbeat_period_ms": 500,
            "sweep_period_ms": 100,
            **changes,
        }  # type: ignore[arg-type]
    )


def quick(**changes: object) -> ConsumerSettings:
    """Consumer settings with delays short enough for a test."""
    return ConsumerSettings(
        **{
            "consume_from": ConsumeFrom.FIRST_OFFSET,
            "threads": 4,
            "rebalance_period_ms": 300,
            "failure_delay_ms": 20,
            "flow_control_delay_ms": 5,
            "correction_delay_ms": 20,
            "reset_delay_ms": 20,
            "retry_locally_delay_ms": 20,
            "suspend_queue_ms": 10,
            "lock_period_ms": 200,
            "unlock_delay_ms": 20,
            "broker_suspend_ms": 1_000,
            **changes,
        }  # type: ignore[arg-type]
    )


def create_topic(cluster: EmbeddedCluster, topic: str, queues: int = 4) -> None:
    """Creates a topic on every broker."""
    question = put_topic(TopicConfig(name=topic, read_queue_count=queues, write_queue_count=queues))
    with Links() as links:
        for broker in cluster.brokers.values():
            links.ask(broker.address, question, Deadline(20_000))


def send(cluster: EmbeddedCluster, messages: Sequence[OutgoingMessage]) -> list[SendResult]:
    """Sends messages one after the other."""
    with Producer("PG_test", quick_client(cluster)) as producer:
        return [producer.send(message) for message in messages]


def numbered(topic: str, count: int, **parts: object) -> list[OutgoingMessage]:
    """Messages whose bodies are numbers."""
    return [OutgoingMessage(topic=topic, body=str(n).encode(), **parts) for n in range(count)]  # type: ignore[arg-type]


class Heard:
    """A listener that keeps what it hears, and can be waited for.

    Args:
        result: what it says to each batch.
    """

    def __init__(self, result: Callable[[ReceivedMessage], Consumed | None] = lambda _: Consumed.SUCCESS) -> None:
        self._result = result
        self._changed = Condition()
        self.messages: list[ReceivedMessage] = []

    def __call__(self, messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed | None:
        result = self._result(messages[0])
        with self._changed:
            self.messages.extend(messages)
            self._changed.notify_all()
        return result

    @property
    def bodies(self) -> list[bytes]:
        with self._changed:
            return [message.body for message in self.messages]

    def wait_for(self, count: int) -> list[ReceivedMessage]:
        """Waits until so many messages were heard."""
        self.wait_until(lambda: len(self.messages) >= count)
        return self.messages

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Waits until `condition` holds after some message."""
        with self._changed:
            assert self._changed.wait_for(condition, LONG_S), f"heard {len(self.messages)} messages"


def wait_until(condition: Callable[[], bool], what: str = "it holds", *, every_s: float = 0.005) -> None:
    """Polls for a state of broker or consumer that has no event of its own."""
    pause, end = Event(), monotonic() + LONG_S
    while not condition():
        assert monotonic() < end, f"never: {what}"
        pause.wait(every_s)


def wait_for_queues(consumer: PushConsumer, count: int) -> None:
    """Waits until a consumer holds so many queues, those of its retry topic included: a message heard tells of one."""
    wait_until(lambda: len(consumer.queues()) == count, f"{count} queues held")


def wait_for_topic(consumer: PushConsumer, topic: str) -> None:
    """Waits until the only member of a group holds every queue of a topic."""

    def held() -> bool:
        wanted = set(consumer.instance.routes.to_subscribe(topic))
        return bool(wanted) and wanted <= set(consumer.queues())

    wait_until(held, f"every queue of {topic} held")
