"""Members of a group for tests of changes: consumers that keep what they hear, with rests short enough for a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer_settings import ConsumeMode
from mqctl.client.push_consumer import PushConsumer
from mqctl.client.received import Consumed, ReceivedMessage
from tests.client.consuming import Heard, quick, quick_client

REST_MS = 1_200


@contextmanager
def member(
    cluster: EmbeddedCluster,
    *,
    mode: ConsumeMode = ConsumeMode.CONCURRENT,
    name: str = "member",
    topic: str = "Pay",
    group: str = "G",
    takes: bool = True,
) -> Iterator[Heard]:
    """Runs one member of a group.

    Args:
        takes: consumes what it gets; otherwise everything fails for now.
    """

    def result(message: ReceivedMessage) -> Consumed:
        if takes:
            return Consumed.SUCCESS
        return Consumed.SUSPEND_CURRENT_QUEUE_A_MOMENT if mode is ConsumeMode.ORDERLY else Consumed.RECONSUME_LATER

    heard = Heard(result)
    settings = quick(reset_delay_ms=REST_MS, correction_delay_ms=REST_MS)
    consumer = PushConsumer(group, quick_client(cluster, instance_name=name), heard, settings, mode=mode)
    consumer.subscribe(topic, "*")
    with consumer:
        yield heard
