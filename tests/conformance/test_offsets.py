"""Offsets of groups: where they start, how they are moved, copied and dumped."""

from __future__ import annotations

from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import ConsumerOffsetTable
from mqctl.protocol.bodies_stats import ConsumeStats
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import (
    CloneGroupOffset,
    GetAllConsumerOffset,
    GetConsumeStats,
    InvokeBrokerToResetOffset,
    QueryConsumeQueue,
)
from mqctl.protocol.requests_client import QueryConsumerOffset, SearchOffset, UpdateConsumerOffset
from tests.conformance.conftest import Site, put
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer


def committed(peer: Peer, group: str, topic: str, queue_id: int = 0) -> str | None:
    answer = peer.call(QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=queue_id))
    return answer.ext("offset") if answer.code == 0 else None


def commit(peer: Peer, group: str, topic: str, offset: int, queue_id: int = 0) -> int:
    return peer.call(
        UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=offset)
    ).code


def test_a_group_without_offset_starts_at_a_young_queues_beginning(
    broker: Peer, site: Site, topic: str, group: str
) -> None:
    broker.call(pull(topic, 0, group=group))
    assert committed(broker, group, topic) == (None if site.is_v5 else "0"), "an empty queue"
    put(broker, send(topic), b"x")
    assert committed(broker, group, topic) == "0"
    if site.is_v5:
        strict = QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0, set_zero_if_not_found=False)
        assert broker.call(strict).code == ResponseCode.QUERY_NOT_FOUND


def test_offsets_move_forward_and_back(broker: Peer, topic: str, group: str) -> None:
    for _ in range(3):
        put(broker, send(topic), b"x")
    broker.call(pull(topic, 0, group=group))
    for offset in (3, 1, 2):
        assert commit(broker, group, topic, offset) == 0
        assert committed(broker, group, topic) == str(offset)
    table = ConsumerOffsetTable.from_bytes(broker.call(GetAllConsumerOffset()).body).offset_table
    assert table[f"{topic}@{group}"] == {0: 2}


def test_an_offset_of_what_is_not_there(broker: Peer, site: Site, topic: str, group: str) -> None:
    """4.9.8 takes it; 5.x looks first."""
    unknown_group = UpdateConsumerOffset(consumer_group=f"{group}_none", topic=topic, queue_id=0, commit_offset=1)
    answer = broker.call(unknown_group)
    assert (answer.code, answer.remark) == (
        (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group}_none not exist!") if site.is_v5 else (0, None)
    )
    broker.call(pull(topic, 0, group=group))
    assert commit(broker, group, f"{topic}_none", 1) == (ResponseCode.TOPIC_NOT_EXIST if site.is_v5 else 0)


def test_offsets_are_copied_to_another_group(broker: Peer, topic: str, group: str) -> None:
    for queue_id in (0, 1):
        put(broker, send(topic, queue_id=queue_id), b"x")
        broker.call(pull(topic, 0, group=group, queue_id=queue_id))
        commit(broker, group, topic, 1, queue_id)
    copy = f"{group}_copy"
    broker.call(pull(topic, 0, group=copy))
    assert broker.call(CloneGroupOffset(src_group=group, dest_group=copy, topic=topic, offline=True)).code == 0
    assert [committed(broker, copy, topic, queue_id) for queue_id in (0, 1)] == ["1", "1"]


def test_a_reset_of_an_offline_group_is_refused_by_4_and_done_by_5(
    broker: Peer, site: Site, topic: str, group: str
) -> None:
    put(broker, send(topic), b"x")
    for queue_id in range(4):
        broker.call(pull(topic, 0, group=group, queue_id=queue_id))
        commit(broker, group, topic, 0, queue_id)
    reset = InvokeBrokerToResetOffset(topic=topic, group=group, timestamp=-1, is_force=True)
    code = broker.call(reset).code
    moved = committed(broker, group, topic)
    assert (code, moved) == ((0, "1") if site.is_v5 else (ResponseCode.CONSUMER_NOT_ONLINE, "0"))


def test_lag_is_shown_queue_by_queue(broker: Peer, site: Site, topic: str, group: str) -> None:
    for number in range(6):
        put(broker, send(topic, queue_id=number % 2), b"x")
    broker.call(pull(topic, 0, group=group))
    commit(broker, group, topic, 1, 0)
    stats = ConsumeStats.from_bytes(broker.call(GetConsumeStats(consumer_group=group, topic=topic)).body)
    lags = {
        queue.queue_id: progress.broker_offset - progress.consumer_offset
        for queue, progress in stats.offset_table.items()
    }
    assert lags == {0: 2, 1: 3, 2: 0, 3: 0}
    (first, *_) = decode_messages(broker.call(pull(topic, 0, group=group)).body)
    assert stats.offset_table[MessageQueue(topic, site.broker_name, 0)].last_timestamp == first.store_time_ms


def test_a_time_is_found_between_messages(broker: Peer, site: Site, topic: str) -> None:
    for _ in range(3):
        put(broker, send(topic), b"x")
    times = [message.store_time_ms for message in decode_messages(broker.call(pull(topic, 0)).body)]

    def at(timestamp: int, boundary: str | None = None) -> int:
        request = SearchOffset(topic=topic, queue_id=0, timestamp=timestamp, boundary_type=boundary)
        return int(broker.call(request).ext("offset") or -1)

    assert at(times[0] - 1) == 0
    assert times[at(times[1])] == times[1]
    assert at(times[2] + 1) == (3 if site.is_v5 else 2)
    if site.is_v5:
        assert at(times[0], "lower") == 0
        assert at(times[2] + 1, "upper") == 2


def test_entries_of_a_queue_are_shown(broker: Peer, topic: str) -> None:
    put(broker, send(topic, properties={"TAGS": "TagA"}), b"x")
    answer = broker.call(QueryConsumeQueue(topic=topic, queue_id=0, index=0, count=10))
    assert answer.code == 0
    assert b'"tagsCode":2598919' in answer.body
