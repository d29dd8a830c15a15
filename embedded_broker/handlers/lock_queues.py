"""41, 42: locks for orderly consumption, and their release (`AdminBrokerProcessor`)."""

from __future__ import annotations

from collections.abc import Sequence

from embedded_broker.broker import Broker
from embedded_broker.handlers.queue_tables import in_portions
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.remoting.slices import Steps, at_once
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import LockedQueues, LockRequest
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import LockBatchMq, UnlockBatchMq

_MOST_BYTES = 512 * 1024
"""Of a request: 8,000 queues of one group on one broker."""
_FEW_QUEUES = 256


@handles(LockBatchMq)
def lock_queues(broker: Broker, _request: LockBatchMq, call: Call) -> RemotingCommand | None:
    wanted = _wanted(call)
    steps = _locked(broker, wanted, call)
    if len(wanted.mq_set) <= _FEW_QUEUES:
        return at_once(steps)
    broker.slices.answer(call, steps)
    return None


def _locked(broker: Broker, wanted: LockRequest, call: Call) -> Steps:
    granted: list[MessageQueue] = []
    for at in range(0, len(wanted.mq_set), _FEW_QUEUES):
        some = wanted.mq_set[at : at + _FEW_QUEUES]
        granted += broker.locks.lock(wanted.consumer_group, wanted.client_id, some)
        yield

    def encode(portion: Sequence[MessageQueue]) -> bytes:
        return LockedQueues(lock_ok_mq_set=tuple(portion)).to_bytes()

    return call.answer(body=(yield from in_portions(granted, encode, b'"lockOKMQSet":[]')))


def _wanted(call: Call) -> LockRequest:
    """Reads what queues are meant. Raises Refusal: the body is larger than any client's."""
    if len(call.command.body) > _MOST_BYTES:
        remark = f"the body has {len(call.command.body)} bytes, at most {_MOST_BYTES} are taken"
        raise Refusal(ResponseCode.SYSTEM_ERROR, remark)
    return LockRequest.from_bytes(call.command.body)


@handles(UnlockBatchMq)
def unlock_queues(broker: Broker, _request: UnlockBatchMq, call: Call) -> RemotingCommand:
    wanted = _wanted(call)
    broker.locks.unlock(wanted.consumer_group, wanted.client_id, wanted.mq_set)
    return call.answer()
