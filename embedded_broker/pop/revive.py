"""What was popped and not acknowledged in time comes again (`PopReviveService` of 5.3.3).

Every queue of the revive topic is read behind its committed offset: checkpoints are gathered, acknowledgements marked
on them. A checkpoint that fell due two seconds ago, by the times of the records or, at the end of a quiet queue, by the
clock, is over: what nobody acknowledged is copied into the retry topic, and the offset moves on to the checkpoint.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from embedded_broker.log.copies import copy_of
from embedded_broker.pop.ground import Ground
from embedded_broker.pop.records import PopRecords
from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import BadInputError, MqctlError
from mqctl.model.names import RETRY_PREFIX, REVIVE_GROUP, pop_retry_topic, popped_topic
from mqctl.model.numbers import decimal
from mqctl.protocol.bodies_pop import ACK_TAG, BATCH_ACK_TAG, CK_TAG, AckRecord, PopCheckPoint
from mqctl.protocol.declared import replaced
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.protocol.properties import property_of, with_properties
from mqctl.store.record_writer import text_of_properties

if TYPE_CHECKING:
    from embedded_broker.clock import Handle
    from mqctl.model.message import Message

log = logging.getLogger("embedded_broker")

FIRST_POP_TIME = "1ST_POP_TIME"
_SLICE = 64
_MARGIN_MS = 2_000
_QUIET_MS = 3_000
_PAUSES_S = (10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""By how much longer a checkpoint waits each time that reviving failed."""


class _Pending:
    """A checkpoint whose time has come; `acked` are bits by index, `index` is how far reviving came."""

    __slots__ = ("acked", "checkpoint", "index", "revive_offset")

    def __init__(self, checkpoint: PopCheckPoint, revive_offset: int) -> None:
        self.checkpoint = checkpoint
        self.revive_offset = revive_offset
        self.acked = checkpoint.bits
        self.index = 0


class Revive:
    """The revive service of one broker."""

    def __init__(self, ground: Ground, records: PopRecords) -> None:
        self._ground = ground
        self._queues = [_ReviveQueue(ground, records, number) for number in range(records.queue_count)]
        self._timer: Handle | None = None

    def start(self) -> None:
        """Begins to look; the store and the timer wheel must be open."""
        self._timer = self._ground.clock.call_later(self._ground.settings.revive_interval, self._run)

    def _run(self) -> None:
        busy = False
        for queue in self._queues:
            try:
                busy |= queue.step()
            except MqctlError as error:
                log.error("revive queue %d stands still: %s", queue.number, error)
        pause_ms = 0 if busy else self._ground.settings.revive_interval
        self._timer = self._ground.clock.call_later(pause_ms, self._run)

    def stop(self) -> None:
        """Stops at once; what is not done is done after the next start."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _ReviveQueue:
    """One queue of the revive topic.

    Attributes:
        number: its queue id.
    """

    def __init__(self, ground: Ground, records: PopRecords, number: int) -> None:
        self._ground = ground
        self._records = records
        self.number = number
        self._next: int | None = None
        self._pending: dict[str, _Pending] = {}
        self._seen_ms = 0

    def step(self) -> bool:
        """Reads some records, or revives some messages; tells whether there is more to do. Raises MqctlError."""
        storage, topic = self._ground.storage, self._records.topic
        if self._next is None:
            self._next = self._ground.offsets.query(REVIVE_GROUP, topic, self.number) + 1
        if self._next >= storage.max_offset(topic, self.number):
            return bool(self._pending) and self._revive_some()
        self._next = max(self._next, storage.min_offset(topic, self.number))
        for physical_offset, _, _ in storage.entries(topic, self.number, self._next, _SLICE):
            self._take(storage.message_at(physical_offset))
            self._next += 1
        return True

    def _take(self, record: bytes | None) -> None:
        try:
            message = decode_message(record or b"")
            tag = message.tags
            if tag == CK_TAG:
                checkpoint = PopCheckPoint.from_bytes(message.body)
                self._pending[checkpoint.merge_key] = _Pending(checkpoint, message.queue_offset)
            elif tag in (ACK_TAG, BATCH_ACK_TAG):
                self._mark(AckRecord.from_bytes(message.body))
        except BadInputError as error:
            log.error("a record of revive queue %d cannot be read: %s", self.number, error)
            return
        self._seen_ms = max(self._seen_ms, decimal(message.properties.get("TIMER_DELIVER_MS")) or 0)

    def _mark(self, ack: AckRecord) -> None:
        """An acknowledgement before its checkpoint, or behind a revived one, has no effect."""
        checkpoint = self._pending.get(ack.merge_key(self._ground.name))
        if checkpoint is not None:
            acked = set(ack.offsets)
            for index, offset in enumerate(checkpoint.checkpoint.offsets):
                if offset in acked:
                    checkpoint.acked |= 1 << index

    def _revive_some(self) -> bool:
        """Revives what is over, some messages at a time; in order of the queue, so that one holds up the next."""
        end_ms, budget = self._end_ms(), _SLICE
        while self._pending and budget > 0:
            key, first = next(iter(self._pending.items()))
            if end_ms - first.checkpoint.due_ms <= _MARGIN_MS:
                return False
            budget -= self._revive(first, budget)
            if first.index < len(first.checkpoint.offsets):
                return True
            self._ground.offsets.commit(REVIVE_GROUP, self._records.topic, self.number, first.revive_offset)
            del self._pending[key]
        return bool(self._pending)

    def _end_ms(self) -> int:
        now_ms = self._ground.clock.now_ms()
        is_quiet = now_ms - self._seen_ms > _QUIET_MS and not self._ground.is_behind()
        return now_ms if is_quiet else self._seen_ms

    def _revive(self, pending: _Pending, budget: int) -> int:
        checkpoint = pending.checkpoint
        gone = (
            self._ground.topics.find(popped_topic(checkpoint.topic, checkpoint.consumer_group)) is None
            or self._ground.groups.find(checkpoint.consumer_group) is None
        )
        offsets = checkpoint.offsets
        done = 0
        while pending.index < len(offsets) and done < budget:
            if not gone and not pending.acked >> pending.index & 1:
                self._revive_one(checkpoint, offsets[pending.index])
            pending.index += 1
            done += 1
        return max(1, done)

    def _revive_one(self, checkpoint: PopCheckPoint, offset: int) -> None:
        try:
            entries = self._ground.storage.entries(checkpoint.topic, checkpoint.queue_id, offset, 1)
            record = self._ground.storage.message_at(entries[0][0]) if entries else None
            if record is None:
                log.warning("message %d of queue %d of %s is gone", offset, checkpoint.queue_id, checkpoint.topic)
                return
            self._put_back(checkpoint, decode_message(record), text_of_properties(record))
        except RecordError as error:
            log.error("message %d of %s cannot be read: %s", offset, checkpoint.topic, error)
        except (MqctlError, Refusal) as error:
            log.error("message %d of %s not revived: %s", offset, checkpoint.topic, error)
            self._put_off(checkpoint, offset)

    def _put_back(self, checkpoint: PopCheckPoint, message: Message, properties: str) -> None:
        """Copies a message into the retry topic, which is made when it is missing."""
        ground, group = self._ground, checkpoint.consumer_group
        topic = checkpoint.topic
        if not topic.startswith(RETRY_PREFIX):
            topic = pop_retry_topic(group, topic, v2=ground.settings.enable_retry_topic_v2)
        if message.reconsume_times == 0 or property_of(properties, FIRST_POP_TIME) is None:
            properties = with_properties(properties, {FIRST_POP_TIME: str(checkpoint.pop_ms)})
        copy = copy_of(message, properties)
        copy.topic, copy.queue_id, copy.born_host = topic, 0, ground.intake.store_host
        copy.reconsume_times = message.reconsume_times + 1
        ground.topics.find_or_create(topic, 1)
        if ground.offsets.query(group, topic, 0) < 0:
            ground.offsets.commit(group, topic, 0, 0)
        ground.intake.put(copy)

    def _put_off(self, checkpoint: PopCheckPoint, offset: int) -> None:
        """Has one message tried again later. Raises MqctlError."""
        times = decimal(checkpoint.put_again) or 0
        longer_ms = _PAUSES_S[min(times, len(_PAUSES_S) - 1)] * 1_000
        later = replaced(
            checkpoint,
            bits=0,
            count=1,
            offset_differences=(0,),
            start_offset=offset,
            put_again=str(times + 1),
            invisible_ms=checkpoint.invisible_ms + longer_ms,
            revive_ms=checkpoint.due_ms + longer_ms,
        )
        self._records.store_checkpoint(later, self.number)
