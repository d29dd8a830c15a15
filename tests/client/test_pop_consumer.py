"""Consumers that pop, against the embedded cluster, over the wire and at a scale of time."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_pops import set_request_mode
from mqctl.client.admin.broker_queries import consumer_connections, running_info
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.consumer.pop_consumer import PopConsumer
from mqctl.client.consumer.popping import PopSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.consumer.simple_consumer import SimpleConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.popped import PoppedMessage
from mqctl.client.message.received import Consumed, ReceivedMessage
from mqctl.errors import UsageError
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import HeartbeatData
from tests.client.consuming import Heard, create_topic, numbered, send, wait_for_queues, wait_until

SCALE = 100.0
FIRST = ConsumeFrom.FIRST_OFFSET


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3", time_scale=SCALE) as running:
        running.record_requests()
        yield running


def client(cluster: EmbeddedCluster, name: str = "one", **changes: object) -> ClientSettings:
    return ClientSettings(
        name_servers=cluster.namesrv, time_scale=SCALE, time_origin_ms=cluster.time_origin_ms,
        client_ip="127.0.0.1", instance_name=name, **changes,  # type: ignore[arg-type]
    )  # fmt: skip


def popping(cluster: EmbeddedCluster, group: str, topic: str, *, share: int = 0, queues: int = 2) -> None:
    """Makes a topic that a group is set to pop."""
    create_topic(cluster, topic, queues=queues)
    with Cluster(cluster.namesrv) as admin:
        admin.ask(cluster.broker().address, set_request_mode(group, topic, "POP", share_count=share))


def consumer(
    cluster: EmbeddedCluster, group: str, topic: str, heard: Heard, name: str = "one", **pops: object
) -> PopConsumer:
    settings = ConsumerSettings(consume_from=FIRST, threads=4)
    made = PopConsumer(group, client(cluster, name), heard, settings, pops=PopSettings(**pops))  # type: ignore[arg-type]
    made.subscribe(topic)
    return made


def times(heard: Heard) -> dict[bytes, list[int]]:
    moments: dict[bytes, list[int]] = {}
    for message in heard.messages:
        moments.setdefault(message.body, []).append(message.reconsume_times)
    return moments


def test_what_fails_comes_again_and_what_succeeds_is_acknowledged(cluster: EmbeddedCluster) -> None:
    popping(cluster, "GF", "TF")
    send(cluster, numbered("TF", 6))
    heard = Heard(lambda message: Consumed.SUCCESS if message.reconsume_times else Consumed.RECONSUME_LATER)
    with consumer(cluster, "GF", "TF", heard) as member, Cluster(cluster.namesrv) as admin:
        heard.wait_for(12)
        queue = MessageQueue("TF", "broker-a", -1)
        wait_until(lambda: member.popping.queues[queue].waiting == 0, "everything answered for")
        wait_for_queues(member, 1)
        info = admin.ask(cluster.broker().address, running_info("GF", member.client_id))
        assert set(info.mq_pop_table or {}) == {queue}
        assert {held.topic for held in info.mq_table} == {"%RETRY%GF"}
        assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
    assert times(heard) == {str(number).encode(): [0, 1] for number in range(6)}
    assert {message.topic for message in heard.messages} == {"TF"}
    retried = [message for message in heard.messages if message.reconsume_times]
    assert {message.queue.topic for message in retried} == {"%RETRY%GF_TF"}
    assert all(isinstance(item, PoppedMessage) and item.first_pop_ms < item.receipt.pop_ms for item in retried)
    assert {request.ext_fields["extraInfo"].split(" ")[4] for request in cluster.requests(200051)} == {"1"}


def test_what_takes_longer_than_it_is_invisible_comes_again_while_it_is_held(cluster: EmbeddedCluster) -> None:
    popping(cluster, "GL", "TL")
    send(cluster, numbered("TL", 1))
    again = Event()

    def late(message: ReceivedMessage) -> Consumed:
        if message.reconsume_times:
            again.set()
        else:
            again.wait(60)
        return Consumed.SUCCESS

    heard = Heard(late)
    with consumer(cluster, "GL", "TL", heard, invisible_ms=5_000):
        heard.wait_for(2)
    acknowledged = [item for item in cluster.requests(200051) if item.ext_fields["consumerGroup"] == "GL"]
    assert [item.ext_fields["topic"] for item in acknowledged] == ["%RETRY%GL_TL"], "the late one has no say any more"


def test_an_ordered_queue_waits_for_the_message_that_failed(cluster: EmbeddedCluster) -> None:
    popping(cluster, "GO", "TO", queues=1)
    send(cluster, numbered("TO", 5))
    heard = Heard(lambda m: Consumed.SUCCESS if m.body != b"2" or m.reconsume_times else None)
    with consumer(cluster, "GO", "TO", heard, ordered=True):
        heard.wait_until(lambda: [m.body for m in heard.messages][-1:] == [b"4"])
    assert [(message.body, message.reconsume_times) for message in heard.messages] == [
        (b"0", 0), (b"1", 0), (b"2", 0), (b"2", 1), (b"3", 1), (b"4", 1)
    ]  # fmt: skip


def test_brokers_share_out_what_is_popped_and_what_is_pulled(cluster: EmbeddedCluster) -> None:
    popping(cluster, "GS", "TS", share=1, queues=6)
    heard = Heard()
    members = [consumer(cluster, "GS", "TS", heard, name) for name in ("a", "b", "c")]
    for member in members:
        member.start()
    try:
        wait_until(lambda: all(len(member.popping.queues) == 4 for member in members), "own queues and a neighbour's")
        send(cluster, numbered("TS", 12))
        heard.wait_for(12)
        wait_until(lambda: sum(len(member.queues()) for member in members) == 1, "one pulls the classic retry topic")
        with Cluster(cluster.namesrv) as admin:
            admin.ask(cluster.broker().address, set_request_mode("GS", "TS", "PULL"))
        for member in members:
            member.rebalancing.wake()
        wait_until(lambda: sum(len(member.queues()) for member in members) == 7, "all queues pulled")
        assert all(not member.popping.queues for member in members)
        send(cluster, numbered("TS", 3))
        heard.wait_for(15)
    finally:
        for member in members:
            member.shutdown()


def test_what_was_sent_back_while_the_group_pulled_is_not_left_behind(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "TB", queues=1)
    send(cluster, numbered("TB", 1))
    pulled = Heard(lambda _: Consumed.RECONSUME_LATER)
    puller = PushConsumer("GB", client(cluster), pulled, ConsumerSettings(consume_from=FIRST, threads=1))
    puller.subscribe("TB")
    with puller:
        pulled.wait_for(1)
    popping(cluster, "GB", "TB", queues=1)
    heard = Heard()
    with consumer(cluster, "GB", "TB", heard):
        heard.wait_for(1)
    assert [(message.topic, message.reconsume_times) for message in heard.messages] == [("TB", 1)]


def test_a_simple_consumer_answers_for_each_message(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "TX", queues=1)
    send(cluster, numbered("TX", 3))
    member = SimpleConsumer("GX", client(cluster), consume_from=FIRST)
    member.subscribe("TX")
    with member, Cluster(cluster.namesrv) as admin:
        first = member.receive("TX", most=3)
        assert [message.body for message in first] == [b"0", b"1", b"2"]
        assert member.receive("TX", wait_ms=500) == ()
        member.acknowledge(first[0])
        before = first[1].receipt
        member.change_invisible(first[1], 1_000)
        assert first[1].receipt.due_ms < before.due_ms
        (again,) = member.receive("TX", wait_ms=60_000)
        assert (again.body, again.reconsume_times, again.topic) == (b"1", 1, "TX")
        member.acknowledge(again)
        (last,) = member.receive("TX", wait_ms=120_000)
        assert (last.body, last.first_pop_ms) == (b"2", first[2].receipt.pop_ms)
        shown = admin.ask(cluster.broker().address, consumer_connections("GX"))
        assert (shown.consume_type, set(shown.subscription_table)) == ("CONSUME_POP", {"TX"})
        with pytest.raises(UsageError):
            member.receive("other")


def test_a_v2_heartbeat_says_only_once_what_is_subscribed(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "TV", queues=1)

    def said() -> list[HeartbeatData]:
        heartbeats = [HeartbeatData.from_bytes(item.body) for item in cluster.requests(34)]
        return [item for item in heartbeats if item.client_id.endswith("@v2")]

    def topics(data: HeartbeatData) -> list[str]:
        return [item.topic for item in data.consumer_data_set[0].subscription_data_set]

    member = SimpleConsumer("GV", client(cluster, "v2", heartbeat_v2=True))
    member.subscribe("TV")
    with member, Cluster(cluster.namesrv) as admin:
        wait_until(lambda: len(said()) >= 4, "heartbeats")
        shown = admin.ask(cluster.broker().address, consumer_connections("GV"))
        assert set(shown.subscription_table) == {"TV"}, "who says nothing of it still subscribes"
        full, _, *short = said()  # two threads may send the first
        assert (topics(full), full.without_sub) == (["TV"], False)
        assert {(tuple(topics(item)), item.without_sub) for item in short} == {((), True)}
        assert {item.heartbeat_fingerprint for item in short} == {full.heartbeat_fingerprint}
        member.subscribe("TF", "A")
        wait_until(lambda: sorted(topics(said()[-1]) or []) == ["TF", "TV"] or len(said()) > 30, "a full one")
        wait_until(lambda: said()[-1].without_sub is True, "the subscriptions are known")
        member.instance.links.drop(cluster.broker().address)
        count = len(said())
        wait_until(lambda: any(item.without_sub is False for item in said()[count:]), "everything said anew")


@pytest.mark.parametrize("wrong", [{"invisible_ms": 0}, {"invisible_ms": 300_001}, {"batch_size": 33}])
def test_settings_are_checked(cluster: EmbeddedCluster, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        PopConsumer("G", client(cluster), Heard(), pops=PopSettings(**wrong))  # type: ignore[arg-type]
