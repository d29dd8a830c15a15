"""41, 42: locks for orderly consumption, and their release (`AdminBrokerProcessor`)."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.remoting.handler_table import Call, handles
from mqctl.protocol.bodies_client import LockedQueues, LockRequest
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import LockBatchMq, UnlockBatchMq


@handles(LockBatchMq)
def lock_queues(broker: Broker, _request: LockBatchMq, call: Call) -> RemotingCommand:
    wanted = LockRequest.from_bytes(call.command.body)
    granted = broker.locks.lock(wanted.consumer_group, wanted.client_id, wanted.mq_set)
    return call.answer(body=LockedQueues(lock_ok_mq_set=tuple(granted)).to_bytes())


@handles(UnlockBatchMq)
def unlock_queues(broker: Broker, _request: UnlockBatchMq, call: Call) -> RemotingCommand:
    wanted = LockRequest.from_bytes(call.command.body)
    broker.locks.unlock(wanted.consumer_group, wanted.client_id, wanted.mq_set)
    return call.answer()
