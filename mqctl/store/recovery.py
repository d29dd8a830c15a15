"""What a broker does when it starts: finding the end of its commit log, and queues that agree with it.

Theory of operation. The log is the truth; queues and index are made of it. Its end is behind the last record that is
whole, and what lies behind that is set aside. Queues are cut to what the log bears out and then filled again from the
first record that they may lack, so recovery can be repeated: a record that is in its queue already is passed over.

After a clean stop the last three files are checked; after a crash (`abort` is there) records are dispatched again from
a file that the checkpoint vouches for. Source: `DefaultMessageStore.load`, `CommitLog.recoverNormally` and
`recoverAbnormally` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.storage_state import SetAside
from mqctl.store.checkpoint import Checkpoint
from mqctl.store.layouts import FILLER_SIZE, MAGIC_V1, MAGIC_V2, QUEUE_ENTRY_BYTES, SIZE_AND_MAGIC
from mqctl.store.log_writer import CommitLogWriter
from mqctl.store.queue_writer import ConsumeQueues, QueueWriter
from mqctl.store.record_writer import StoredRecord, checked_size, is_blank, is_name, read_record, store_time_of
from mqctl.store.set_aside import new_place

_WINDOW_BYTES = 4 << 20
_CHECKED_FILES = 3
_MAGICS = tuple(magic.to_bytes(4, "big", signed=magic < 0) for magic in (MAGIC_V1, MAGIC_V2))
_OFFSET_AT, _HEAD_BYTES = 28, 36
_STORE_TIME_BYTES = 88
_PLACE = Struct(">i24xq")
"""Of a record: its size and its physical offset."""

Dispatch = Callable[[StoredRecord], bool]
"""Puts a record into its consume queue and the index; tells whether it was new to the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What starting found and did.

    Attributes:
        clean: the last exit was a clean one.
        checked_from: physical offset at which records were checked first.
        checked_count: records checked.
        log_min, log_end: physical bounds of the log afterwards.
        cut_bytes: bytes behind the end that were written, and are no part of the log any more.
        set_aside: the directory that they are in now; None without any.
        sound_record_count: whole records among them.
        queue_count: consume queues.
        cut_queue_count: queues that pointed behind the log's end and were cut.
        dispatched_count: records that had to be put into their queues again.
    """

    clean: bool
    checked_from: int
    checked_count: int
    log_min: int
    log_end: int
    cut_bytes: int
    set_aside: str | None
    sound_record_count: int
    queue_count: int
    cut_queue_count: int
    dispatched_count: int


class RecordScan:
    """Goes through records from a physical offset on until something is none.

    Beyond the broker's own tests, a record must name the offset it stands at, and a topic that can name a directory.

    Attributes:
        position: behind the last record (or filler) accepted.
    """

    def __init__(self, log: CommitLogWriter, start: int, *, check_crc: bool, end: int | None = None) -> None:
        self.position = start
        self._log = log
        self._check_crc = check_crc
        self._end = end

    def __iter__(self) -> Iterator[StoredRecord]:
        """Reads the records."""
        while (self._end is None or self.position < self._end) and (window := self._window()):
            base = self.position
            while True:
                at = self.position - base
                record = read_record(window, at, len(window), check_crc=self._check_crc)
                if record is None or record.physical_offset != self.position or not self._is_whole(record):
                    break
                self.position += record.size_bytes
                yield record
            if not self._next_window(window, base):
                return

    def _is_whole(self, record: StoredRecord) -> bool:
        """Whether the parts without a checksum are there, too.

        Zeros in the properties are what was not written, unless a record goes on behind them: a client may send some.
        """
        if not is_name(record.topic):
            return False
        if "\0" not in record.properties:
            return True
        following = self.position + record.size_bytes
        head = self._log.read(following, _HEAD_BYTES)
        return is_blank(head, 0) or (
            head[4:8] in _MAGICS and int.from_bytes(head[_OFFSET_AT:_HEAD_BYTES], "big") == following
        )

    def count(self) -> int:
        """Counts the records without reading them, their checksums tested."""
        counted = 0
        while window := self._window():
            base = self.position
            view, limit = memoryview(window), len(window)
            while (size := checked_size(view, self.position - base, limit)) and size[1] == self.position:
                self.position += size[0]
                counted += 1
            if not self._next_window(window, base):
                break
        return counted

    def _window(self) -> bytes:
        """Reads from the position on, at least one whole record if there is one."""
        data = self._log.read(self.position, _WINDOW_BYTES)
        if len(data) >= SIZE_AND_MAGIC.size:
            size, magic = SIZE_AND_MAGIC.unpack_from(data)
            if (
                magic in (MAGIC_V1, MAGIC_V2)
                and len(data) < size <= self._log.file_bytes - self.position % self._log.file_bytes
            ):
                return self._log.read(self.position, size)
        return data

    def _next_window(self, window: bytes, base: int) -> bool:
        """Tells whether to go on where a window gave no further record, stepping over the filler of a full file."""
        at = self.position - base
        file_end = base - base % self._log.file_bytes + self._log.file_bytes
        if is_blank(window, at):
            if file_end > self._log.starts[-1]:
                return False
            self.position = file_end
            return True
        # A record, or its head, that only begins in this window is read whole with the next; one that began it is torn.
        return at > 0 and base + len(window) < file_end and not self._whole(window, at)

    @staticmethod
    def _whole(data: bytes, at: int) -> bool:
        if len(data) - at < SIZE_AND_MAGIC.size:
            return False
        size, magic = SIZE_AND_MAGIC.unpack_from(data, at)
        return magic not in (MAGIC_V1, MAGIC_V2) or at + size <= len(data)


def recover(
    log: CommitLogWriter,
    queues: ConsumeQueues,
    *,
    checkpoint: Checkpoint | None,
    clean: bool,
    dispatch: Dispatch,
    distrust: Callable[[], object],
    write_note: Callable[[SetAside], None],
) -> Recovery:
    """Brings a loaded log and loaded queues into agreement and sets their ends.

    Args:
        distrust: has the next start look at the whole log, should this one not come to its end.
        write_note: completes what is set aside.

    Raises:
        StorageError: a file cannot be read, cut, moved or copied.
    """
    start = _first_checked(log, checkpoint, clean=clean)
    scan = RecordScan(log, start, check_crc=True)
    checked = dispatched = 0
    if clean:
        checked = scan.count()
    else:
        dispatched -= _doubt_entries(log, queues, start)
        for record in scan:
            checked += 1
            dispatched += dispatch(record)
    aside = _end_at(log, scan.position, write_note)
    cut_queues = _cut_queues(log, queues)
    if clean:
        log.synced_to(log.position)
        known = max((queue.max_physical for queue in queues.table.values()), default=0)
        for record in RecordScan(log, max(known, log.min_offset), check_crc=False, end=log.position):
            dispatched += dispatch(record)
    else:
        flushed_to = checkpoint.confirm_physical_offset if checkpoint is not None else 0
        log.doubt(max(start, min(flushed_to, log.position)))
    if queues.incomplete:
        distrust()
        _complete(log, queues, dispatch)
    queues.doubt_names()
    queues.correct_min_offsets(log.min_offset)
    return Recovery(
        clean=clean,
        checked_from=start,
        checked_count=checked,
        log_min=log.min_offset,
        log_end=log.position,
        cut_bytes=aside.size_bytes if aside is not None else 0,
        set_aside=aside.place if aside is not None else None,
        sound_record_count=(aside.sound_record_count or 0) if aside is not None else 0,
        queue_count=len(queues.table),
        cut_queue_count=cut_queues,
        dispatched_count=dispatched,
    )


def _end_at(log: CommitLogWriter, position: int, write_note: Callable[[SetAside], None]) -> SetAside | None:
    """Ends the log, and returns what was set aside of it."""
    size_bytes = log.written_behind(position)
    aside = None
    if size_bytes:
        aside = SetAside(
            place=new_place(log.directory, position),
            reason="cut",
            physical_offset=position,
            size_bytes=size_bytes,
            sound_record_count=_sound_records_behind(log, position),
        )
    if log.starts:
        log.cut(position, aside.place if aside is not None else "")
    if aside is not None:
        write_note(aside)
    return aside


def _sound_records_behind(log: CommitLogWriter, position: int) -> int:
    """Counts the whole records behind what ends the log, each found by its magic and its own physical offset."""
    count = 0
    at = log.next_written(position)
    while at is not None:
        window = log.read(at, _WINDOW_BYTES)
        begin = _record_in(window, at)
        if begin is None:
            whole = len(window) < _WINDOW_BYTES  # up to the file's end: no record begins in its last bytes
            at = log.next_written(at + len(window) - (0 if whole else _HEAD_BYTES))
            continue
        scan = RecordScan(log, begin, check_crc=True)
        count += scan.count()
        at = log.next_written(max(scan.position, begin + 1))
    return count


def _record_in(window: bytes, base: int) -> int | None:
    """Returns the physical offset of the first record head in a window that begins at `base`."""
    at = window.find(_MAGICS[0][:3], 4)
    while at >= 0:
        if int.from_bytes(window[at + 24 : at + 32], "big") == base + at - 4 and window[at : at + 4] in _MAGICS:
            return base + at - 4
        at = window.find(_MAGICS[0][:3], at + 1)
    return None


def _first_checked(log: CommitLogWriter, checkpoint: Checkpoint | None, *, clean: bool) -> int:
    if not log.starts:
        return 0
    if clean:
        return log.starts[max(0, len(log.starts) - _CHECKED_FILES)]
    trusted_ms = checkpoint.recovery_time_ms if checkpoint is not None else 0
    flushed_to = checkpoint.confirm_physical_offset if checkpoint is not None else 0
    for start in reversed(log.starts):
        if flushed_to and start > flushed_to:
            continue  # whatever its store times say: the clock was set back since
        store_ms = store_time_of(log.read(start, _STORE_TIME_BYTES))
        if store_ms and store_ms <= trusted_ms:
            return start
    return log.starts[0]


def was_flushed(log: CommitLogWriter, checkpoint: Checkpoint | None, start: int) -> bool:
    """Tells whether a checkpoint says that the begin of a log file was on the disk. Raises StorageError."""
    if checkpoint is None:
        return False
    if checkpoint.confirm_physical_offset:
        return start < checkpoint.confirm_physical_offset
    store_ms = store_time_of(log.read(start, _STORE_TIME_BYTES))
    return store_ms is not None and 0 < store_ms <= checkpoint.physical_time_ms


def _doubt_entries(log: CommitLogWriter, queues: ConsumeQueues, start: int) -> int:
    """Takes back the entries whose records will be dispatched again, and returns how many.

    What the checkpoint does not vouch for may have reached the disk in any order: entries lie across blocks, and one
    whose half is missing looks like any other. One before `start` is believed when its record says the same.
    """
    doubted = 0
    for queue in queues.table.values():
        first, end = max(queue.first_file, 0) // QUEUE_ENTRY_BYTES, queue.max_offset
        offset = end
        while offset > first and not _is_sound(log, queues, queue, offset - 1, start):
            offset -= 1
        if offset < end:
            queues.end_at(queue, offset)
        doubted += end - offset
    return doubted


def _is_sound(log: CommitLogWriter, queues: ConsumeQueues, queue: QueueWriter, offset: int, start: int) -> bool:
    entry = queues.entry(queue, offset)
    if entry is None:
        return False
    physical, size, _ = entry
    if size == FILLER_SIZE:
        return True
    if physical < log.min_offset:  # expired; or half an entry, whose offset is lower than it was
        before = queues.entry(queue, offset - 1)
        return before is None or before[1] == FILLER_SIZE or before[0] + before[1] <= physical
    if physical + size > start:
        return False
    head = log.read(physical, _HEAD_BYTES)
    return len(head) == _HEAD_BYTES and _PLACE.unpack_from(head) == (size, physical)


def _complete(log: CommitLogWriter, queues: ConsumeQueues, dispatch: Dispatch) -> None:
    """Makes queues that turned out to miss entries anew, from the whole log.

    A power failure took a queue file before others, or brought back a part of a queue that was deleted.
    """
    keys = frozenset(queues.incomplete)
    for key in keys:
        queues.delete(queues.table[key])
    for record in RecordScan(log, log.min_offset, check_crc=False, end=log.position):
        if (record.topic, record.queue_id) in keys:
            dispatch(record)
    queues.incomplete.clear()


def _cut_queues(log: CommitLogWriter, queues: ConsumeQueues) -> int:
    """Drops entries that point behind the log's end; without a log, drops the queues."""
    if not log.starts:
        count = len(queues.table)
        for queue in list(queues.table.values()):
            queues.delete(queue)
        return count
    ahead = [queue for queue in queues.table.values() if queue.max_physical > log.position]
    for queue in ahead:
        queues.truncate(queue, log.position)
    return len(ahead)
