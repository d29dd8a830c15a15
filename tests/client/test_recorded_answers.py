"""Every question reads what real brokers and name servers answered."""

from __future__ import annotations

from typing import Any

import pytest

from mqctl.client.admin import broker_changes, broker_messages, nameserver
from mqctl.client.admin import broker_queries as broker
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.codes import ResponseCode
from tests.client.wire_server import WireServer, replaying
from tests.protocol.conftest import RecordedFrame

QUESTIONS: list[Question[Any]] = [
    nameserver.route("T"),
    nameserver.cluster_info(),
    nameserver.topic_names(),
    nameserver.topics_of_cluster("C"),
    nameserver.system_topics(),
    nameserver.kv_value("n", "k"),
    nameserver.kv_table("n"),
    nameserver.put_kv("n", "k", "v"),
    nameserver.delete_kv("n", "k"),
    nameserver.name_server_settings(),
    nameserver.wipe_write_permission("b"),
    nameserver.add_write_permission("b"),
    nameserver.delete_route("T"),
    broker.runtime_info(),
    broker.broker_settings(),
    broker.statistics_item("TOPIC_PUT_NUMS", "T"),
    broker.broker_system_topics(),
    broker.topic_configs(),
    broker.topic_stats("T"),
    broker.topic_groups("T"),
    broker.group_configs(),
    broker.consume_stats("G"),
    broker.consume_time_spans("T", "G"),
    broker.consumer_connections("G"),
    broker.producer_connections("G"),
    broker.all_producers(),
    broker.consumer_ids("G"),
    broker.running_info("G", "c"),
    broker.consumer_status("T", "G"),
    broker.consumer_offset("G", "T", 0),
    broker.all_consumer_offsets(),
    broker.delay_offsets(),
    broker.max_offset("T", 0),
    broker.min_offset("T", 0),
    broker.offset_by_time("T", 0, 1),
    broker.earliest_store_time("T", 0),
    broker.queue_entries("T", 0, 0, 1),
    broker_messages.pull("G", "T", 0, 0),
    broker_messages.message_at(0),
    broker_messages.messages_by_key("T", "K", begin_ms=0, end_ms=1),
    broker_changes.put_topic(TopicConfig(name="T")),
    broker_changes.delete_topic("T"),
    broker_changes.put_group(SubscriptionGroupConfig(name="G")),
    broker_changes.delete_group("G", with_offsets=True),
    broker_changes.put_broker_settings({"k": "v"}),
    broker_changes.commit_offset("G", "T", 0, 1),
    broker_changes.reset_offsets("T", "G", -1, force=True),
    broker_changes.consume_directly("G", "c", "id"),
    broker_changes.send_back("G", physical_offset=0),
    broker_changes.lock_queues("G", "c", ()),
    broker_changes.unlock_queues("G", "c", ()),
    broker_changes.clean_expired_queues(),
    broker_changes.clean_unused_topics(),
    broker_changes.delete_expired_commit_log(),
]


def answers(frames: list[RecordedFrame], code: int) -> list[RecordedFrame]:
    return [frame for frame in frames if frame.is_response and frame.request_code == code]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.request.code.name)
def test_recorded_successes_read(question: Question[Any], recorded_frames: list[RecordedFrame]) -> None:
    answers_read = [
        frame for frame in answers(recorded_frames, question.request.code) if frame.header["code"] in question.accepts
    ]
    assert answers_read
    for frame in answers_read:
        with WireServer(replaying({int(question.request.code): frame.data})) as server, Links() as links:
            value = links.ask(server.address, question, Deadline(20_000))
            if frame.header["code"] == ResponseCode.SUCCESS and frame.body_bytes:
                assert value is not None


def test_a_recorded_pull_has_its_messages(recorded_frames: list[RecordedFrame]) -> None:
    for frame in answers(recorded_frames, 11):
        if frame.header["code"] != 0 or not frame.body_bytes:
            continue
        with WireServer(replaying({11: frame.data})) as server, Links() as links:
            pulled = links.ask(server.address, broker_messages.pull("G", "T", 0, 0), Deadline(20_000))
            assert pulled.messages
            assert pulled.messages[-1].queue_offset < pulled.next_offset <= pulled.max_offset
            assert sum(message.size_bytes for message in pulled.messages) == frame.body_bytes
