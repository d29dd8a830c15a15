"""Push consumers against the embedded cluster, over the wire."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import pytest

from embedded_broker import Answer, CloseConnection, EmbeddedCluster
from mqctl.allocation.rooms import room_rule
from mqctl.allocation.strategies import Average, AverageByCircle, ConsistentHash, NearbyRoom, Strategy
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.consumer_settings import ConsumeFrom
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, Listener, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.remoting.answers import AnswerError
from mqctl.errors import UnreachableError, UsageError
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.member import MessageModel
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import HeartbeatData
from mqctl.protocol.bodies_cluster import QueueOffsets
from mqctl.protocol.frame import RemotingCommand, decode
from tests.client.consuming import LONG_S, Heard, create_topic, numbered, quick, quick_client, send, wait_until
from tests.client.wire_server import closed_address
from tests.protocol.conftest import RecordedFrame

BY_PREFIX = room_rule("prefix:-")


@pytest.fixture(params=["4.9.8", "5.3.3"])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param) as running:
        yield running


def committed(cluster: EmbeddedCluster, group: str, queue: MessageQueue) -> int | None:
    with Cluster(cluster.namesrv) as admin:
        return admin.ask(admin.broker(queue.broker_name).address, consumer_offset(group, queue.topic, queue.queue_id))


def push(
    cluster: EmbeddedCluster, listener: Listener, topic: str = "T", group: str = "G", **settings: object
) -> PushConsumer:
    consumer = PushConsumer(group, quick_client(cluster), listener, quick(**settings))
    consumer.subscribe(topic)
    return consumer


def owned(consumer: PushConsumer, topic: str = "T") -> set[MessageQueue]:
    return {queue for queue in consumer.queues() if queue.topic == topic}


def test_messages_arrive_once_and_offsets_are_committed(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    results = send(cluster, numbered("T", 40, tags="A", keys="k"))
    heard = Heard()
    with push(cluster, heard) as consumer:
        messages = heard.wait_for(40)
        assert {message.message_id for message in messages} == {result.message_id for result in results}
        assert {message.offset_id for message in messages} == {result.offset_id for result in results}
        assert {(message.topic, message.tags, tuple(message.keys)) for message in messages} == {("T", "A", ("k",))}
        queues = owned(consumer)
        assert len(queues) == 4
        wait_until(lambda: all(committed(cluster, "G", queue) == 10 for queue in queues), "committed")
    assert len(heard.messages) == 40
    again = Heard()
    with push(cluster, again):
        send(cluster, numbered("T", 3))
        again.wait_for(3)
    assert sorted(again.bodies) == [b"0", b"1", b"2"]


def test_what_was_heard_is_committed_by_shutdown(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 7))
    heard = Heard()
    consumer = PushConsumer("G", quick_client(cluster, persist_period_ms=3_600_000), heard, quick())
    consumer.subscribe("T")
    with consumer:
        heard.wait_for(7)
        (queue,) = owned(consumer)
    wait_until(lambda: committed(cluster, "G", queue) == 7, "committed")


def test_queues_can_be_asked_for_while_they_change_hands() -> None:
    consumer = PushConsumer("G", ClientSettings(name_servers="h:1"), Heard(), quick())
    table = consumer.rebalancing.process_queues
    mine = {queue: ProcessQueue(queue, 0) for queue in (MessageQueue("T", "broker-a", number) for number in range(8))}
    stop = Event()

    def rebalance() -> None:
        while not stop.is_set():
            table.update(mine)
            table.clear()

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = Thread(target=rebalance)
    thread.start()
    try:
        for _ in range(5_000):
            assert set(consumer.queues()) <= mine.keys()
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval_s)


def test_tags_are_filtered_and_compressed_bodies_unpacked(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    long = b"x" * 10_000
    send(cluster, [OutgoingMessage(topic="T", body=long, tags=tag) for tag in (None, "C", "A", "B", "D", "A")])
    heard = Heard()
    consumer = PushConsumer("G", quick_client(cluster), heard, quick())
    consumer.subscribe("T", "A || B")
    with consumer:
        heard.wait_for(3)
        wait_until(lambda: committed(cluster, "G", MessageQueue("T", "broker-a", 0)) == 6, "all passed")
    assert sorted(message.tags or "" for message in heard.messages) == ["A", "A", "B"]
    assert set(heard.bodies) == {long}


def test_members_share_the_queues_when_they_join_and_leave(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=8)
    first, second = Heard(), Heard()
    with push(cluster, first, rebalance_period_ms=3_600_000) as one:
        wait_until(lambda: len(owned(one)) == 8, "all queues")
        with push(cluster, second, rebalance_period_ms=3_600_000) as two:
            wait_until(lambda: len(owned(one)) == len(owned(two)) == 4, "shared on joining")
            assert not owned(one) & owned(two)
            send(cluster, numbered("T", 16))
            first.wait_for(8)
            second.wait_for(8)
        wait_until(lambda: len(owned(one)) == 8, "taken over on leaving")
        send(cluster, numbered("T", 8))
        first.wait_for(16)
    assert len(first.messages) + len(second.messages) == 24


@pytest.mark.parametrize(
    "strategy",
    [
        AverageByCircle(),
        ConsistentHash(),
        NearbyRoom(Average(), room_rule("prefix:-").broker_room, room_rule("prefix:-").client_room),
    ],
    ids=lambda strategy: strategy.name,
)
def test_strategies_leave_no_queue_out(strategy: Strategy) -> None:
    with EmbeddedCluster(rooms=("HT", "CP")) as cluster:
        create_topic(cluster, "T")
        consumers = [
            PushConsumer("G", quick_client(cluster, room=room, instance_name="i"), Heard(), quick(), strategy=strategy)
            for room in ("HT", "CP")
        ]
        for consumer in consumers:
            consumer.subscribe("T")
        with consumers[0], consumers[1]:
            assert all(consumer.client_id.startswith(("HT-", "CP-")) for consumer in consumers)

            def shared() -> bool:
                one, other = owned(consumers[0]), owned(consumers[1])
                return bool(one and other) and not one & other and len(one | other) == 8

            wait_until(shared, "shared")
            if isinstance(strategy, NearbyRoom):
                assert {queue.broker_name for queue in owned(consumers[0])} == {"HT-broker-a"}


def test_a_new_group_begins_at_the_end_unless_told_otherwise(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 5))
    queue = MessageQueue("T", "broker-a", 0)
    # A 4.9 broker says 0 for a group without an offset on a young queue; so it is told there is none.
    cluster.fault(14, Answer(22))
    try:
        for consume_from, expected in (
            (ConsumeFrom.LAST_OFFSET, 5),
            (ConsumeFrom.FIRST_OFFSET, 0),
            (ConsumeFrom.TIMESTAMP, 0),
        ):
            consumer = push(cluster, Heard(), group=f"G-{consume_from}", consume_from=consume_from)
            with consumer:
                assert consumer.start_offset(queue) == expected
                assert consumer.start_offset(MessageQueue("%RETRY%G", "broker-a", 0)) == 0
    finally:
        cluster.clear_faults()


def test_failed_messages_come_back_and_end_as_dead_letters() -> None:
    with EmbeddedCluster(time_scale=20, settings={"messageDelayLevel": "1s 1s 1s 1s 1s"}) as cluster:
        create_topic(cluster, "T", queues=1)
        (result,) = send(cluster, numbered("T", 1, tags="A"))
        heard = Heard(lambda _: Consumed.RECONSUME_LATER)
        dead = Heard()
        with push(cluster, heard, max_reconsume_times=2), push(cluster, dead, topic="%DLQ%G", group="D") as letters:
            heard.wait_for(3)
            wait_until(lambda: bool(owned(letters, "%DLQ%G")), "the dead-letter topic")
            dead.wait_for(1)
        assert [message.reconsume_times for message in heard.messages] == [0, 1, 2]
        assert {message.topic for message in heard.messages} == {"T"}
        assert {message.message_id for message in heard.messages + dead.messages} == {result.message_id}
        assert [message.queue.topic for message in heard.messages] == ["T", "%RETRY%G", "%RETRY%G"]


@pytest.mark.parametrize("fault", ["raises", "exits", "returns nothing"])
def test_what_a_listener_raises_is_a_failure_that_is_told(cluster: EmbeddedCluster, fault: str) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 2))

    def fails(message: ReceivedMessage) -> Consumed | None:
        if fault == "raises":
            raise ValueError("broken listener")
        if fault == "exits":
            raise SystemExit(1)
        return None

    cluster.record_requests()
    with push(cluster, lambda messages, _: fails(messages[0]), max_reconsume_times=9) as consumer:
        wait_until(lambda: len(cluster.requests(36)) == 2, "sent back")
        if fault == "raises":
            assert any("ValueError: broken listener" in str(t.error) for t in list(consumer.instance.troubles.last))
    ext = cluster.requests(36)[0].ext_fields
    assert ext
    assert (ext["delayLevel"], ext["group"], ext["originTopic"], ext["maxReconsumeTimes"]) == ("0", "G", "T", "9")


def test_the_context_decides_how_much_succeeded_and_when_the_rest_comes_back(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 4))

    def listener(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        context.ack_index = 1
        context.delay_level = -1
        return Consumed.SUCCESS

    cluster.record_requests()
    with push(cluster, listener, batch_size=4):
        wait_until(lambda: len(cluster.requests(36)) == 2, "two sent back")
        assert {request.ext_fields.get("delayLevel") for request in cluster.requests(36)} == {"-1"}


def test_when_sending_back_fails_a_copy_is_sent_and_else_it_is_tried_here(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 1))
    cluster.fault(36, Answer(1, "no"), times=1)
    cluster.record_requests()
    heard = Heard(lambda _: Consumed.RECONSUME_LATER)
    with push(cluster, heard):
        wait_until(lambda: len(cluster.requests(310)) == 1, "a copy was sent")
        (request,) = cluster.requests(310)
        assert request.ext_fields.get("b") == "%RETRY%G"
        assert request.ext_fields.get("j") == "1"
        assert request.ext_fields.get("l") == "16"
    cluster.fault(36, Answer(1, "no"))
    cluster.fault(310, Answer(13, "no"))
    again = Heard(lambda message: Consumed.RECONSUME_LATER if message.reconsume_times == 0 else Consumed.SUCCESS)
    with push(cluster, again, group="H"):
        assert [message.reconsume_times for message in again.wait_for(2)] == [1, 1]


def test_broadcasting_gives_every_member_everything_and_keeps_offsets_in_a_file(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    create_topic(cluster, "T")
    send(cluster, numbered("T", 8))
    settings = quick(message_model=MessageModel.BROADCASTING, local_offset_dir=tmp_path)
    both = [Heard(), Heard(lambda _: Consumed.RECONSUME_LATER)]
    consumers = [
        PushConsumer("G", quick_client(cluster, instance_name=f"i{n}"), heard, settings) for n, heard in enumerate(both)
    ]
    for consumer in consumers:
        consumer.subscribe("T")
    with consumers[0], consumers[1]:
        for heard in both:
            heard.wait_for(8)
    assert [len(heard.messages) for heard in both] == [8, 8]
    saved = QueueOffsets.from_bytes((tmp_path / "127.0.0.1@i0" / "G" / "offsets.json").read_bytes())
    assert {queue.queue_id: offset for queue, offset in saved.offset_table.items()} == {0: 2, 1: 2, 2: 2, 3: 2}
    later = Heard()
    consumer = PushConsumer("G", quick_client(cluster, instance_name="i0"), later, settings)
    consumer.subscribe("T")
    with consumer:
        send(cluster, numbered("T", 1))
        later.wait_for(1)
    assert len(later.messages) == 1


def test_an_offset_that_is_gone_is_corrected(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 5))
    with Cluster(cluster.namesrv) as admin:
        admin.ask(cluster.broker().address, put_group(SubscriptionGroupConfig(name="G")))
        admin.ask(cluster.broker().address, commit_offset("G", "T", 0, 77))
    heard = Heard()
    with push(cluster, heard) as consumer:
        wait_until(lambda: committed(cluster, "G", MessageQueue("T", "broker-a", 0)) == 5, "corrected")
        wait_until(lambda: bool(owned(consumer)), "taken again")
        send(cluster, numbered("T", 1))
        heard.wait_for(1)


def test_pulls_pause_while_too_much_is_cached(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 100))
    gate = Event()
    heard = Heard(lambda _: Consumed.SUCCESS if gate.wait(LONG_S) else None)
    with push(cluster, heard, pull_threshold_for_queue=20, pull_batch_size=8, threads=2) as consumer:
        wait_until(lambda: any(pq.count > 20 for pq in list(consumer.rebalancing.process_queues.values())), "full")
        cluster.record_requests()
        assert max(pq.count for pq in list(consumer.rebalancing.process_queues.values())) <= 28
        gate.set()
        heard.wait_for(100)
    assert sorted(heard.bodies) == sorted(str(n).encode() for n in range(100))


def test_suspending_pauses_and_resuming_goes_on(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    heard = Heard()
    with push(cluster, heard) as consumer:
        wait_until(lambda: len(owned(consumer)) == 4, "assigned")
        consumer.suspend()
        send(cluster, numbered("T", 4))
        consumer.resume()
        heard.wait_for(4)


def test_a_message_that_hangs_is_sent_back(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 1))
    gate = Event()
    cluster.record_requests()
    heard = Heard(lambda _: Consumed.SUCCESS if gate.wait(LONG_S) else None)
    with push(cluster, heard, consume_timeout_ms=50):
        wait_until(lambda: len(cluster.requests(36)) == 1, "sent back")
        assert cluster.requests(36)[0].ext_fields.get("delayLevel") == "3"
        gate.set()


def test_subscriptions_change_while_running(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    create_topic(cluster, "U")
    cluster.record_requests()
    heard = Heard()
    with push(cluster, heard) as consumer:
        consumer.subscribe("U", "A")
        wait_until(lambda: len(owned(consumer, "U")) == 4, "new topic")
        send(cluster, numbered("U", 2, tags="A"))
        heard.wait_for(2)
        consumer.unsubscribe("T")
        wait_until(lambda: not owned(consumer), "given up")

        def told() -> dict[str, str]:
            (data,) = HeartbeatData.from_bytes(cluster.requests(34)[-1].body).consumer_data_set
            return {item.topic: item.sub_string for item in data.subscription_data_set}

        # A periodic heartbeat that was made before may arrive after the one that says so.
        wait_until(lambda: told() == {"U": "A", "%RETRY%G": "*"}, "brokers told")


def recorded_requests(frames: list[RecordedFrame], code: int) -> list[RemotingCommand]:
    chosen = [f for f in frames if f.request_code == code and not f.is_response and f.serialize == "JSON"]
    return [decode(frame.data) for frame in chosen]


def test_heartbeats_and_pulls_mean_what_java_s_mean(
    cluster: EmbeddedCluster, recorded_frames: list[RecordedFrame]
) -> None:
    create_topic(cluster, "TopicTest")
    cluster.record_requests()
    heard = Heard()
    with push(cluster, heard, topic="TopicTest", group="GC_normal", broker_suspend_ms=15_000) as consumer:
        wait_until(lambda: len(owned(consumer, "TopicTest")) == 4, "assigned")
        send(cluster, numbered("TopicTest", 4))
        heard.wait_for(4)
        wait_until(lambda: len(cluster.requests(15)) > 3, "commits")
        send(cluster, numbered("TopicTest", 4))
        heard.wait_for(8)
        wait_until(lambda: any(r.ext_fields.get("sysFlag") == "3" for r in cluster.requests(11)), "a pull that commits")
    theirs = {code: recorded_requests(recorded_frames, code) for code in (11, 15, 34)}
    ours = cluster.requests(34)[0]
    consumer_data = HeartbeatData.from_bytes(ours.body).consumer_data_set[0]
    recorded = [
        data
        for command in theirs[34]
        for data in HeartbeatData.from_bytes(command.body).consumer_data_set
        if data.consume_type == "CONSUME_PASSIVELY" and data.message_model == "CLUSTERING"
    ]
    assert recorded
    assert consumer_data.to_json().keys() == recorded[0].to_json().keys()
    assert (
        consumer_data.subscription_data_set[0].to_json().keys() == recorded[0].subscription_data_set[0].to_json().keys()
    )
    assert {item.topic for item in consumer_data.subscription_data_set} == {"TopicTest", "%RETRY%GC_normal"}
    pulls = cluster.requests(11)
    recorded_pull = next(command for command in theirs[11] if command.version == 409)
    assert set(pulls[0].ext_fields) == set(recorded_pull.ext_fields or {})
    assert pulls[0].ext_fields.get("sysFlag") == "2"
    assert (pulls[0].ext_fields.get("suspendTimeoutMillis"), pulls[0].ext_fields.get("maxMsgNums")) == ("15000", "32")
    commit = cluster.requests(15)[0]
    assert commit.oneway
    assert set(commit.ext_fields) == set(theirs[15][0].ext_fields or {})


def test_a_broker_that_was_killed_is_consumed_again_when_it_is_back(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    heard = Heard()
    with push(cluster, heard) as consumer:
        send(cluster, numbered("T", 4))
        heard.wait_for(4)
        broker = cluster.broker()
        wait_until(lambda: all(committed(cluster, "G", queue) == 1 for queue in owned(consumer)), "committed")
        broker.kill()
        broker.start()
        send(cluster, numbered("T", 4))
        heard.wait_until(lambda: len({message.message_id for message in heard.messages}) == 8)


def test_an_answer_that_cannot_be_read_is_asked_for_again(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 3))
    ext = {"suggestWhichBrokerId": "0", "nextBeginOffset": "3", "minOffset": "0", "maxOffset": "3"}
    cluster.fault(11, Answer(0, ext_fields=ext, body=b"no records"), times=1, where={"topic": "T"})
    cluster.fault(11, Answer(0, ext_fields={}), times=1, where={"topic": "T"})
    cluster.fault(11, CloseConnection(), times=1, where={"topic": "T"})
    heard = Heard()
    with push(cluster, heard) as consumer:
        heard.wait_for(3)
        troubles = [trouble.doing for trouble in list(consumer.instance.troubles.last)]
    assert troubles.count("pull T queue 0 of broker-a") >= 3
    assert len(heard.messages) == 3


def test_nothing_is_lost_while_brokers_are_killed_in_turn() -> None:
    with EmbeddedCluster(brokers=2) as cluster:
        create_topic(cluster, "T", queues=2)
        heard = Heard()
        stop = Event()
        acknowledged: list[str] = []

        def produce() -> None:
            while not stop.is_set():
                acknowledged.append(producer.send(OutgoingMessage(topic="T", body=b"x")).message_id)

        def wait_for_traffic(what: str) -> None:
            wanted = len(acknowledged) + 20
            wait_until(lambda: len(acknowledged) > wanted or sending.done(), what)
            if sending.done():
                sending.result()

        with (
            push(cluster, heard) as consumer,
            Producer("PG", quick_client(cluster)) as producer,
            ThreadPoolExecutor(1) as pool,
        ):
            wait_until(lambda: len(owned(consumer)) == 4, "assigned")
            sending = pool.submit(produce)
            try:
                for name in ("broker-a", "broker-b"):
                    wait_for_traffic("traffic")
                    cluster.broker(name).kill()
                    wait_for_traffic("traffic to the other")
                    cluster.broker(name).start()
                    # A producer that looked meanwhile knows only the other broker, until it looks again.
                    producer.instance.refresh_route("T")
                    assert {queue.broker_name for queue in producer.queues("T")} == {"broker-a", "broker-b"}
            finally:
                stop.set()
            sending.result()
            heard.wait_until(lambda: {message.message_id for message in heard.messages} >= set(acknowledged))


def test_a_producer_that_knows_only_a_dead_broker_fails_until_its_route_is_refreshed() -> None:
    """As in Java: all attempts of a send choose from the route that is known when it begins."""
    with EmbeddedCluster(brokers=2) as cluster:
        create_topic(cluster, "T", queues=2)
        cluster.broker("broker-a").kill()
        with Cluster(cluster.namesrv) as admin:
            wait_until(lambda: len(admin.masters()) == 1, "broker-a is forgotten")
        producer = Producer("PG", quick_client(cluster, route_period_ms=3_600_000))
        producer.instance.publish_topics.add("T")

        def known() -> set[str]:
            return {queue.broker_name for queue in producer.instance.routes.to_publish("T")}

        with producer:
            wait_until(lambda: known() == {"broker-b"}, "the only look by itself")
            cluster.broker("broker-a").start()
            cluster.broker("broker-b").kill()
            with pytest.raises(UnreachableError, match=r"connection refused \(attempt 3 of 3\)"):
                producer.send(OutgoingMessage(topic="T", body=b"x"))

            def refreshed() -> set[str]:
                producer.instance.refresh_routes()
                return known()

            wait_until(lambda: refreshed() == {"broker-a"}, "the new route")
            assert producer.send(OutgoingMessage(topic="T", body=b"x")).queue.broker_name == "broker-a"


def test_another_name_server_takes_over() -> None:
    with EmbeddedCluster(name_servers=2) as cluster:
        create_topic(cluster, "T")
        heard = Heard()
        with push(cluster, heard) as consumer:
            wait_until(lambda: len(owned(consumer)) == 4, "assigned")
            cluster.stop_name_server("namesrv", kill=True)
            create_topic(cluster, "U")
            consumer.subscribe("U")
            wait_until(lambda: len(owned(consumer, "U")) == 4, "a route from the other name server")
            send(cluster, numbered("U", 2))
            heard.wait_for(2)


def test_a_room_s_address_service_moves_its_clients() -> None:
    with EmbeddedCluster(rooms=("HT", "CP"), isolated_rooms=True) as cluster:
        create_topic(cluster, "T")
        heard = Heard()
        client = quick_client(
            cluster, name_servers=cluster.nsaddr_url("HT"), address_service_period_ms=50, room="HT", time_scale=50
        )
        consumer = PushConsumer("G", client, heard, quick(rebalance_period_ms=20_000))
        consumer.subscribe("T")
        with consumer:
            wait_until(lambda: {queue.broker_name for queue in owned(consumer)} == {"HT-broker-a"}, "own room")
            cluster.switch_room("HT", to="CP")
            wait_until(lambda: {queue.broker_name for queue in owned(consumer)} == {"CP-broker-a"}, "other room")


def test_sql_is_checked_with_the_broker_first(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    consumer = PushConsumer("G", quick_client(cluster), Heard(), quick())
    consumer.subscribe("T", "a > 3", kind="SQL92")
    with pytest.raises(AnswerError, match="CHECK_CLIENT_CONFIG was refused"):
        consumer.start()


def test_a_consumer_that_cannot_start_leaves_nothing_behind() -> None:
    consumer = PushConsumer("G", ClientSettings(name_servers=closed_address()), Heard(), quick())
    consumer.subscribe("T")
    with pytest.raises(UnreachableError):
        consumer.start()


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"batch_size": 1025}, {"pull_batch_size": 0}, {"max_span": 0}])
def test_settings_are_checked_as_java_checks_them(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        PushConsumer("G", ClientSettings(name_servers="h:1"), Heard(), quick(**wrong))


def test_misuse_is_said_so(cluster: EmbeddedCluster) -> None:
    consumer = PushConsumer("G", quick_client(cluster), Heard(), quick())
    with pytest.raises(UsageError, match="subscribes nothing"):
        consumer.start()
    for expression, kind in (("||", "TAG"), ("", "SQL92"), ("x", "REGEX")):
        with pytest.raises(UsageError):
            consumer.subscribe("T", expression, kind=kind)
    consumer.subscribe("T")
    with consumer, pytest.raises(UsageError, match="started before"):
        consumer.start()
