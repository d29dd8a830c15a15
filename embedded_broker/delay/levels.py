"""Delay levels: messages wait in SCHEDULE_TOPIC_XXXX, one queue a level, until their due time; then a copy goes on.

Theory of operation. A level has one position, its next entry, and one timer, set to when that is due. Nothing
overtakes: all messages of a level wait equally long, so its queue is in order of due times. An entry that cannot be
delivered holds its level up and is tried every 100 ms, as in 4.9.3 and later; one that is for a topic of the broker's
own (it would feed itself) is set aside and counted. An offset is noted when the copy is stored, and written behind the
log.

The due time of an entry is its tags code, so a level is served from its consume queue alone. Offsets are kept in
`config/delayOffset.json`. Source: `ScheduleMessageService` of 4.9.8.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from embedded_broker.clock import Clock, Handle, Periodic
from embedded_broker.log.copies import copy_of, target_of
from embedded_broker.log.reput import Dispatched
from embedded_broker.log.store import MessageRefused, Storage
from embedded_broker.release import Release
from embedded_broker.stats import Stats
from embedded_broker.tables.persistence import ConfigFile, stored_version
from mqctl.errors import ConfigurationError, MqctlError, StorageError
from mqctl.model.config import DataVersion
from mqctl.model.config_file import ConfigFileState
from mqctl.model.message import REAL_QID, REAL_TOPIC
from mqctl.model.names import BROKERS_OWN_TOPICS, SCHEDULE_TOPIC
from mqctl.protocol.bodies_cluster import DelayOffsetTable
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.store.config_files import DELAY_OFFSETS, delay_offsets, read_config
from mqctl.store.record_writer import Incoming, store_time_of, text_of_properties

log = logging.getLogger("embedded_broker")

_FIRST_RUN_MS = 1_000
_RETRY_MS = 100
_FLUSH_MS = 10_000
_ROUND = 256
_STEPS_PER_VERSION = 200


Elsewhere = Callable[[Incoming, Callable[[bool], object]], object]
"""Has another broker store a message, and says whether it did."""


class UndeliverableError(MqctlError):
    """A waiting message that names no queue to go to; its level stands still, as in 4.9.3 and later."""


class _Level:
    """One level's queue: where it is read next, and what was delivered."""

    __slots__ = ("delay_ms", "is_sending", "level", "position", "timer", "troubled_at")

    def __init__(self, level: int, delay_ms: int) -> None:
        self.level = level
        self.delay_ms = delay_ms
        self.position = 0
        self.timer: Handle | None = None
        self.troubled_at = -1
        self.is_sending = False


class DelaySchedule:
    """The delivery of delayed messages.

    Each level is strictly first in, first out: a message that cannot be delivered holds up those behind it. Real
    brokers look every 100 ms whether the head is due; here a timer is set to its due time, so a level that rests costs
    nothing.

    Attributes:
        offsets: delay level -> next offset of its queue to deliver, levels that are no longer configured included.
        file: `delayOffset.json`.
        elsewhere: takes what falls due where this broker may not write; None where it may, or nothing can be done.
        read_from: which of the file and its backup the offsets came from.
    """

    def __init__(self, storage: Storage, stats: Stats, clock: Clock, release: Release, config: Path) -> None:
        self.levels = storage.dispatcher.levels
        self.offsets: dict[int, int] = {}
        self.file = ConfigFile(config, DELAY_OFFSETS, clock, self._document, lambda: len(self.offsets))
        self.elsewhere: Elsewhere | None = None
        self.read_from: ConfigFileState | None = None
        self._storage = storage
        self._stats = stats
        self._clock = clock
        self._release = release
        self._config = config
        self._levels: dict[int, _Level] = {}
        self._flush: Periodic | None = None
        self._delivered = 0
        self._version = DataVersion(0, clock.now_ms())
        self._running = False
        storage.on_dispatch(self._arrived, topic=SCHEDULE_TOPIC)

    # Life

    def load(self) -> None:
        """Reads the offsets, brought within their queues' bounds (as 4.9.2 and later do); the store must be open.

        Raises:
            ConfigurationError: the level table has an item that is no delay; a real broker does not start, either.
        """
        if self.levels.bad_item is not None:
            raise ConfigurationError(
                "could not read messageDelayLevel",
                reason=f"{self.levels.bad_item!r} is no delay",
                remedy="write numbers with s, m, h or d behind, one blank between them",
            )
        file = read_config(self._config, DELAY_OFFSETS)
        self.read_from = file.state
        self._version = stored_version(file) or self._version
        self.offsets.update(delay_offsets(file).offsets)
        for level, recorded in self.offsets.items():
            low = self._storage.min_offset(SCHEDULE_TOPIC, level - 1)
            high = self._storage.max_offset(SCHEDULE_TOPIC, level - 1)
            if self.levels.delay_ms(level) is not None and not low <= recorded <= high:
                log.warning("delay level %d: offset %d is outside of %d to %d", level, recorded, low, high)
                self.offsets[level] = max(low, min(recorded, high))

    def start(self) -> None:
        """Begins to deliver, a second from now."""
        self._running = True
        for level, delay_ms in enumerate(self.levels.delays_ms, start=1):
            state = self._levels[level] = _Level(level, delay_ms)
            state.position = self.offsets.get(level, 0)
            self._wait(state, _FIRST_RUN_MS)
        self._flush = Periodic(self._clock, _FLUSH_MS, self._persist, first_ms=_FLUSH_MS)

    def stop(self) -> None:
        """Ends delivery and writes the offsets."""
        self.abandon()
        self.file.mark()
        self._persist()

    def _persist(self) -> None:
        """Writes the offsets, what was delivered before them: an offset on disk whose copy is lost loses a message."""
        try:
            self._storage.sync_log()
        except StorageError as error:
            log.error("delay offsets not written: %s", error)
            return
        self.file.write()

    def abandon(self) -> None:
        """Ends as kill -9 would."""
        self._running = False
        self.file.forget()
        if self._flush is not None:
            self._flush.cancel()
        for state in self._levels.values():
            if state.timer is not None:
                state.timer.cancel()

    def pause(self) -> None:
        """Delivers nothing from now on, as a service thread that died; what comes waits."""
        self._running = False
        for state in self._levels.values():
            if state.timer is not None:
                state.timer.cancel()
                state.timer = None

    def resume(self) -> None:
        """Delivers again, first what fell due meanwhile."""
        self._running = True
        for state in self._levels.values():
            if state.timer is None:
                self._wait(state, 0)

    def _document(self) -> object:
        return self.table().to_json(is_v5=self._release.is_v5)

    def table(self) -> DelayOffsetTable:
        """Returns the offsets as the file and the answer to code 45 have them."""
        version = self._version if self._release.is_v5 else None
        return DelayOffsetTable(data_version=version, offset_table=dict(sorted(self.offsets.items())))

    @property
    def is_running(self) -> bool:
        """Whether this broker delivers; a slave does not as long as it has a master."""
        return self._running

    # Delivery

    def _wait(self, state: _Level, delay_ms: float) -> None:
        state.timer = self._clock.call_later(delay_ms, lambda: self._turn(state))

    def _arrived(self, entry: Dispatched) -> None:
        """Wakes a level that has run out of messages."""
        state = self._levels.get(entry.queue_id + 1)
        if state is not None and state.timer is None and self._running and not state.is_sending:
            self._wait(state, max(0, entry.tags_code - self._clock.now_ms()))

    def _turn(self, state: _Level) -> None:
        """Delivers what is due on a level, then waits for what comes next."""
        state.timer = None
        if not self._running:
            return
        try:
            delay_ms = self._deliver_due(state)
        except (UndeliverableError, StorageError, MessageRefused) as error:
            self._trouble(state, str(error))
            delay_ms = _RETRY_MS
        if delay_ms is not None:
            self._wait(state, delay_ms)

    def _trouble(self, state: _Level, reason: str) -> None:
        if state.troubled_at != state.position:
            state.troubled_at = state.position
            log.error("delay level %d stands still at offset %d: %s", state.level, state.position, reason)

    def _deliver_due(self, state: _Level) -> float | None:
        """Delivers due messages; returns how long to wait for the next, None when there is none.

        Raises:
            UndeliverableError, StorageError: the message at the level's position could not be delivered.
        """
        queue_id = state.level - 1
        low = self._storage.min_offset(SCHEDULE_TOPIC, queue_id)
        high = self._storage.max_offset(SCHEDULE_TOPIC, queue_id)
        state.position = min(max(state.position, low), high)
        entries = self._storage.entries(SCHEDULE_TOPIC, queue_id, state.position, _ROUND)
        for physical_offset, _size, code in entries:
            now_ms = self._clock.now_ms()
            due_ms = self._due_ms(state, physical_offset, code)
            # A due time further away than the level's delay: the clock or the table was changed. Deliver now.
            if now_ms < due_ms <= now_ms + state.delay_ms:
                return due_ms - now_ms
            copy = self._copy(physical_offset) if self.elsewhere is not None else None
            if copy is not None and self.elsewhere is not None:
                state.is_sending = True
                self.elsewhere(copy, partial(self._sent, state))
                return None
            if self._deliver(physical_offset):
                self._note(state)
            state.position += 1
        return 0 if entries else None

    def _note(self, state: _Level) -> None:
        self.offsets[state.level] = state.position + 1
        self._delivered += 1
        if not self._delivered % _STEPS_PER_VERSION:
            self._version = DataVersion(self._version.counter + 1, self._clock.now_ms())
        self.file.mark()

    def _sent(self, state: _Level, is_stored: bool) -> None:  # noqa: FBT001 an answer
        """Goes on after a message was stored elsewhere, or tries it again."""
        if self._levels.get(state.level) is not state or not self._running:
            return
        state.is_sending = False
        if is_stored:
            self._note(state)
            state.position += 1
        else:
            self._trouble(state, "no other broker of its topic took the message")
        self._wait(state, 0 if is_stored else _RETRY_MS)

    def _due_ms(self, state: _Level, physical_offset: int, code: int) -> int:
        """Returns when an entry is due: its tags code, or by its store time when that code is lost."""
        plain = self._storage.plain_code(SCHEDULE_TOPIC, state.level - 1, code)
        if plain is not None:
            return plain
        record = self._storage.message_at(physical_offset)
        stored_ms = store_time_of(record) if record is not None else None
        return (stored_ms or 0) + state.delay_ms

    def _deliver(self, physical_offset: int) -> bool:
        """Stores a copy of a waiting message in its real queue; False when there is nothing to deliver."""
        copy = self._copy(physical_offset)
        if copy is not None:
            self._storage.append(copy)
        return copy is not None

    def _copy(self, physical_offset: int) -> Incoming | None:
        """Returns a copy of a waiting message for its real queue; None when there is nothing to deliver."""
        record = self._storage.message_at(physical_offset)
        if record is None:
            return None
        try:
            message = decode_message(record)
        except RecordError:
            return None
        if message.properties.get(REAL_TOPIC) in BROKERS_OWN_TOPICS:
            where = f"message at physical offset {physical_offset}"
            self._stats.set_aside(SCHEDULE_TOPIC, where, "it is for a topic of the broker's own")
            return None
        target = target_of(message)
        if target is None:
            raise UndeliverableError(
                f"could not deliver the message at physical offset {physical_offset}",
                reason=f"its properties {REAL_TOPIC} and {REAL_QID} name no queue: "
                f"{message.properties.get(REAL_TOPIC)!r:.140}, {message.properties.get(REAL_QID)!r:.40}",
            )
        copy = copy_of(message, text_of_properties(record))
        copy.topic, copy.queue_id = target
        return copy
