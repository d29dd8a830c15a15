"""Reading from a message store: what pulls, queries and time searches ask.

Files are read with `pread`, never mapped: memory stays bounded, and a file that goes away is no signal. Source of the
rules: `DefaultMessageStore.getMessage` and `ConsumeQueue.getOffsetInQueueByTime` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from embedded_broker.log.settings import StoreSettings
from mqctl.store.ext_queue import ExtQueues, ExtUnit
from mqctl.store.layouts import EXT_ADDRESS_LIMIT, QUEUE_ENTRY_BYTES, QUEUE_ENTRY_STRUCT
from mqctl.store.log_writer import CommitLogWriter
from mqctl.store.queue_writer import ConsumeQueues, QueueWriter
from mqctl.store.record_writer import store_time_of

_SCAN_ENTRIES = 800


class ReadStatus(StrEnum):
    """What became of a read, named as `GetMessageStatus` is: the name is the remark of a pull's answer."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"
    OFFSET_RESET = "OFFSET_RESET"


class Boundary(StrEnum):
    """Which message a time stands for: the nearest (4.9), or the first at or after, the last at or before it (5.x)."""

    NEAREST = "nearest"
    LOWER = "lower"
    UPPER = "upper"


@dataclass(frozen=True, slots=True)
class Read:
    """The outcome of a read.

    Attributes:
        next_offset: where the next read is to begin.
        data: whole records, possibly several in one piece, in queue order.
        count: number of messages in `data`.
        behind_bytes: distance of the last message looked at to the end of the log.
        on_disk: whether that counts as reading from disk.
    """

    status: ReadStatus
    next_offset: int
    min_offset: int
    max_offset: int
    data: Sequence[bytes | memoryview] = ()
    count: int = 0
    behind_bytes: int = 0
    on_disk: bool = False


_Filters: TypeAlias = tuple[
    Callable[[int], bool] | None, Callable[[memoryview], bool] | None, Callable[[ExtUnit], bool] | None
]


class StoreReader:
    """Reads a log through its consume queues."""

    def __init__(self, log: CommitLogWriter, queues: ConsumeQueues, ext: ExtQueues, settings: StoreSettings) -> None:
        self.log = log
        self.queues = queues
        self.settings = settings
        self._ext = ext
        self._most_in_memory = (
            settings.max_transfer_count_on_message_in_memory,
            settings.max_transfer_bytes_on_message_in_memory,
        )
        self._most_on_disk = (
            settings.max_transfer_count_on_message_in_disk,
            settings.max_transfer_bytes_on_message_in_disk,
        )

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Logical offset of the oldest message of a queue; 0 for a queue that is not there."""
        queue = self.queues.table.get((topic, queue_id))
        return queue.min_offset if queue is not None else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Logical offset of the next message of a queue; 0 for a queue that is not there."""
        queue = self.queues.table.get((topic, queue_id))
        return queue.max_offset if queue is not None else 0

    def read(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        *,
        max_count: int,
        max_bytes: int | None = None,
        wants: Callable[[int], bool] | None = None,
        wants_record: Callable[[memoryview], bool] | None = None,
        wants_unit: Callable[[ExtUnit], bool] | None = None,
    ) -> Read:
        """Reads messages from `queue_offset` on, as a pull does.

        Args:
            max_count, max_bytes: no more than the settings allow are given, fewer when they come from disk.
            wants: tells by the tags code whether to read a message at all.
            wants_record: tells by the record whether to deliver it.
            wants_unit: tells by what stands beside the queue entry whether the record is worth looking at.

        Raises:
            StorageError: the operating system refuses.
        """
        queue = self.queues.table.get((topic, queue_id))
        if queue is None or queue.max_offset == 0:
            return Read(ReadStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0)
        low, high = queue.min_offset, queue.max_offset
        if queue_offset < low:
            return Read(ReadStatus.OFFSET_TOO_SMALL, low, low, high)
        if queue_offset == high:
            return Read(ReadStatus.OFFSET_OVERFLOW_ONE, queue_offset, low, high)
        if queue_offset > high:
            return Read(ReadStatus.OFFSET_OVERFLOW_BADLY, high, low, high)
        entries = self.queues.entries(queue, queue_offset, max(_SCAN_ENTRIES, max_count))
        if not entries:
            per_file = self.queues.file_bytes // QUEUE_ENTRY_BYTES
            return Read(ReadStatus.OFFSET_FOUND_NULL, queue_offset - queue_offset % per_file + per_file, low, high)
        most, most_bytes = self._most_in_memory
        limits = (min(max_count, most), most_bytes if max_bytes is None else min(max_bytes, most_bytes))
        return self._collect(queue, queue_offset, entries, limits, (wants, wants_record, wants_unit))

    def _collect(
        self,
        queue: QueueWriter,
        queue_offset: int,
        entries: bytes,
        limits: tuple[int, int],
        filters: _Filters,
    ) -> Read:
        """Collects what fits into a batch (`DefaultMessageStore.isTheBatchFull`); the first message always does."""
        log_end, log_min, in_memory_bytes = self.log.position, self.log.min_offset, self.settings.in_memory_bytes
        limits_on_disk = (min(limits[0], self._most_on_disk[0]), min(limits[1], self._most_on_disk[1]))
        wants, wants_record, wants_unit = filters
        chosen: list[tuple[int, int]] = []
        total = scanned = 0
        removed_until = -1
        status = ReadStatus.NO_MATCHED_MESSAGE
        physical = log_end
        for physical, size, code in QUEUE_ENTRY_STRUCT.iter_unpack(entries):
            most, most_bytes = limits_on_disk if log_end - physical > in_memory_bytes else limits
            if chosen and (len(chosen) >= most or total + size > most_bytes):
                break
            scanned += 1
            if physical < removed_until or (wants is not None and not self._wanted(wants, queue, code)):
                continue
            if physical < log_min:
                status = ReadStatus.MESSAGE_WAS_REMOVING
                removed_until = physical - physical % self.log.file_bytes + self.log.file_bytes
                continue
            if wants_unit is not None and code <= EXT_ADDRESS_LIMIT:
                unit = self._ext.unit(queue.topic, queue.queue_id, code)
                if unit is not None and not wants_unit(unit):
                    continue
            if wants_record is not None and not wants_record(memoryview(self.log.read(physical, size))):
                continue
            chosen.append((physical, size))
            total += size
        behind = log_end - physical
        return Read(
            ReadStatus.FOUND if chosen else status,
            queue_offset + scanned,
            queue.min_offset,
            queue.max_offset,
            self._records(chosen, total),
            len(chosen),
            behind,
            behind > in_memory_bytes,
        )

    def _wanted(self, wants: Callable[[int], bool], queue: QueueWriter, code: int) -> bool:
        """Asks a filter; a code that is kept elsewhere and lost there passes, as in the broker."""
        plain = code if code > EXT_ADDRESS_LIMIT else self.plain_code(queue.topic, queue.queue_id, code)
        return plain is None or wants(plain)

    def plain_code(self, topic: str, queue_id: int, code: int) -> int | None:
        """Returns what a tags code stands for: itself, or what a real broker wrote beside the queue.

        None when that is lost.

        Raises:
            StorageError: the operating system refuses.
        """
        return code if code > EXT_ADDRESS_LIMIT else self._ext.tags_code(topic, queue_id, code)

    def _records(self, chosen: list[tuple[int, int]], total: int) -> Sequence[bytes | memoryview]:
        """Reads records with few calls: in one when they lie close enough together."""
        if not chosen:
            return ()
        first = chosen[0][0]
        last, last_size = chosen[-1]
        span = last + last_size - first
        if span == total:
            return (self.log.read(first, span),)
        if first < last and span <= 4 * total and first // self.log.file_bytes == last // self.log.file_bytes:
            view = memoryview(self.log.read(first, span))
            return [view[at - first : at - first + size] for at, size in chosen]
        return [self.log.read(at, size) for at, size in chosen]

    def neighbours(self, entries: Sequence[tuple[int, int, int]]) -> Sequence[bytes | memoryview | None]:
        """Returns the records of neighbouring queue entries with few reads, None where the log has none.

        Raises:
            StorageError: the operating system refuses.
        """
        first, end = self.log.min_offset, self.log.position
        there = [(at, size) for at, size, _ in entries if first <= at and at + size <= end and size > 0]
        if not there or len(there) < len(entries):
            return [self.message_at(at) for at, _, _ in entries]
        total = sum([size for _, size in there])
        begin, stop = there[0][0], sum(there[-1])
        if begin // self.log.file_bytes == there[-1][0] // self.log.file_bytes and 0 < stop - begin <= 4 * total:
            view = memoryview(self.log.read(begin, stop - begin))
            return [view[at - begin : at - begin + size] for at, size in there]
        return [self.log.read(at, size) for at, size in there]

    def message_at(self, physical_offset: int, likely_bytes: int = 4) -> bytes | None:
        """Returns the record at `physical_offset`, or None when the log has none there. Raises StorageError.

        Args:
            likely_bytes: its size, if that is known: then it is read at once.
        """
        if not physical_offset:  # looked for in the first file there is (`findMappedFileByOffset`)
            physical_offset = self.log.min_offset
        if not self.log.min_offset <= physical_offset < self.log.position:
            return None
        head = self.log.read(physical_offset, max(4, likely_bytes))
        size = int.from_bytes(head[:4], "big", signed=True)
        if size == len(head):
            return head
        if len(head) < 4 or size <= 0 or physical_offset + size > self.log.position:
            return None
        return self.log.read(physical_offset, size)

    def entries(self, topic: str, queue_id: int, offset: int, count: int) -> list[tuple[int, int, int]]:
        """Returns up to `count` queue entries (physical offset, size, tags code) from `offset` on in one file."""
        queue = self.queues.table.get((topic, queue_id))
        if queue is None or not queue.min_offset <= offset < queue.max_offset:
            return []
        return list(QUEUE_ENTRY_STRUCT.iter_unpack(self.queues.entries(queue, offset, count)))

    def store_time(self, topic: str, queue_id: int, offset: int) -> int | None:
        """Store time (epoch ms) of the message at `offset`, or None when there is none. Raises StorageError."""
        queue = self.queues.table.get((topic, queue_id))
        entry = self.queues.entry(queue, offset) if queue is not None else None
        return None if entry is None else self.store_time_at(entry[0])

    def store_time_at(self, physical_offset: int) -> int | None:
        """Store time (epoch ms) of the message at a physical offset, or None when there is none."""
        if not self.log.min_offset <= physical_offset < self.log.position:
            return None
        return store_time_of(self.log.read(physical_offset, 88))

    def offset_by_time(self, topic: str, queue_id: int, ms: int, boundary: Boundary = Boundary.NEAREST) -> int:
        """Finds the logical offset that stands for the instant `ms`.

        NEAREST: any message stored at `ms`, else the nearer neighbour (the earlier of two), within the queue; 0 for an
        empty one. LOWER: the first stored at or after `ms`, else the maximum. UPPER: the last stored at or before
        `ms`, else the minimum. Searches all files by store time; 4.9 first picks a file by its modification time.

        Raises:
            StorageError: the operating system refuses.
        """
        queue = self.queues.table.get((topic, queue_id))
        if queue is None or queue.min_offset >= queue.max_offset:
            return 0
        if boundary is Boundary.NEAREST:
            return self._nearest(queue, ms)
        low, high = queue.min_offset, queue.max_offset
        while low < high:  # the first offset whose store time is at or after `ms`
            middle = (low + high) // 2
            stored = self.store_time(topic, queue_id, middle)
            if stored is None or stored < ms:
                low = middle + 1
            else:
                high = middle
        if boundary is Boundary.LOWER:
            return low
        while low < queue.max_offset and self.store_time(topic, queue_id, low) == ms:
            low += 1
        return max(queue.min_offset, low - 1)

    def _nearest(self, queue: QueueWriter, ms: int) -> int:
        """The search of 4.9 (`ConsumeQueue.getOffsetInQueueByTime`): it stops at any of several of the same time."""
        low, high = queue.min_offset, queue.max_offset - 1
        earlier: tuple[int, int] | None = None
        later: tuple[int, int] | None = None
        while low <= high:
            middle = (low + high) // 2
            stored = self.store_time(queue.topic, queue.queue_id, middle)
            if stored == ms:
                return middle
            if stored is None or stored < ms:
                low, earlier = middle + 1, (middle, stored or 0)
            else:
                high, later = middle - 1, (middle, stored)
        if earlier is None or later is None:
            return queue.min_offset if earlier is None else queue.max_offset - 1
        return earlier[0] if ms - earlier[1] <= later[1] - ms else later[0]
