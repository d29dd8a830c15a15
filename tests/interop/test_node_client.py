"""`ali-ons`, the Node client: it produces, consumes in a group, filters by tag, and shares queues out anew."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from tests.interop.conftest import Start, Topics


def test_what_it_sends_it_receives(cluster: EmbeddedCluster, topic: Topics, node: Start) -> None:
    name = topic()
    client = node()
    client.do("consumer", namesrv=cluster.namesrv, group="G-node", topic=name, tags="*")
    client.do("producer", namesrv=cluster.namesrv, group="P-node")
    sent = [client.do("send", topic=name, tag="TagA", body=f"body {number}", keys=["k"]) for number in range(20)]
    assert {result["status"] for result in sent} == {"SEND_OK"}
    assert {result["queue"] for result in sent} == {0, 1, 2, 3}
    assert sorted(item["body"] for item in client.received(20)) == sorted(f"body {number}" for number in range(20))


def test_it_filters_by_tag(cluster: EmbeddedCluster, topic: Topics, node: Start) -> None:
    name = topic(1)
    producer, consumer = node(), node()
    producer.do("producer", namesrv=cluster.namesrv, group="P-node")
    for number, tag in enumerate(["A", "B", "C", "A", "C", "B", "A"]):
        producer.do("send", topic=name, tag=tag, body=f"{number}")
    consumer.do("consumer", namesrv=cluster.namesrv, group="G-node-tags", topic=name, tags="A || C")
    assert [(item["body"], item["tag"]) for item in consumer.received(5)] == [
        ("0", "A"),
        ("2", "C"),
        ("3", "A"),
        ("4", "C"),
        ("6", "A"),
    ]


def test_two_share_the_queues_and_one_takes_over(cluster: EmbeddedCluster, topic: Topics, node: Start) -> None:
    name = topic()
    one, two, producer = node(), node(), node()
    one.do("consumer", namesrv=cluster.namesrv, group="G-node-two", topic=name, tags="*")
    assert one.do("owned", topic=name, count=4)["queues"] == [0, 1, 2, 3]
    two.do("consumer", namesrv=cluster.namesrv, group="G-node-two", topic=name, tags="*")
    halves = [driver.do("owned", topic=name, count=2)["queues"] for driver in (one, two)]
    assert sorted(halves) == [[0, 1], [2, 3]]
    producer.do("producer", namesrv=cluster.namesrv, group="P-node")
    for number in range(40):
        producer.do("send", topic=name, tag="T", body=f"{number}")
    for driver, queues in zip((one, two), halves, strict=True):
        assert {item["queue"] for item in driver.received(20)} == set(queues)
    two.do("close")
    assert one.do("owned", topic=name, count=4)["queues"] == [0, 1, 2, 3]
    for number in range(8):
        producer.do("send", topic=name, tag="T", body=f"more {number}")
    assert len(one.received(28)) == 28


def test_what_it_fails_on_comes_again(cluster: EmbeddedCluster, topic: Topics, node: Start) -> None:
    name = topic(1)
    client = node()
    client.do("consumer", namesrv=cluster.namesrv, group="G-node-retry", topic=name, tags="*", fail=1)
    client.do("producer", namesrv=cluster.namesrv, group="P-node")
    client.do("send", topic=name, tag="T", body="again")
    assert [(item["body"], item["retried"]) for item in client.received(2)] == [("again", 0), ("again", 1)]
