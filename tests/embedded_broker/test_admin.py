"""The administration of a broker over the wire: each answer has the meaning that recordings of real brokers show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin import broker_changes as change
from mqctl.client.admin import broker_messages as message
from mqctl.client.admin import broker_queries as ask
from mqctl.client.remoting.answers import AnswerError
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import PendingRequest
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumerRunningInfo
from mqctl.protocol.bodies_cluster import ConsumerStatus, QueueOffsets
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.message_id import OffsetId
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer

T = TypeVar("T")


@pytest.fixture
def links() -> Iterator[Links]:
    made = Links()
    yield made
    made.close()


class Admin:
    """Puts questions to the broker of a cluster."""

    def __init__(self, cluster: EmbeddedCluster, links: Links) -> None:
        self.address = cluster.broker().address
        self._links = links

    def __call__(self, question: Question[T]) -> T:
        return self._links.ask(self.address, question, Deadline(60_000))

    def refused(self, question: Question[T]) -> AnswerError:
        with pytest.raises(AnswerError) as caught:
            self(question)
        return caught.value


@pytest.fixture
def admin(cluster: EmbeddedCluster, links: Links) -> Admin:
    return Admin(cluster, links)


def finished(call: PendingRequest) -> RemotingCommand:
    call.wait()
    return call.result()


def fill(broker: Peer, topic: str, count: int, queue_id: int = 0) -> None:
    for number in range(count):
        properties = {"KEYS": f"k{number} all", "TAGS": "TagA", "UNIQ_KEY": f"{topic}{number}"}
        assert broker.call(send(topic, queue_id=queue_id, properties=properties), b"body %d" % number).code == 0


def answer(peer: Peer, code: int, body: bytes = b"", *, remark: str | None = None, response: int = 0) -> None:
    """Answers a request that the broker put to this client."""
    request = peer.asked(code)
    peer.socket.sendall(encode(request.answer(response, remark=remark, body=body)))


# Topics and groups


def test_topics_are_created_changed_and_deleted(admin: Admin, broker: Peer) -> None:
    admin(change.put_topic(TopicConfig(name="T", read_queue_count=3, write_queue_count=2, perm=6)))
    assert admin(ask.topic_configs())["T"].read_queue_count == 3
    fill(broker, "T", 2)
    stats = admin(ask.topic_stats("T")).offset_table
    assert {queue.queue_id: (item.min_offset, item.max_offset) for queue, item in stats.items()} == {
        0: (0, 2),
        1: (0, 0),
    }
    assert stats[MessageQueue("T", "broker-a", 0)].last_update_timestamp > 0
    assert stats[MessageQueue("T", "broker-a", 1)].last_update_timestamp == 0
    admin(change.delete_topic("T"))
    assert "T" not in admin(ask.topic_configs())
    assert admin.refused(ask.topic_stats("T")).code == ResponseCode.TOPIC_NOT_EXIST
    admin(change.put_topic(TopicConfig(name="T")))
    assert {item.max_offset for item in admin(ask.topic_stats("T")).offset_table.values()} == {0}


@pytest.mark.parametrize("name", ["TBW102", "SCHEDULE_TOPIC_XXXX", "broker-a", "rmq_sys_x", "bad name", "x" * 128, " "])
def test_names_that_no_topic_may_have(admin: Admin, name: str) -> None:
    assert admin.refused(change.put_topic(TopicConfig(name=name))).code == ResponseCode.SYSTEM_ERROR
    assert admin.refused(change.delete_topic(name)).code == ResponseCode.SYSTEM_ERROR


def test_groups_are_replaced_as_a_whole_and_deleted_with_their_offsets(admin: Admin) -> None:
    admin(change.put_group(SubscriptionGroupConfig(name="G", retry_max_times=3, consume_enable=False)))
    assert admin(ask.group_configs())["G"].retry_max_times == 3
    admin(change.put_group(SubscriptionGroupConfig(name="G")))
    assert admin(ask.group_configs())["G"].consume_enable
    admin(change.commit_offset("G", "T", 0, 7))
    admin(change.delete_group("G", with_offsets=False))
    assert admin(ask.all_consumer_offsets()).offset_table == {"T@G": {0: 7}}
    admin(change.delete_group("G", with_offsets=True))
    assert "G" not in admin(ask.group_configs())
    assert admin(ask.all_consumer_offsets()).offset_table == {}


def test_queues_of_unknown_topics_are_cleaned(cluster: EmbeddedCluster, admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 1)
    cluster.broker().on_loop(lambda it: it.topics.configs.pop("T"))
    admin(change.clean_unused_topics())
    assert admin(ask.max_offset("T", 0)) == 0


def test_system_topics(admin: Admin) -> None:
    listed = admin(ask.broker_system_topics()).topic_list
    assert {"TBW102", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "broker-a", "DefaultCluster"} <= set(listed)


# The broker


def test_settings_are_read_and_changed(cluster: EmbeddedCluster, admin: Admin) -> None:
    assert admin(ask.broker_settings())["brokerName"] == "broker-a"
    admin(change.put_broker_settings({"maxMessageSize": "1000", "noSuchThing": "1", "listenPort": "x"}))
    changed = admin(ask.broker_settings())
    assert (changed["maxMessageSize"], "noSuchThing" in changed) == ("1000", False)
    assert admin.refused(change.put_broker_settings({"rocketmqHome": "/"})).code == ResponseCode.NO_PERMISSION


def test_a_changed_permission_reaches_the_name_server(cluster: EmbeddedCluster, admin: Admin, links: Links) -> None:
    from mqctl.client.admin.nameserver import route

    admin(change.put_topic(TopicConfig(name="T")))
    admin(change.put_broker_settings({"brokerPermission": "4"}))
    deadline = Deadline(60_000)
    while True:
        (queues,) = links.ask(cluster.namesrv, route("T"), deadline).queue_datas
        if queues.perm == 4:
            break
        assert not deadline.expired


def test_runtime_information_has_every_key_that_tools_read(admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 3)
    table = admin(ask.runtime_info()).table
    assert (table["brokerVersionDesc"], table["brokerVersion"]) == ("V4_9_8", "409")
    assert table["putMessageTimesTotal"] == table["msgPutTotalTodayNow"] == "3"
    assert int(table["commitLogMaxOffset"]) == int(table["putMessageSizeTotal"]) > 0
    assert 0 <= float(table["commitLogDiskRatio"]) < 1
    assert table["earliestMessageTimeStamp"] == "-1", "of a log shorter than two of the largest messages"
    for key in ("putTps", "getTotalTps", "getTransferedTps", "runtime", "sendThreadPoolQueueHeadWaitTimeMills"):
        assert table[key]


def test_counters(admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 3)
    item = admin(ask.statistics_item("TOPIC_PUT_NUMS", "T"))
    assert item.stats_minute.sum >= 0
    assert admin.refused(ask.statistics_item("TOPIC_PUT_NUMS", "U")).code == ResponseCode.SYSTEM_ERROR


# Groups and clients


def test_progress_of_a_group(admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 5)
    fill(broker, "T", 2, queue_id=1)
    admin(change.commit_offset("G", "T", 0, 3))
    table = admin(ask.consume_stats("G")).offset_table
    first, second = table[MessageQueue("T", "broker-a", 0)], table[MessageQueue("T", "broker-a", 1)]
    assert (first.broker_offset, first.consumer_offset, first.last_timestamp > 0) == (5, 3, True)
    assert (second.broker_offset, second.consumer_offset, second.last_timestamp) == (2, 0, 0)
    assert admin(ask.consume_stats("nobody")).offset_table == {}
    admin(change.put_group(SubscriptionGroupConfig(name="G")))
    everyone = admin(ask.consume_stats_of_all())
    assert everyone.total_diff == 4
    listed = {group for item in everyone.consume_stats_list for group in item}
    assert {"G", "TOOLS_CONSUMER"} <= listed
    assert admin(ask.topic_groups("T")) == ("G",)


def test_an_online_group_shows_only_what_it_subscribes(admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 1)
    fill(broker, "U", 1)
    for topic in ("T", "U"):
        admin(change.commit_offset("G", topic, 0, 1))
    heartbeat(broker, "one", group="G", subscriptions={"T": "*"})
    assert {queue.topic for queue in admin(ask.consume_stats("G")).offset_table} == {"T"}


def test_times_of_a_group(admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 4)
    admin(change.commit_offset("G", "T", 0, 2))
    span = admin(ask.consume_time_spans("T", "G"))[0]
    assert 0 < span.min_time_stamp <= span.consume_time_stamp <= span.max_time_stamp
    assert span.delay_time >= 0
    assert span.min_time_stamp_str is not None
    assert span.min_time_stamp_str.count("#") == 1
    admin(change.commit_offset("G", "T", 1, 0))
    done = admin(ask.consume_time_spans("T", "G"))[1]
    assert (done.min_time_stamp, done.delay_time) == (-1, 0)
    never = admin(ask.consume_time_spans("T", "nobody"))[1]
    assert never.delay_time > 1_700_000_000_000, "the time at offset -1 is -1"


def test_connections(admin: Admin, broker: Peer) -> None:
    assert admin.refused(ask.consumer_connections("G")).code == ResponseCode.CONSUMER_NOT_ONLINE
    assert admin.refused(ask.producer_connections("GP")).code == ResponseCode.SYSTEM_ERROR
    heartbeat(broker, "one", group="G", subscriptions={"T": "TagA"})
    group = admin(ask.consumer_connections("G"))
    (connection,) = group.connection_set
    assert (connection.client_id, connection.client_addr, connection.version) == ("one", broker.local, 409)
    assert group.subscription_table["T"].sub_string == "TagA"
    assert (group.message_model, group.consume_type) == ("CLUSTERING", "CONSUME_PASSIVELY")
    (producer,) = admin(ask.producer_connections("GP")).connection_set
    assert producer.client_id == "one"
    (listed,) = admin(ask.all_producers()).data["GP"]
    assert listed.remote_ip == f"/{broker.local}"


def test_running_information_is_relayed(admin: Admin, broker: Peer, links: Links) -> None:
    heartbeat(broker, "one", group="G", subscriptions={"T": "*"})
    call = links.get(admin.address).submit(
        ask.running_info("G", "one", with_stacks=True).request, deadline=Deadline(60_000)
    )
    info = ConsumerRunningInfo(properties={"PROP_CONSUMEORDERLY": "false"}, jstack="main")
    answer(broker, RequestCode.GET_CONSUMER_RUNNING_INFO, info.to_bytes())
    relayed = finished(call)
    assert ConsumerRunningInfo.from_bytes(relayed.body).jstack == "main"
    refused = admin.refused(ask.running_info("G", "two"))
    assert (refused.code, refused.remark) == (1, "The Consumer <G> <two> not online")


def test_a_consumer_that_refuses_or_is_too_old(admin: Admin, broker: Peer, links: Links) -> None:
    heartbeat(broker, "one", group="G", subscriptions={"T": "*"})
    call = links.get(admin.address).submit(ask.running_info("G", "one").request, deadline=Deadline(60_000))
    answer(broker, RequestCode.GET_CONSUMER_RUNNING_INFO, response=1, remark="not here")
    refused = finished(call)
    assert (refused.code, refused.remark) == (1, "not here")
    broker.version = 61
    heartbeat(broker, "one", group="G", subscriptions={"T": "*"})
    assert "too low" in (admin.refused(ask.running_info("G", "one")).remark or "")


def test_a_message_is_consumed_directly(admin: Admin, broker: Peer, links: Links) -> None:
    fill(broker, "T", 1)
    heartbeat(broker, "one", group="G", subscriptions={"T": "*"})
    offset_id = str(OffsetId(admin.address, 0))
    question = change.consume_directly("G", "one", offset_id)
    call = links.get(admin.address).submit(question.request, deadline=Deadline(60_000))
    request = broker.asked(RequestCode.CONSUME_MESSAGE_DIRECTLY)
    assert (request.ext("brokerName"), b"body 0" in request.body) == ("broker-a", True)
    broker.socket.sendall(encode(request.answer(0, body=b'{"consumeResult":"CR_SUCCESS","order":false}')))
    assert b"CR_SUCCESS" in finished(call).body
    gone = change.consume_directly("G", "one", str(OffsetId(admin.address, 1 << 40)))
    assert "no message" in (admin.refused(gone).remark or "")


# Offsets


def test_a_reset_by_time_goes_through_the_members(admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 5)
    assert "not exist" in (admin.refused(change.reset_offsets("T", "G", 0, force=True)).remark or "")
    for number in range(4):
        admin(change.commit_offset("G", "T", number, 3 if number == 0 else 0))
    assert admin.refused(change.reset_offsets("T", "G", 0, force=True)).code == ResponseCode.CONSUMER_NOT_ONLINE
    heartbeat(broker, "one", group="G", subscriptions={"T": "*"})
    first = MessageQueue("T", "broker-a", 0)
    assert admin(change.reset_offsets("T", "G", 0, force=True)).offset_table[first] == 0
    reset = broker.asked(RequestCode.RESET_CONSUMER_CLIENT_OFFSET)
    assert (reset.is_oneway, QueueOffsets.from_bytes(reset.body).offset_table[first]) == (True, 0)
    assert admin(change.reset_offsets("T", "G", -1, force=False)).offset_table[first] == 3
    assert admin(change.reset_offsets("T", "G", -1, force=True)).offset_table[first] == 5
    assert admin(ask.consumer_offset("G", "T", 0)) == 3


def test_offsets_in_the_memory_of_members(admin: Admin, broker: Peer, links: Links) -> None:
    assert admin.refused(ask.consumer_status("T", "G")).code == ResponseCode.SYSTEM_ERROR
    heartbeat(broker, "one", group="G", subscriptions={"T": "*"})
    call = links.get(admin.address).submit(ask.consumer_status("T", "G").request, deadline=Deadline(60_000))
    held = {MessageQueue("T", "broker-a", 0): 4}
    answer(broker, RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ConsumerStatus(message_queue_table=held).to_bytes())
    assert ConsumerStatus.from_bytes(finished(call).body).consumer_table == {"one": held}
    assert admin(ask.consumer_status("T", "G", "two")).consumer_table == {}


def test_offsets_are_cloned_by_topic_only(admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 1)
    admin(change.commit_offset("G", "T", 0, 1))
    admin(change.clone_offsets("G", "H", "", offline=True))
    assert admin(ask.all_consumer_offsets()).offset_table.get("T@H") is None
    admin(change.clone_offsets("G", "H", "T", offline=True))
    assert admin(ask.all_consumer_offsets()).offset_table["T@H"] == {0: 1}


def test_delay_offsets(admin: Admin) -> None:
    assert set(admin(ask.delay_offsets()).offset_table) <= set(range(1, 19))


# Messages


def test_messages_by_place_key_and_queue_entry(admin: Admin, broker: Peer) -> None:
    fill(broker, "T", 3)
    entries = admin(ask.queue_entries("T", 0, 1, 10))
    assert entries is not None
    assert (entries.min_queue_index, entries.max_queue_index, len(entries.queue_data)) == (0, 3, 2)
    message_read = admin(message.message_at(entries.queue_data[0].physic_offset))
    assert (message_read.queue_offset, message_read.body) == (1, b"body 1")
    assert admin(ask.queue_entries("T", 0, 3, 10)) is None
    assert admin.refused(message.message_at(1 << 40)).code == ResponseCode.SYSTEM_ERROR
    by_key = partial(message.messages_by_key, "T", begin_ms=0, end_ms=1 << 62)
    assert [item.queue_offset for item in admin(by_key("k2"))] == [2]
    assert len(admin(by_key("all", max_count=2))) == 2
    assert len(admin(by_key("T1", unique=True))) == 1
    assert admin(by_key("none")) == ()


# 5.x


@pytest.fixture(scope="module")
def five() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3", settings={"useServerSideResetOffset": "true"}) as cluster:
        yield cluster


def test_a_server_side_reset_reaches_the_next_pull_and_survives_commits(five: EmbeddedCluster, links: Links) -> None:
    from mqctl.protocol.requests_admin import InvokeBrokerToResetOffset

    admin = Admin(five, links)
    with Peer(five.broker().address) as broker:
        fill(broker, "T", 5)
        heartbeat(broker, "one", group="G", subscriptions={"T": "*"})
        admin(change.commit_offset("G", "T", 0, 5))
        plain = change.reset_offsets("T", "G", 0, force=True)
        exact = InvokeBrokerToResetOffset(topic="T", group="G", timestamp=0, is_force=True, queue_id=0, offset=2)
        reset = Question(exact, plain.read)
        assert admin(reset).offset_table == {MessageQueue("T", "broker-a", 0): 2}
        admin(change.commit_offset("G", "T", 0, 5))
        assert admin(ask.consumer_offset("G", "T", 0)) == 2
        moved = broker.call(pull("T", 5, group="G", commit=5))
        assert (moved.code, moved.ext("nextBeginOffset")) == (ResponseCode.PULL_OFFSET_MOVED, "2")
        assert moved.remark == "OFFSET_RESET"
        assert admin(ask.consumer_offset("G", "T", 0)) == 5, "what that pull commits is stored, as 5.3.3 does"
        assert broker.call(pull("T", 2, group="G", commit=2)).code == 0
        admin(change.commit_offset("G", "T", 0, 4))
        assert admin(ask.consumer_offset("G", "T", 0)) == 4
        beyond = InvokeBrokerToResetOffset(topic="T", group="G", timestamp=0, is_force=True, queue_id=0, offset=7)
        remark = "Target offset 7 not in consume queue range [0-5]"
        assert admin.refused(Question(beyond, plain.read)).remark == remark
        missing = admin.refused(change.reset_offsets("nope", "G", 0, force=True))
        assert (missing.code, missing.remark) == (ResponseCode.TOPIC_NOT_EXIST, "Topic nope does not exist")
        nobody = admin.refused(change.reset_offsets("T", "nope", 0, force=True))
        assert (nobody.code, nobody.remark) == (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "Group nope does not exist")


def test_a_deleted_group_leaves_no_reset_and_no_pull_behind(five: EmbeddedCluster, links: Links) -> None:
    admin = Admin(five, links)
    with Peer(five.broker().address) as broker:
        fill(broker, "Left", 3)
        heartbeat(broker, "one", group="GLeft", subscriptions={"Left": "*"})
        assert broker.call(pull("Left", 0, group="GLeft")).code == 0  # noted, and never committed
        admin(change.reset_offset_here("GLeft", "Left", 0, 1))
        admin(change.delete_group("GLeft", with_offsets=True))
        noted = five.broker().on_loop(
            lambda it: (it.offsets.pulled("GLeft", "Left", 0), it.offsets.was_reset("GLeft", "Left", 0))
        )
        assert noted == (-1, False)
        assert broker.call(pull("Left", 2, group="GLeft")).code == 0  # a new group of that name begins where it asks


def test_attributes_of_a_topic(five: EmbeddedCluster, links: Links) -> None:
    admin = Admin(five, links)
    config = TopicConfig(name="F", attributes={"message.type": "FIFO"})
    admin(change.put_topic(config))
    assert admin(ask.topic_configs())["F"].attributes == {"message.type": "FIFO"}
    admin(change.put_topic(replace(config, attributes={})))
    assert admin(ask.topic_configs())["F"].attributes == {"message.type": "FIFO"}
