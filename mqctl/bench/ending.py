"""How the transactions of a bench end: at once, committed or rolled back."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from mqctl.bench.task import BenchTask
from mqctl.client.producer.transactions import LocalTransactionState
from mqctl.client.remoting.link import signed
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_client import EndTransaction, SendMessageReply


class HalfStored(NamedTuple):
    """A half message that was stored."""

    broker_name: str
    unique_id: str
    answer: RemotingCommand


class TransactionEnder:
    """Makes the requests that end transactions; nobody answers them."""

    def __init__(self, task: BenchTask) -> None:
        self._task = task
        self._random = Random(f"{task.workload.seed}/ends/{task.number}")
        self._opaque = 0

    def frame(self, ending: HalfStored) -> bytes:
        """Returns the frame that ends a transaction. Raises MqctlError for an answer that does not say where it is."""
        reply = SendMessageReply.from_ext(ending.answer.ext_fields)
        is_back = self._random.random() < self._task.workload.rollback_share
        self._opaque = (self._opaque + 1) & 0x7FFFFFFF
        request = EndTransaction(
            producer_group=self._task.producer_group,
            tran_state_table_offset=reply.queue_offset,
            commit_log_offset=OffsetId.parse(reply.msg_id).physical_offset,
            commit_or_rollback=LocalTransactionState.ROLLBACK if is_back else LocalTransactionState.COMMIT,
            msg_id=ending.unique_id,
            topic=self._task.topic,
            bname=ending.broker_name,
        )
        command = request.command(opaque=self._opaque, oneway=True)
        credentials = self._task.credentials
        return encode(command if credentials is None else signed(command, credentials))
