"""Typed bodies: every recorded one byte for byte, tolerant reading, and the declared error for the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.errors import BadInputError
from mqctl.model.config import DataVersion, SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol import bodies
from mqctl.protocol.bodies import BODIES, CONFIGURATIONS, RAW, BodyError, body_type
from mqctl.protocol.bodies_client import ConsumerRunningInfo, HeartbeatData, LockRequest, ProcessQueueInfo
from mqctl.protocol.bodies_cluster import BrokerData, ClusterInfo, ConsumerOffsetTable, QueueOffsets, TopicRouteData
from mqctl.protocol.bodies_stats import ConsumeStats, OffsetWrapper
from mqctl.protocol.body import (
    read_data_version,
    read_group_config,
    read_topic_config,
    write_data_version,
    write_group_config,
    write_topic_config,
)
from mqctl.protocol.fastjson import dump_bytes, loads
from mqctl.protocol.frame import RemotingCommand, decode
from mqctl.protocol.message_batch import decode_batch, encode_batch
from mqctl.protocol.message_record import decode_messages, encode_message
from mqctl.protocol.requests import REQUESTS
from tests.each import each
from tests.protocol.conftest import RecordedFrame

CONFIG_CODECS: dict[str, tuple[Any, Any]] = {
    "DataVersion": (read_data_version, write_data_version),
    "TopicConfig": (read_topic_config, write_topic_config),
    "SubscriptionGroupConfig": (read_group_config, write_group_config),
}


def _rewritten(name: str, body: bytes, is_v5: bool) -> bytes | None:
    """Reads a body as what its declaration says and writes it again; None for raw ones."""
    kind = body_type(name)
    if kind is not None:
        browser_compatible = name == "TopicRouteData" and b'{"0":' in body
        return kind.from_bytes(body).to_bytes(is_v5=is_v5, browser_compatible=browser_compatible)
    if name in CONFIG_CODECS:
        read, write = CONFIG_CODECS[name]
        return dump_bytes(write(read(loads(body)), is_v5))
    if name in {"message", "messages"}:
        return b"".join(encode_message(message, trailing_separator=is_v5) for message in decode_messages(body))
    if name == "batch":
        return encode_batch(decode_batch(body))
    assert name in RAW
    return None


def _body_name(command: RemotingCommand, code: int) -> str:
    kind = REQUESTS[code]
    return kind.reply_body if command.is_response else kind.body


def _is_hand_made(frame: RecordedFrame, command: RemotingCommand) -> bool:
    """The recordings hold a few requests that no RocketMQ client wrote: their bodies lack defaults."""
    return frame.request_code == 46 and b'"classFilterMode"' not in command.body


def test_the_sample_is_read_and_written_to_the_same_bytes(recorded_frames: list[RecordedFrame]) -> None:
    names = set()
    for frame in recorded_frames:
        command = decode(frame.data)
        if command.body and frame.request_code in REQUESTS:
            name = _body_name(command, frame.request_code)
            rewritten = _rewritten(name, command.body, frame.header.get("version", 0) >= 413 or "5.3.3/" in frame.name)
            if rewritten is not None and not _is_hand_made(frame, command):
                assert rewritten == command.body, frame.name
                names.add(name)
    assert len(names) > 30


def test_every_recorded_body_is_written_to_the_same_bytes(all_recorded_frames: list[RecordedFrame]) -> None:
    same = 0
    for frame in all_recorded_frames:
        command = decode(frame.data)
        by_hand = frame.header.get("language") == "PYTHON" or frame.request_code not in REQUESTS
        if not command.body or by_hand:
            continue
        rewritten = _rewritten(_body_name(command, frame.request_code), command.body, frame.name[0].isdigit())
        if rewritten is None or _is_hand_made(frame, command):
            continue
        if rewritten != command.body:  # members of a batch carry WAIT twice; a mapping keeps one
            assert (len(command.body) - len(rewritten)) % len(b"WAIT\x01true\x02") == 0
            pairs = list(zip(decode_messages(command.body), decode_messages(rewritten), strict=True))
            assert all(old.properties == new.properties for old, new in pairs)
            assert any("WAIT" in new.properties for _, new in pairs)
        same += rewritten == command.body
    assert same > 800


def test_every_declared_body_exists() -> None:
    for kind in REQUESTS.values():
        for name in (kind.body, kind.reply_body):
            assert name in BODIES or name in CONFIGURATIONS or name in RAW, (kind, name)
    for body in BODIES.values():
        assert body.__doc__
        assert getattr(bodies, body.__name__) is body
        body._codec()


QUEUE = MessageQueue("T", "b-a", 0)


@pytest.mark.parametrize(
    "text",
    [
        '{"offsetTable":{{"brokerName":"b-a","queueId":0,"topic":"T"}:5}}',
        '{"offsetTable":{ { "topic":"T","queueId":"0","brokerName":"b-a","more":1} : "5" },"unknown":[]}',
        r'{"offsetTable":{"{\"brokerName\":\"b-a\",\"queueId\":0,\"topic\":\"T\"}":5}}',
        r"""{"offsetTable":{"{'brokerName':'b-a','queueId':0,'topic':'T'}":5}}""",
    ],
)
def test_queue_keys_are_read_in_every_form(text: str) -> None:
    assert QueueOffsets.from_bytes(text.encode()) == QueueOffsets(offset_table={QUEUE: 5})


def test_integer_keys_are_read_bare_and_quoted_and_written_bare() -> None:
    route = TopicRouteData(broker_datas=(BrokerData(broker_name="b", cluster="c", broker_addrs={0: "1.2.3.4:5"}),))
    assert b'"brokerAddrs":{0:"1.2.3.4:5"}' in route.to_bytes()
    assert b'"brokerAddrs":{"0":"1.2.3.4:5"}' in route.to_bytes(browser_compatible=True)
    assert TopicRouteData.from_bytes(route.to_bytes()) == route
    assert TopicRouteData.from_bytes(route.to_bytes(browser_compatible=True)) == route
    assert ConsumerOffsetTable.from_bytes(b'{"offsetTable":{"T@g":{"0":1,1:2}}}').offset_table == {"T@g": {0: 1, 1: 2}}


def test_defaults_fill_what_is_missing_or_null() -> None:
    heartbeat = HeartbeatData.from_bytes(
        b'{"clientID":"c","consumerDataSet":[{"groupName":"g","unitMode":null,"subscriptionDataSet":[{"topic":"T"}]}]}'
    )
    (consumer,) = heartbeat.consumer_data_set
    assert consumer.consume_type == "CONSUME_PASSIVELY"
    assert consumer.unit_mode is False
    assert consumer.subscription_data_set[0].sub_string == "*"
    assert heartbeat.producer_data_set == ()


@each(
    "kind, text",
    [
        (HeartbeatData, "{}"),
        (HeartbeatData, ""),
        (HeartbeatData, "[1]"),
        (HeartbeatData, '{"clientID":"c","consumerDataSet":{}}'),
        (LockRequest, '{"clientId":"c","consumerGroup":"g","mqSet":[5]}'),
        (ConsumeStats, '{"consumeTps":"fast"}'),
        (ConsumerOffsetTable, '{"offsetTable":{"T@g":{0:"%s"}}}' % ("9" * 5_000)),
        (ConsumerOffsetTable, '{"offsetTable":{"T@g":{0:%s}}}' % ("9" * 30)),
        (ConsumerOffsetTable, '{"offsetTable":{"T@g":{0:1e300}}}'),
        (ConsumerOffsetTable, '{"offsetTable":{"T@g":{0:"\u0663"}}}'),
        (ConsumeStats, '{"offsetTable":{"x":{}}}'),
        (ClusterInfo, '{"brokerAddrTable":[]}'),
        (ClusterInfo, "{"),
        (ConsumerOffsetTable, '{"offsetTable":{"T@g":{"zero":1}}}'),
    ],
)
def test_wrong_shapes_raise_the_declared_error(kind: type[bodies.Body], text: str) -> None:
    with pytest.raises(BodyError) as caught:
        kind.from_bytes(text.encode())
    assert caught.value.reason


def test_configurations_differ_by_release() -> None:
    topic = TopicConfig(name="T", attributes={"message.type": "FIFO"})
    assert "attributes" not in write_topic_config(topic, False)
    assert read_topic_config(write_topic_config(topic, True)) == topic
    group = SubscriptionGroupConfig(name="g", retry_intervals_ms=(1000, 5000), consume_message_orderly=True)
    assert read_group_config(write_group_config(group, True)) == group
    assert list(write_group_config(group, False)) == sorted(write_group_config(group, False))
    assert write_data_version(DataVersion(1, 2, 3), False) == {"counter": 1, "timestamp": 2}


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
LONG = st.integers(-(2**63), 2**63 - 1)
QUEUES = st.builds(MessageQueue, topic=NAMES, broker_name=NAMES, queue_id=st.integers(0, 2**31 - 1))


@settings(deadline=None)
@given(
    st.dictionaries(
        QUEUES,
        st.builds(OffsetWrapper, broker_offset=LONG, consumer_offset=LONG, last_timestamp=LONG, pull_offset=LONG),
        max_size=4,
    ),
    st.floats(0, 1e9),
)
def test_consume_stats_survive_the_wire(table: dict[MessageQueue, OffsetWrapper], tps: float) -> None:
    stats = ConsumeStats(consume_tps=tps, offset_table=table)
    assert ConsumeStats.from_bytes(stats.to_bytes()) == stats


@settings(deadline=None)
@given(st.sampled_from(sorted(BODIES)), st.binary(max_size=60) | st.text("{}[]:\"'0,$ref.").map(str.encode))
def test_garbage_raises_only_declared_errors(name: str, data: bytes) -> None:
    try:
        BODIES[name].from_bytes(data)
    except BadInputError as error:
        assert error.reason


def test_running_info_reads_what_only_five_sends() -> None:
    info = ConsumerRunningInfo.from_bytes(b'{"mqPopTable":{},"properties":{"PROP_CONSUMEORDERLY":true},"jstack":"x"}')
    assert info.properties == {"PROP_CONSUMEORDERLY": "true"}
    assert info.mq_pop_table == {}
    assert info.jstack == "x"


@pytest.mark.parametrize("written", ["18446744073709551615", '"18446744073709551615"', "-1"])
def test_an_unsigned_number_of_the_cpp_client_is_the_signed_one_of_the_same_bits(written: str) -> None:
    assert ProcessQueueInfo.from_bytes(b'{"commitOffset":%s}' % written.encode()).commit_offset == -1
