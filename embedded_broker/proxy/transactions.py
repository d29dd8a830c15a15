"""EndTransaction (`EndTransactionActivity` of 5.3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.ground import checked_topic
from embedded_broker.proxy.statuses import Refused, ok
from embedded_broker.transactions.half_messages import COMMIT, ROLLBACK
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_client import EndTransaction

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.parts import Parts

_RESOLUTIONS = {pb.TransactionResolution.COMMIT: COMMIT, pb.TransactionResolution.ROLLBACK: ROLLBACK}


async def end_transaction(parts: Parts, request: pb.EndTransactionRequest, caller: Caller) -> pb.EndTransactionResponse:
    """Commits or rolls back. Raises Refused."""
    topic = checked_topic(request.topic)
    if not request.transaction_id.strip():
        raise Refused(pb.Code.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
    half = parts.halves.take_half(topic, request.transaction_id)
    resolution = _RESOLUTIONS.get(request.resolution)
    if resolution is None:  # a broker does not answer that; the half is checked again
        return pb.EndTransactionResponse(status=ok())
    command = EndTransaction(
        producer_group=topic,
        tran_state_table_offset=half.queue_offset,
        commit_log_offset=OffsetId.parse(half.message_id).physical_offset,
        commit_or_rollback=resolution,
        from_transaction_check=request.source == pb.TransactionSource.SOURCE_SERVER_CHECK,
        msg_id=request.message_id,
        transaction_id=request.transaction_id,
    )
    await parts.ground.ask(parts.channel_of(caller), parts.ground.master(half.broker), command)
    return pb.EndTransactionResponse(status=ok())
