"""Commit or roll back a half message: 37."""

from __future__ import annotations

import logging
from functools import partial

from embedded_broker.broker import Broker
from embedded_broker.log.intake import Refusal
from embedded_broker.log.sends import illegal_remark
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from embedded_broker.transactions.half_messages import COMMIT, ROLLBACK
from mqctl.errors import StorageError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import EndTransaction
from mqctl.store.disk import DiskFullError
from mqctl.store.record_writer import MessageRefused

log = logging.getLogger("embedded_broker")


@handles(EndTransaction)
def end_transaction(broker: Broker, request: EndTransaction, call: Call) -> RemotingCommand | None:
    if request.commit_or_rollback not in (COMMIT, ROLLBACK):
        return None
    try:
        broker.transactions.end(request)
    except Refusal as refusal:
        return call.answer(refusal.code, remark=refusal.remark)
    except MessageRefused as error:
        log.warning("%s: transaction of %s not ended: %s", broker.name, request.producer_group, error)
        words = illegal_remark(broker)
        return call.answer(ResponseCode.MESSAGE_ILLEGAL, remark=words[0].upper() + words[1:])
    except DiskFullError as error:
        broker.stats.put_failed += 1
        log.warning("%s: transaction of %s not ended: %s", broker.name, request.producer_group, error)
        return call.answer(ResponseCode.SERVICE_NOT_AVAILABLE, remark="Service not available now.")
    except StorageError as error:
        broker.stats.put_failed += 1
        return call.answer(ResponseCode.SYSTEM_ERROR, remark=str(error))
    remark = NO_REMARK_SET if request.commit_or_rollback == ROLLBACK else None
    broker.storage.when_durable(partial(_acknowledge, call, remark))
    return None


def _acknowledge(call: Call, remark: str | None, failure: StorageError | None) -> None:
    """Answers once the outcome is on disk; a real broker does not wait, and checks back what a power failure takes."""
    if failure is None:
        call.respond(call.answer(remark=remark))
    else:
        call.respond(call.answer(ResponseCode.SYSTEM_ERROR, remark=str(failure)))
