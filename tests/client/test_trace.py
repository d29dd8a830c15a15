"""Trace messages beside recorded ones of the Java client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_messages import messages_by_key
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import Consumed
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.trace import Tracer
from mqctl.errors import MqctlError
from mqctl.model.names import TRACE_TOPIC
from mqctl.protocol.frame import decode
from mqctl.protocol.message_record import decode_messages
from tests.client.consuming import Heard, create_topic, numbered, quick, quick_client, send, wait_until


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        create_topic(running, "T", queues=1)
        yield running


def lines(body: bytes) -> list[list[str]]:
    return [line.split("\x01") for line in body.decode().split("\x02") if line]


def traces(cluster: EmbeddedCluster, key: str) -> list[list[str]]:
    question = messages_by_key(TRACE_TOPIC, key, begin_ms=0, end_ms=2**62)
    with Cluster(cluster.namesrv) as admin:
        stored = admin.ask(cluster.broker().address, question)
    return [line for message in stored for line in lines(message.body)]


def test_sends_are_traced_as_java_traces_them(cluster: EmbeddedCluster, full_golden: Path) -> None:
    client = quick_client(cluster)
    with Tracer("PG", client) as tracer, Producer("PG", client, after_send=tracer.sent) as producer:
        result = producer.send(OutgoingMessage(topic="T", body=b"hello", tags="TagK", keys=["KEY0", "ORDER-0"]))
        tracer.flush()
        wait_until(lambda: bool(traces(cluster, "ORDER-0")), "indexed")
        (line,) = traces(cluster, result.message_id)
    frame = full_golden / "rocketmq-4.9.8/frames/a/a_012_QUERY_MESSAGE_json_09.resp.bin"
    recorded = decode(frame.read_bytes())
    theirs = lines(decode_messages(recorded.body)[0].body)[0]
    assert len(line) == len(theirs)
    assert line[0] == theirs[0] == "Pub"
    assert line[2:5] == ["DefaultRegion", "PG", "T"]
    assert line[5:10] == [result.message_id, "TagK", "KEY0 ORDER-0", cluster.broker().address, "5"]
    assert line[11:] == ["0", result.offset_id, "true"]


def test_consumption_is_traced_before_and_after(cluster: EmbeddedCluster) -> None:
    (result,) = send(cluster, numbered("T", 1, keys="trace0"))
    client = quick_client(cluster)
    heard = Heard()
    with Tracer("G", client, flush_period_ms=20) as tracer:
        consumer = PushConsumer("G", client, heard, quick(), after_consume=tracer.consumed)
        consumer.subscribe("T")
        with consumer:
            heard.wait_for(1)
            wait_until(lambda: len(traces(cluster, "trace0")) == 2, "traced")
    before, after = traces(cluster, "trace0")
    request_id = before[4]
    assert [before[0], *before[2:]] == ["SubBefore", "DefaultRegion", "G", request_id, result.message_id, "0", "trace0"]
    assert [after[0], after[1], after[2], after[4], after[5], after[6], after[8]] == [
        "SubAfter", request_id, result.message_id, "true", "trace0", "0", "G",
    ]  # fmt: skip


def test_failures_are_traced_with_their_kind(cluster: EmbeddedCluster) -> None:
    send(cluster, numbered("T", 3, keys="same"))
    results = {b"0": Consumed.RECONSUME_LATER, b"1": None}
    client = quick_client(cluster)

    def listener(body: bytes) -> Consumed | None:
        if body == b"2":
            raise ValueError("broken")
        return results[body]

    with Tracer("G", client) as tracer:
        heard = Heard(lambda message: listener(message.body))
        consumer = PushConsumer("G", client, heard, quick(), after_consume=tracer.consumed)
        consumer.subscribe("T")
        with consumer:
            wait_until(lambda: len(consumer.instance.troubles.last) >= 1 and len(tracer._gathered) >= 6, "consumed")
        tracer.flush()
        wait_until(lambda: len(traces(cluster, "same")) >= 6, "traced")
    codes = {line[6] for line in traces(cluster, "same") if line[0] == "SubAfter"}
    assert codes == {"2", "3", "4"}


def test_a_failed_send_is_traced_as_one(cluster: EmbeddedCluster) -> None:
    client = quick_client(cluster)
    create_topic(cluster, "Gone", queues=0)
    with Tracer("PG", client) as tracer, Producer("PG", client, after_send=tracer.sent) as producer:
        with pytest.raises(MqctlError):
            producer.send(OutgoingMessage(topic="Gone", body=b"x", keys="lost"))
        tracer.flush()
        wait_until(lambda: bool(traces(cluster, "lost")), "indexed")
        (line,) = traces(cluster, "lost")
    assert (line[0], line[8], line[12], line[13]) == ("Pub", "", "", "false")
