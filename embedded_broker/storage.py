"""The message store of an embedded broker: appending, reading, offsets.

Everything is on disk in RocketMQ's own formats (`mqctl.store`); in memory are only each queue's bounds and the entries
of the last moment. Source of the rules: `DefaultMessageStore`, `CommitLog`, `ConsumeQueue` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from embedded_broker.clock import Clock
from embedded_broker.flushing import Defer, Flusher, at_once
from embedded_broker.storage_reader import Boundary, Read, ReadStatus, StoreReader
from embedded_broker.storage_settings import StoreSettings
from mqctl.model.delay_level import DEFAULT_TABLE, DelayLevelTable
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.store.checkpoint import parse_checkpoint
from mqctl.store.disk import Disk, DiskFullError
from mqctl.store.dispatch_rules import is_consumable, tags_code
from mqctl.store.log_writer import CommitLogWriter
from mqctl.store.plain_files import read_file
from mqctl.store.queue_writer import ConsumeQueues, QueueWriter
from mqctl.store.record_writer import (
    Draft,
    MessageRefused,
    RecordWriter,
    StoredRecord,
    finish,
    properties_of,
)
from mqctl.store.recovery import Recovery, recover

__all__ = [
    "Appended",
    "Boundary",
    "DiskFullError",
    "Dispatched",
    "Draft",
    "MessageRefused",
    "Read",
    "ReadStatus",
    "Storage",
]

_PENDING_ENTRIES = 4_096


class Appended(NamedTuple):
    """Where a message went; sizes in bytes, times in epoch milliseconds."""

    physical_offset: int
    queue_offset: int
    size_bytes: int
    store_ms: int


class Dispatched(NamedTuple):
    """A queue entry that can be read now."""

    topic: str
    queue_id: int
    queue_offset: int
    tags_code: int
    store_ms: int
    physical_offset: int
    size_bytes: int


class Storage:
    """The store below `directory`.

    Args:
        clock: gives store times and drives flushing.
        levels: the delay level table, which gives due times to messages that wait.
        defer: puts off what a flush that others may share waits for; an event loop's `call_soon`.

    Attributes:
        disk: the file layer; `disk.free_bytes` injects a full disk.
        log, queues: what is on disk.
        read, message_at, entries, min_offset, max_offset, store_time, offset_by_time: those of `StoreReader`.
        when_durable: that of `Flusher`.
    """

    def __init__(
        self,
        directory: Path,
        settings: StoreSettings,
        clock: Clock,
        *,
        levels: DelayLevelTable = DEFAULT_TABLE,
        defer: Defer = at_once,
    ) -> None:
        self.directory = directory
        self.settings = settings
        self.clock = clock
        self.levels = levels
        self.disk = Disk()
        self.records = RecordWriter(long_topics=settings.long_topics)
        self.log = CommitLogWriter(f"{directory}/commitlog", self.disk, file_bytes=settings.mapped_file_size_commit_log)
        self.queues = ConsumeQueues(
            f"{directory}/consumequeue", self.disk, file_bytes=settings.mapped_file_size_consume_queue
        )
        self.flusher = Flusher(str(directory), (self.disk, self.log, self.queues), settings, clock, defer)
        self.when_durable = self.flusher.when_durable
        self.reader = StoreReader(self.log, self.queues, settings)
        self.min_offset, self.max_offset = self.reader.min_offset, self.reader.max_offset
        self.read, self.message_at, self.entries = self.reader.read, self.reader.message_at, self.reader.entries
        self.store_time, self.offset_by_time = self.reader.store_time, self.reader.offset_by_time
        self._listeners: list[Callable[[Dispatched], object]] = []
        self._topic_listeners: dict[str, Callable[[Dispatched], object]] = {}
        self._pending_entries = 0

    # Life

    def open(self) -> Recovery:
        """Recovers what is on disk, reports it, and begins to flush. Raises StorageError."""
        (self.directory / "commitlog").mkdir(parents=True, exist_ok=True)
        checkpoint, abort = self.directory / "checkpoint", self.directory / "abort"
        times = parse_checkpoint(read_file(checkpoint)) if checkpoint.exists() else None
        self.queues.load()
        recovery = recover(
            self.log,
            self.queues,
            checkpoint=times,
            clean=not abort.exists(),
            dispatch=self._dispatch_again,
        )
        self.queues.write_out()
        abort.touch()
        self.flusher.start(times)
        return recovery

    def flush(self) -> None:
        """Makes everything appended so far durable. Raises DiskFullError, StorageError."""
        self.flusher.flush()

    def close(self) -> None:
        """Ends cleanly. Raises DiskFullError, StorageError."""
        self.flusher.stop()
        self.flusher.flush()
        self.disk.close()
        (self.directory / "abort").unlink(missing_ok=True)

    def abandon(self) -> None:
        """Ends as kill -9 would: nothing is written any more."""
        self.flusher.stop()
        self.disk.close()

    def _dispatch_again(self, record: StoredRecord) -> bool:
        self.flusher.last_store_ms = max(self.flusher.last_store_ms, record.store_ms)
        if not is_consumable(record.sys_flag):
            return False
        queue = self.queues.queue(record.topic, record.queue_id)
        code = tags_code(record.topic, record.properties, record.store_ms, self.levels)
        if len(self.queues.dirty) > _PENDING_ENTRIES:
            self.queues.write_out()
        return self.queues.put(queue, record.physical_offset, record.size_bytes, code, record.queue_offset)

    def on_dispatch(self, listener: Callable[[Dispatched], object], *, topic: str | None = None) -> None:
        """Has `listener` called for every queue entry that becomes readable, of one topic or of all.

        It is called while the message is being appended, so it had better be quick.
        """
        if topic is None:
            self._listeners.append(listener)
        else:
            self._topic_listeners[topic] = listener

    # Appending

    def draft(
        self,
        topic: str,
        queue_id: int,
        *,
        body: bytes,
        properties: str,
        born_host: str,
        store_host: str,
        born_ms: int,
        flag: int = 0,
        sys_flag: int = 0,
        reconsume_times: int = 0,
        prepared_offset: int = 0,
    ) -> Draft:
        """Prepares a message for `append_drafts`.

        Args:
            born_host, store_host: `ip:port`.

        Raises:
            MessageRefused: topic, properties or body are too long.
            RecordError: a host is no address.
        """
        if len(body) > self.settings.max_message_size:
            raise MessageRefused(
                f"could not store a message of topic {topic}",
                reason=f"its body has {len(body)} bytes, at most {self.settings.max_message_size} are taken",
            )
        return self.records.draft(
            topic,
            queue_id,
            body=body,
            properties=properties,
            flag=flag,
            sys_flag=sys_flag,
            born_ms=born_ms,
            born_host=born_host,
            store_host=store_host,
            reconsume_times=reconsume_times,
            prepared_offset=prepared_offset,
        )

    def append(
        self,
        topic: str,
        queue_id: int,
        *,
        body: bytes,
        properties: str,
        born_host: str,
        store_host: str,
        born_ms: int,
        tags_code: int = 0,
        flag: int = 0,
        sys_flag: int = 0,
        reconsume_times: int = 0,
        prepared_offset: int = 0,
    ) -> Appended:
        """Appends one message.

        Args:
            properties: property text as it is to be stored.
            tags_code: Java's hash of the tag, 0 without one; for delayed messages the due time is computed here.
            sys_flag: the bits for IPv6 hosts follow from the hosts.

        Raises:
            DiskFullError: nothing was stored; the broker answers 14.
            MessageRefused: the message fits no record; the broker answers 13.
            StorageError: the operating system refused.
        """
        draft = self.draft(
            topic,
            queue_id,
            body=body,
            properties=properties,
            born_host=born_host,
            store_host=store_host,
            born_ms=born_ms,
            flag=flag,
            sys_flag=sys_flag,
            reconsume_times=reconsume_times,
            prepared_offset=prepared_offset,
        )
        return self.append_drafts(topic, queue_id, (draft,), (tags_code,))[0]

    def append_drafts(
        self, topic: str, queue_id: int, drafts: Sequence[Draft], tags_codes: Sequence[int]
    ) -> list[Appended]:
        """Appends a batch for one queue: all in one file, all with one store time, all or none.

        Raises:
            DiskFullError, MessageRefused, StorageError: as `append`; nothing was stored.
        """
        if self._pending_entries >= _PENDING_ENTRIES:
            self.queues.write_out()
            self._pending_entries = 0
        queue = self.queues.queue(topic, queue_id)
        store_ms = self.clock.now_ms()
        begin = physical = self.log.place(sum([draft.size_bytes for draft in drafts]))
        offset = queue.max_offset
        parts: list[bytes] = []
        done: list[Appended] = []
        for draft in drafts:
            in_queue = is_consumable(draft.sys_flag)
            parts.append(finish(draft, offset if in_queue else 0, physical, store_ms))
            done.append(Appended(physical, offset if in_queue else 0, draft.size_bytes, store_ms))
            physical += draft.size_bytes
            offset += in_queue
        self.flusher.last_store_ms = store_ms
        if topic == SCHEDULE_TOPIC:
            tags_codes = [tags_code(topic, properties_of(draft.tail), store_ms, self.levels) for draft in drafts]
        self.log.write(parts[0] if len(parts) == 1 else b"".join(parts), begin)
        for draft, appended, code in zip(drafts, done, tags_codes, strict=True):
            if is_consumable(draft.sys_flag):
                self._dispatch(queue, appended, code)
        return done

    def _dispatch(self, queue: QueueWriter, appended: Appended, code: int) -> None:
        physical_offset, queue_offset, size, store_ms = appended
        self.queues.put(queue, physical_offset, size, code, queue_offset)
        self._pending_entries += 1
        own = self._topic_listeners.get(queue.topic)
        if self._listeners or own is not None:
            entry = Dispatched(queue.topic, queue.queue_id, queue_offset, code, store_ms, physical_offset, size)
            for listener in self._listeners:
                listener(entry)
            if own is not None:
                own(entry)
