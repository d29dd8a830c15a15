"""208, 317, 303: how far groups are: one group, all of them, by time (`AdminBrokerProcessor`).

5.x adds pull offsets to 208; 317 has none there, and so a negative total in flight. Lists are made in slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from embedded_broker.broker import Broker
from embedded_broker.handlers.queue_tables import EMPTY_TABLE, check_listed, in_portions, listed_in_slices
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.remoting.slices import Steps
from embedded_broker.stats import GROUP_GET_NUMS
from mqctl.model.config import TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_stats import (
    BrokerConsumeStats,
    ConsumeStats,
    ConsumeTimeSpan,
    ConsumeTimeSpans,
    OffsetWrapper,
)
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import json_string
from mqctl.protocol.requests_admin import GetConsumeStats, GetConsumeStatsInBroker, QueryConsumeTimeSpan

_EMPTY_LIST, _EMPTY_SPANS = b'"consumeStatsList":[]', b'"consumeTimeSpanSet":[]'


@handles(GetConsumeStats)
def get_consume_stats(broker: Broker, request: GetConsumeStats, call: Call) -> None:
    group, is_v5 = request.consumer_group, broker.release.is_v5
    listed = [item for item in (request.topic_list or "").split(";") if item.strip()] if is_v5 else []
    topic_name = request.topic or ""
    topics = [topic_name] if topic_name.strip() else broker.offsets.topics_of(group)
    if listed:  # whatever the group subscribed to
        consumed = [config for topic in listed if (config := broker.topics.find(topic)) is not None]
    else:
        consumed = _consumed(broker, group, topics)
    check_listed(sum(topic.read_queue_count for topic in consumed), f"progress of group {group}")
    rate = sum(_rate(broker, group, topic.name) for topic in consumed)

    def progress() -> Iterator[tuple[MessageQueue, OffsetWrapper]]:
        for topic in consumed:
            for number in range(topic.read_queue_count):
                queue = MessageQueue(topic.name, broker.name, number)
                yield queue, _progress(broker, group, queue, broker.offsets.pulled(group, topic.name, number))

    def encode(table: Mapping[MessageQueue, OffsetWrapper]) -> bytes:
        return ConsumeStats(offset_table=table, consume_tps=rate).to_bytes(is_v5=is_v5)

    broker.slices.answer(call, listed_in_slices(call, progress(), encode))


def _consumed(broker: Broker, group: str, topics: list[str]) -> list[TopicConfig]:
    """Leaves out topics without settings, and those that a group with members has not subscribed."""
    online = broker.clients.consumers.get(group)
    subscribed = online.subscriptions if online is not None else {}
    popped = broker.pop.subscribed if broker.pop is not None else set()
    known = [config for topic in topics if (config := broker.topics.find(topic)) is not None]
    return [config for config in known if not subscribed or config.name in subscribed or (config.name, group) in popped]


def _progress(broker: Broker, group: str, queue: MessageQueue, pulled: int | None = None) -> OffsetWrapper:
    """Returns ends and progress of a queue; in 5.x the pull offset is 0 when none is given."""
    offset = max(0, broker.offsets.query(group, queue.topic, queue.queue_id))
    last_ms = broker.storage.store_time(queue.topic, queue.queue_id, offset - 1) if offset else None
    return OffsetWrapper(
        broker_offset=broker.storage.max_offset(queue.topic, queue.queue_id),
        consumer_offset=offset,
        last_timestamp=last_ms or 0,
        pull_offset=(0 if pulled is None else max(offset, pulled)) if broker.release.is_v5 else None,
    )


def _rate(broker: Broker, group: str, topic: str) -> float:
    counter = broker.stats.item(GROUP_GET_NUMS, f"{topic}@{group}")
    return counter.span(0).per_second if counter is not None else 0.0


@handles(GetConsumeStatsInBroker)
def get_all_consume_stats(broker: Broker, request: GetConsumeStatsInBroker, call: Call) -> None:
    """5.3.3 fills no pull offsets in here, and so tells a total in flight that is negative."""
    groups = {group: _consumed(broker, group, broker.offsets.topics_of(group)) for group in broker.groups.configs}
    chosen = {
        group: [topic for topic in topics if topic.order or not request.is_order] for group, topics in groups.items()
    }
    count = sum(topic.write_queue_count for topics in chosen.values() for topic in topics)
    check_listed(count, "progress of all groups")
    broker.slices.answer(call, _all_stats(broker, chosen, call))


def _all_stats(broker: Broker, chosen: Mapping[str, list[TopicConfig]], call: Call) -> Steps:
    is_v5 = broker.release.is_v5
    listed = []
    total = in_flight = 0

    def progress(group: str, topic: TopicConfig) -> Iterator[tuple[MessageQueue, OffsetWrapper]]:
        nonlocal total, in_flight
        for number in range(topic.write_queue_count):
            queue = MessageQueue(topic.name, broker.name, number)
            figures = _progress(broker, group, queue)
            total += figures.broker_offset - figures.consumer_offset
            in_flight += (figures.pull_offset or 0) - figures.consumer_offset
            yield queue, figures

    for group, topics in chosen.items():
        stats = []
        for topic in topics:
            rate = _rate(broker, group, topic.name)

            def encode(portion: Sequence[tuple[MessageQueue, OffsetWrapper]], rate: float = rate) -> bytes:
                return ConsumeStats(offset_table=dict(portion), consume_tps=rate).to_bytes(is_v5=is_v5)

            stats.append((yield from in_portions(progress(group, topic), encode, EMPTY_TABLE)))
        listed.append(b"{%b:[%b]}" % (json_string(group).encode(), b",".join(stats)))
    answer = BrokerConsumeStats(
        broker_addr=broker.address, total_diff=total, total_inflight_diff=in_flight if is_v5 else None
    )
    start, end = answer.to_bytes(is_v5=is_v5).split(_EMPTY_LIST, 1)
    return call.answer(body=b"".join((start, _EMPTY_LIST[:-1], b",".join(listed), b"]", end)))


@handles(QueryConsumeTimeSpan)
def query_time_span(broker: Broker, request: QueryConsumeTimeSpan, call: Call) -> None:
    topic = broker.topics.find(request.topic)
    if topic is None:
        raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic[{request.topic}] not exist")
    broker.slices.answer(call, _spans(broker, request.group, topic, call))


def _spans(broker: Broker, group: str, topic: TopicConfig, call: Call) -> Steps:
    spans = (_span(broker, group, topic.name, number) for number in range(topic.write_queue_count))

    def encode(portion: Sequence[ConsumeTimeSpan]) -> bytes:
        return ConsumeTimeSpans(consume_time_span_set=tuple(portion)).to_bytes()

    return call.answer(body=(yield from in_portions(spans, encode, _EMPTY_SPANS)))


def _span(broker: Broker, group: str, topic: str, number: int) -> ConsumeTimeSpan:
    storage = broker.storage

    def stored(offset: int) -> int:
        store_ms = storage.store_time(topic, number, offset)
        return -1 if store_ms is None else store_ms

    end = storage.max_offset(topic, number)
    first_ms, last_ms = stored(storage.min_offset(topic, number)), stored(end - 1)
    offset = broker.offsets.query(group, topic, number)
    consumed_ms = stored(offset - 1) if offset > 0 else first_ms
    return ConsumeTimeSpan(
        message_queue=MessageQueue(topic, broker.name, number),
        min_time_stamp=first_ms,
        min_time_stamp_str=_written(first_ms),
        max_time_stamp=last_ms,
        max_time_stamp_str=_written(last_ms),
        consume_time_stamp=consumed_ms,
        consume_time_stamp_str=_written(consumed_ms),
        # of a group without offset the time of the message at -1 is asked, which is -1
        delay_time=broker.clock.now_ms() - stored(offset) if offset < end else 0,
    )


def _written(time_ms: int) -> str:
    """Writes an instant in this machine's zone, as `UtilAll.timeMillisToHumanString2` and its kin do."""
    when = datetime.fromtimestamp(time_ms // 1000).astimezone()
    return f"{when:%Y-%m-%d#%H:%M:%S}:{time_ms % 1000:03d}"
