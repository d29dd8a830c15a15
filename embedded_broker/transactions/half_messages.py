"""Transactions: half messages wait in their own topic until their producer, or a check, says how they end.

A half message is stored in RMQ_SYS_TRANS_HALF_TOPIC with its real topic and queue as properties. Ending it stores the
message for consumers (commit) and an op message that names its half (commit and rollback alike). Source:
`TransactionalMessageBridge`, `EndTransactionProcessor` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

import logging

from embedded_broker.consumers.clients import Clients
from embedded_broker.consumers.offsets import ConsumerOffsets
from embedded_broker.log.copies import copy_of, target_of
from embedded_broker.log.intake import Incoming, Intake
from embedded_broker.log.store import Appended
from embedded_broker.remoting.handler_table import NO_REMARK_SET
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.tables.topics import TopicTable
from embedded_broker.transactions.check import TransactionCheck, immunity_ms
from embedded_broker.transactions.op_messages import OpWriter
from mqctl.model.message import (
    PRODUCER_GROUP,
    REAL_QID,
    REAL_TOPIC,
    SYSFLAG_COMMIT,
    SYSFLAG_TRANSACTION_MASK,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    Message,
)
from mqctl.model.names import DISCARD_TOPIC, HALF_TOPIC
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.protocol.properties import MAX_PROPERTIES_LENGTH, with_properties
from mqctl.protocol.requests_client import EndTransaction
from mqctl.store.record_writer import MessageRefused, text_of_properties

log = logging.getLogger("embedded_broker")

COMMIT, ROLLBACK = 8, 12
_TRANSACTION_ID = "__transactionId__"
_ROOM_FOR_CHECKS = len(f"{TRANSACTION_CHECK_TIMES}\x01999\x02{TRAN_PREPARED_QUEUE_OFFSET}\x01{1 << 62}\x02")
"""Bytes of properties that the copies of a half message have beyond it."""


class Transactions:
    """The half messages of one broker.

    Attributes:
        check: the loop that asks producers about what they left open.
    """

    def __init__(self, intake: Intake, topics: TopicTable, offsets: ConsumerOffsets, clients: Clients) -> None:
        self._intake = intake
        self._topics = topics
        self._ops = OpWriter(intake, topics)
        self.check = TransactionCheck(intake, topics, offsets, clients)

    def start(self) -> None:
        """Begins to check."""
        self.check.start()

    def stop(self) -> None:
        """Ends the checks and writes the op messages that are still gathered (5.x)."""
        self.check.stop()
        self._ops.write()
        self._ops.stop()

    def abandon(self) -> None:
        """Ends as kill -9 would: gathered op messages are lost, and their transactions will be checked again."""
        self.check.stop()
        self._ops.stop()

    def prepare(self, message: Incoming, unique_key: str | None) -> Appended:
        """Stores a half message.

        Raises:
            MessageRefused: it, or the copies that checks store of it, fit no record.
            DiskFullError, StorageError: nothing was stored.
        """
        changes = {REAL_TOPIC: message.topic, REAL_QID: str(message.queue_id)}
        if self._intake.release.is_v5 and unique_key is not None:
            changes = {_TRANSACTION_ID: unique_key, **changes}
        self._topics.find_or_create(HALF_TOPIC, 1)
        message.topic, message.queue_id = HALF_TOPIC, 0
        message.properties = with_properties(message.properties, changes)
        message.sys_flag &= ~SYSFLAG_TRANSACTION_MASK
        needed = len(message.properties.encode("utf-8", "replace")) + _ROOM_FOR_CHECKS
        if needed > MAX_PROPERTIES_LENGTH:
            raise MessageRefused(
                f"could not store a half message for {changes[REAL_TOPIC]}",
                reason=f"its properties take {needed} bytes with those that checks add, at most "
                f"{MAX_PROPERTIES_LENGTH} fit",
            )
        return self._intake.put(message)

    def end(self, request: EndTransaction) -> None:
        """Commits or rolls back. A second commit of the same half message stores it a second time, as in the original.

        Raises:
            Refusal: there is no such half message of this group, it may no longer be ended, or this is a slave.
            DiskFullError, MessageRefused, StorageError: the committed message was not stored.
        """
        if self._intake.settings.broker_id != 0:
            raise Refusal(ResponseCode.SLAVE_NOT_AVAILABLE, NO_REMARK_SET)
        half, record = self._half(request)
        if request.commit_or_rollback == COMMIT:
            self._commit(half, text_of_properties(record))
        self._ops.note(half.queue_offset)

    def _half(self, request: EndTransaction) -> tuple[Message, bytes]:
        record = self._intake.storage.message_at(request.commit_log_offset)
        try:
            half = decode_message(record) if record is not None else None
        except RecordError:  # the offset points into the middle of a record
            half = None
        if record is None or half is None or half.topic != HALF_TOPIC:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
        self._check_age(half, request)
        if half.properties.get(PRODUCER_GROUP) != request.producer_group:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
        if half.queue_offset != request.tran_state_table_offset:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
        if half.physical_offset != request.commit_log_offset:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "The commit log offset wrong")
        return half, record

    def _check_age(self, half: Message, request: EndTransaction) -> None:
        """5.x: once a message's own immunity has passed, only the answer to a check ends it."""
        intake = self._intake
        if not intake.release.is_v5 or request.from_transaction_check:
            return
        own_ms = immunity_ms(half, intake.settings.transaction_time_out)
        if own_ms is None:
            return
        age_ms = intake.clock.now_ms() - half.born_time_ms
        if age_ms > max(own_ms, intake.settings.transaction_time_out):
            log.warning("half message at %d is %d ms old and can only be checked now", half.physical_offset, age_ms)
            raise Refusal(ResponseCode.ILLEGAL_OPERATION, NO_REMARK_SET)

    def _commit(self, half: Message, properties: str) -> None:
        target = target_of(half)
        if target is None:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"the half message at physical offset {half.physical_offset} names no queue for messages: "
                f"{REAL_TOPIC} {half.properties.get(REAL_TOPIC)!r:.200}, {REAL_QID} "
                f"{half.properties.get(REAL_QID)!r:.40}",
            )
        message = copy_of(half, properties)
        message.topic, message.queue_id = target
        message.sys_flag = half.sys_flag & ~SYSFLAG_TRANSACTION_MASK | SYSFLAG_COMMIT
        message.prepared_offset = half.physical_offset
        self._intake.put(message)

    def resume(self, physical_offset: int) -> bool:
        """Stores a discarded or half message as a half message once more, with its checks counted from nothing.

        Returns:
            whether there was a message at `physical_offset`.

        Raises:
            DiskFullError, MessageRefused, StorageError: nothing was stored.
        """
        record = self._intake.storage.message_at(physical_offset)
        try:
            half = decode_message(record) if record is not None else None
        except RecordError:
            half = None
        if record is None or half is None or half.topic not in (HALF_TOPIC, DISCARD_TOPIC):
            return False
        message = copy_of(half, with_properties(text_of_properties(record), {TRANSACTION_CHECK_TIMES: "0"}))
        self._topics.find_or_create(HALF_TOPIC, 1)
        message.topic, message.queue_id = HALF_TOPIC, 0
        self._intake.put(message)
        return True
