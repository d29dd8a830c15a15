"""Push consumers with conditions in SQL92, against brokers that serve them and one that does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_queries import all_consumer_offsets
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.consumer.subscription import SQL92
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.remoting.answers import AnswerError
from tests.client.consuming import Heard, create_topic, quick, quick_client, send, wait_until


@pytest.fixture(params=["4.9.8", "5.3.3"])
def serving(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param, settings={"enablePropertyFilter": "true"}) as cluster:
        create_topic(cluster, "T", queues=1)
        yield cluster


def subscriber(cluster: EmbeddedCluster, heard: Heard, condition: str) -> PushConsumer:
    consumer = PushConsumer("G", quick_client(cluster), heard, quick())
    consumer.subscribe("T", condition, kind=SQL92)
    return consumer


def passed(cluster: EmbeddedCluster) -> int:
    """Messages of topic T that group G is past."""
    with Cluster(cluster.namesrv) as admin:
        table = admin.ask(admin.masters()[0].address, all_consumer_offsets())
    return sum(table.offset_table.get("T@G", {}).values())


def test_only_what_fulfils_the_condition_arrives_and_the_rest_is_passed(serving: EmbeddedCluster) -> None:
    sizes = [OutgoingMessage(topic="T", body=b"%d" % size, properties={"size": str(size)}) for size in range(10)]
    # A last one that does not fit is passed only when the next long poll ends, 15 s later, as with Java's client.
    send(serving, [*sizes, OutgoingMessage(topic="T", body=b"none"), *sizes[:8]])
    heard = Heard()
    with subscriber(serving, heard, "size > 3 AND size <= 7"):
        heard.wait_for(8)
        wait_until(lambda: passed(serving) == 19, "all passed")
    assert sorted(heard.bodies) == sorted([b"4", b"5", b"6", b"7"] * 2)


def test_a_condition_that_cannot_be_read_is_refused_at_the_start(serving: EmbeddedCluster) -> None:
    with pytest.raises(AnswerError, match="size >"):
        subscriber(serving, Heard(), "size >").start()


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_a_broker_without_property_filters_refuses_at_the_start(version: str) -> None:
    with EmbeddedCluster(version=version) as cluster:
        create_topic(cluster, "T")
        with pytest.raises(AnswerError, match="SQL92"):
            subscriber(cluster, Heard(), "size > 3").start()
