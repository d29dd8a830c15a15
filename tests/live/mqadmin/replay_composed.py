"""Answers that nobody recorded, put together from recorded ones that hold the same facts.

mqadmin asks for the progress of one group; mqctl asks for all offsets and the bounds of queues. A route is recorded
once a topic and a recording at best; the topic's settings hold its queues. Messages of the first recording come from
the store that its broker left behind.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.model.config import TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumerConnection, ConsumerIds
from mqctl.protocol.bodies_cluster import (
    BrokerData,
    ClusterInfo,
    ConsumerOffsetTable,
    QueueData,
    TopicConfigTable,
    TopicRouteData,
)
from mqctl.protocol.bodies_stats import BrokerConsumeStats, ConsumeStats, OffsetWrapper, TopicOffset, TopicStatsTable
from mqctl.protocol.frame import FLAG_RESPONSE, RemotingCommand
from mqctl.protocol.message_record import decode_message

if TYPE_CHECKING:
    from tests.live.mqadmin.replay import Replay

_STORE = Path(__file__).parents[2] / "golden" / "stores" / "store-clean.tar.gz"
_TOPIC_CONFIGS = 21
_ROUTE = 105
_CONNECTIONS = 203
_CONSUME_STATS = 208
_ALL_CONSUME_STATS = 317


def composed_answer(replay: Replay, to: str, code: int, asked: Mapping[str, str]) -> RemotingCommand | None:
    """Returns an answer of 11, 21, 30, 31, 38, 43, 105, 106 or 202; None when the recording does not hold the facts."""
    if to == "broker" and replay.run.release == "4.9.8" and code in (11, 30, 31):
        return _from_store(code, asked)
    body = _body(replay, to, code, asked)
    return None if body is None else RemotingCommand(code=0, flag=FLAG_RESPONSE, body=body)


def _body(replay: Replay, to: str, code: int, asked: Mapping[str, str]) -> bytes | None:
    match to, code:
        case "namesrv", 105:
            return _route(replay, asked["topic"])
        case "namesrv", 106:
            return _cluster(replay)
        case "broker", 21:
            return _topics(replay)
        case "broker", 43:
            return _offsets(replay)
        case "broker", 38:
            return _client_ids(replay, asked["consumerGroup"])
        case "broker", 202:
            return _bounds(replay, asked["topic"])
    return None


@cache
def _stored() -> dict[tuple[str, int], dict[int, bytes]]:
    """Records of the store that the same broker left behind, by topic and queue, then by queue offset."""
    bodies: dict[tuple[str, int], dict[int, bytes]] = {}
    with tarfile.open(_STORE) as archive:
        name = next(name for name in archive.getnames() if "/commitlog/0" in name)
        file = archive.extractfile(name)
        assert file is not None
        log = file.read()
    at = 0
    while size := int.from_bytes(log[at : at + 4], "big"):
        record = log[at : at + size]
        message = decode_message(record)
        bodies.setdefault((message.topic, message.queue_id), {})[message.queue_offset] = record
        at += size
    return bodies


def _from_store(code: int, asked: Mapping[str, str]) -> RemotingCommand:
    records = _stored().get((asked["topic"], int(asked["queueId"])), {})
    low, high = (min(records), max(records) + 1) if records else (0, 0)
    if code != 11:
        fields = {"offset": str(high if code == 30 else low)}
        return RemotingCommand(code=0, flag=FLAG_RESPONSE, ext_fields=fields)
    first = int(asked["queueOffset"])
    wanted = [records[n] for n in range(first, min(high, first + int(asked["maxMsgNums"])))]
    fields = {"minOffset": str(low), "maxOffset": str(high), "nextBeginOffset": str(first + len(wanted))}
    fields["suggestWhichBrokerId"] = "0"
    code = 0 if wanted else 19
    return RemotingCommand(code=code, flag=FLAG_RESPONSE, ext_fields=fields, body=b"".join(wanted))


def _route(replay: Replay, topic: str) -> bytes | None:
    for exchange in replay.recorded("broker", _TOPIC_CONFIGS, {}):
        config = TopicConfigTable.from_bytes(exchange.command.body).topic_config_table.get(topic)
        if config is not None:
            queues = QueueData(
                broker_name="broker-a",
                perm=config.perm,
                read_queue_nums=config.read_queue_count,
                write_queue_nums=config.write_queue_count,
            )
            broker = BrokerData(broker_addrs={0: replay.master}, broker_name="broker-a", cluster="DefaultCluster")
            return TopicRouteData(broker_datas=(broker,), queue_datas=(queues,)).to_bytes()
    return None


def _cluster(replay: Replay) -> bytes:
    broker = BrokerData(broker_addrs={0: replay.master}, broker_name="broker-a", cluster="DefaultCluster")
    return ClusterInfo(
        broker_addr_table={"broker-a": broker}, cluster_addr_table={"DefaultCluster": ("broker-a",)}
    ).to_bytes()


def _topics(replay: Replay) -> bytes:
    configs: dict[str, TopicConfig] = {}
    for exchange in replay.recorded("namesrv", _ROUTE, {}):
        if exchange.command.code == 0:
            name = str(exchange.fields["topic"])
            for queues in TopicRouteData.from_bytes(exchange.command.body).queue_datas:
                config = TopicConfig(
                    name=name,
                    perm=queues.perm,
                    read_queue_count=queues.read_queue_nums,
                    write_queue_count=queues.write_queue_nums,
                )
                configs.setdefault(name, config)
    topic = replay.run.option("-t")  # its route may be recorded under another recording only
    if topic and replay.run.out.strip():
        configs.setdefault(topic, TopicConfig(name=topic))
    return TopicConfigTable(topic_config_table=configs).to_bytes()


def _offsets(replay: Replay) -> bytes:
    offsets_at: dict[str, dict[int, int]] = {}
    for group, queue, offsets in _progress(replay):
        offsets_at.setdefault(f"{queue.topic}@{group}", {}).setdefault(queue.queue_id, offsets.consumer_offset)
    return ConsumerOffsetTable(offset_table=offsets_at).to_bytes()


def _client_ids(replay: Replay, group: str) -> bytes | None:
    for exchange in replay.recorded("broker", _CONNECTIONS, {"consumerGroup": group}):
        if exchange.command.code == 0:
            connections = ConsumerConnection.from_bytes(exchange.command.body).connection_set
            return ConsumerIds(consumer_id_list=tuple(item.client_id for item in connections)).to_bytes()
    return None


def _bounds(replay: Replay, topic: str) -> bytes | None:
    bounds: dict[MessageQueue, TopicOffset] = {}
    for _, queue, offsets in _progress(replay):
        if queue.topic == topic:
            bounds.setdefault(queue, TopicOffset(max_offset=offsets.broker_offset))
    return TopicStatsTable(offset_table=bounds).to_bytes() if bounds else None


def _progress(replay: Replay) -> Iterator[tuple[str, MessageQueue, OffsetWrapper]]:
    """Yields (group, queue, offsets) of the run's minute, the nearest first."""
    for exchange in replay.recorded("broker", _CONSUME_STATS, {}):
        if exchange.command.code == 0:
            for queue, offsets in ConsumeStats.from_bytes(exchange.command.body).offset_table.items():
                yield str(exchange.fields["consumerGroup"]), queue, offsets
    for exchange in replay.recorded("broker", _ALL_CONSUME_STATS, {}):
        for groups in BrokerConsumeStats.from_bytes(exchange.command.body).consume_stats_list:
            for group, tables in groups.items():
                for table in tables:
                    for queue, offsets in table.offset_table.items():
                        yield group, queue, offsets
