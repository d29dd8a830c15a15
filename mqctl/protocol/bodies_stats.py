"""Bodies of statistics. Times are epoch milliseconds."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import SubscriptionData
from mqctl.protocol.body import EMPTY, Body
from mqctl.protocol.declared import field


class TopicOffset(Body):
    """Bounds of one queue; `last_update_timestamp` is 0 when it is empty."""

    last_update_timestamp: int = 0
    max_offset: int = 0
    min_offset: int = 0


class TopicStatsTable(Body):
    """Bounds of all queues of a topic on one broker."""

    offset_table: Mapping[MessageQueue, TopicOffset] = EMPTY
    topic_put_tps: float | None = field(default=None, since="5.3.0")


class OffsetWrapper(Body):
    """Progress on one queue; `last_timestamp` is the store time of the last consumed message, 0 if unknown."""

    broker_offset: int = 0
    consumer_offset: int = 0
    last_timestamp: int = 0
    pull_offset: int | None = field(default=None, since="5.0.0")


class ConsumeStats(Body):
    """Progress of a group on one broker."""

    consume_tps: float = 0.0
    offset_table: Mapping[MessageQueue, OffsetWrapper] = EMPTY


class BrokerConsumeStats(Body):
    """Progress of all groups on one broker; each element of the list maps one group to its statistics by topic."""

    broker_addr: str | None = None
    consume_stats_list: tuple[Mapping[str, tuple[ConsumeStats, ...]], ...] = ()
    total_diff: int = 0
    total_inflight_diff: int | None = field(default=None, since="5.0.0")


class ConsumeTimeSpan(Body):
    """Times of one queue; the texts are in the broker's own zone."""

    consume_time_stamp: int = 0
    consume_time_stamp_str: str | None = None
    delay_time: int = 0
    max_time_stamp: int = 0
    max_time_stamp_str: str | None = None
    message_queue: MessageQueue
    min_time_stamp: int = 0
    min_time_stamp_str: str | None = None


class ConsumeTimeSpans(Body):
    """Times of all queues of a topic on one broker."""

    consume_time_span_set: tuple[ConsumeTimeSpan, ...] = ()


class StatsItem(Body):
    """One statistics item over one span."""

    avgpt: float = 0.0
    sum: int = 0
    tps: float = 0.0


class BrokerStatsData(Body):
    """One statistics item over the last minute, hour and day."""

    stats_day: StatsItem = field(default=StatsItem())
    stats_hour: StatsItem = field(default=StatsItem())
    stats_minute: StatsItem = field(default=StatsItem())


class ConsumeQueueEntry(Body):
    """One raw entry of a consume queue; `eval` and `msg` are the filter's verdict, when a group was named."""

    bit_map: str | None = None
    eval: bool = False
    extend_data_json: str | None = None
    msg: str | None = None
    physic_offset: int = 0
    physic_size: int = 0
    tags_code: int = 0


class ConsumeQueueData(Body):
    """Raw entries of a consume queue, and its bounds."""

    filter_data: str | None = None
    max_queue_index: int = 0
    min_queue_index: int = 0
    queue_data: tuple[ConsumeQueueEntry, ...] = ()
    subscription_data: SubscriptionData | None = None
