"""A log that follows another one: bytes come from outside, records are found in them.

Blocks are cut anywhere, also within a record; what is not whole waits for the rest. Queues and index are made here of
what came. Nobody who waits in a long poll is woken. Source: `DefaultMessageStore.appendToCommitLog` and
`ReputMessageService` of 4.9.8.
"""

from __future__ import annotations

import logging

from embedded_broker.log.store import Storage
from mqctl.store.layouts import MAGIC_V1, MAGIC_V2, SIZE_AND_MAGIC
from mqctl.store.record_writer import is_blank, read_record

log = logging.getLogger("embedded_broker")

_WINDOW_BYTES = 1 << 20


class FollowingLog:
    """Takes another log's bytes into a store.

    Attributes:
        dispatched: physical offset behind the last record that is in its queue.
        dispatched_count: records that were put into queues.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.dispatched = storage.log.position
        self.dispatched_count = 0

    @property
    def end(self) -> int:
        """Physical offset behind the last byte; 0 when there is none."""
        return self._storage.log.position

    def append(self, offset: int, data: bytes) -> bool:
        """Takes bytes for the end of the log; False when a file of it cannot hold them.

        Args:
            offset: where they belong; for an empty log any, else its end.

        Raises:
            DiskFullError, StorageError: the operating system refuses.
        """
        if not self._storage.log.append_copy(data, offset):
            return False
        if not self.dispatched:
            self.dispatched = offset
        self.dispatch()
        return True

    def dispatch(self) -> None:
        """Puts the records that are whole into their queues. Raises DiskFullError, StorageError."""
        log_writer, dispatcher = self._storage.log, self._storage.dispatcher
        while window := log_writer.read(self.dispatched, min(_WINDOW_BYTES, log_writer.position - self.dispatched)):
            window = self._whole_first(window)
            base = self.dispatched
            while True:
                record = read_record(window, self.dispatched - base, len(window), check_crc=False)
                if record is None or record.physical_offset != self.dispatched:
                    break
                self.dispatched_count += dispatcher.again(record)
                self.dispatched += record.size_bytes
            if is_blank(window, self.dispatched - base):
                file_end = base - base % log_writer.file_bytes + log_writer.file_bytes
                if file_end > log_writer.position:
                    return
                self.dispatched = file_end
            elif self.dispatched == base:
                return

    def _whole_first(self, window: bytes) -> bytes:
        """Returns the window, or its first record alone where that is longer and has come whole."""
        if len(window) < SIZE_AND_MAGIC.size:
            return window
        size, magic = SIZE_AND_MAGIC.unpack_from(window)
        if magic in (MAGIC_V1, MAGIC_V2) and len(window) < size <= self._storage.log.position - self.dispatched:
            return self._storage.log.read(self.dispatched, size)
        return window
