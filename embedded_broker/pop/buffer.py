"""Checkpoints between pop and store: the buffer that may spare writing them, and the line of consumer offsets.

With `enablePopBufferMerge` a checkpoint and its acknowledgements stay in memory for some seconds, and nothing is
written when all its messages are acknowledged by then. A queue's consumer offset moves on when the oldest pop of it is
finished; where the next pop begins is known here meanwhile. Source: `PopBufferMergeService` of 5.3.3.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embedded_broker.pop.ground import Ground
from embedded_broker.pop.records import PopRecords
from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import MqctlError
from mqctl.protocol.bodies_pop import AckRecord, PopCheckPoint

if TYPE_CHECKING:
    from embedded_broker.clock import Handle

log = logging.getLogger("embedded_broker")

_SCAN_MS = 50
_SHORTEST_MARGIN_MS = 1_500
Line = tuple[str, str, int]
"""Group, topic, queue id."""


@dataclass(slots=True)
class _Held:
    """One pop whose offset is not committed yet.

    Attributes:
        checkpoint: None when nothing was taken, so that only the offset counts.
        acked, written: bits by index: acknowledged, and those whose acknowledgement is stored.
        stored: whether the checkpoint is.
    """

    checkpoint: PopCheckPoint | None
    revive_queue: int
    next_offset: int
    acked: int = 0
    written: int = 0
    stored: bool = False

    @property
    def all_acked(self) -> bool:
        return self.checkpoint is None or self.acked == (1 << self.checkpoint.count) - 1

    @property
    def finished(self) -> bool:
        return self.acked == self.written if self.stored else self.all_acked


class PopBuffer:
    """What was popped last, of all queues of one broker."""

    def __init__(self, ground: Ground, records: PopRecords) -> None:
        self._ground = ground
        self._records = records
        self._lines: dict[Line, deque[_Held]] = {}
        self._held: dict[str, _Held] = {}
        self._timer: Handle | None = None

    def latest(self, line: Line) -> int | None:
        """Returns where the next pop of a queue begins, when that is not its consumer offset yet."""
        held = self._lines.get(line)
        return held[-1].next_offset if held else None

    def add(self, checkpoint: PopCheckPoint, revive_queue: int, next_offset: int) -> None:
        """Takes a pop: writes it down, or holds it for a while.

        Raises:
            Refusal, DiskFullError, MessageRefused, StorageError: it is not stored; its messages are not taken.
        """
        line = (checkpoint.consumer_group, checkpoint.topic, checkpoint.queue_id)
        held = None
        if self._ground.settings.enable_pop_buffer_merge and self._may_hold(checkpoint):
            held = self._held[checkpoint.merge_key] = _Held(checkpoint, revive_queue, next_offset)
        else:
            self._records.store_checkpoint(checkpoint, revive_queue)
            if line not in self._lines:
                self._ground.offsets.commit(*line, next_offset)
                return
        self._enqueue(line, held or _Held(checkpoint, revive_queue, next_offset, stored=True))

    def _may_hold(self, checkpoint: PopCheckPoint) -> bool:
        settings = self._ground.settings
        left_ms = checkpoint.due_ms - self._ground.clock.now_ms()
        return (
            left_ms >= settings.pop_ck_stay_buffer_time_out + _SHORTEST_MARGIN_MS
            and len(self._held) < settings.pop_ck_max_buffer_size
            and checkpoint.merge_key not in self._held
        )

    def skip(self, line: Line, next_offset: int) -> None:
        """Takes a pop that found no message it wanted before `next_offset`."""
        self._enqueue(line, _Held(None, 0, next_offset))

    def _enqueue(self, line: Line, held: _Held) -> None:
        waiting = self._lines.get(line)
        if waiting is None and held.finished:
            self._ground.offsets.commit(*line, held.next_offset)
            return
        self._lines.setdefault(line, deque()).append(held)
        if self._timer is None:
            self._timer = self._ground.clock.call_later(_SCAN_MS, self._scan)

    def ack(self, ack: AckRecord) -> bool:
        """Takes an acknowledgement; returns False when it has to be written down."""
        if not self._held:
            return False
        settings, now_ms = self._ground.settings, self._ground.clock.now_ms()
        held = self._held.get(ack.merge_key(self._ground.name))
        if held is None or held.checkpoint is None or not settings.enable_pop_buffer_merge:
            return False
        checkpoint = held.checkpoint
        if checkpoint.due_ms - now_ms < settings.pop_ck_stay_buffer_time_out + _SHORTEST_MARGIN_MS:
            return False
        if now_ms - checkpoint.pop_ms > settings.pop_ck_stay_buffer_time - _SHORTEST_MARGIN_MS:
            return False
        self._mark(held, checkpoint, frozenset(ack.offsets))
        return True

    @staticmethod
    def _mark(held: _Held, checkpoint: PopCheckPoint, offsets: frozenset[int]) -> None:
        own = checkpoint.offsets
        if offsets.issuperset(own):
            held.acked = (1 << checkpoint.count) - 1
            return
        for index, offset in enumerate(own):
            if offset in offsets:
                held.acked |= 1 << index

    def clear(self, line: Line) -> None:
        """Forgets where the next pop of a queue begins: its offset was reset. Checkpoints stay."""
        for held in self._lines.pop(line, ()):
            if held.checkpoint is not None and not held.stored:
                self._try_write(held)
                self._release(held)

    def _release(self, held: _Held) -> None:
        if held.finished and held.checkpoint is not None:
            self._held.pop(held.checkpoint.merge_key, None)

    # Moving on

    def _scan(self) -> None:
        """Writes down what was held long enough, and commits the offsets of what is finished."""
        self._timer = None
        for held in list(self._held.values()):
            if self._is_over(held):
                self._try_write(held)
            self._release(held)
        for line, waiting in list(self._lines.items()):
            self._commit(line, waiting)
        if self._lines or self._held:
            self._timer = self._ground.clock.call_later(_SCAN_MS, self._scan)

    def _is_over(self, held: _Held) -> bool:
        if held.checkpoint is None or held.finished:
            return False
        if held.stored:  # an acknowledgement could not be
            return True
        settings, now_ms = self._ground.settings, self._ground.clock.now_ms()
        return (
            held.checkpoint.due_ms - now_ms < settings.pop_ck_stay_buffer_time_out
            or now_ms - held.checkpoint.pop_ms > settings.pop_ck_stay_buffer_time
        )

    def _try_write(self, held: _Held) -> None:
        """Stores a checkpoint, then the acknowledgements that came for it."""
        checkpoint = held.checkpoint
        if checkpoint is None:
            return
        try:
            if not held.stored:
                self._records.store_checkpoint(checkpoint, held.revive_queue)
                held.stored = True
            for index, offset in enumerate(checkpoint.offsets):
                if held.acked >> index & 1 and not held.written >> index & 1:
                    ack = AckRecord(
                        ack_offset=offset,
                        broker_name=checkpoint.broker_name,
                        consumer_group=checkpoint.consumer_group,
                        pop_ms=checkpoint.pop_ms,
                        queue_id=checkpoint.queue_id,
                        start_offset=checkpoint.start_offset,
                        topic=checkpoint.topic,
                    )
                    self._records.store_ack(ack, checkpoint.due_ms, held.revive_queue)
                    held.written |= 1 << index
        except (Refusal, MqctlError) as error:
            log.error("%s: a checkpoint of group %s waits: %s", checkpoint.topic, checkpoint.consumer_group, error)

    def _commit(self, line: Line, waiting: deque[_Held]) -> None:
        done = None
        while waiting and waiting[0].finished:
            done = waiting.popleft()
        if done is not None:
            self._ground.offsets.commit(*line, done.next_offset)
        if not waiting:
            del self._lines[line]

    def stop(self) -> None:
        """Writes down whatever is held: a clean stop loses nothing."""
        for held in self._held.values():
            if not held.finished:
                self._try_write(held)
        for line, waiting in list(self._lines.items()):
            self._commit(line, waiting)
        self.abandon()

    def abandon(self) -> None:
        """Stops as kill -9 would."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._lines.clear()
        self._held.clear()
