"""905, 906, 1007: who has the lowest id of a broker name, where the master's log is, and what only brokers that a
controller leads have (`AdminBrokerProcessor`)."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_namesrv import NotifyMinBrokerIdChange
from mqctl.protocol.requests_v5 import ExchangeBrokerHaInfo, ExchangeBrokerHaInfoReply, GetBrokerEpochCache


@handles(NotifyMinBrokerIdChange)
def notify_lowest_id(broker: Broker, request: NotifyMinBrokerIdChange, call: Call) -> RemotingCommand:
    if request.min_broker_id is not None and request.min_broker_addr:
        broker.membership.take_lowest(
            request.min_broker_id,
            request.min_broker_addr,
            gone=request.offline_broker_addr,
            ha_address=request.ha_broker_addr,
        )
    return call.answer()


@handles(ExchangeBrokerHaInfo, support="partial: the flushed end is told, but not waited for")
def exchange_ha_info(broker: Broker, request: ExchangeBrokerHaInfo, call: Call) -> RemotingCommand:
    if request.master_ha_address is not None and broker.settings.is_slave:
        broker.replication.use_master(request.master_address, request.master_ha_address)
    if request.master_ha_address is not None or broker.settings.is_slave:
        return call.answer(reply=ExchangeBrokerHaInfoReply())
    settings = broker.settings
    reply = ExchangeBrokerHaInfoReply(
        master_ha_address=f"{settings.broker_ip2}:{settings.ha_listen_port}",
        master_flush_offset=0,
        master_address=broker.address,
    )
    return call.answer(reply=reply)


@handles(GetBrokerEpochCache, support="partial: no controller leads this broker, and it says so")
def epoch_cache(broker: Broker, _request: GetBrokerEpochCache, call: Call) -> RemotingCommand:
    return call.answer(ResponseCode.SYSTEM_ERROR, remark="this request only for controllerMode ")
