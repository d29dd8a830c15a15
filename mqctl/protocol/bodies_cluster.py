"""Bodies about brokers, topics, groups and offsets. Times are epoch milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from mqctl.model.config import MOST_QUEUES, DataVersion, SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.body import EMPTY, Body, BodyError, QueueId
from mqctl.protocol.declared import field
from mqctl.text import sentence

MOST_BROKERS = 2_000
"""Broker names of a cluster that are read, far beyond what anybody runs; RocketMQ has no limit of its own."""
MOST_QUEUES_OF_A_ROUTE = 2 * MOST_QUEUES
"""Queues of a topic on all brokers that are read."""


class QueueData(Body):
    """Queues of a topic on one broker."""

    broker_name: str
    perm: int = 6
    read_queue_nums: int = 0
    topic_sys_flag: int = 0
    write_queue_nums: int = 0

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Reads the queues. Raises BodyError, also for counts that no broker has: each queue becomes a row."""
        queues = super().from_json(value)
        for name, count in (("readQueueNums", queues.read_queue_nums), ("writeQueueNums", queues.write_queue_nums)):
            if not 0 <= count <= MOST_QUEUES:
                reason = sentence(
                    "wire-queues-of-broker",
                    "{name} of {broker_name} is {count}, and mqctl reads at most {most_queues:,}",
                    name=name,
                    broker_name=queues.broker_name[:200],
                    count=count,
                    most_queues=MOST_QUEUES,
                )
                raise BodyError(sentence("wire-route-read", "A route cannot be read"), reason=reason)
        return queues


class BrokerData(Body):
    """Addresses of one broker name by broker id (0 is the master)."""

    broker_addrs: Mapping[int, str] = EMPTY
    broker_name: str
    cluster: str = ""
    enable_acting_master: bool | None = field(default=None, since="5.0.0")
    zone_name: str | None = field(default=None, since="5.0.0")


class TopicRouteData(Body):
    """Where a topic lives."""

    broker_datas: tuple[BrokerData, ...] = ()
    filter_server_table: Mapping[str, tuple[str, ...]] = EMPTY
    order_topic_conf: str | None = None
    queue_datas: tuple[QueueData, ...] = ()
    topic_queue_mapping_by_broker: Mapping[str, object] | None = field(default=None, since="5.0.0")

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Reads the answer. Raises BodyError, also for more queues in all than a topic can have."""
        route = super().from_json(value)
        count = sum(max(item.read_queue_nums, item.write_queue_nums) for item in route.queue_datas)
        if count > MOST_QUEUES_OF_A_ROUTE:
            reason = sentence(
                "wire-queues-most-read",
                "it has {count:queue}, and mqctl reads at most {most_queues_of_a_route:,}",
                count=count,
                most_queues_of_a_route=MOST_QUEUES_OF_A_ROUTE,
            )
            raise BodyError(sentence("wire-route-read", "A route cannot be read"), reason=reason)
        return route


class ClusterInfo(Body):
    """All brokers by name, and the broker names of each cluster."""

    broker_addr_table: Mapping[str, BrokerData] = EMPTY
    cluster_addr_table: Mapping[str, tuple[str, ...]] = EMPTY

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Reads the answer. Raises BodyError, also when it names more brokers than anybody runs: each is asked then."""
        info = super().from_json(value)
        count = len(info.broker_addr_table)
        if count > MOST_BROKERS:
            reason = sentence(
                "wire-names-brokers-most-read",
                "it names {count:broker}, and mqctl reads at most {most_brokers:,}",
                count=count,
                most_brokers=MOST_BROKERS,
            )
            raise BodyError(sentence("wire-clusterinfo-read", "ClusterInfo cannot be read"), reason=reason)
        return info


class BrokerMemberGroup(Body):
    """Who is registered under one broker name, by broker id."""

    broker_addrs: Mapping[int, str] = EMPTY
    broker_name: str | None = None
    cluster: str | None = None


class BrokerMemberGroupBody(Body):
    """The answer to 901."""

    broker_member_group: BrokerMemberGroup = field(default=BrokerMemberGroup())


class TopicConfigTable(Body):
    """The topic table of a broker; the mapping fields are those of 5.x."""

    data_version: DataVersion = field(default=DataVersion())
    mapping_data_version: DataVersion | None = field(default=None, since="5.0.0")
    topic_config_table: Mapping[str, TopicConfig] = EMPTY
    topic_queue_mapping_detail_map: Mapping[str, object] | None = field(default=None, since="5.0.0")
    topic_queue_mapping_info_map: Mapping[str, object] | None = field(default=None, since="5.0.0")


class RegisterBrokerBody(Body):
    """What a broker registers."""

    filter_server_list: tuple[str, ...] = ()
    topic_config_serialize_wrapper: TopicConfigTable = field(default=TopicConfigTable())


class SubscriptionGroupTable(Body):
    """The group table of a broker."""

    data_version: DataVersion = field(default=DataVersion())
    forbidden_table: Mapping[str, Mapping[str, int]] | None = field(default=None, since="5.0.0")
    subscription_group_table: Mapping[str, SubscriptionGroupConfig] = EMPTY

    def configs(self) -> dict[str, SubscriptionGroupConfig]:
        """Returns the settings by group, each with the topics that it may not read."""
        forbidden = self.forbidden_table or EMPTY
        return {
            name: replace(config, forbidden=dict(forbidden.get(name, EMPTY)))
            for name, config in self.subscription_group_table.items()
        }


class GroupForbidden(Body):
    """Whether a group may read a topic."""

    group: str
    readable: bool = True
    topic: str


class TopicList(Body):
    """Topic names; `broker_addr` is some broker, where the request gives one."""

    broker_addr: str | None = None
    topic_list: tuple[str, ...] = ()


class GroupList(Body):
    """Consumer group names."""

    group_list: tuple[str, ...] = ()


class KVTable(Body):
    """Names and values: runtime information, order configuration, a namespace."""

    table: Mapping[str, str] = EMPTY


class ConsumerOffsetTable(Body):
    """All committed offsets: `topic@group` -> queue id -> offset."""

    data_version: DataVersion | None = field(default=None, since="5.0.0")
    group_topic_map: Mapping[str, tuple[str, ...]] | None = field(default=None, since="5.3.0")
    offset_table: Mapping[str, Mapping[QueueId, int]] = EMPTY
    pull_offset_table: Mapping[str, Mapping[QueueId, int]] | None = field(default=None, since="5.0.0")
    reset_offset_table: Mapping[str, Mapping[QueueId, int]] | None = field(default=None, since="5.0.0")


class DelayOffsetTable(Body):
    """Delivered offsets by delay level."""

    data_version: DataVersion | None = field(default=None, since="5.0.0")
    offset_table: Mapping[int, int] = EMPTY


class TimerCount(Body):
    """Timer messages that wait for one topic, and when that number changed last (epoch ms)."""

    count: int = 0
    time_stamp: int = 0


class TimerMetrics(Body):
    """Timer messages that wait, by the topic they are for."""

    data_version: DataVersion | None = None
    timing_count: Mapping[str, TimerCount] = EMPTY


class CorrectionOffsets(Body):
    """Smallest offsets by queue id."""

    correction_offsets: Mapping[QueueId, int] = EMPTY


class QueueOffsets(Body):
    """Offsets by message queue, of a reset."""

    offset_table: Mapping[MessageQueue, int] = EMPTY


class QueueOffset(Body):
    """One offset of the list form."""

    broker_name: str
    offset: int
    queue_id: int
    topic: str


class QueueOffsetList(Body):
    """The list form of a reset, for clients in C++."""

    offset_table: tuple[QueueOffset, ...] = ()


class ConsumerStatus(Body):
    """Offsets in the memory of clients: of one client, or by client id."""

    consumer_table: Mapping[str, Mapping[MessageQueue, int]] = EMPTY
    message_queue_table: Mapping[MessageQueue, int] = EMPTY


class OffsetMovedEvent(Body):
    """Body of the messages in OFFSET_MOVED_EVENT."""

    consumer_group: str
    message_queue: MessageQueue
    offset_new: int
    offset_request: int
