"""Answers that nobody recorded, put together from recorded ones that hold the same facts.

mqadmin asks for the progress of one group; mqctl asks for all offsets and the bounds of queues. A route is recorded
once a topic and a recording at best; the topic's settings hold its queues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumerConnection, ConsumerIds
from mqctl.protocol.bodies_cluster import BrokerData, ConsumerOffsetTable, QueueData, TopicConfigTable, TopicRoute
from mqctl.protocol.bodies_stats import BrokerConsumeStats, ConsumeStats, OffsetWrapper, TopicOffset, TopicStatsTable

if TYPE_CHECKING:
    from tests.live.replay import Replay

_TOPIC_CONFIGS = 21
_CONNECTIONS = 203
_CONSUME_STATS = 208
_ALL_CONSUME_STATS = 317


def composed_answer(replay: Replay, to: str, code: int, asked: Mapping[str, str]) -> bytes | None:
    """Returns the body of an answer of 105, 43 or 202; None when the recording does not hold the facts."""
    match to, code:
        case "namesrv", 105:
            return _route(replay, asked["topic"])
        case "broker", 43:
            return _offsets(replay)
        case "broker", 38:
            return _client_ids(replay, asked["consumerGroup"])
        case "broker", 202:
            return _bounds(replay, asked["topic"])
    return None


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
            return TopicRoute(broker_datas=(broker,), queue_datas=(queues,)).to_bytes()
    return None


def _offsets(replay: Replay) -> bytes:
    found: dict[str, dict[int, int]] = {}
    for group, queue, offsets in _progress(replay):
        found.setdefault(f"{queue.topic}@{group}", {}).setdefault(queue.queue_id, offsets.consumer_offset)
    return ConsumerOffsetTable(offset_table=found).to_bytes()


def _client_ids(replay: Replay, group: str) -> bytes | None:
    for exchange in replay.recorded("broker", _CONNECTIONS, {"consumerGroup": group}):
        if exchange.command.code == 0:
            connections = ConsumerConnection.from_bytes(exchange.command.body).connection_set
            return ConsumerIds(consumer_id_list=tuple(item.client_id for item in connections)).to_bytes()
    return None


def _bounds(replay: Replay, topic: str) -> bytes | None:
    found: dict[MessageQueue, TopicOffset] = {}
    for _, queue, offsets in _progress(replay):
        if queue.topic == topic:
            found.setdefault(queue, TopicOffset(max_offset=offsets.broker_offset))
    return TopicStatsTable(offset_table=found).to_bytes() if found else None


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
