"""A producer of transactional messages: a half message first, then a local transaction, then commit or rollback.

Source: `DefaultMQProducerImpl.sendMessageInTransaction`, `checkTransactionState` and `endTransaction` of 4.9.8. The end
is told oneway; when it is lost, or the local transaction's outcome is not known yet, the broker asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from types import TracebackType
from typing import Self

from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage, SendResult, SendStatus
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.producer.packing import TRANSACTION_PREPARED, ProducerSettings
from mqctl.client.producer.producer import Producer
from mqctl.client.remoting.link import Link
from mqctl.client.remoting.timers import listener_error
from mqctl.errors import UnreachableError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import PRODUCER_GROUP, UNIQ_KEY
from mqctl.model.queue import MessageQueue
from mqctl.protocol.codes import V5_0_0
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_message
from mqctl.protocol.requests_client import CheckTransactionState, EndTransaction


class LocalTransactionState(IntEnum):
    """How a local transaction stands: the transaction bits of the system flag."""

    UNKNOWN = 0
    COMMIT = 8
    ROLLBACK = 12


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """How a transactional send ended.

    Attributes:
        sent: of the half message; its queue offset is the one in the half topic.
        state: what the broker was told.
        error: what the local transaction raised; the state is unknown then, and the broker will ask.
    """

    sent: SendResult
    state: LocalTransactionState
    error: Exception | None = None


Execute = Callable[[OutgoingMessage, str], LocalTransactionState]
"""Runs the local transaction for a message and its unique id."""
Check = Callable[[ReceivedMessage], LocalTransactionState]
"""Says how the local transaction of a half message stands."""


class TransactionProducer:
    """Sends transactional messages. Use as a context manager, or `start` and `shutdown`.

    Args:
        group: producer group; brokers ask any member of it about half messages, so each must be able to answer.
        check: asked on a thread of the client when a broker wants to know; whatever it raises means unknown.
    """

    def __init__(
        self, group: str, client: ClientSettings, check: Check, settings: ProducerSettings | None = None
    ) -> None:
        self.producer = Producer(group, client, settings)
        self._check = check
        self.producer.instance.on_transaction_check = self._asked

    def start(self) -> None:
        """Starts the threads."""
        self.producer.start()

    def shutdown(self) -> None:
        """Leaves the brokers; unfinished transactions are asked of other members of the group."""
        self.producer.shutdown()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def send(self, message: OutgoingMessage, execute: Execute) -> TransactionResult:
        """Sends a half message, runs the local transaction and ends the message accordingly. A delay is dropped.

        Raises:
            MqctlError: the half message could not be sent; the local transaction was not run.
        """
        half = replace(
            message,
            delay_level=0,
            properties={
                **message.properties,
                TRANSACTION_PREPARED: "true",
                PRODUCER_GROUP: self.producer.group,
            },
        )
        sent = self.producer.send(half)
        state, error = LocalTransactionState.ROLLBACK, None
        if sent.status is SendStatus.SEND_OK:
            try:
                state = execute(message, sent.message_id)
            except Exception as raised:  # noqa: BLE001 - whatever it raises, the outcome is not known
                state, error = LocalTransactionState.UNKNOWN, raised
        remark = None if error is None else f"executeLocalTransactionBranch exception: {error}"
        self._end(sent, state, remark)
        return TransactionResult(sent, state, error)

    def _end(self, sent: SendResult, state: LocalTransactionState, remark: str | None) -> None:
        instance = self.producer.instance
        address = instance.routes.master(sent.queue.broker_name) or sent.address
        request = EndTransaction(
            producer_group=self.producer.group,
            tran_state_table_offset=sent.queue_offset,
            commit_log_offset=OffsetId.parse(sent.offset_id).physical_offset,
            commit_or_rollback=state,
            msg_id=sent.message_id,
            topic=sent.queue.topic if instance.broker_versions.get(address, 0) >= V5_0_0 else None,
            bname=sent.queue.broker_name,
        )
        try:
            instance.links.get(address).oneway(request, remark=remark)
        except UnreachableError as error:
            instance.troubles.add("end a transaction", error)

    def _asked(self, link: Link, command: RemotingCommand) -> None:
        header = CheckTransactionState.from_ext(command.ext_fields)
        stored = decode_message(command.body)
        if stored.properties.get(PRODUCER_GROUP) != self.producer.group:
            return
        message = ReceivedMessage(stored, MessageQueue(stored.topic, "", stored.queue_id))
        remark = None
        try:
            state = self._check(message)
        except Exception as error:  # noqa: BLE001 - whatever it raises, the outcome is not known
            self.producer.instance.troubles.add(f"check {message.message_id}", listener_error(error))
            state, remark = LocalTransactionState.UNKNOWN, f"checkLocalTransactionState Exception: {error}"
        link.oneway(
            EndTransaction(
                producer_group=self.producer.group,
                tran_state_table_offset=header.tran_state_table_offset,
                commit_log_offset=header.commit_log_offset,
                commit_or_rollback=state,
                from_transaction_check=True,
                msg_id=stored.properties.get(UNIQ_KEY) or header.msg_id or message.offset_id,
                transaction_id=header.transaction_id,
            ),
            remark=remark,
        )
