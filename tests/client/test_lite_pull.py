"""The lite pull consumer against the embedded cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, consume_directly
from mqctl.client.admin.broker_queries import consumer_connections, running_info
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.consumer_settings import ConsumeFrom
from mqctl.client.consumer.lite_pull import LitePullConsumer, LitePullSettings
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.remoting.answers import AnswerError
from mqctl.errors import NotFoundError, RefusedError, UnreachableError, UsageError
from mqctl.model.queue import MessageQueue
from mqctl.protocol.frame import decode
from tests.client.consuming import create_topic, numbered, quick_client, send, wait_until
from tests.client.wire_server import closed_address
from tests.protocol.conftest import RecordedFrame

QUEUE = MessageQueue("T", "broker-a", 0)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


def lite(cluster: EmbeddedCluster, **settings: object) -> LitePullConsumer:
    return LitePullConsumer(
        "G",
        quick_client(cluster),
        LitePullSettings(
            **{
                "consume_from": ConsumeFrom.FIRST_OFFSET,
                "rebalance_period_ms": 300,
                "failure_delay_ms": 10,
                "flow_control_delay_ms": 5,
                **settings,
            }  # type: ignore[arg-type]
        ),
    )


def poll_all(consumer: LitePullConsumer, count: int) -> list[ReceivedMessage]:
    messages: list[ReceivedMessage] = []
    wait_until(lambda: messages.extend(consumer.poll(20)) or len(messages) >= count, f"{count} messages")  # type: ignore[func-returns-value]
    return messages


def test_subscribed_topics_are_polled_and_committed(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    send(cluster, numbered("T", 40, tags="A") + numbered("T", 4, tags="C"))
    consumer = lite(cluster)
    consumer.subscribe("T", "A")
    with consumer:
        messages = poll_all(consumer, 40)
        assert sorted(message.body for message in messages) == sorted(str(n).encode() for n in range(40))
        consumer.commit()
        wait_until(lambda: all(consumer.committed(queue) == 10 for queue in consumer.assignment()), "committed")
        assert consumer.poll(1) == []
        with Cluster(cluster.namesrv) as admin:
            address = cluster.broker().address
            group = admin.ask(address, consumer_connections("G"))
            assert group.consume_type == "CONSUME_ACTIVELY"
            assert group.subscription_table.keys() == {"T"}
            info = admin.ask(address, running_info("G", consumer.client_id))
            assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_ACTIVELY"
            assert len(info.mq_table) == 4
            (sent,) = send(cluster, numbered("T", 1))
            with pytest.raises(AnswerError, match="has no listener"):
                admin.ask(address, consume_directly("G", consumer.client_id, sent.offset_id))


def test_polls_commit_what_earlier_polls_returned(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 5))
    consumer = lite(cluster, auto_commit_period_ms=0)
    consumer.subscribe("T")
    with consumer:
        poll_all(consumer, 5)
        assert consumer.offsets.in_memory(QUEUE) != 5
        consumer.poll(1)
        wait_until(lambda: consumer.committed(QUEUE) == 5, "committed")


def test_without_auto_commit_nothing_is_committed_by_itself(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 5))
    for _ in range(2):
        consumer = lite(cluster, auto_commit=False)
        consumer.subscribe("T")
        with consumer:
            assert len(poll_all(consumer, 5)) == 5


def test_members_share_and_hand_over(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    one, two = lite(cluster), lite(cluster)
    one.subscribe("T")
    two.subscribe("T")
    with one:
        wait_until(lambda: len(one.assignment()) == 4, "all")
        with two:
            wait_until(lambda: len(one.assignment()) == len(two.assignment()) == 2, "shared")
        wait_until(lambda: len(one.assignment()) == 4, "taken over")


def test_assigned_queues_can_be_sought_in(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    send(cluster, numbered("T", 40))
    consumer = lite(cluster)
    with consumer:
        queues = consumer.queues_of("T")
        assert len(queues) == 4
        consumer.assign([QUEUE])
        assert consumer.assignment() == (QUEUE,)
        assert [message.queue_offset for message in poll_all(consumer, 10)] == list(range(10))
        consumer.seek(QUEUE, 7)
        assert [message.queue_offset for message in poll_all(consumer, 3)] == [7, 8, 9]
        consumer.seek_to_begin(QUEUE)
        assert poll_all(consumer, 10)[0].queue_offset == 0
        consumer.seek_to_end(QUEUE)
        assert consumer.poll(1) == []
        assert consumer.offset_at(QUEUE, 0) == 0
        with pytest.raises(RefusedError, match="not assigned"):
            consumer.seek(queues[1], 0)
        consumer.assign([queues[1]])
        assert {message.queue for message in poll_all(consumer, 10)} == {queues[1]}


def test_paused_queues_wait(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    consumer = lite(cluster)
    consumer.assign([QUEUE])
    with consumer:
        consumer.pause([QUEUE])
        consumer.seek(QUEUE, 0)
        send(cluster, numbered("T", 3))
        assert consumer.poll(1) == []
        consumer.resume([QUEUE])
        assert len(poll_all(consumer, 3)) == 3


def test_fetching_pauses_while_too_much_waits(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 100))
    consumer = lite(cluster, pull_threshold_for_queue=20)
    consumer.subscribe("T")
    with consumer:
        table = consumer._rebalancing.process_queues
        wait_until(lambda: QUEUE in table and table[QUEUE].count > 20, "full")
        assert table[QUEUE].count <= 30
        assert len(poll_all(consumer, 100)) == 100


def test_an_offset_that_is_gone_goes_on_where_the_broker_says(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 2))
    with Cluster(cluster.namesrv) as admin:
        admin.ask(cluster.broker().address, commit_offset("G", "T", 0, 99))
    consumer = lite(cluster)
    consumer.subscribe("T")
    with consumer:
        wait_until(lambda: bool(consumer.assignment()), "assigned")
        send(cluster, numbered("T", 2))
        assert [message.queue_offset for message in poll_all(consumer, 1)][-1] in (2, 3)


def test_a_pull_means_what_java_s_means(cluster: EmbeddedCluster, recorded_frames: list[RecordedFrame]) -> None:
    create_topic(cluster, "T", queues=1)
    cluster.record_requests()
    consumer = lite(cluster)
    consumer.subscribe("T")
    with consumer:
        wait_until(lambda: bool(cluster.requests(11)), "a pull")
    ours = cluster.requests(11)[0].ext_fields
    theirs = [
        command.ext_fields or {}
        for frame in recorded_frames
        if frame.request_code == 11 and not frame.is_response
        for command in [decode(frame.data)]
    ]
    with_subscription = [ext for ext in theirs if int(ext["sysFlag"]) & 4]
    assert int(ours["sysFlag"]) == 22
    assert (ours["suspendTimeoutMillis"], ours["maxMsgNums"], ours["subVersion"]) == ("20000", "10", "0")
    for ext in with_subscription:
        assert ext.keys() - ours.keys() <= {"maxMsgBytes", "requestSource", "lo", "ns", "nsd"}


def test_misuse_is_said_so(cluster: EmbeddedCluster) -> None:
    consumer = lite(cluster)
    consumer.subscribe("T")
    with pytest.raises(UsageError, match="either"):
        consumer.assign([QUEUE])
    other = lite(cluster)
    other.assign([QUEUE])
    with pytest.raises(UsageError, match="either"):
        other.subscribe("T")
    with consumer:
        with pytest.raises(NotFoundError, match="Topic Gone has no queue"):
            consumer.queues_of("Gone")
        with pytest.raises(UsageError, match="started before"):
            consumer.start()
    gone = LitePullConsumer("G", ClientSettings(name_servers=closed_address()))
    gone.subscribe("T")
    with pytest.raises(UnreachableError):
        gone.start()
