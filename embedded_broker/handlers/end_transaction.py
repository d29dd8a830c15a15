"""Commit or roll back a half message: 37. Half messages are refused at their send, so there never is one to end."""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.registry import Call, handles
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import EndTransaction

_COMMIT, _ROLLBACK = 8, 12


@handles(EndTransaction, support="partial: half messages are refused at their send, so none is ever found")
def end_transaction(_broker: Broker, request: EndTransaction, call: Call) -> RemotingCommand | None:
    if request.commit_or_rollback not in (_COMMIT, _ROLLBACK):
        return None
    remark = f"no half message at {request.commit_log_offset}: this broker takes no transactions"
    return call.answer(ResponseCode.SYSTEM_ERROR, remark=remark)
