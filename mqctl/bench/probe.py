"""Sends that are timed, one queue after the other."""

from __future__ import annotations

from time import perf_counter

from mqctl.bench.probe_view import ProbedQueue, probed_queue
from mqctl.cli.connection.target import ClusterTarget
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.producer import Producer
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.own_messages import PROBE
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence


def topic_queues(producer: Producer, topic: str) -> list[MessageQueue]:
    """Returns the writable queues of a topic. Raises NotFoundError when there is none: a probe creates no topic."""
    producer.instance.refresh_route(topic)
    if producer.instance.routes.route(topic) is None:
        raise NotFoundError(
            sentence("no-topic", "there is no topic {topic}", topic=topic),
            remedy=command_line("mqctl topic list --all"),
        )
    return list(producer.queues(topic))


def own_queues(producer: Producer, target: ClusterTarget) -> list[MessageQueue]:
    """Returns a queue of the topic that each master keeps under its own name."""
    with target.open() as cluster:
        names = sorted({item.broker_name for item in cluster.masters(target.deadline())})
    for name in names:
        producer.instance.refresh_route(name)
    return [MessageQueue(name, name, 0) for name in names]


def probe(
    producer: Producer, queue: MessageQueue, count: int, size_bytes: int, timeout_ms: int | None
) -> tuple[ProbedQueue, list[Gap]]:
    """Sends `count` messages to one queue; each waits for the one before. Those that were not stored are gaps."""
    trips_ms: list[float] = []
    gaps: list[Gap] = []
    subject = GapSubject(topic=queue.topic, queue_id=queue.queue_id)
    message = OutgoingMessage(topic=queue.topic, body=b"x" * size_bytes, properties={PROBE: "1"})
    for _ in range(count):
        began = perf_counter()
        try:
            producer.send(message, queue=queue, timeout_ms=timeout_ms)
        except MqctlError as error:
            gaps.append(Gap.of(Part.MESSAGES, error, subject, broker=queue.broker_name))
        else:
            trips_ms.append((perf_counter() - began) * 1000)
    reasons = [gap.reason for gap in gaps]
    return probed_queue(queue.broker_name, queue.topic, queue.queue_id, trips_ms, reasons), gaps
