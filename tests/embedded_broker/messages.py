"""Requests that tests send often, with the fields a Java client fills."""

from __future__ import annotations

from mqctl.protocol.bodies_client import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.properties import format_properties
from mqctl.protocol.requests_client import Heartbeat, PullMessage, SendMessageV2
from tests.embedded_broker.wire import Peer


def send(
    topic: str,
    *,
    queue_id: int = 0,
    properties: dict[str, str] | None = None,
    group: str = "GP",
    default_topic: str = "TBW102",
    queues: int = 4,
    reconsume_times: int = 0,
    max_reconsume_times: int | None = None,
    batch: bool = False,
    sys_flag: int = 0,
    born_ms: int = 1_700_000_000_000,
) -> SendMessageV2:
    return SendMessageV2(
        producer_group=group,
        topic=topic,
        default_topic=default_topic,
        default_topic_queue_nums=queues,
        queue_id=queue_id,
        sys_flag=sys_flag,
        born_timestamp=born_ms,
        flag=0,
        properties=format_properties({**(properties or {}), "WAIT": "true"}),
        reconsume_times=reconsume_times,
        unit_mode=False,
        batch=batch,
        max_reconsume_times=max_reconsume_times,
    )


def pull(
    topic: str,
    offset: int,
    *,
    queue_id: int = 0,
    group: str = "GC",
    subscription: str | None = "*",
    wait_ms: int = 0,
    count: int = 32,
    commit: int | None = None,
    sub_version: int = 0,
) -> PullMessage:
    flags = (1 if commit is not None else 0) | (2 if wait_ms else 0) | (4 if subscription is not None else 0)
    return PullMessage(
        consumer_group=group,
        topic=topic,
        queue_id=queue_id,
        queue_offset=offset,
        max_msg_nums=count,
        sys_flag=flags,
        commit_offset=commit or 0,
        suspend_timeout_millis=wait_ms,
        subscription=subscription,
        sub_version=sub_version,
        expression_type="TAG",
    )


def heartbeat(
    peer: Peer,
    client_id: str,
    *,
    group: str | None = None,
    subscriptions: dict[str, str] | None = None,
    version: int = 1,
) -> RemotingCommand:
    """Sends a heartbeat for one consumer group, or for a producer group only."""
    consumers: tuple[ConsumerData, ...] = ()
    if group is not None:
        wanted = tuple(
            SubscriptionData(topic=topic, sub_string=text, sub_version=version)
            for topic, text in (subscriptions or {}).items()
        )
        consumers = (ConsumerData(group_name=group, subscription_data_set=wanted),)
    data = HeartbeatData(
        client_id=client_id, consumer_data_set=consumers, producer_data_set=(ProducerData(group_name="GP"),)
    )
    return peer.call(Heartbeat(), data.to_bytes())
