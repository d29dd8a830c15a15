"""Timer messages of 5.x: delivered at a moment that the message names, to the second.

Theory of operation. Three positions move forward only: the offset of the timer topic (what is before it hangs in the
wheel or was delivered), the end of the timer log (a record for each hung message; those of one slot are a chain from
the newest back), and the unit read (slots before it are empty). A round hangs in what is new, then empties the slots
that have passed, delete markers first. The checkpoint holds the three; recovery believes it only as far as log and
wheel bear it out, and reads again what they do not. What the store refuses is tried again, what it can never take is
set aside and counted, so no record stops the wheel.

A timer message waits in `rmq_sys_wheel_timer`; from there it is hung into the wheel, whose slot is emptied when its
second has passed. What waits longer than the window is rolled: taken out and hung in again. Source:
`TimerMessageStore` and `HookUtils` of 5.3.3.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator
from functools import partial
from itertools import islice, repeat

from embedded_broker.clock import Handle, Periodic
from embedded_broker.delay.hanging import DELETE_KEY, OUT_MS, moment_of, timer_record
from embedded_broker.delay.timer_files import SLOTS, TimerFiles
from embedded_broker.delay.timer_records import DELETE, ROLL, TimerCheckpoint, TimerRecord
from embedded_broker.log.copies import copy_of, target_of
from embedded_broker.log.intake import Intake
from embedded_broker.log.settings import SYNC_FLUSH
from mqctl.errors import MqctlError, StorageError
from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import REAL_TOPIC, Message
from mqctl.model.names import TIMER_TOPIC
from mqctl.model.numbers import decimal
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.protocol.properties import with_properties
from mqctl.store.record_writer import MessageRefused, text_of_properties

log = logging.getLogger("embedded_broker")

ENQUEUE_MS, DEQUEUE_MS, ROLL_TIMES = "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "TIMER_ROLL_TIMES"
_SLICE = 64
_RETRY_MS = 1_000
_CLEAN_MS = 30_000
_MOST_RECALLED = 100_000
_MARGIN = 60
"""Units that a broker which was down for long leaves out at the end of the wheel's reach."""


class Timers:
    """The timer wheel of one broker.

    Attributes:
        read_units: the next slot to be emptied, in units of `timerPrecisionMs`.
        queue_offset: the next message of the timer topic to be hung into the wheel.
    """

    def __init__(self, intake: Intake) -> None:
        settings, storage = intake.settings, intake.storage
        self._intake = intake
        self._storage = storage
        self._clock = intake.clock
        self._settings = settings
        self._precision_ms = settings.timer_precision_ms
        self._window_ms = settings.timer_roll_window_slot * self._precision_ms
        self._files = TimerFiles(
            storage.directory,
            storage.disk,
            precision_ms=self._precision_ms,
            log_file_bytes=settings.mapped_file_size_timer_log,
        )
        self.read_units = 0
        self.queue_offset = 0
        self._saves = 0
        self._has_moved = True
        self._has_late = False
        self._recalled: dict[tuple[str, str], None] = {}
        self._timer: Handle | None = None
        self._work: Generator[float] | None = None
        self._cleaning: Periodic | None = None

    # Life

    def start(self) -> None:
        """Recovers the wheel and begins to turn it; the store must be open.

        Raises:
            ConfigurationError, DiskFullError, StorageError: its files cannot be used.
        """
        self._intake.forget_hung()
        now_units = self._now_units()
        check = self._files.open(self._is_sound, self._is_right, now_units)
        self.read_units = check.read_ms // self._precision_ms or now_units
        oldest = now_units - SLOTS + _MARGIN
        if self.read_units < oldest:
            log.error("the timer wheel stood still for too long: what was due before %d is lost", oldest)
            self.read_units = oldest
        self.queue_offset = self._recovered_offset(check)
        self._saves = check.counter
        self._cleaning = Periodic(self._clock, _CLEAN_MS, self._clean, first_ms=_CLEAN_MS)
        self._turn()

    def _recovered_offset(self, check: TimerCheckpoint) -> int:
        """Returns the first message of the timer topic that no record of the log stands for."""
        storage = self._storage
        low, high = storage.min_offset(TIMER_TOPIC, 0), storage.max_offset(TIMER_TOPIC, 0)
        offset = low if self._files.is_shorter else min(max(check.queue_offset, low), high)
        last = self._files.last_record()
        while last is not None and offset < high:
            entries = storage.entries(TIMER_TOPIC, 0, offset, _SLICE)
            if not entries or entries[0][0] > last.physical_offset:
                break
            offset += sum(1 for physical, _, _ in entries if physical <= last.physical_offset)
        return offset

    def _is_sound(self, record: TimerRecord) -> bool:
        """Tells whether a record of the log was written whole, and its message is still where it says or expired."""
        storage = self._storage
        if record.physical_offset < storage.log.min_offset:
            return record.record_bytes > 0
        data = storage.message_at(record.physical_offset)
        if data is None or len(data) != record.record_bytes:
            return False
        try:
            message = decode_message(data)
        except RecordError:
            return False
        topic = message.properties.get(REAL_TOPIC, "")
        return message.topic == TIMER_TOPIC and java_string_hash(topic) == record.topic_hash

    def _is_right(self, record: TimerRecord, check: TimerCheckpoint) -> bool:
        """Tells whether a record, sound otherwise, is to be believed: it hangs where its message is to hang, or rolls.

        One of a message that the checkpoint says was taken from the topic is: what 5.3.3 writes of its place in the log
        is one flush older than the rest (`TimerMessageStore.prepareTimerCheckPoint`). Of others nothing was read yet,
        so that one refused is made again.
        """
        message = self._message(record.physical_offset)
        if message is None or message[0].queue_offset < check.queue_offset:
            return True
        properties = message[0].properties
        out_ms = decimal(properties.get(OUT_MS))
        hangs_ms = record.write_ms + record.delayed_ms
        if out_ms is None or hangs_ms < check.read_ms or (DELETE_KEY in properties) != bool(record.magic & DELETE):
            return False
        if record.magic & ROLL:
            distances = (abs(record.delayed_ms - self._window_ms), abs(record.delayed_ms - self._window_ms // 2))
            return hangs_ms <= out_ms and min(distances) <= self._precision_ms
        units = hangs_ms // self._precision_ms
        is_late = record.delayed_ms == -self._precision_ms and hangs_ms > out_ms
        return units * self._precision_ms == hangs_ms and (units == out_ms // self._precision_ms or is_late)

    def stop(self) -> None:
        """Stops the wheel and notes how far it came; a slot that was begun is emptied, or it would come again."""
        units = self.read_units
        try:
            for pause in self._work or ():
                if pause or self.read_units != units:
                    break
        except StorageError as error:
            log.error("the timer wheel stops within a slot: %s", error)
        self.abandon()
        self._save()

    def abandon(self) -> None:
        """Stops as kill -9 would."""
        if self._cleaning is not None:
            self._cleaning.cancel()
            self._cleaning = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._work is not None:
            self._work.close()
            self._work = None

    def _clean(self) -> None:
        try:
            self._files.drop_before(self._storage.log.min_offset)
        except StorageError as error:
            log.error("%s", error)

    def _now_units(self) -> int:
        return self._clock.now_ms() // self._precision_ms

    # Turning

    def _turn(self) -> None:
        self._work = self._round()
        self._go_on()

    def _go_on(self) -> None:
        """Takes a slice of a round and leaves the loop to others before the next."""
        if self._work is None:
            return
        pause_ms = 0.0
        taken = 0
        try:
            for pause in islice(self._work, _SLICE):
                taken += 1
                pause_ms = pause
                if pause:
                    break
        except StorageError as error:  # what waits cannot be read
            log.error("the timer wheel stands still: %s", error)
            self._work = None
            self._timer = self._clock.call_later(_RETRY_MS, self._turn)
            return
        if taken == _SLICE or pause_ms:
            self._timer = self._clock.call_later(pause_ms, self._go_on)
            return
        self._work = None
        self._save()
        now_ms = self._clock.now_ms()
        self._timer = self._clock.call_later(self._precision_ms - now_ms % self._precision_ms, self._turn)

    @property
    def is_behind(self) -> bool:
        """Whether messages that fell due may not have been delivered yet."""
        return self._now_units() - self.read_units > 1

    def checkpoint(self) -> TimerCheckpoint:
        """Returns how far the wheel has come."""
        return TimerCheckpoint(
            self.read_units * self._precision_ms,
            self._files.log_pos,
            self.queue_offset,
            self.queue_offset,
            timestamp_ms=self._clock.now_ms(),
            counter=self._saves,
        )

    def waiting_count(self) -> int:
        """Counts what hangs in the wheel by its slots, without a look at the records."""
        return sum(slot.net_count for slot in self._files.used_slots(self.read_units, self.read_units + SLOTS))

    def waiting_by_topic(self) -> dict[str, int]:
        """Counts the messages that hang in the wheel, by the topic they are for. Raises StorageError."""
        counts: Counter[str] = Counter()
        for slot in self._files.used_slots(self.read_units, self.read_units + SLOTS):
            for record in self._files.chain(slot):
                message = None if record.magic & DELETE else self._message(record.physical_offset)
                if message is not None:
                    counts[message[0].properties.get(REAL_TOPIC, "")] += 1
        return dict(sorted(counts.items()))

    def _save(self) -> None:
        self._saves += 1
        try:
            if self._settings.flush_disk_type == SYNC_FLUSH:
                self._storage.sync_log()  # what fell due, before it is noted that it did
            self._files.save(self.checkpoint(), durable=self._has_moved)
            self._has_moved = False
        except MqctlError as error:
            log.error("%s", error)

    def _round(self) -> Generator[float]:
        """Hangs in what is new and takes out what is due; yields milliseconds to pause.

        Once more when what it rolled is overdue already: what recalls that is known in this round, and not after a
        death behind it.
        """
        self._has_late = True
        while self._has_late:
            self._has_late = False
            yield from self._enqueue_all()
            until = self._now_units()
            for slot in self._files.used_slots(self.read_units, until):
                self.read_units = slot.units
                yield from self._empty(self._files.chain(slot))
                self.read_units += 1
                yield 0
            self.read_units = max(self.read_units, until)

    # In

    def _enqueue_all(self) -> Generator[float]:
        storage = self._storage
        while entries := storage.entries(TIMER_TOPIC, 0, self.queue_offset, _SLICE):
            self._has_moved = True
            begun, hung, now_ms = self.queue_offset, list[tuple[TimerRecord, int]](), self._clock.now_ms()
            for number, (physical_offset, size, _code) in enumerate(entries, start=1):
                record = self._record(physical_offset, size, now_ms)
                units = 0 if record is None else (record.write_ms + record.delayed_ms) // self._precision_ms
                if record is not None and units >= self.read_units:
                    hung.append((record, units))
                    continue
                yield from self._hang(hung)
                if record is not None:
                    act = self._recall if record.magic & DELETE else self._deliver
                    yield from self._insistently(physical_offset, partial(act, record))
                self.queue_offset, now_ms = begun + number, self._clock.now_ms()
            yield from self._hang(hung)
            self.queue_offset = begun + len(entries)
            yield from repeat(0, len(entries))

    def _hang(self, hung: list[tuple[TimerRecord, int]]) -> Generator[float]:
        """Hangs records into the wheel, and takes them off the list; those of one file are written together."""

        def some() -> None:
            count = self._files.add_some(hung)
            del hung[:count]
            self.queue_offset += count

        while hung:
            yield from self._insistently(hung[0][0].physical_offset, some)

    def _record(self, physical_offset: int, size: int, now_ms: int) -> TimerRecord | None:
        """Returns how a message hangs in the wheel; None when it names no time, and is set aside."""
        moment = self._intake.taken_moment(physical_offset)
        if moment is None:
            moment = moment_of(text_of_properties(self._storage.message_at(physical_offset, size) or b""))
        record = timer_record(moment, now_ms, self.read_units, self._precision_ms, self._window_ms)
        if record is None:
            self._set_aside(physical_offset, "it names no time")
            return None
        return TimerRecord._make((*record[:5], physical_offset, size, *record[7:]))

    # Out

    def _empty(self, records: list[TimerRecord]) -> Generator[float]:
        """Delivers what hangs in a slot, without what a delete marker names."""
        for record in records:
            if record.magic & DELETE:
                self._recall(record)
        for record in records:
            if record.magic & ROLL or not record.magic & DELETE:
                yield from self._insistently(record.physical_offset, partial(self._deliver, record))
                yield 0

    def _recall(self, record: TimerRecord) -> None:
        """Notes whom a delete marker takes away: the message of its name and moment, should it come later still."""
        message = self._message(record.physical_offset)
        if message is not None:
            properties = message[0].properties
            self._recalled[properties.get(DELETE_KEY, ""), properties.get(OUT_MS, "")] = None
            while len(self._recalled) > _MOST_RECALLED:
                self._recalled.pop(next(iter(self._recalled)))

    def _deliver(self, record: TimerRecord) -> None:
        """Stores the message where it is to be read, or back in the timer topic when its time is not there yet."""
        self._has_moved = True
        stored = self._message(record.physical_offset)
        if stored is None:
            log.warning("timer message at physical offset %d is lost", record.physical_offset)
            return
        message, properties = stored
        changes = {ENQUEUE_MS: str(record.write_ms), DEQUEUE_MS: str(self._clock.now_ms())}
        if record.magic & ROLL:
            rolls = decimal(message.properties.get(ROLL_TIMES)) or 0
            self._intake.put(copy_of(message, with_properties(properties, {**changes, ROLL_TIMES: str(rolls + 1)})))
            self._has_late |= (decimal(message.properties.get(OUT_MS)) or 0) < self._clock.now_ms()
            return
        topic, target = message.properties.get(REAL_TOPIC, ""), target_of(message)
        if (f"{topic}+{message.unique_key}", message.properties.get(OUT_MS, "")) in self._recalled:
            return
        if target is None:
            self._set_aside(record.physical_offset, "it names no queue for messages")
            return
        copy = copy_of(message, with_properties(properties, changes))
        copy.topic, copy.queue_id = target
        self._intake.put(copy)

    def _message(self, physical_offset: int) -> tuple[Message, str] | None:
        record = self._storage.message_at(physical_offset)
        if record is None:
            return None
        try:
            return decode_message(record), text_of_properties(record)
        except RecordError as error:
            log.warning("timer message at physical offset %d cannot be read: %s", physical_offset, error)
            return None

    def _insistently(self, physical_offset: int, act: Callable[[], None]) -> Generator[float]:
        """Does something until the store takes it; yields how long to pause. What can never be stored is set aside."""
        while True:
            try:
                act()
            except (MessageRefused, RecordError) as error:
                self._set_aside(physical_offset, error)
            except MqctlError as error:
                log.error("timer message waits: %s", error)
                yield _RETRY_MS
                continue
            return

    def _set_aside(self, physical_offset: int, reason: object) -> None:
        self._intake.stats.set_aside(TIMER_TOPIC, f"message at physical offset {physical_offset}", reason)
