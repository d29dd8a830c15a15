"""The C++ client inside the wheel `rocketmq`: it produces, and consumes by push and by pull."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from tests.interop.conftest import Start, Topics


def test_it_produces_and_consumes_by_push(cluster: EmbeddedCluster, topic: Topics, cpp: Start) -> None:
    name = topic()
    producer, consumer = cpp(), cpp()
    consumer.do("consumer", namesrv=cluster.namesrv, group="G-cpp", topic=name)
    producer.do("producer", namesrv=cluster.namesrv, group="P-cpp")
    sent = [producer.do("send", topic=name, body=f"body {number}", tag="A", keys="k") for number in range(20)]
    assert {result["status"] for result in sent} == {"OK"}
    producer.do("send", topic=name, body="oneway", oneway=True)
    bodies = {f"body {number}" for number in range(20)} | {"oneway"}
    assert {item["body"] for item in consumer.received(21)} == bodies


def test_it_filters_by_tag(cluster: EmbeddedCluster, topic: Topics, cpp: Start) -> None:
    name = topic(1)
    producer, consumer = cpp(), cpp()
    producer.do("producer", namesrv=cluster.namesrv, group="P-cpp")
    for number, tag in enumerate(["A", "B", "C", "A"]):
        producer.do("send", topic=name, body=f"{number}", tag=tag)
    consumer.do("consumer", namesrv=cluster.namesrv, group="G-cpp-tags", topic=name, tags="A||C")
    assert [item["body"] for item in consumer.received(3)] == ["0", "2", "3"]


def test_it_keeps_order_within_a_queue(cluster: EmbeddedCluster, topic: Topics, cpp: Start) -> None:
    name = topic()
    producer, consumer = cpp(), cpp()
    producer.do("producer", namesrv=cluster.namesrv, group="P-cpp")
    for number in range(30):
        producer.do("send_orderly", topic=name, body=f"{number}", key=number % 3)
    consumer.do("consumer", namesrv=cluster.namesrv, group="G-cpp-order", topic=name, orderly=True)
    received = [int(item["body"]) for item in consumer.received(30)]
    for key in range(3):
        assert [number for number in received if number % 3 == key] == list(range(key, 30, 3))


def test_it_consumes_by_pull(cluster: EmbeddedCluster, topic: Topics, cpp: Start) -> None:
    name = topic(2)
    client = cpp()
    client.do("producer", namesrv=cluster.namesrv, group="P-cpp")
    for number in range(50):
        client.do("send", topic=name, body=f"{number}", tag="AB"[number % 2])
    pulled = client.do("pull", namesrv=cluster.namesrv, group="G-cpp-pull", topic=name)
    assert sorted(map(int, pulled)) == list(range(50))
    evens = client.do("pull", namesrv=cluster.namesrv, group="G-cpp-pull-tag", topic=name, tags="A")
    assert sorted(map(int, evens)) == list(range(0, 50, 2))
