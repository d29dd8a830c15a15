"""The check loop: producers are asked about half messages that nobody ended in time.

Theory of operation. Half messages lie in one queue, op messages, which name the ended ones, in another. A round walks
the first from the recorded offset and reads the second as far as it needs to: an ended half message is passed, one too
young ends the round, any other is copied to the queue's end, with its count of checks raised, and passed. So what is
before the offset is dealt with, and the offset of the op queue follows to the first op whose half message is not. A
half message that cannot be copied is set aside and counted; a store that refuses ends the round, and the next begins
where this one did.

Every check stores a copy of the half message with its count of checks raised, and asks about the copy; after
`transactionCheckMax` of them it goes to TRANS_CHECK_MAX_TIME_TOPIC. Source: `TransactionalMessageServiceImpl.check`
and `AbstractTransactionalMessageCheckListener` of 4.9.8 and 5.3.3. A round runs in slices between other requests.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from embedded_broker.clock import Handle
from embedded_broker.consumers.clients import Clients
from embedded_broker.consumers.offsets import ConsumerOffsets
from embedded_broker.log.copies import copy_of
from embedded_broker.log.intake import Intake
from embedded_broker.log.store import Appended
from embedded_broker.remoting.handler_table import sends
from embedded_broker.remoting.server import ServerConnection
from embedded_broker.tables.topics import TopicTable
from embedded_broker.transactions.op_messages import OpReader
from mqctl.errors import MqctlError
from mqctl.model.message import (
    PRODUCER_GROUP,
    REAL_QID,
    REAL_TOPIC,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    Message,
)
from mqctl.model.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_GROUP
from mqctl.model.numbers import MOST_INT32, decimal
from mqctl.model.spans import HOUR_MS
from mqctl.protocol.message_record import RecordError, decode_message, encode_message
from mqctl.protocol.properties import format_properties
from mqctl.protocol.requests_client import CheckTransactionState
from mqctl.store.record_writer import MessageRefused

log = logging.getLogger("embedded_broker")

IMMUNITY = "CHECK_IMMUNITY_TIME_IN_SECONDS"
_ROUND_LIMIT_MS = 60_000
_SLICE = 64
_MOST_SECONDS = 1 << 32
"""Far beyond the life of any message; what is longer counts as no number."""

sends(CheckTransactionState)


class TransactionCheck:
    """Walks through the half messages every `transactionCheckInterval`.

    Attributes:
        rounds: how many rounds have ended.
    """

    def __init__(self, intake: Intake, topics: TopicTable, offsets: ConsumerOffsets, clients: Clients) -> None:
        self.rounds = 0
        self._intake = intake
        self._topics = topics
        self._offsets = offsets
        self._clients = clients
        self._timer: Handle | None = None
        self._turn = 0
        self._unasked: Counter[str] = Counter()
        self._steps: Generator[None] | None = None

    def start(self) -> None:
        """Begins; the first round is one interval away.

        Progress beyond the queues' ends (a power failure took their tails) is brought back to them at once: what is
        stored until the first round would be taken for dealt with, and so it would if the next power failure gave back
        the file with that progress. The original notices no sooner than in that round.
        """
        offsets, storage = self._offsets, self._intake.storage
        for topic in (HALF_TOPIC, OP_TOPIC):
            end = storage.max_offset(topic, 0)
            if offsets.query(TRANSACTION_GROUP, topic, 0) > end:
                log.warning("progress with %s is beyond its end and goes back to %d", topic, end)
                offsets.commit(TRANSACTION_GROUP, topic, 0, end)
                offsets.file.write_with_backup()
        self._wait()

    def stop(self) -> None:
        """Ends the checks, in the middle of a round too."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._steps is not None:
            self._steps.close()
            self._steps = None

    def _wait(self) -> None:
        interval_ms = self._intake.settings.transaction_check_interval
        self._timer = self._intake.clock.call_later(interval_ms, self._begin)

    def _begin(self) -> None:
        self._steps = _Round(self._intake, self._topics, self._offsets, self._ask).walk()
        self._go_on(self._steps)

    def _go_on(self, steps: Iterator[None]) -> None:
        """Takes a slice of a round and leaves the loop to others before the next."""
        try:
            taken = sum(1 for _ in islice(steps, _SLICE))
        except MqctlError as error:  # a store that refuses: the next round begins where this one did
            log.error("check of transactions: %s", error)
            taken = 0
        if taken == _SLICE:
            self._timer = self._intake.clock.call_later(0, lambda: self._go_on(steps))
            return
        self._steps = None
        self.rounds += 1
        for group, count in self._unasked.items():
            log.warning("nobody of producer group %s is there to be asked about %d transactions", group, count)
        self._unasked.clear()
        self._wait()

    def _ask(self, half: Message, checks: int, copy: Appended) -> None:
        """Asks one producer of the group about the copy of a half message (code 39)."""
        intake = self._intake
        group = half.properties.get(PRODUCER_GROUP, "")
        connection = self._producer(group)
        if connection is None:
            self._unasked[group] += 1
            return
        topic, queue_id = half.properties.get(REAL_TOPIC, ""), half.properties.get(REAL_QID, "")
        body = encode_message(
            replace(
                half,
                topic=topic,
                queue_id=decimal(queue_id, high=MOST_INT32) or 0,
                queue_offset=copy.queue_offset,
                physical_offset=copy.physical_offset,
                store_time_ms=copy.store_ms,
                properties={**half.properties, TRANSACTION_CHECK_TIMES: str(checks), "WAIT": "false"},
            )
        )
        request = CheckTransactionState(
            tran_state_table_offset=copy.queue_offset,
            commit_log_offset=copy.physical_offset,
            msg_id=half.unique_key,
            transaction_id=half.unique_key,
            offset_msg_id=intake.offset_id(copy.physical_offset),
            topic=topic if intake.release.is_v5 else None,
        )
        connection.tell(request.command(opaque=0, body=body, oneway=True, version=intake.release.ordinal))

    def _producer(self, group: str) -> ServerConnection | None:
        """Returns a channel of a producer group, another one each time."""
        live = [one for one in self._clients.producers.get(group, ()) if not one.closed]
        if not live:
            return None
        self._turn += 1
        return live[self._turn % len(live)]


class _Round:
    """One walk from the recorded offset to the first half message that is too young."""

    def __init__(
        self,
        intake: Intake,
        topics: TopicTable,
        offsets: ConsumerOffsets,
        ask: Callable[[Message, int, Appended], None],
    ) -> None:
        self._intake = intake
        self._topics = topics
        self._offsets = offsets
        self._ask = ask
        self._began_ms = intake.clock.now_ms()
        self._given_up = 0
        self._first = 0
        self._records: Sequence[bytes | memoryview | None] = ()

    def walk(self) -> Generator[None]:
        """Walks step by step. Raises MqctlError when the store refuses; what was done is recorded all the same."""
        storage, offsets = self._intake.storage, self._offsets
        low, high = storage.min_offset(HALF_TOPIC, 0), storage.max_offset(HALF_TOPIC, 0)
        recorded = offsets.query(TRANSACTION_GROUP, HALF_TOPIC, 0)
        recorded_op = offsets.query(TRANSACTION_GROUP, OP_TOPIC, 0)
        if high == 0:
            return
        position = min(max(recorded, low), high)
        ops = OpReader(storage, max(recorded_op, storage.min_offset(OP_TOPIC, 0)), position)
        try:
            while position < storage.max_offset(HALF_TOPIC, 0) and not self._is_over():
                yield from ops.look_for(position)
                if not ops.is_ended(position):
                    half = self._read(position)
                    if half is not None:
                        yield from self._look_for_original(half, ops)
                        if self._is_too_young(position, half, ops):
                            break
                ops.passed(position)
                position += 1
                yield
            yield from ops.look_for(-1)
        finally:
            if self._given_up:
                log.warning("%d transactions are given up, they are in %s", self._given_up, DISCARD_TOPIC)
            if position != recorded:
                offsets.commit(TRANSACTION_GROUP, HALF_TOPIC, 0, position)
            if ops.done_until != recorded_op:
                offsets.commit(TRANSACTION_GROUP, OP_TOPIC, 0, ops.done_until)

    def _is_over(self) -> bool:
        return self._intake.clock.now_ms() - self._began_ms > _ROUND_LIMIT_MS

    def _read(self, position: int) -> Message | None:
        storage = self._intake.storage
        if not self._first <= position < self._first + len(self._records):
            self._first = position
            self._records = storage.reader.neighbours(storage.entries(HALF_TOPIC, 0, position, _SLICE))
        record = self._records[position - self._first] if self._records else None
        if record is None:
            log.warning("half message at queue offset %d is lost", position)
            return None
        try:
            return decode_message(record)
        except RecordError as error:
            log.warning("half message at queue offset %d cannot be read: %s", position, error)
            return None

    @staticmethod
    def _look_for_original(half: Message, ops: OpReader) -> Iterator[None]:
        original = decimal(half.properties.get(TRAN_PREPARED_QUEUE_OFFSET))
        if original is not None:
            yield from ops.look_for(original)

    def _is_too_young(self, position: int, half: Message, ops: OpReader) -> bool:
        """Deals with one half message; one whose copy fits no record is set aside, and the round goes on behind it."""
        try:
            return not self._deal_with(position, half, ops)
        except (MessageRefused, RecordError) as error:
            self._intake.stats.set_aside(HALF_TOPIC, f"half message at queue offset {position}", error)
            return False

    def _deal_with(self, position: int, half: Message, ops: OpReader) -> bool:
        """Discards, spares or checks one half message; False when it and those behind it are too young."""
        intake, settings = self._intake, self._intake.settings
        now_ms = intake.clock.now_ms()
        age_ms = now_ms - half.born_time_ms
        checks = decimal(half.properties.get(TRANSACTION_CHECK_TIMES)) or 0
        if checks >= settings.transaction_check_max or age_ms > settings.file_reserved_time * HOUR_MS:
            self._discard(half)
            return True
        if half.store_time_ms >= self._began_ms:
            return False
        counted = {**half.properties, TRANSACTION_CHECK_TIMES: str(checks + 1)}
        own_ms = immunity_ms(half, settings.transaction_time_out)
        if own_ms is None:
            if 0 <= age_ms < settings.transaction_time_out:
                return False
        elif age_ms < own_ms:
            original = decimal(half.properties.get(TRAN_PREPARED_QUEUE_OFFSET))
            if original is not None and ops.is_ended(original):
                ops.passed(original)
                return True
            name = str(position if original is None else original)
            self._put_back(half, {**counted, TRAN_PREPARED_QUEUE_OFFSET: name})
            return True
        self._ask(half, checks + 1, self._put_back(half, counted))
        return True

    def _put_back(self, half: Message, properties: Mapping[str, str]) -> Appended:
        return self._intake.put(copy_of(half, format_properties(properties)))

    def _discard(self, half: Message) -> None:
        """Moves a half message out of the way; that it could not be stored there is only logged, as in the original."""
        self._topics.find_or_create(DISCARD_TOPIC, 1)
        message = copy_of(half, format_properties(half.properties))
        message.topic, message.queue_id = DISCARD_TOPIC, 0
        self._given_up += 1
        try:
            self._intake.put(message)
        except MqctlError as error:
            log.error("discarded transaction %s not stored: %s", half.unique_key, error)


def immunity_ms(half: Message, timeout_ms: int) -> int | None:
    """Returns how long a half message asks not to be checked, None when it does not; what is no number counts as
    `timeout_ms`.
    """
    text = half.properties.get(IMMUNITY)
    if text is None:
        return None
    seconds = decimal(text, high=_MOST_SECONDS)
    return timeout_ms if seconds is None else seconds * 1000
