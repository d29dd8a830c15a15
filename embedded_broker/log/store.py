"""The message store of an embedded broker: appending, reading, offsets.

Everything is on disk in RocketMQ's own formats (`mqctl.store`); in memory are only each queue's bounds and the entries
of the last moment. Source of the rules: `DefaultMessageStore`, `CommitLog`, `ConsumeQueue` of 4.9.8.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from embedded_broker.clock import Clock
from embedded_broker.log.flushing import Defer, Flusher, at_once
from embedded_broker.log.late import LateDispatch
from embedded_broker.log.light import LightQueues
from embedded_broker.log.reader import Boundary, Read, ReadStatus, StoreReader
from embedded_broker.log.reput import Dispatched, RecordDispatcher
from embedded_broker.log.retention import Retention
from embedded_broker.log.settings import StoreSettings
from mqctl.errors import MqctlError, StorageError
from mqctl.model.delay_level import DEFAULT_TABLE, DelayLevelTable
from mqctl.store.checkpoint import Checkpoint, parse_checkpoint
from mqctl.store.disk import Disk, DiskFullError, sync_path
from mqctl.store.dispatch_rules import is_consumable, tags_code
from mqctl.store.ext_queue import ExtQueues
from mqctl.store.index_writer import Finding, IndexFiles
from mqctl.store.layouts import CHECKPOINT
from mqctl.store.log_writer import CommitLogWriter
from mqctl.store.own_files import write_whole
from mqctl.store.plain_files import read_file
from mqctl.store.queue_writer import ConsumeQueues, QueueWriter
from mqctl.store.record_writer import (
    Draft,
    Incoming,
    MessageRefused,
    RecordWriter,
    finish,
)
from mqctl.store.recovery import Recovery, recover, was_flushed
from mqctl.store.set_aside import write_note

log = logging.getLogger("embedded_broker")

__all__ = [
    "Appended",
    "Boundary",
    "DiskFullError",
    "Dispatched",
    "Incoming",
    "MessageRefused",
    "Read",
    "ReadStatus",
    "Storage",
]


class Appended(NamedTuple):
    """Where a message went; sizes in bytes, times in epoch milliseconds."""

    physical_offset: int
    queue_offset: int
    size_bytes: int
    store_ms: int


class FollowingError(DiskFullError):
    """The log of a slave takes nothing but what its master has; brokers answer that as they answer a full disk."""

    def __init__(self, path: str) -> None:
        StorageError.__init__(
            self, f"could not write {path}", reason="it follows a master's log", remedy="send to the master"
        )


class Storage:
    """The store below `directory`.

    Args:
        clock: gives store times and drives flushing.
        levels: the delay level table.
        defer: puts off what a flush that others may share waits for; an event loop's `call_soon`.
        disk: another file layer, for tests of what a machine may lose.

    Attributes:
        disk: the file layer; `disk.free_bytes` injects a full disk.
        log, queues, ext, index: what is on disk.
        retention: what deletes; `disk_full` of it refuses appends.
        read, message_at, entries, min_offset, max_offset, store_time, offset_by_time, plain_code: those of
            `StoreReader`.
        on_dispatch: that of `RecordDispatcher`.
        flush, sync_log, when_durable: those of `Flusher`.
        is_copy: the log follows another one, so that nothing else is appended to it.
    """

    def __init__(
        self,
        directory: Path,
        settings: StoreSettings,
        clock: Clock,
        *,
        levels: DelayLevelTable = DEFAULT_TABLE,
        defer: Defer = at_once,
        disk: Disk | None = None,
    ) -> None:
        self.directory = directory
        self.settings = settings
        self.is_copy = False
        self.clock = clock
        self.disk = disk or Disk()
        self.records = RecordWriter(long_topics=settings.is_v5)
        self.log = CommitLogWriter(f"{directory}/commitlog", self.disk, file_bytes=settings.mapped_file_size_commit_log)
        self.queues = ConsumeQueues(
            f"{directory}/consumequeue", self.disk, file_bytes=settings.mapped_file_size_consume_queue
        )
        self.index = IndexFiles(
            f"{directory}/index", self.disk, slots=settings.max_hash_slot_num, entries=settings.max_index_num
        )
        self.ext = ExtQueues(
            f"{directory}/consumequeue_ext", self.disk, file_bytes=settings.mapped_file_size_consume_queue_ext
        )
        self.dispatcher = RecordDispatcher(
            self.queues,
            self.index if settings.message_index_enable else None,
            clock,
            levels,
            self.ext if settings.enable_consume_queue_ext else None,
        )
        self.light = None
        if settings.enable_lmq or settings.enable_multi_dispatch:
            flags = {"lmq": settings.enable_lmq, "multi_dispatch": settings.enable_multi_dispatch}
            self.light = self.dispatcher.light = LightQueues(self.queues, is_v5=settings.is_v5, **flags)
        self.on_dispatch = self.dispatcher.on_dispatch
        self._late = LateDispatch(clock, self.dispatcher.new) if settings.as_real else None
        self._new = self._late.new if self._late is not None else self.dispatcher.new
        self.flusher = flusher = Flusher(
            str(directory), (self.disk, self.log, self.dispatcher, self.index), settings, clock, defer
        )
        self.flush, self.sync_log, self.when_durable = flusher.flush, flusher.sync_log, flusher.when_durable
        self.retention = Retention((self.log, self.queues, self.index, self.ext), settings, clock)
        self.reader = StoreReader(self.log, self.queues, self.ext, settings)
        self.min_offset, self.max_offset = self.reader.min_offset, self.reader.max_offset
        self.read, self.message_at, self.entries = self.reader.read, self.reader.message_at, self.reader.entries
        self.plain_code = self.reader.plain_code
        self.store_time, self.offset_by_time = self.reader.store_time, self.reader.offset_by_time

    # Life

    def open(self) -> Recovery:
        """Recovers what is on disk, reports it, and begins to flush.

        Raises:
            ConfigurationError: the files have other sizes than the settings say.
            StorageError: the operating system refuses.
        """
        log_directory = self.directory / "commitlog"
        try:
            log_directory.mkdir(parents=True, exist_ok=True)
            (self.directory / "consumequeue").mkdir(exist_ok=True)  # without it a store looks like one that lost it
            sync_path(str(self.directory.parent))
            return self._recovered()
        except OSError as error:
            self.abandon()
            raise StorageError(f"could not open {self.directory}", reason=error.strerror or str(error)) from error
        except MqctlError:
            self.abandon()
            raise

    def _recovered(self) -> Recovery:
        checkpoint, abort = self.directory / "checkpoint", self.directory / "abort"
        times = _times_in(checkpoint)
        for path in self.log.check(partial(was_flushed, self.log, times), now_ms=self.clock.now_ms()):
            log.warning("the commit log has a gap; what lies on the other side of it was set aside: %s", path)
        self.queues.load(log_min=self.log.min_offset, clean=not abort.exists())
        trusted_ms = None if not abort.exists() else times.index_time_ms if times is not None else 0
        self.index.load(trusted_ms=trusted_ms)
        recovery = recover(
            self.log,
            self.queues,
            checkpoint=times,
            clean=not abort.exists(),
            dispatch=self.dispatcher.again,
            distrust=self._distrust,
            write_note=lambda aside: write_note(self.disk, replace(aside, at_ms=self.clock.now_ms())),
        )
        self.dispatcher.write_out()
        self._mark_running()
        self.flusher.start(times)
        self.retention.start()
        if recovery.set_aside:
            log.warning(
                "%d bytes behind physical offset %d, where no sound record stands, are in %s now; sound records: %d",
                recovery.cut_bytes, recovery.log_end, recovery.set_aside, recovery.sound_record_count,
            )  # fmt: skip
        log.log(logging.INFO if recovery.clean and not recovery.cut_bytes else logging.WARNING, "opened: %s", recovery)
        return recovery

    def _mark_running(self) -> None:
        """Leaves `abort` behind. Were it lost with the power, the next start would take this for a clean stop's end."""
        write_whole(self.directory / "abort", str(os.getpid()).encode() if self.settings.is_v5 else b"", mode=0o644)

    def _distrust(self) -> None:
        """Takes away the checkpoint, which vouches for queues that are to be made anew."""
        (self.directory / "checkpoint").unlink(missing_ok=True)
        self._mark_running()

    def close(self) -> None:
        """Ends cleanly; on a disk that takes no more, so that the next start recovers."""
        self.retention.stop()
        self.flusher.stop()
        if self._late is not None:
            self._late.catch_up()
        try:
            self.flusher.flush()
            (self.directory / "abort").unlink(missing_ok=True)
        except (OSError, StorageError) as error:
            log.error("the next start will recover: %s", error)
        self.disk.close()

    def abandon(self) -> None:
        """Ends as kill -9 would: nothing is written any more."""
        self.retention.stop()
        self.flusher.stop()
        if self._late is not None:
            self._late.forget_timer()
        self.disk.close()

    # Appending

    def append(self, message: Incoming) -> Appended:
        """Appends one message (`CommitLog.asyncPutMessage`).

        Raises:
            DiskFullError: nothing was stored; the broker answers 14.
            MessageRefused: the message fits no record; the broker answers 13.
            StorageError: the operating system refused.
            RecordError: a host is no address.
        """
        topic, sys_flag = message.topic, message.sys_flag
        if sys_flag and not is_consumable(sys_flag):
            return self.append_batch((message,))[0]
        if self.light is not None:
            self.light.number(message)
        draft = self._draft(message)
        queue = self._ready(topic, message.queue_id, len(message.properties))
        store_ms = self.clock.now_ms()
        size = draft.size_bytes
        physical = self.log.place(size)
        offset = queue.max_offset if self._late is None else self._late.next_offset(queue)
        self.log.write(finish(draft, offset, physical, store_ms), physical)
        code = tags_code(topic, message.properties, store_ms, self.dispatcher.levels)
        entry = Dispatched(topic, message.queue_id, offset, code, store_ms, physical, size)
        self._new(queue, entry, message.properties, sys_flag)
        return Appended(physical, offset, size, store_ms)

    def _draft(self, message: Incoming) -> Draft:
        if len(message.body) > self.settings.max_message_size:
            raise MessageRefused(
                f"could not store a message of topic {message.topic}",
                reason=f"its body has {len(message.body)} bytes, at most {self.settings.max_message_size} are taken",
            )
        return self.records.draft(message)

    def _ready(self, topic: str, queue_id: int, characters: int) -> QueueWriter:
        """Returns the queue of a message that may be appended now. Raises DiskFullError, StorageError."""
        if self.is_copy:
            raise FollowingError(self.log.directory)
        if self.retention.disk_full:
            raise DiskFullError(self.log.directory)
        self.dispatcher.make_room(characters)
        return self.queues.table.get((topic, queue_id)) or self.queues.queue(topic, queue_id)

    def append_batch(self, messages: Sequence[Incoming]) -> list[Appended]:
        """Appends messages of one queue: all in one file, all with one store time, all or none.

        Raises:
            DiskFullError, MessageRefused, StorageError, RecordError: as `append`; nothing was stored.
        """
        topic, queue_id = messages[0].topic, messages[0].queue_id
        drafts = [self._draft(message) for message in messages]
        queue = self._ready(topic, queue_id, sum([len(message.properties) for message in messages]))
        store_ms, levels = self.clock.now_ms(), self.dispatcher.levels
        begin = physical = self.log.place(sum([draft.size_bytes for draft in drafts]))
        offset = queue.max_offset if self._late is None else self._late.next_offset(queue)
        parts: list[bytes] = []
        done: list[Dispatched] = []
        for draft in drafts:
            size = draft.size_bytes
            in_queue = is_consumable(draft.sys_flag)
            own_offset = offset if in_queue else 0
            parts.append(finish(draft, own_offset, physical, store_ms))
            code = tags_code(topic, draft.message.properties, store_ms, levels)
            done.append(Dispatched(topic, queue_id, own_offset, code, store_ms, physical, size))
            physical += size
            offset += in_queue
        self.log.write(parts[0] if len(parts) == 1 else b"".join(parts), begin)
        for message, entry in zip(messages, done, strict=True):
            self._new(queue, entry, message.properties, message.sys_flag)
        return [Appended(entry.physical_offset, entry.queue_offset, entry.size_bytes, store_ms) for entry in done]

    # Topics

    def topics(self) -> set[str]:
        """Returns the topics that have a queue."""
        return {topic for topic, _ in self.queues.table}

    def delete_topic(self, topic: str) -> None:
        """Deletes the queues of a topic; its messages stay in the log until they expire. Raises StorageError."""
        if self._late is not None:
            self._late.catch_up()
        self.dispatcher.write_out()
        for queue in [queue for (name, _), queue in self.queues.table.items() if name == topic]:
            self.queues.delete(queue)
            self.ext.delete(queue.topic, queue.queue_id)
        if self.light is not None:
            self.light.forget()

    def disk_ratio(self) -> float:
        """Returns the used share of the disk that holds the store."""
        usage = shutil.disk_usage(self.directory)
        return usage.used / usage.total

    def earliest_store_time(self) -> int | None:
        """Store time (epoch ms) of the first message of the log, or None when it is empty. Raises StorageError."""
        return self.reader.store_time_at(self.log.min_offset) if self.log.position > self.log.min_offset else None

    # Finding

    def find_by_key(self, topic: str, key: str, begin_ms: int, end_ms: int, limit: int) -> Finding:
        """Finds physical offsets of records by KEYS or UNIQ_KEY within a span of store times, oldest first.

        Keys that wait are written before; it pauses again and again. Raises StorageError.
        """
        if self.dispatcher.keys is not None:
            yield from self.dispatcher.keys.writing()
        return (yield from self.index.find(topic, key, begin_ms, end_ms, limit))


def _times_in(path: Path) -> Checkpoint | None:
    """Reads the checkpoint; one that its broker did not get to write counts as none."""
    data = read_file(path) if path.exists() else b""
    return parse_checkpoint(data) if len(data) >= CHECKPOINT.size else None
