"""37: commits or rolls back a half message (`EndTransactionProcessor`).

5.x refuses an end that comes later than the message's own immunity lasts, unless a check asked for it.
"""

from __future__ import annotations

from embedded_broker.broker import Broker
from embedded_broker.handlers.durable import answer_when_durable
from embedded_broker.handlers.send_checks import illegal_remark
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.transactions.half_messages import COMMIT, ROLLBACK
from mqctl.errors import MqctlError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.requests_client import EndTransaction
from mqctl.store.disk import DiskFullError
from mqctl.store.record_writer import MessageRefused


def _words(broker: Broker, error: Refusal | MqctlError) -> Refusal | None:
    if isinstance(error, MessageRefused):
        words = illegal_remark(broker)
        return Refusal(ResponseCode.MESSAGE_ILLEGAL, words[0].upper() + words[1:])
    if isinstance(error, DiskFullError):
        return Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now.")
    return None


@handles(EndTransaction, words=_words)
def end_transaction(broker: Broker, request: EndTransaction, call: Call) -> None:
    if request.commit_or_rollback not in (COMMIT, ROLLBACK):
        return
    broker.transactions.end(request)
    remark = NO_REMARK_SET if request.commit_or_rollback == ROLLBACK else None
    answer_when_durable(broker, call, call.answer(remark=remark))
