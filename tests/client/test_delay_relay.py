"""The relay: messages come at their moment, whole, in time, and none is lost when a relay dies."""

from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.producer.delay_relay import RELAY_TOPIC, DelayRelay, for_later
from mqctl.client.producer.producer import Producer
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.message import KEYS, TAGS
from tests.client.consuming import Heard, create_topic, quick, quick_client, wait_until

LEVELS = "1s 2s 5s"
TABLE = DelayLevelTable.parse(LEVELS)
SCALE = 5.0
CLOCKS_APART_MS = 10


@pytest.fixture
def cluster() -> object:
    with EmbeddedCluster(time_scale=SCALE, settings={"messageDelayLevel": LEVELS}) as running:
        create_topic(running, "T", queues=1)
        create_topic(running, RELAY_TOPIC, queues=2)
        yield running


def fast(cluster: EmbeddedCluster) -> dict[str, object]:
    return {"time_scale": SCALE, "time_origin_ms": cluster.time_origin_ms}


def test_what_is_due_goes_straight_and_what_is_not_takes_its_first_level() -> None:
    message = OutgoingMessage(topic="T", body=b"x", properties={"a": "b"})
    assert for_later(message, 1_000, TABLE, now_ms=1_000) is message
    later = for_later(message, 8_500, TABLE, now_ms=1_000)
    assert (later.topic, later.delay_level, later.properties["MQCTL_TOPIC"]) == (RELAY_TOPIC, 3, "T")
    soon = for_later(message, 1_900, TABLE, now_ms=1_000)
    assert (soon.topic, soon.delay_level) == (RELAY_TOPIC, 0)


def test_messages_come_at_their_moment_and_whole(cluster: EmbeddedCluster) -> None:
    client = quick_client(cluster, **fast(cluster))
    heard = Heard()
    consumer = PushConsumer("G", client, heard, quick())
    consumer.subscribe("T")
    relay = DelayRelay(client, TABLE, quick(threads=8, batch_size=16))
    with Producer("PG", client) as producer, consumer, relay:
        now_ms = producer.instance.clock.now_ms()
        wanted = {str(wait).encode(): now_ms + wait for wait in (900, 1_400, 3_050, 8_700, 12_345)}
        for body, moment in wanted.items():
            message = OutgoingMessage(topic="T", body=body, tags="A", keys="k1", properties={"own": "1"})
            producer.send(for_later(message, moment, TABLE, now_ms=now_ms))
        messages = heard.wait_for(len(wanted))
        counts = relay.counts
    assert {message.body for message in messages} == set(wanted)
    for came in messages:
        assert came.stored.store_time_ms >= wanted[came.body] - CLOCKS_APART_MS
        properties = dict(came.properties)
        assert (properties.pop(TAGS), properties.pop(KEYS), properties.pop("own")) == ("A", "k1", "1")
        assert not {"MQCTL_TOPIC", "MQCTL_DELIVER_MS", "DELAY", "REAL_TOPIC"} & properties.keys()
    assert (counts.delivered, counts.failed) == (5, 0)
    assert counts.relayed >= 2, (
        "each of the two late ones went on; a busy machine leaves out hops (tests/model/test_delay_chain.py)"
    )


def test_a_relay_that_dies_loses_nothing(cluster: EmbeddedCluster) -> None:
    client = quick_client(cluster, **fast(cluster))
    heard = Heard()
    consumer = PushConsumer("G", client, heard, quick())
    consumer.subscribe("T")
    bodies = {str(number).encode() for number in range(40)}
    with Producer("PG", client) as producer, consumer:
        now_ms = producer.instance.clock.now_ms()
        for body in bodies:
            message = OutgoingMessage(topic="T", body=body)
            producer.send(for_later(message, now_ms + 8_000, TABLE, now_ms=now_ms))
        with DelayRelay(client, TABLE, quick()) as first:
            wait_until(lambda: first.counts.relayed > 0, "a first hop")
        with DelayRelay(client, TABLE, quick()):
            heard.wait_until(lambda: {message.body for message in heard.messages} == bodies)


def test_what_cannot_be_sent_on_comes_again_and_what_nobody_can_place_is_counted(cluster: EmbeddedCluster) -> None:
    from embedded_broker import Answer

    client = quick_client(cluster, **fast(cluster))
    heard = Heard()
    consumer = PushConsumer("G", client, heard, quick())
    consumer.subscribe("T")
    cluster.fault(310, Answer(2, "busy"), where={"b": "T"}, times=1)
    with Producer("PG", client) as producer, consumer, DelayRelay(client, TABLE, quick()) as relay:
        producer.send(OutgoingMessage(topic=RELAY_TOPIC, body=b"whose?"))
        now_ms = producer.instance.clock.now_ms()
        producer.send(for_later(OutgoingMessage(topic="T", body=b"x"), now_ms + 500, TABLE, now_ms=now_ms))
        heard.wait_for(1)
        wait_until(lambda: relay.counts.failed == 2, "what nobody can place is counted")
