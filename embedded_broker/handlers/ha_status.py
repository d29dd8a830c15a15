"""907: how replication stands, as a master or a slave of 5.x sees it (`AdminBrokerProcessor.getBrokerHaStatus`).

Whoever is connected to the replication port is listed as a slave; "in sync" only says that it is less than 256 MiB
behind.
"""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.bodies_ha import HaClientInfo, HaConnectionInfo, HaRuntimeInfo
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_v5 import GetBrokerHaStatus

_MOST_BEHIND = 256 * 1024 * 1024


@handles(GetBrokerHaStatus, support="partial: bytes in a second are 0")
def get_ha_status(broker: Broker, _request: GetBrokerHaStatus, call: Call) -> RemotingCommand:
    slave = broker.replication.slave
    if slave is None:
        status = _of_master(broker)
    else:
        client = HaClientInfo(
            last_read_timestamp=slave.read_ms,
            last_write_timestamp=slave.written_ms,
            master_addr=slave.address or None,
            max_offset=slave.log.end,
        )
        status = HaRuntimeInfo(master=False, ha_client_runtime_info=client)
    return call.answer(body=status.to_bytes(is_v5=True))


def _of_master(broker: Broker) -> HaRuntimeInfo:
    end = broker.storage.log.position
    connections = tuple(
        HaConnectionInfo(
            addr=one.peer,
            diff=end - one.acknowledged,
            in_sync=end - one.acknowledged < _MOST_BEHIND,
            slave_ack_offset=one.acknowledged,
            transfer_from_where=one.next_offset,
        )
        for one in broker.replication.master.connections
    )
    return HaRuntimeInfo(
        ha_client_runtime_info=HaClientInfo(),
        ha_connection_info=connections,
        in_sync_slave_nums=sum(one.in_sync for one in connections),
        master=True,
        master_commit_log_max_offset=end,
    )
