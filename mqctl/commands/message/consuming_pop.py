"""`message consume --pop`: messages taken as a member of a group that shares messages instead of queues (5.x)."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import tell
from mqctl.client.consumer.consumer_settings import ConsumeFrom
from mqctl.client.consumer.simple_consumer import MOST_AT_ONCE, SimpleConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.popped import PoppedMessage
from mqctl.commands.message.consume_view import ShownReceipt
from mqctl.errors import DeadlineError, MqctlError, UnreachableError
from mqctl.protocol.codes import V5_3_3


def pop_consumer(target: ClusterTarget, group: str, topic: str, expression: str, kind: str) -> SimpleConsumer:
    """Makes the member; it has not joined yet."""
    links = replace(target.links(), version=V5_3_3)  # what pops is of 5.x
    client = ClientSettings(name_servers=target.namesrv, links=links)
    consumer = SimpleConsumer(group, client, consume_from=ConsumeFrom.LAST_OFFSET)
    consumer.subscribe(topic, expression, kind=kind)
    return consumer


def collect_popped(
    consumer: SimpleConsumer, topic: str, *, count: int, wait_ms: int, invisible_ms: int
) -> list[PoppedMessage]:
    """Takes up to `count` messages; a broker that fails later ends it with what there is.

    Raises:
        MqctlError: the first pop is refused or cannot be asked.
    """
    popped: list[PoppedMessage] = []
    ends_at = monotonic() + wait_ms / 1000
    while len(popped) < count:
        left_ms = max(0, round((ends_at - monotonic()) * 1000))
        try:
            more = consumer.receive(
                topic, most=min(MOST_AT_ONCE, count - len(popped)), invisible_ms=invisible_ms, wait_ms=left_ms
            )
        except (UnreachableError, DeadlineError) as error:
            if not popped:
                raise
            tell(f"mqctl: {error}")
            break
        popped += more
        if not more and not left_ms:
            break
    return popped


def shown_receipts(messages: list[PoppedMessage]) -> list[ShownReceipt]:
    """Returns what the messages are acknowledged with."""
    return [
        ShownReceipt(
            message_id=message.message_id,
            broker_name=message.queue.broker_name,
            lies_in=message.queue.topic,
            queue_id=message.queue.queue_id,
            queue_offset=message.queue_offset,
            reconsume_times=message.reconsume_times,
            visible_ms=message.receipt.due_ms,
            receipt=str(message.receipt),
        )
        for message in messages
    ]


def acknowledge_shown(consumer: SimpleConsumer, messages: list[PoppedMessage]) -> list[str]:
    """Acknowledges each message while it still is ours, and returns the ids of those of which that is not sure.

    A broker says yes to what comes too late as well: what was invisible until then counts as not confirmed.
    """
    unsure = []
    for message in messages:
        try:
            consumer.acknowledge(message)
        except MqctlError as error:
            tell(f"mqctl: {error}")
            unsure.append(message.message_id)
            continue
        if consumer.instance.clock.now_ms() >= message.receipt.due_ms:
            unsure.append(message.message_id)
    return unsure
