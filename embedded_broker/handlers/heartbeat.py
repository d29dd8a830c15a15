"""A client with its groups: 34."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.consumers.clients import Client
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.tables.topics import unit_flags
from mqctl.model.names import retry_topic
from mqctl.protocol.bodies_client import ConsumerData, HeartbeatData
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import Heartbeat, HeartbeatReply


@handles(Heartbeat, support="partial: subscriptions are always expected in full, no V2 heartbeats")
def heartbeat(broker: Broker, _request: Heartbeat, call: Call) -> RemotingCommand:
    command = call.command
    data = HeartbeatData.from_bytes(command.body)
    client = Client(data.client_id, call.connection, command.language, command.version, broker.clock.now_ms())
    changed = False
    for consumer in data.consumer_data_set:
        changed |= _consumer(broker, consumer, client)
    for producer in data.producer_data_set:
        broker.clients.register_producer(producer.group_name, client)
    if broker.release.is_v5:
        return call.answer(reply=HeartbeatReply(supports_v2=False, subscription_changed=changed))
    return call.answer()


def _consumer(broker: Broker, data: ConsumerData, client: Client) -> bool:
    group = broker.groups.find_or_create(data.group_name)
    if group is None and broker.release.is_v5:
        return False
    notify = True
    if group is not None:
        notify = group.notify_consumer_ids_changed_enable
        flags = unit_flags(unit=data.unit_mode, retry=True)
        broker.topics.find_or_create(retry_topic(data.group_name), group.retry_queue_count, sys_flag=flags)
    changed = broker.clients.register_consumer(data, client, notify=notify)
    broker.filters.register(data.group_name, data.subscription_data_set)
    return changed
