"""35: a client leaves; removal goes by channel, not by client id (`ClientManageProcessor`)."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import UnregisterClient


@handles(UnregisterClient)
def unregister_client(broker: Broker, request: UnregisterClient, call: Call) -> RemotingCommand:
    if request.producer_group is not None:
        broker.clients.unregister_producer(request.producer_group, call.connection)
    if request.consumer_group is not None:
        group = broker.groups.find_or_create(request.consumer_group)  # and makes it, as every look at a group does
        notify = group is None or group.notify_consumer_ids_changed_enable
        broker.clients.unregister_consumer(request.consumer_group, call.connection, notify=notify)
    return call.answer()
