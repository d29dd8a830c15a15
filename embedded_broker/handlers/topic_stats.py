"""202, 300, 315: what a topic holds and who consumes it: bounds of its queues, its groups, one counter.

Source: `AdminBrokerProcessor`.

5.x adds the rate of sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from embedded_broker.broker import Broker
from embedded_broker.handlers.queue_tables import listed_in_slices
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.stats import TOPIC_PUT_NUMS, Counter, Span
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_cluster import GroupList
from mqctl.protocol.bodies_stats import BrokerStatsData, StatsItem, TopicOffset, TopicStatsTable
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import GetTopicStatsInfo, QueryTopicConsumeByWho, ViewBrokerStatsData


@handles(GetTopicStatsInfo)
def get_topic_stats(broker: Broker, request: GetTopicStatsInfo, call: Call) -> None:
    topic = broker.topics.find(request.topic)
    if topic is None:
        raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic[{request.topic}] not exist")
    name, is_v5, storage = topic.name, broker.release.is_v5, broker.storage
    read = topic.read_queue_count if is_v5 else 0
    rate = _per_second(broker.stats.item(TOPIC_PUT_NUMS, name)) if is_v5 else None

    def bounds() -> Iterator[tuple[MessageQueue, TopicOffset]]:
        for number in range(max(topic.write_queue_count, read)):
            end = storage.max_offset(name, number)
            last_ms = storage.store_time(name, number, end - 1) if end else None
            yield (
                MessageQueue(name, broker.name, number),
                TopicOffset(
                    min_offset=storage.min_offset(name, number), max_offset=end, last_update_timestamp=last_ms or 0
                ),
            )

    def encode(table: Mapping[MessageQueue, TopicOffset]) -> bytes:
        return TopicStatsTable(offset_table=table, topic_put_tps=rate).to_bytes(is_v5=is_v5)

    broker.slices.answer(call, listed_in_slices(call, bounds(), encode))


def _per_second(counter: Counter | None) -> float:
    return counter.span(0).per_second if counter is not None else 0.0


@handles(QueryTopicConsumeByWho)
def query_topic_groups(broker: Broker, request: QueryTopicConsumeByWho, call: Call) -> RemotingCommand:
    """5.3.3 notes of members the topic where it should note the group, and never forgets it (`topicGroupTable`)."""
    topic = request.topic
    if broker.release.is_v5:
        online = [topic] if topic in broker.clients.ever_subscribed else []
    else:
        online = broker.clients.groups_subscribed_to(topic)
    known = {*online, *broker.offsets.groups_of(topic)}
    return call.answer(body=GroupList(group_list=tuple(sorted(known))).to_bytes())


@handles(ViewBrokerStatsData)
def view_stats(broker: Broker, request: ViewBrokerStatsData, call: Call) -> RemotingCommand:
    counter = broker.stats.item(request.stats_name, request.stats_key)
    if counter is None:
        remark = f"The stats <{request.stats_name}> <{request.stats_key}> not exist"
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
    minute, hour, day = (_item(counter.span(index)) for index in range(3))
    return call.answer(body=BrokerStatsData(stats_minute=minute, stats_hour=hour, stats_day=day).to_bytes())


def _item(span: Span) -> StatsItem:
    return StatsItem(sum=span.sum, tps=span.per_second, avgpt=span.per_event)
