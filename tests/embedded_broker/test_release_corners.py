"""Where 4.9.8 and 5.3.3 differ, or answer in words that tools show: topics, groups, offsets, progress, pulls."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.bodies_cluster import (
    CorrectionOffsets,
    GroupList,
    QueueOffsetList,
    SubscriptionGroupTable,
    TopicConfigTable,
    TopicList,
)
from mqctl.protocol.bodies_stats import (
    BrokerConsumeStats,
    ConsumeQueueData,
    ConsumeStats,
    ConsumeTimeSpans,
    TopicStatsTable,
)
from mqctl.protocol.codes import Language, RequestCode, ResponseCode
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.requests_admin import (
    CloneGroupOffset,
    CreateTopic,
    DeleteSubscriptionGroup,
    DeleteTopic,
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
    GetConsumeStats,
    GetConsumeStatsInBroker,
    GetSystemTopicListFromBroker,
    GetTopicStatsInfo,
    InvokeBrokerToGetConsumerStatus,
    InvokeBrokerToResetOffset,
    QueryConsumeQueue,
    QueryConsumeTimeSpan,
    QueryCorrectionOffset,
    QueryTopicConsumeByWho,
    UpdateAndCreateSubscriptionGroup,
    UpdateBrokerConfig,
)
from mqctl.protocol.requests_client import QueryConsumerOffset, UpdateConsumerOffset
from mqctl.protocol.requests_namesrv import DeleteTopicFromNamesrv, GetRouteInfo
from mqctl.protocol.requests_pop import PopMessage
from mqctl.protocol.requests_v5 import GetSubscriptionGroupConfig, GetTopicConfig
from tests.conformance.conftest import eventually
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.sides import Side
from tests.embedded_broker.wire import Peer

pytestmark = pytest.mark.both_releases

UNSET = "not set any response code"
_NO_BATCHES = "queue.type=BatchCQ is not served by the embedded broker: create the topic with queue.type=SimpleCQ"


def topic(name: str, **changes: object) -> CreateTopic:
    given: dict[str, object] = {
        "topic": name,
        "default_topic": "TBW102",
        "read_queue_nums": 2,
        "write_queue_nums": 2,
        "perm": 6,
        "topic_filter_type": "SINGLE_TAG",
        "topic_sys_flag": 0,
    }
    return CreateTopic(**{**given, **changes})  # type: ignore[arg-type]


# Topics and groups


def test_topics_that_may_not_be_made(side: Side) -> None:
    code = ResponseCode.INVALID_PARAMETER if side.is_v5 else ResponseCode.SYSTEM_ERROR
    length = "" if side.is_v5 else " 127"
    for name, remark in (
        (" ", "The specified topic is blank."),
        ("a!", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("a" * 128, f"The specified topic is longer than topic max length{length}."),
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
    ):
        answer = side.peer.call(topic(name))
        assert (answer.code, answer.remark) == (code, remark)
    assert side.peer.call(topic("Elsewhere_REPLY_TOPIC")).code == 0


def test_a_topic_put_as_it_is_changes_no_version_in_5(side: Side) -> None:
    def version() -> int:
        version = TopicConfigTable.from_bytes(side.peer.call(GetAllTopicConfig()).body).data_version
        assert version is not None
        return version.counter

    made = side.peer.call(topic("Made", order=True))
    assert (made.code, made.remark) == (0, UNSET)
    before = version()
    assert side.peer.call(topic("Made", order=True)).code == 0
    assert version() - before == (0 if side.is_v5 else 1)
    table = TopicConfigTable.from_bytes(side.peer.call(GetAllTopicConfig()).body).topic_config_table
    assert table["Made"].order is side.is_v5, "4.9.8 takes the order of topics from name servers only"


@pytest.mark.parametrize(
    ("attributes", "code", "remark"),
    [
        ("+message.type=FIFO,+reserve.time=60", 0, UNSET),
        (
            "+message.type=WRONG",
            1,
            "value is not in set: [UNSPECIFIED, MIXED, TRANSACTION, FIFO, DELAY, NORMAL]",
        ),
        ("+message.type=MIXED", 29, "MIXED message type is not supported."),
        ("+reserve.time=-2", 1, f"value is not in range(-1, {(1 << 63) - 1})"),
        ("+colour=red", 1, "unsupported key: colour"),
        ("message.type=FIFO", 1, "add/alter attribute format is wrong: message.type"),
        ("message.type", 1, "delete attribute format is wrong: message.type"),
        ("-message.type", 1, "only add attribute is supported while creating topic. key: message.type"),
        ("+queue.type=BatchCQ,+queue.type=SimpleCQ", 1, "key duplication: +queue.type"),
        ("+queue.type=BatchCQ", 1, _NO_BATCHES),
        ("+queue.type=Other", 1, "value is not in set: [BatchCQ, SimpleCQ]"),
    ],
)
def test_attributes_of_a_new_topic(side: Side, attributes: str, code: int, remark: str) -> None:
    answer = side.peer.call(topic("Attributed", attributes=attributes))
    assert (answer.code, answer.remark) == ((code, remark) if side.is_v5 else (0, UNSET))


def test_batches_of_another_brokers_store_are_refused_and_not_misread(tmp_path: Path) -> None:
    with EmbeddedCluster(version="5.3.3", data_dir=tmp_path) as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(topic("Batches", attributes="+queue.type=SimpleCQ")).code == 0
    file = tmp_path / "broker-a" / "config" / "topics.json"
    file.write_text(file.read_text().replace("SimpleCQ", "BatchCQ"))
    with EmbeddedCluster(version="5.3.3", data_dir=tmp_path) as cluster, Peer(cluster.broker().address) as peer:
        heartbeat(peer, "one", group="G", subscriptions={"Batches": "*"})
        popping = PopMessage(consumer_group="G", topic="Batches", queue_id=-1, max_msg_nums=1, invisible_time=60_000)
        for request in (send("Batches"), pull("Batches", 0), popping):
            answer = peer.call(request, b"x")
            assert (answer.code, answer.remark) == (1, f"topic[Batches]: {_NO_BATCHES}")


def test_attributes_of_a_known_topic(side: Side) -> None:
    if not side.is_v5:
        pytest.skip("4.9 has no attributes")
    assert side.peer.call(topic("Known", attributes="+queue.type=SimpleCQ,+message.type=FIFO")).code == 0
    for attributes, remark in (
        ("-reserve.time", "attempt to delete a nonexistent key: reserve.time"),
        ("+queue.type=BatchCQ", "attempt to update an unchangeable attribute. key: queue.type"),
        ("-message.type", UNSET),
    ):
        assert side.peer.call(topic("Known", attributes=attributes)).remark == remark
    table = TopicConfigTable.from_bytes(side.peer.call(GetAllTopicConfig()).body).topic_config_table
    assert table["Known"].attributes == {"queue.type": "SimpleCQ"}


def test_groups_have_no_attributes_and_5_has_one_more_group(side: Side) -> None:
    body = {"groupName": "GA", "attributes": {"+colour": "red"}}
    answer = side.peer.call(UpdateAndCreateSubscriptionGroup(), dump_bytes(body))
    if side.is_v5:
        assert (answer.code, answer.remark) == (1, "java.lang.RuntimeException: unsupported key: colour")
    else:
        assert answer.code == 0
    table = SubscriptionGroupTable.from_bytes(side.peer.call(GetAllSubscriptionGroupConfig()).body)
    groups = table.subscription_group_table
    assert ("GA" in groups, "CID_RMQ_SYS_TRANS" in groups) == (not side.is_v5, side.is_v5)


def test_a_group_with_an_impossible_name_is_not_made_in_5(side: Side) -> None:
    answer = side.peer.call(pull("T", 0, group="a group"))
    assert answer.code == (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST if side.is_v5 else 0)


def test_a_deleted_topic_keeps_its_offsets_in_4_and_loses_them_in_5(side: Side) -> None:
    assert side.commit(3) == 0
    assert side.peer.call(DeleteTopic(topic="T")).code == 0
    assert side.stored() == (None if side.is_v5 else 3)


def test_topics_that_may_not_be_deleted(side: Side) -> None:
    code = ResponseCode.INVALID_PARAMETER if side.is_v5 else ResponseCode.SYSTEM_ERROR
    for name, remark in (
        (" ", "The specified topic is blank."),
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
    ):
        answer = side.peer.call(DeleteTopic(topic=name))
        assert (answer.code, answer.remark) == (code, remark)
    assert side.peer.call(DeleteTopic(topic="a!")).code == (0 if side.is_v5 else 1), "5 does not look at the characters"


def test_5_without_timers_deletes_a_topic_and_says_that_it_failed() -> None:
    with (
        EmbeddedCluster(version="5.3.3", settings={"timerWheelEnable": "false"}) as cluster,
        Peer(cluster.broker().address, version=479) as peer,
    ):
        assert peer.call(send("T"), b"x").code == 0
        answer = peer.call(DeleteTopic(topic="T"))
        assert (answer.code, "getTimerMessageStore()" in (answer.remark or "")) == (1, True)
        assert peer.call(GetTopicStatsInfo(topic="T")).code == ResponseCode.TOPIC_NOT_EXIST


def test_a_deleted_group_loses_its_offsets_only_when_asked(side: Side) -> None:
    assert side.commit(3) == 0
    assert side.peer.call(DeleteSubscriptionGroup(group_name="G")).code == 0
    assert side.stored() == 3
    request = DeleteSubscriptionGroup(group_name="G", clean_offset=side.is_v5, remove_offset=not side.is_v5)
    assert side.peer.call(request).code == 0
    assert side.stored() == (None if side.is_v5 else 0), "the beginning of a young queue"


def test_what_belongs_to_the_system(side: Side) -> None:
    """As recorded; tracing's topic is among them without tracing, what heartbeats are synchronized over is not."""
    listed = set(TopicList.from_bytes(side.peer.call(GetSystemTopicListFromBroker()).body).topic_list)
    both = {"SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRACE_TOPIC", "DefaultCluster_REPLY_TOPIC"}
    both |= {"RMQ_SYS_TRANS_OP_HALF_TOPIC", "BenchmarkTest", "TRANS_CHECK_MAX_TIME_TOPIC", "OFFSET_MOVED_EVENT"}
    both |= {"TBW102", "broker-a", "SELF_TEST_TOPIC", "DefaultCluster"}
    five = {"rmq_sys_REVIVE_LOG_DefaultCluster", "rmq_sys_wheel_timer", "CHECKPOINT_TOPIC"}
    five |= {"rmq_sys_SYNC_BROKER_MEMBER_broker-a"}
    assert listed == (both | five if side.is_v5 else both)


def test_5_makes_a_group_that_somebody_asks_for(side: Side) -> None:
    if not side.is_v5:
        pytest.skip("4.9 cannot be asked for one group")
    assert side.peer.call(GetSubscriptionGroupConfig(group="Asked")).code == 0
    table = SubscriptionGroupTable.from_bytes(side.peer.call(GetAllSubscriptionGroupConfig()).body)
    assert "Asked" in table.subscription_group_table
    side.set(autoCreateSubscriptionGroup="false")
    missing = side.peer.call(GetSubscriptionGroupConfig(group="Another"))
    remark = "No group in this broker"
    assert (missing.code, missing.remark) == (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
    topic = side.peer.call(GetTopicConfig(topic="nope"))
    assert (topic.code, topic.remark) == (ResponseCode.TOPIC_NOT_EXIST, "No topic in this broker. topic: nope")


def test_properties_that_may_not_be_changed(side: Side) -> None:
    answer = side.peer.call(UpdateBrokerConfig(), b"rocketmqHome=/tmp\n")
    assert (answer.code, answer.remark) == (ResponseCode.NO_PERMISSION, "Can not update config in black list.")


def test_a_topic_deleted_at_the_name_server_only_comes_back_in_5(side: Side) -> None:
    with Peer(side.cluster.namesrv) as namesrv:
        assert namesrv.call(GetRouteInfo(topic="T")).code == 0
        side.cluster.advance(35_000)  # what the broker registers from now on is what it registered before
        assert namesrv.call(DeleteTopicFromNamesrv(topic="T")).code == 0
        assert namesrv.call(GetRouteInfo(topic="T")).code == ResponseCode.TOPIC_NOT_EXIST

        def settled() -> int:
            side.cluster.advance(35_000)
            namesrv.call(GetRouteInfo(topic="TBW102"))
            return namesrv.call(GetRouteInfo(topic="T")).code

        if side.is_v5:
            eventually(lambda: settled() == 0)
        else:
            assert [settled() for _ in range(3)] == [ResponseCode.TOPIC_NOT_EXIST] * 3


# Offsets


def test_a_commit_is_checked_by_5_but_not_its_queue(side: Side) -> None:
    assert side.commit(1, queue_id=77) == 0
    request = UpdateConsumerOffset(consumer_group="G", topic="nope", queue_id=0, commit_offset=1)
    answer = side.peer.call(request)
    known = (ResponseCode.TOPIC_NOT_EXIST, "Topic nope not exist!") if side.is_v5 else (0, None)
    assert (answer.code, answer.remark) == known
    fields = {"consumerGroup": "G", "topic": "T", "queueId": "0"}
    side.peer.socket.sendall(encode(RemotingCommand(code=15, opaque=700, ext_fields=fields)))
    without = side.peer.answer_to(700)
    if side.is_v5:
        assert (without.code, without.remark) == (ResponseCode.INVALID_PARAMETER, "Offset is null, topic is T")
    else:
        assert (without.code, "NullPointerException" in (without.remark or "")) == (1, True)


def test_a_missing_offset_in_the_words_of_the_release(side: Side) -> None:
    request = QueryConsumerOffset(consumer_group="H", topic="T", queue_id=0, set_zero_if_not_found=False)
    answer = side.peer.call(request)
    if side.is_v5:
        remark = "Not found, do not set to zero, maybe this group boot first"
        assert (answer.code, answer.remark) == (ResponseCode.QUERY_NOT_FOUND, remark)
    else:
        assert (answer.code, answer.ext("offset")) == (0, "0")


def test_a_clone_of_nothing_leaves_the_target_alone(side: Side) -> None:
    assert side.commit(3) == 0
    clone = CloneGroupOffset(src_group="nobody", dest_group="G", topic="T", offline=True)
    assert side.peer.call(clone).code == 0
    assert side.stored() == 3


def test_a_correction_compares_with_a_group_in_5(side: Side) -> None:
    assert side.commit(3) == 0
    query = QueryCorrectionOffset(compare_group="G", topic="T")
    corrected = CorrectionOffsets.from_bytes(side.peer.call(query).body).correction_offsets
    assert corrected == {0: 3}
    assert side.commit(-1) == 0
    answer = side.peer.call(query)
    if side.is_v5:
        assert (answer.code, "AdminBrokerProcessor.java:2329" in (answer.remark or "")) == (1, True)
    else:
        assert answer.code == 0
        assert not CorrectionOffsets.from_bytes(answer.body).correction_offsets


def reset(time_ms: int = 0, **fields: object) -> InvokeBrokerToResetOffset:
    given = {"topic": "T", "group": "G", "timestamp": time_ms, "is_force": True, **fields}
    return InvokeBrokerToResetOffset(**given)  # type: ignore[arg-type]


def test_a_reset_through_members_in_the_words_of_the_source(side: Side) -> None:
    side.set(useServerSideResetOffset="false")
    missing = side.peer.call(reset(topic="nope"))
    assert missing.code == (ResponseCode.TOPIC_NOT_EXIST if side.is_v5 else ResponseCode.SYSTEM_ERROR)
    assert missing.remark == "[reset-offset] reset offset failed, no topic in this broker. topic=nope"
    for number in range(4):
        assert side.commit(2, queue_id=number) == 0
    offline = side.peer.call(reset(5))
    remark = "Consumer not online, so can not reset offset, Group: G Topic: T Timestamp: 5"
    assert (offline.code, offline.remark) == (ResponseCode.CONSUMER_NOT_ONLINE, remark)
    assert heartbeat(side.peer, "one", group="G", subscriptions={"T": "*"}).code == 0
    done = side.peer.call(reset())
    assert (done.code, done.remark) == (0, UNSET)
    resets = side.peer.asked(RequestCode.RESET_CONSUMER_CLIENT_OFFSET)
    assert resets.ext("isForce") == "false"
    assert resets.ext("queueId") == ("-1" if side.is_v5 else None)


def test_a_tool_in_cpp_has_members_told_in_the_form_of_cpp(side: Side) -> None:
    side.set(useServerSideResetOffset="false")
    for number in range(4):
        assert side.commit(2, queue_id=number) == 0
    assert heartbeat(side.peer, "one", group="G", subscriptions={"T": "*"}).code == 0
    command = reset().command(opaque=900, version=side.peer.version, language=Language.CPP)
    side.peer.socket.sendall(encode(command))
    resets = side.peer.asked(RequestCode.RESET_CONSUMER_CLIENT_OFFSET)
    assert {entry.queue_id for entry in QueueOffsetList.from_bytes(resets.body).offset_table} == {0, 1, 2, 3}


def test_members_of_a_group_that_is_not_there_are_asked_with_a_null_pointer(side: Side) -> None:
    answer = side.peer.call(InvokeBrokerToGetConsumerStatus(topic="T", group="nobody"))
    line = 246 if side.is_v5 else 243
    assert (answer.code, (answer.remark or "").endswith(f"(Broker2Client.java:{line})")) == (1, True)
    assert (answer.remark or "").startswith("java.lang.NullPointerException: Cannot invoke")


def test_a_server_side_reset_by_time_queue_and_offset(side: Side) -> None:
    if not side.is_v5:
        pytest.skip("4.9 resets through members only")
    side.set(useServerSideResetOffset="true")
    assert side.peer.call(topic("T", read_queue_nums=6, write_queue_nums=4)).code == 0
    assert side.peer.call(reset(-7)).code == 0
    assert side.stored() == 5, "any instant before 1970 is the end"
    table = ConsumeStats.from_bytes(side.peer.call(GetConsumeStats(consumer_group="G", topic="T")).body).offset_table
    assert {queue.queue_id for queue in table} == set(range(6)), "queues to read count"
    assert side.peer.call(reset(queue_id=0, offset=6)).code == 0
    assert side.stored() == 6, "one beyond the end is taken"
    for offset in (7, -2):
        answer = side.peer.call(reset(queue_id=0, offset=offset))
        remark = f"Target offset {offset} not in consume queue range [0-5]"
        assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert side.peer.call(reset(queue_id=0, offset=2)).code == 0
    request = UpdateConsumerOffset(consumer_group="G", topic="T", queue_id=0, commit_offset=5)
    ignored = side.peer.call(request)
    assert (ignored.code, ignored.remark) == (0, "Offset has been previously reset")
    side.set(useServerSideResetOffset="false")
    assert side.peer.call(request).remark is None
    assert side.peer.call(pull("T", 5, group="G")).remark == "OFFSET_OVERFLOW_ONE", "a reset is erased, and not heeded"
    assert side.peer.call(topic("Closed", read_queue_nums=0)).code == 0
    side.set(useServerSideResetOffset="true")
    assert side.peer.call(reset(topic="Closed")).remark == "No queues to reset."


# Progress


def test_5_names_a_topic_as_its_own_group_and_no_member_without_offset(side: Side) -> None:
    assert heartbeat(side.peer, "one", group="Online", subscriptions={"T": "*"}).code == 0
    assert side.commit(1) == 0
    groups = GroupList.from_bytes(side.peer.call(QueryTopicConsumeByWho(topic="T")).body).group_list
    assert set(groups) == ({"T", "G"} if side.is_v5 else {"Online", "G"})


def test_ends_of_the_queues_of_a_topic(side: Side) -> None:
    missing = side.peer.call(GetTopicStatsInfo(topic="nope"))
    assert (missing.code, missing.remark) == (ResponseCode.TOPIC_NOT_EXIST, "topic[nope] not exist")
    span = side.peer.call(QueryConsumeTimeSpan(topic="nope", group="G"))
    assert (span.code, span.remark) == (ResponseCode.TOPIC_NOT_EXIST, "topic[nope] not exist")
    assert side.peer.call(topic("Wide", read_queue_nums=3, write_queue_nums=1)).code == 0
    table = TopicStatsTable.from_bytes(side.peer.call(GetTopicStatsInfo(topic="Wide")).body).offset_table
    assert len(table) == (3 if side.is_v5 else 1)


def test_what_is_in_flight_is_told_by_the_end_of_the_last_pull(side: Side) -> None:
    assert side.commit(1) == 0
    assert side.peer.call(pull("T", 1, group="G", count=2)).code == 0
    stats = ConsumeStats.from_bytes(side.peer.call(GetConsumeStats(consumer_group="G", topic="T")).body)
    first = next(entry for queue, entry in stats.offset_table.items() if queue.queue_id == 0)
    assert (first.consumer_offset, first.pull_offset) == (1, 3 if side.is_v5 else None)
    whole = BrokerConsumeStats.from_bytes(side.peer.call(GetConsumeStatsInBroker(is_order=False)).body)
    assert whole.total_inflight_diff == (-1 if side.is_v5 else None), "5.3.3 fills in no pull offsets there"


def test_long_lists_are_written_in_portions_as_they_would_be_at_once(side: Side) -> None:
    assert side.peer.call(topic("Wide", read_queue_nums=150, write_queue_nums=150)).code == 0
    for number in range(150):
        request = UpdateConsumerOffset(consumer_group="G", topic="Wide", queue_id=number, commit_offset=number % 7)
        assert side.peer.call(request).code == 0
    spans = side.peer.call(QueryConsumeTimeSpan(topic="Wide", group="G")).body
    assert len(ConsumeTimeSpans.from_bytes(spans).consume_time_span_set) == 150
    assert ConsumeTimeSpans.from_bytes(spans).to_bytes() == spans
    body = side.peer.call(GetConsumeStatsInBroker(is_order=False)).body
    (tables,) = [
        stats_table for item in BrokerConsumeStats.from_bytes(body).consume_stats_list if (stats_table := item.get("G"))
    ]
    assert sum(len(table.offset_table) for table in tables) >= 150
    assert BrokerConsumeStats.from_bytes(body).to_bytes(is_v5=side.is_v5) == body


def test_a_list_of_topics_passes_by_what_a_group_subscribed_to(side: Side) -> None:
    assert heartbeat(side.peer, "one", group="G", subscriptions={"Other": "*"}).code == 0

    def topics(request: GetConsumeStats) -> set[str]:
        table = ConsumeStats.from_bytes(side.peer.call(request).body).offset_table
        return {queue.topic for queue in table}

    assert topics(GetConsumeStats(consumer_group="G", topic="T")) == set()
    listed = GetConsumeStats(consumer_group="G", topic="", topic_list="T;nope;")
    assert topics(listed) == ({"T"} if side.is_v5 else set())


def test_entries_of_a_queue_say_whose_filter_they_were_seen_with(side: Side) -> None:
    missing = side.peer.call(QueryConsumeQueue(topic="nope", queue_id=0, index=0, count=1))
    assert (missing.code, missing.remark) == (1, "0@nope is not exist!")
    seen = side.peer.call(QueryConsumeQueue(topic="T", queue_id=0, index=0, count=1, consumer_group="G"))
    assert ConsumeQueueData.from_bytes(seen.body).filter_data == "G@T is not online!"
    assert seen.remark == UNSET
    assert heartbeat(side.peer, "one", group="G", subscriptions={"T": "*"}).code == 0
    again = side.peer.call(QueryConsumeQueue(topic="T", queue_id=0, index=0, count=1, consumer_group="G"))
    assert ConsumeQueueData.from_bytes(again.body).filter_data == "null"


# Pulls


def test_a_closed_pull_says_in_5_who_closed_it(side: Side) -> None:
    def forbidden() -> tuple[int, str | None]:
        answer = side.peer.call(pull("T", 0, group="G"))
        return answer.code, answer.ext("forbiddenType")

    def kind(number: int) -> tuple[int, str | None]:
        return ResponseCode.NO_PERMISSION, str(number) if side.is_v5 else None

    assert side.peer.call(topic("T", perm=2)).code == 0
    assert forbidden() == kind(3)
    closed = {"groupName": "G", "consumeEnable": False}
    assert side.peer.call(UpdateAndCreateSubscriptionGroup(), dump_bytes(closed)).code == 0
    assert forbidden() == kind(2)
    side.set(brokerPermission="2")
    assert forbidden() == kind(1)


def test_pulls_whose_subscription_cannot_be_told(side: Side) -> None:
    wrong = side.peer.call(pull("T", 0, group="G", subscription="||"))
    assert (wrong.code, wrong.remark) == (
        ResponseCode.SUBSCRIPTION_PARSE_FAILED,
        "parse the consumer's subscription failed",
    )
    nobody = side.peer.call(pull("T", 0, group="G", subscription=None))
    assert nobody.code == ResponseCode.SUBSCRIPTION_NOT_EXIST
    assert (nobody.remark or "").startswith("the consumer's group info not exist\nSee ")
    assert heartbeat(side.peer, "one", group="G", subscriptions={"Other": "*"}).code == 0
    other = side.peer.call(pull("T", 0, group="G", subscription=None))
    assert (other.remark or "").startswith("the consumer's subscription not exist\nSee ")


def test_only_4_stores_an_event_about_a_moved_offset(side: Side) -> None:
    assert side.peer.call(pull("T", 99, group="G")).code == ResponseCode.PULL_OFFSET_MOVED
    events = side.peer.call(pull("OFFSET_MOVED_EVENT", 0, group="G"))
    assert events.code == (ResponseCode.PULL_NOT_FOUND if side.is_v5 else 0)


def test_a_held_pull_is_judged_anew_when_it_wakes(side: Side) -> None:
    waiting = side.peer.post(pull("T", 5, group="G", wait_ms=10_000))
    closed = {"groupName": "G", "consumeEnable": False}
    assert side.peer.call(UpdateAndCreateSubscriptionGroup(), dump_bytes(closed)).code == 0
    assert side.peer.call(send("T"), b"more").code == 0
    assert side.peer.answer_to(waiting).code == ResponseCode.NO_PERMISSION
