"""34: a client with its groups (`ClientManageProcessor`).

5.x knows heartbeats with a fingerprint instead of subscriptions (V2).
"""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.consumers.clients import Client
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.tables.topics import unit_flags
from mqctl.model.names import retry_topic
from mqctl.protocol.bodies_client import ConsumerData, HeartbeatData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import Heartbeat, HeartbeatReply

MOST_GROUPS = 1_000
"""Groups of one client: each is an entry of the tables, and a consumer group a topic; real clients have a few."""

MOST_BYTES = 512 * 1024
"""Size of a heartbeat; every client sends one each half minute."""


@handles(Heartbeat)
def heartbeat(broker: Broker, _request: Heartbeat, call: Call) -> RemotingCommand:
    command = call.command
    if len(command.body) > MOST_BYTES:
        remark = f"the heartbeat has {len(command.body)} bytes, at most {MOST_BYTES} are taken"
        raise Refusal(ResponseCode.SYSTEM_ERROR, remark)
    data = HeartbeatData.from_bytes(command.body)
    groups = len(data.producer_data_set) + len(data.consumer_data_set)
    if groups > MOST_GROUPS:
        remark = f"the heartbeat of {data.client_id[:200]} names {groups} groups, at most {MOST_GROUPS} are taken"
        raise Refusal(ResponseCode.SYSTEM_ERROR, remark)
    client = Client(data.client_id, call.connection, command.language, command.version, broker.clock.now_ms())
    fingerprint = data.heartbeat_fingerprint or 0
    with_subscriptions = not (fingerprint and data.without_sub)
    changed = not fingerprint
    for consumer in data.consumer_data_set:
        if fingerprint:
            changed |= broker.clients.is_new_fingerprint(consumer.group_name, fingerprint)
        _consumer(broker, consumer, client, with_subscriptions=with_subscriptions)
    for producer in data.producer_data_set:
        broker.clients.register_producer(producer.group_name, client)
    if broker.release.is_v5:
        return call.answer(reply=HeartbeatReply(supports_v2=True, subscription_changed=changed))
    return call.answer()


def _consumer(broker: Broker, data: ConsumerData, client: Client, *, with_subscriptions: bool) -> None:
    group = broker.groups.find_or_create(data.group_name)
    if group is None and broker.release.is_v5:
        return
    notify = True
    if group is not None:
        notify = group.notify_consumer_ids_changed_enable
        flags = unit_flags(unit=data.unit_mode, retry=True)
        broker.topics.find_or_create(retry_topic(data.group_name), group.retry_queue_count, sys_flag=flags)
    broker.clients.register_consumer(data, client, notify=notify, with_subscriptions=with_subscriptions)
    if with_subscriptions:
        broker.filters.register(data.group_name, data.subscription_data_set)
