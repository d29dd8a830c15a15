"""Questions to brokers about topics, groups, clients, offsets and the brokers themselves: nothing here changes them."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.client.remoting.question import Question, body_of, header_of
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.secret_names import without_secrets
from mqctl.protocol import requests_admin as admin
from mqctl.protocol import requests_client as client
from mqctl.protocol.bodies_client import (
    ClientConfigCheck,
    ConsumerConnection,
    ConsumerIds,
    ConsumerRunningInfo,
    ProducerConnection,
    ProducerTable,
    SubscriptionData,
)
from mqctl.protocol.bodies_cluster import (
    ConsumerOffsetTable,
    ConsumerStatus,
    DelayOffsetTable,
    GroupList,
    KVTable,
    SubscriptionGroupTable,
    TimerMetrics,
    TopicConfigTable,
    TopicList,
)
from mqctl.protocol.bodies_ha import BrokerReplicasInfo, EpochEntryCache, HaRuntimeInfo
from mqctl.protocol.bodies_pop import MessageRequestModes
from mqctl.protocol.bodies_stats import (
    BrokerConsumeStats,
    BrokerStatsData,
    ConsumeQueueData,
    ConsumeStats,
    ConsumeTimeSpan,
    ConsumeTimeSpans,
    TopicStatsTable,
)
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.properties import parse_settings
from mqctl.protocol.requests_pop import GetAllMessageRequestMode
from mqctl.protocol.requests_v5 import (
    GetBrokerEpochCache,
    GetBrokerHaStatus,
    GetMetadataInfo,
    GetMetadataInfoReply,
    GetSyncStateData,
    GetTimerMetrics,
)

_SUCCESS = int(ResponseCode.SUCCESS)
_OR_NOT_FOUND = frozenset({_SUCCESS, int(ResponseCode.QUERY_NOT_FOUND)})

# The broker


def runtime_info() -> Question[KVTable]:
    """Counters and states of the broker, as text."""
    return Question(admin.GetBrokerRuntimeInfo(), body_of(KVTable))


def broker_settings() -> Question[dict[str, str]]:
    """The properties of the broker, without the secrets among them."""
    return Question(admin.GetBrokerConfig(), lambda answer: without_secrets(parse_settings(answer.body)))


def statistics_item(name: str, key: str) -> Question[BrokerStatsData]:
    """One statistics item (`TOPIC_PUT_NUMS` of a topic, say)."""
    return Question(admin.ViewBrokerStatsData(stats_name=name, stats_key=key), body_of(BrokerStatsData))


def broker_system_topics() -> Question[TopicList]:
    """Topics that the broker keeps for itself."""
    return Question(admin.GetSystemTopicListFromBroker(), body_of(TopicList))


def request_modes() -> Question[MessageRequestModes]:
    """Which groups were set to pop and which to pull, by topic (5.x)."""
    return Question(GetAllMessageRequestMode(), body_of(MessageRequestModes))


# Topics


def topic_configs() -> Question[dict[str, TopicConfig]]:
    """Settings of all topics of the broker."""
    return Question(
        admin.GetAllTopicConfig(), lambda answer: dict(TopicConfigTable.from_bytes(answer.body).topic_config_table)
    )


def topic_table() -> Question[TopicConfigTable]:
    """The topic table of the broker, with its version."""
    return Question(admin.GetAllTopicConfig(), body_of(TopicConfigTable))


def topic_stats(topic: str) -> Question[TopicStatsTable]:
    """Bounds and last store times of a topic's queues on the broker."""
    return Question(admin.GetTopicStatsInfo(topic=topic), body_of(TopicStatsTable))


def topic_groups(topic: str) -> Question[tuple[str, ...]]:
    """Groups that subscribe to a topic or have offsets on it."""
    request = admin.QueryTopicConsumeByWho(topic=topic)
    return Question(request, lambda answer: GroupList.from_bytes(answer.body).group_list)


# Groups


def group_configs() -> Question[dict[str, SubscriptionGroupConfig]]:
    """Settings of all consumer groups of the broker."""
    return Question(
        admin.GetAllSubscriptionGroupConfig(),
        lambda answer: dict(SubscriptionGroupTable.from_bytes(answer.body).subscription_group_table),
    )


def group_table() -> Question[SubscriptionGroupTable]:
    """The table of consumer groups of the broker, with its version."""
    return Question(admin.GetAllSubscriptionGroupConfig(), body_of(SubscriptionGroupTable))


def consume_stats(group: str, topic: str | None = None) -> Question[ConsumeStats]:
    """How far a group is, on one topic or on all it has offsets on."""
    return Question(admin.GetConsumeStats(consumer_group=group, topic=topic), body_of(ConsumeStats))


def consume_stats_of_all(*, order_topics_only: bool = False) -> Question[BrokerConsumeStats]:
    """How far all groups are."""
    return Question(admin.GetConsumeStatsInBroker(is_order=order_topics_only), body_of(BrokerConsumeStats))


def consume_time_spans(topic: str, group: str) -> Question[tuple[ConsumeTimeSpan, ...]]:
    """Between which times each queue holds messages, and up to which the group consumed."""
    request = admin.QueryConsumeTimeSpan(topic=topic, group=group)
    return Question(request, lambda answer: ConsumeTimeSpans.from_bytes(answer.body).consume_time_span_set)


# Clients


def consumer_connections(group: str) -> Question[ConsumerConnection]:
    """Members of a group, its subscriptions and attributes; refused with 206 when nobody is online."""
    return Question(admin.GetConsumerConnectionList(consumer_group=group), body_of(ConsumerConnection))


def producer_connections(group: str) -> Question[ProducerConnection]:
    """Clients of a producer group; refused with 1 when there is none."""
    return Question(admin.GetProducerConnectionList(producer_group=group), body_of(ProducerConnection))


def all_producers() -> Question[ProducerTable]:
    """All producer groups with their clients (brokers from 4.9.4 on)."""
    return Question(admin.GetAllProducerInfo(), body_of(ProducerTable))


def consumer_ids(group: str) -> Question[tuple[str, ...]]:
    """Client ids of a group, unsorted, perhaps twice; none when nobody is online."""

    def read(answer: RemotingCommand) -> tuple[str, ...]:
        return ConsumerIds.from_bytes(answer.body).consumer_id_list if answer.code == _SUCCESS else ()

    request = client.GetConsumerListByGroup(consumer_group=group)
    return Question(request, read, accepts=frozenset({_SUCCESS, int(ResponseCode.SYSTEM_ERROR)}))


def running_info(group: str, client_id: str, *, with_stacks: bool = False) -> Question[ConsumerRunningInfo]:
    """What one consumer is doing; its broker asks it and passes the answer on (up to 10 s)."""
    request = client.GetConsumerRunningInfo(consumer_group=group, client_id=client_id, jstack_enable=with_stacks)
    return Question(request, body_of(ConsumerRunningInfo))


def consumer_status(topic: str, group: str, client_id: str | None = None) -> Question[ConsumerStatus]:
    """Offsets in the memory of a group's clients."""
    request = admin.InvokeBrokerToGetConsumerStatus(topic=topic, group=group, client_addr=client_id)
    return Question(request, body_of(ConsumerStatus))


def check_subscription(client_id: str, group: str, subscription: SubscriptionData) -> Question[None]:
    """Whether the broker takes a filter expression; refused with 1 or 23 when it does not."""
    body = ClientConfigCheck(client_id=client_id, group=group, subscription_data=subscription).to_bytes()
    return Question(client.CheckClientConfig(), lambda _: None, body=body)


# Offsets


def consumer_offset(group: str, topic: str, queue_id: int) -> Question[int | None]:
    """The committed offset; None when the broker has none. A 4.9 broker says 0 for young queues without one."""

    def read(answer: RemotingCommand) -> int | None:
        return _offset(answer) if answer.code == _SUCCESS else None

    request = client.QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=queue_id)
    return Question(request, read, accepts=_OR_NOT_FOUND)


def all_consumer_offsets() -> Question[ConsumerOffsetTable]:
    """All committed offsets of the broker."""
    return Question(admin.GetAllConsumerOffset(), body_of(ConsumerOffsetTable))


def delay_offsets() -> Question[DelayOffsetTable]:
    """Delivered offsets by delay level."""
    return Question(admin.GetAllDelayOffset(), body_of(DelayOffsetTable))


def ha_status() -> Question[HaRuntimeInfo]:
    """Replication in the eyes of a 5.x broker."""
    return Question(GetBrokerHaStatus(), body_of(HaRuntimeInfo))


def controller_metadata() -> Question[GetMetadataInfoReply]:
    """Who leads the controllers; any of them answers."""
    return Question(GetMetadataInfo(), header_of(GetMetadataInfoReply))


def epochs() -> Question[EpochEntryCache]:
    """Which masters wrote a broker's log; brokers without a controller refuse it."""
    return Question(GetBrokerEpochCache(), body_of(EpochEntryCache))


def sync_states(names: Sequence[str]) -> Question[BrokerReplicasInfo]:
    """Who is in sync, by broker name; the leading controller answers."""
    return Question(GetSyncStateData(), body_of(BrokerReplicasInfo), body=dump_bytes([*names]))


def timer_metrics() -> Question[TimerMetrics]:
    """Timer messages that wait in the wheel of a 5.x broker, by the topic they are for."""
    return Question(GetTimerMetrics(), body_of(TimerMetrics))


def max_offset(topic: str, queue_id: int) -> Question[int]:
    """The end of a queue; 0 when it is empty or unknown."""
    return Question(client.GetMaxOffset(topic=topic, queue_id=queue_id), _offset)


def min_offset(topic: str, queue_id: int) -> Question[int]:
    """The start of a queue; 0 when it is empty or unknown."""
    return Question(client.GetMinOffset(topic=topic, queue_id=queue_id), _offset)


def offset_by_time(topic: str, queue_id: int, time_ms: int, *, boundary: str | None = None) -> Question[int]:
    """The queue offset for a store time (epoch ms); `boundary` is `lower` or `upper` on 5.x brokers."""
    request = client.SearchOffset(topic=topic, queue_id=queue_id, timestamp=time_ms, boundary_type=boundary)
    return Question(request, _offset)


def earliest_store_time(topic: str, queue_id: int) -> Question[int | None]:
    """The store time (epoch ms) of a queue's first message; None when it is empty."""

    def read(answer: RemotingCommand) -> int | None:
        time_ms = client.StoretimeReply.from_ext(answer.ext_fields).timestamp
        return time_ms if time_ms >= 0 else None

    return Question(client.GetEarliestMsgStoretime(topic=topic, queue_id=queue_id), read)


def queue_entries(
    topic: str, queue_id: int, offset: int, count: int, *, group: str | None = None
) -> Question[ConsumeQueueData | None]:
    """Raw entries of a consume queue; None when the queue has no such offset."""

    def read(answer: RemotingCommand) -> ConsumeQueueData | None:
        return ConsumeQueueData.from_bytes(answer.body) if answer.body else None

    request = admin.QueryConsumeQueue(topic=topic, queue_id=queue_id, index=offset, count=count, consumer_group=group)
    return Question(request, read)


def _offset(answer: RemotingCommand) -> int:
    return client.OffsetReply.from_ext(answer.ext_fields).offset
