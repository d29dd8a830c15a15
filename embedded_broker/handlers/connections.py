"""203, 204, 328: who is connected: a consumer group, a producer group, all producers (`AdminBrokerProcessor`).

328 is of 4.9.1 and later.
"""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.consumers.clients import Client
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.bodies_client import (
    Connection,
    ConsumerConnection,
    ProducerClient,
    ProducerConnection,
    ProducerTable,
)
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_admin import (
    GetAllProducerInfo,
    GetConsumerConnectionList,
    GetProducerConnectionList,
)


def _connection(client: Client) -> Connection:
    return Connection(
        client_addr=client.connection.peer,
        client_id=client.client_id,
        language=client.language.name if client.language is not None else None,
        version=client.version,
    )


@handles(GetConsumerConnectionList)
def get_consumer_connections(broker: Broker, request: GetConsumerConnectionList, call: Call) -> RemotingCommand:
    group = broker.clients.consumers.get(request.consumer_group)
    if group is None:
        remark = f"the consumer group[{request.consumer_group}] not online"
        return call.answer(ResponseCode.CONSUMER_NOT_ONLINE, remark=remark)
    body = ConsumerConnection(
        connection_set=tuple(map(_connection, group.members.values())),
        consume_from_where=group.consume_from_where,
        consume_type=group.consume_type,
        message_model=group.message_model,
        subscription_table=group.subscriptions,
    )
    return call.answer(body=body.to_bytes(is_v5=broker.release.is_v5))


@handles(GetProducerConnectionList)
def get_producer_connections(broker: Broker, request: GetProducerConnectionList, call: Call) -> RemotingCommand:
    members = broker.clients.producers.get(request.producer_group)
    if members is None:
        remark = f"the producer group[{request.producer_group}] not exist"
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
    return call.answer(body=ProducerConnection(connection_set=tuple(map(_connection, members.values()))).to_bytes())


@handles(GetAllProducerInfo)
def get_all_producers(broker: Broker, request: GetAllProducerInfo, call: Call) -> RemotingCommand:
    table = {
        group: tuple(
            ProducerClient(
                client_id=client.client_id,
                language=client.language.name if client.language is not None else None,
                last_update_timestamp=client.seen_ms,
                remote_ip=f"/{client.connection.peer}",
                version=client.version,
            )
            for client in members.values()
        )
        for group, members in broker.clients.producers.items()
        if members
    }
    return call.answer(body=ProducerTable(data=table).to_bytes())
