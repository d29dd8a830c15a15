"""What brokers ask of consumers, asked as a tool asks it: through the broker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from threading import Event, current_thread

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import consume_directly, reset_offsets
from mqctl.client.admin.broker_queries import consumer_connections, consumer_offset, consumer_status, running_info
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.consumer_settings import ConsumeMode
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.received import Consumed, ReceivedMessage
from mqctl.client.remoting.answers import AnswerError
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumerRunningInfo
from mqctl.protocol.frame import decode
from tests.client.consuming import LONG_S, Heard, create_topic, numbered, quick, quick_client, send, wait_until
from tests.protocol.conftest import RecordedFrame

QUEUE = MessageQueue("T", "broker-a", 0)


@pytest.fixture(params=["4.9.8", "5.3.3"])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param) as running:
        create_topic(running, "T", queues=1)
        yield running


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> Iterator[Cluster]:
    with Cluster(cluster.namesrv) as tool:
        yield tool


def consumer(
    cluster: EmbeddedCluster, heard: Heard, mode: ConsumeMode = ConsumeMode.CONCURRENT, **settings: object
) -> PushConsumer:
    made = PushConsumer("G", quick_client(cluster, room="HT"), heard, quick(**settings), mode=mode)
    made.subscribe("T", "A || B")
    return made


@pytest.mark.parametrize("cluster", ["4.9.8"], indirect=True)
@pytest.mark.parametrize("mode", list(ConsumeMode))
def test_a_reset_sends_an_online_group_back_and_forward(
    cluster: EmbeddedCluster, admin: Cluster, mode: ConsumeMode
) -> None:
    send(cluster, numbered("T", 5, tags="A"))
    heard = Heard()
    broker = cluster.broker().address

    def committed() -> int | None:
        return admin.ask(broker, consumer_offset("G", "T", 0))

    with consumer(cluster, heard, mode):
        heard.wait_for(5)
        wait_until(lambda: committed() == 5, "committed")
        table = admin.ask(broker, reset_offsets("T", "G", 0, force=True)).offset_table
        assert table == {QUEUE: 0}
        assert [message.queue_offset for message in heard.wait_for(10)[5:10]] == [0, 1, 2, 3, 4] or mode is (
            ConsumeMode.CONCURRENT
        )
        wait_until(lambda: committed() == 5, "committed again")
    assert sorted(heard.bodies) == sorted([b"0", b"1", b"2", b"3", b"4"] * 2)


@pytest.mark.parametrize("cluster", ["5.3.3"], indirect=True)
@pytest.mark.parametrize("mode", list(ConsumeMode))
def test_a_reset_on_the_server_takes_effect_with_the_next_pull(
    cluster: EmbeddedCluster, admin: Cluster, mode: ConsumeMode
) -> None:
    send(cluster, numbered("T", 5, tags="A"))
    heard = Heard()
    broker = cluster.broker().address
    with consumer(cluster, heard, mode):
        heard.wait_for(5)
        wait_until(lambda: admin.ask(broker, consumer_offset("G", "T", 0)) == 5, "committed")
        assert admin.ask(broker, reset_offsets("T", "G", 0, force=True)).offset_table == {QUEUE: 0}
        send(
            cluster, numbered("T", 1, tags="B")
        )  # answers the pull that the broker holds, if any; the next one is told
        heard.wait_for(11)
        wait_until(lambda: admin.ask(broker, consumer_offset("G", "T", 0)) == 6, "committed again")
    counts = Counter(message.queue_offset for message in heard.messages)
    assert [counts[offset] for offset in range(5)] == [2] * 5
    assert counts[5] in (1, 2)


def test_the_status_are_the_offsets_in_memory(cluster: EmbeddedCluster, admin: Cluster) -> None:
    send(cluster, numbered("T", 3, tags="A"))
    heard = Heard()
    with consumer(cluster, heard) as member:
        heard.wait_for(3)
        wait_until(lambda: member.offsets.in_memory(QUEUE) == 3, "in memory")
        status = admin.ask(cluster.broker().address, consumer_status("T", "G"))
        assert status.consumer_table == {member.client_id: {QUEUE: 3}}


def _waits_in_hangs(stack: str | None) -> bool:
    """Whether one of the listener's threads hangs; the others wait as well, for messages."""
    thread = r"(?m)^ConsumeMessageThread_G_\d +TID: \d+ STATE: WAITING\n(^ConsumeMessageThread_G_\d +.+\n)+$"
    return any("hangs(test_callbacks.py" in hit[0] for hit in re.finditer(thread, stack or ""))


@pytest.mark.parametrize("mode", list(ConsumeMode))
def test_running_information_has_java_s_shape(
    cluster: EmbeddedCluster, admin: Cluster, mode: ConsumeMode, recorded_frames: list[RecordedFrame]
) -> None:
    gate = Event()
    entered = Event()

    def hangs(_: ReceivedMessage) -> Consumed:
        entered.set()
        gate.wait(LONG_S)
        return Consumed.SUCCESS

    send(cluster, numbered("T", 2, tags="A"))
    heard = Heard(hangs)
    with consumer(cluster, heard, mode) as member:
        assert entered.wait(LONG_S)
        address = cluster.broker().address
        (connection,) = admin.ask(address, consumer_connections("G")).connection_set
        assert connection.client_id == member.client_id
        assert connection.client_id.startswith("HT-127.0.0.1@")
        with_stacks = running_info("G", member.client_id, with_stacks=True)
        wait_until(lambda: _waits_in_hangs(admin.ask(address, with_stacks).jstack), "the listener hangs")
        info = admin.ask(address, with_stacks)
        without = admin.ask(address, running_info("G", member.client_id))
        gate.set()
        heard.wait_for(2)
    assert without.jstack is None
    process_queue = info.mq_table[QUEUE]
    held = process_queue.cached_msg_count + process_queue.transaction_msg_count
    assert (held, process_queue.locked, process_queue.dropped) == (2, True, False)
    assert info.properties["PROP_CONSUMEORDERLY"] == ("false" if mode is ConsumeMode.CONCURRENT else "true")
    assert info.properties["PROP_CLIENT_VERSION"] == "V4_9_8"
    assert info.properties["PROP_NAMESERVER_ADDR"] == cluster.namesrv + ";"
    assert {item.topic: item.tags_set for item in info.subscription_set} == {"T": ("A", "B"), "%RETRY%G": ()}
    stack = info.jstack or ""
    assert _waits_in_hangs(stack)
    for name in (
        "PullMessageService",
        "RebalanceService",
        "MQClientFactoryScheduledThread",
        "NettyClientWorkerThread_1",
    ):
        assert f"\n{name.ljust(40)}TID: " in f"\n{stack}"
    recorded = [
        ConsumerRunningInfo.from_bytes(decode(frame.data).body)
        for frame in recorded_frames
        if frame.request_code == 307 and frame.is_response and frame.body_bytes and frame.name.startswith("4.9.8")
    ]
    ours_without_stack = without.to_json().keys()
    assert ours_without_stack == recorded[0].to_json().keys() - {"jstack"}
    java_only = {
        "log", "subscription", "consumeThreadMax", "adjustThreadPoolNumsThreshold", "offsetStore", "messageListener",
        "defaultMQPushConsumerImpl",
    }  # fmt: skip
    assert recorded[0].properties.keys() - info.properties.keys() <= java_only


def test_rates_show_in_running_information(cluster: EmbeddedCluster, admin: Cluster) -> None:
    send(cluster, numbered("T", 12, tags="A"))
    heard = Heard(lambda message: None if message.body == b"3" else Consumed.SUCCESS)
    with consumer(cluster, heard) as member:
        heard.wait_for(12)
        address = cluster.broker().address

        def counted() -> bool:
            """A message is counted after its listener has come back."""
            status = admin.ask(address, running_info("G", member.client_id)).status_table["T"]
            rates = (status.consume_ok_tps, status.pull_tps, status.consume_failed_tps)
            return status.consume_failed_msgs == 1 and rates == pytest.approx((11 / 60, 12 / 60, 1 / 60))

        wait_until(counted, "eleven consumed, twelve pulled and one failed in a minute")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Consumed.SUCCESS, "CR_SUCCESS"),
        (Consumed.RECONSUME_LATER, "CR_LATER"),
        (None, "CR_RETURN_NULL"),
        (ValueError("no"), "CR_THROW_EXCEPTION"),
    ],
)
def test_one_message_is_consumed_directly(
    cluster: EmbeddedCluster, admin: Cluster, result: Consumed | Exception | None, expected: str
) -> None:
    (sent,) = send(cluster, numbered("T", 1))  # no tag: the subscription does not match it, direct consumption does
    names: list[str] = []

    def listener(_: ReceivedMessage) -> Consumed | None:
        names.append(current_thread().name)
        if isinstance(result, Exception):
            raise result
        return result

    heard = Heard(listener)
    with consumer(cluster, heard) as member:
        address = cluster.broker().address
        answer = admin.ask(address, consume_directly("G", member.client_id, sent.offset_id))
        assert (answer.consume_result, answer.order, answer.auto_commit) == (expected, False, True)
        assert answer.remark == ("ValueError: no" if isinstance(result, Exception) else None)
    assert len(names) == 1


def test_a_listener_that_hangs_directly_does_not_hide_the_stacks(cluster: EmbeddedCluster, admin: Cluster) -> None:
    (sent,) = send(cluster, numbered("T", 1))
    gate, entered = Event(), Event()

    def hangs(_: ReceivedMessage) -> Consumed:
        entered.set()
        gate.wait(LONG_S)
        return Consumed.SUCCESS

    with consumer(cluster, Heard(hangs)) as member:
        address = cluster.broker().address
        question = consume_directly("G", member.client_id, sent.offset_id)
        call = admin.links.get(address).submit(question.request, deadline=Deadline(20_000))
        assert entered.wait(LONG_S)
        info = admin.ask(address, running_info("G", member.client_id, with_stacks=True))
        assert "hangs(test_callbacks.py" in (info.jstack or "")
        gate.set()
        assert call.wait()


def test_another_group_s_questions_are_refused(cluster: EmbeddedCluster, admin: Cluster) -> None:
    with consumer(cluster, Heard()) as member, pytest.raises(AnswerError, match="not online"):
        admin.ask(cluster.broker().address, running_info("Other", member.client_id))
