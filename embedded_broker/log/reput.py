"""From stored records to what finds them: queue entries, index entries, and those who wait for new messages.

A real broker's dispatcher follows its commit log a millisecond behind. Here a record is in its queue as soon as it is
stored, but the entries reach their files a moment later, many at once; what a kill takes away, recovery dispatches
again. Source: `DefaultMessageStore.doDispatch` and its dispatchers, 4.9.8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from embedded_broker.clock import Clock
from embedded_broker.log.index_backlog import IndexBacklog
from embedded_broker.log.light import LightQueues
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.message import SYSFLAG_INNER_BATCH, SYSFLAG_ROLLBACK, SYSFLAG_TRANSACTION_MASK
from mqctl.store.dispatch_rules import is_consumable, tags_code
from mqctl.store.ext_queue import ExtQueues, ExtUnit
from mqctl.store.index_writer import IndexFiles
from mqctl.store.queue_writer import ConsumeQueues, QueueWriter
from mqctl.store.record_writer import StoredRecord

_MOST_PENDING = 64  # written in well under a millisecond, so that no sender waits long
_RECOVERED_CHARACTERS = 256 * 1024


class Dispatched(NamedTuple):
    """A queue entry that can be read now."""

    topic: str
    queue_id: int
    queue_offset: int
    tags_code: int
    store_ms: int
    physical_offset: int
    size_bytes: int


Listener = Callable[[Dispatched], object]
BitMapOf = Callable[[str, str], bytes]


class RecordDispatcher:
    """Puts records into their consume queues and the index.

    Attributes:
        levels: the delay level table, which gives due times to messages that wait.
        newest_ms: store time of the newest record seen.
        bit_map: computes which SQL92 subscriptions match a message, of topic and properties; None leaves it out.
        keys: records whose keys are not in the index yet; None without an index.
        light: which further queues records go to; None leaves them out.
    """

    def __init__(
        self,
        queues: ConsumeQueues,
        index: IndexFiles | None,
        clock: Clock,
        levels: DelayLevelTable,
        ext: ExtQueues | None = None,
    ) -> None:
        self.levels = levels
        self.bit_map: BitMapOf | None = None
        self.light: LightQueues | None = None
        self._ext = ext
        self.newest_ms = 0
        self._queues = queues
        self.keys = IndexBacklog(index, clock) if index is not None else None
        self._pending = 0
        self._listeners: list[Listener] = []
        self._topic_listeners: dict[str, Listener] = {}

    def on_dispatch(self, listener: Listener, *, topic: str | None = None) -> None:
        """Has `listener` called for every queue entry that becomes readable, of all topics or of one.

        It is called while the message is being appended, so it had better be quick. One topic has one listener.
        """
        if topic is None:
            self._listeners.append(listener)
        else:
            self._topic_listeners[topic] = listener

    def new(self, queue: QueueWriter, entry: Dispatched, properties: str, sys_flag: int) -> None:
        """Takes a record that was just appended."""
        self.newest_ms = entry.store_ms
        self._pending += 1
        if self.keys is not None and sys_flag & SYSFLAG_TRANSACTION_MASK != SYSFLAG_ROLLBACK:
            self.keys.add(entry.topic, properties, entry.physical_offset, entry.store_ms)
        if sys_flag and not is_consumable(sys_flag):
            return
        code = entry.tags_code
        if self._ext is not None:
            code = self._extended(queue, code, properties, entry.store_ms)
        self._queues.put(queue, entry.physical_offset, entry.size_bytes, code, entry.queue_offset)
        for listener in self._listeners:
            listener(entry)
        if self._topic_listeners:
            own = self._topic_listeners.get(entry.topic)
            if own is not None:
                own(entry)
        if self.light is not None:
            self._further(entry, properties, self.light)

    def _further(self, entry: Dispatched, properties: str, light: LightQueues) -> None:
        """Puts a record into the queues that it names itself; their entries have the plain code."""
        for name, queue_id, offset in light.places(properties, entry.queue_id):
            queue = self._queues.queue(name, queue_id)
            if self._queues.put(queue, entry.physical_offset, entry.size_bytes, entry.tags_code, offset):
                further = entry._replace(topic=name, queue_id=queue_id, queue_offset=queue.max_offset - 1)
                for listener in self._listeners:
                    listener(further)

    def again(self, record: StoredRecord) -> bool:
        """Takes a record that recovery found; tells whether it was new to its queue. Raises StorageError."""
        self.newest_ms = max(self.newest_ms, record.store_ms)
        if self._pending >= _MOST_PENDING or (self.keys and self.keys.characters > _RECOVERED_CHARACTERS):
            self.write_out()
        self._pending += 1
        if self.keys is not None and record.sys_flag & SYSFLAG_TRANSACTION_MASK != SYSFLAG_ROLLBACK:
            self.keys.add(record.topic, record.properties, record.physical_offset, record.store_ms)
        if not is_consumable(record.sys_flag):
            return False
        if record.sys_flag & SYSFLAG_INNER_BATCH:  # of 5.x: its offsets count the messages within, not the entries
            queue = self._queues.queue(record.topic, record.queue_id)
        else:
            queue = self._queues.awaiting(record.topic, record.queue_id, record.queue_offset)
        code = tags_code(record.topic, record.properties, record.store_ms, self.levels)
        if self.light is not None:
            for name, queue_id, offset in self.light.places(record.properties, record.queue_id):
                further = self._queues.queue(name, queue_id)
                self._queues.put(further, record.physical_offset, record.size_bytes, code, offset)
        if self._ext is not None:
            code = self._extended(queue, code, record.properties, record.store_ms)
        return self._queues.put(queue, record.physical_offset, record.size_bytes, code, record.queue_offset)

    def _extended(self, queue: QueueWriter, code: int, properties: str, store_ms: int) -> int:
        """Returns the address of a unit with the code beside the queue; the code itself when no unit can be written."""
        if self._ext is None:
            return code
        bitmap = self.bit_map(queue.topic, properties) if self.bit_map is not None else b""

        def last_code() -> int | None:
            last = self._queues.entry(queue, queue.max_offset - 1)
            return None if last is None else last[2]

        address = self._ext.put(queue.topic, queue.queue_id, ExtUnit(code, store_ms, bitmap), last_code)
        return code if address is None else address

    def make_room(self, characters: int) -> None:
        """Writes pending entries out when there are many, before properties of so many characters come.

        Raises:
            DiskFullError, StorageError: the operating system refuses.
        """
        if self._pending >= _MOST_PENDING:
            self.write_some()
        if self.keys is not None:
            self.keys.make_room(characters)

    def write_some(self) -> None:
        """Writes pending entries to their files, of the index a portion; the rest of it follows by itself.

        Raises:
            DiskFullError, StorageError: the operating system refuses.
        """
        self._queues.write_out()
        if self.keys is not None:
            self.keys.write_some()
        self._pending = 0

    def write_out(self) -> None:
        """Writes pending entries to their files; those that cannot be written stay pending.

        Raises:
            DiskFullError, StorageError: the operating system refuses.
        """
        self._queues.write_out()
        if self.keys is not None:
            self.keys.write_all()
        self._pending = 0

    def stop(self) -> None:
        """Writes nothing more by itself."""
        if self.keys is not None:
            self.keys.stop()
