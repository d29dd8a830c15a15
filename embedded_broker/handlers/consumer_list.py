"""38: client ids of a consumer group (`ConsumerManageProcessor`)."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.bodies_client import ConsumerIds
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import GetConsumerListByGroup


@handles(GetConsumerListByGroup)
def get_consumer_list(broker: Broker, request: GetConsumerListByGroup, call: Call) -> RemotingCommand:
    group = broker.clients.consumers.get(request.consumer_group)
    if group is None or not group.members:
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=f"no consumer for this group, {request.consumer_group}")
    return call.answer(body=ConsumerIds(consumer_id_list=tuple(group.client_ids())).to_bytes())
