"""Bringing a store to the disk: by interval in the background, or before a message is acknowledged.

What is written is in the operating system's cache at once and survives the death of the process; flushing is about
the machine. Source: `FlushRealTimeService`, `GroupCommitService`, `FlushConsumeQueueService` of 4.9.8.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from embedded_broker.clock import Clock, Periodic
from embedded_broker.log.reput import RecordDispatcher
from embedded_broker.log.settings import SYNC_FLUSH, StoreSettings
from mqctl.errors import StorageError
from mqctl.store.checkpoint import Checkpoint, format_checkpoint
from mqctl.store.disk import Disk, datasync, sync_path
from mqctl.store.index_writer import IndexFiles
from mqctl.store.log_writer import CommitLogWriter
from mqctl.store.own_files import open_own

log = logging.getLogger("embedded_broker")

Durable = Callable[[StorageError | None], object]
"""Told that what was appended is on disk, or why it is not."""
Defer = Callable[[Callable[[], object]], object]
"""Has a function called a little later, when what is going on now is done (an event loop's `call_soon`)."""


def at_once(function: Callable[[], object]) -> object:
    """The `Defer` of those who have no event loop."""
    return function()


class Flusher:
    """Flushes one store."""

    def __init__(
        self,
        directory: str,
        parts: tuple[Disk, CommitLogWriter, RecordDispatcher, IndexFiles],
        settings: StoreSettings,
        clock: Clock,
        defer: Defer,
    ) -> None:
        self._path = f"{directory}/checkpoint"
        self._disk, self._log, self._dispatcher, self._index = parts
        self._settings = settings
        self._clock = clock
        self._defer = defer
        self._waiting: list[Durable] = []
        self._timer: Periodic | None = None
        self._thread: threading.Thread | None = None
        self._failed: list[str] = []
        self._syncing_to = 0
        self._thorough_due_ms = 0
        self._troubled = False

    def start(self, checkpoint: Checkpoint | None) -> None:
        """Begins to flush by interval."""
        if checkpoint is not None:
            self._index.full_ms = max(self._index.full_ms, checkpoint.index_time_ms)
            self._dispatcher.newest_ms = max(self._dispatcher.newest_ms, checkpoint.physical_time_ms)
        self._thorough_due_ms = self._clock.now_ms() + self._settings.flush_consume_queue_thorough_interval
        period_ms = self._settings.flush_interval_commit_log
        self._timer = Periodic(self._clock, period_ms, self._tick, first_ms=period_ms)

    def stop(self) -> None:
        """Ends flushing by interval; a flush under way is waited for."""
        if self._timer is not None:
            self._timer.cancel()
        self._dispatcher.stop()
        if self._thread is not None:
            self._thread.join()

    # By interval

    def _tick(self) -> None:
        try:
            self._dispatcher.write_some()
            if self._waiting or (self._thread is not None and self._thread.is_alive()):
                return  # those who wait sync what they wait for
            self._settle()
            thorough = self._clock.now_ms() >= self._thorough_due_ms
            paths = self._paths(thorough=thorough)
        except StorageError as error:
            self._trouble(error)
            return
        self._troubled = False
        if not paths and not thorough:
            return
        times = None
        if thorough:
            self._thorough_due_ms = self._clock.now_ms() + self._settings.flush_consume_queue_thorough_interval
            times = self._times()
        self._syncing_to = self._log.position
        self._thread = threading.Thread(target=self._sync_paths, args=(paths, times), name="FlushStore", daemon=True)
        self._thread.start()

    def _paths(self, *, thorough: bool) -> list[str]:
        """Returns what is to be synced in the background.

        With SYNC_FLUSH the log is not: who waits for a message needs to know of everything before it that failed.
        """
        if self._settings.flush_disk_type == SYNC_FLUSH:
            self._log.sync()
            return self._disk.take_unsynced() if thorough else []
        paths = self._log.take_unsynced()
        return paths + self._disk.take_unsynced() if thorough else paths

    def _settle(self) -> None:
        """Takes over what the last flush in the background came to."""
        if self._thread is None:
            return
        self._thread = None
        if not self._failed:
            self._log.synced_to(self._syncing_to)
            return
        self._disk.unsynced.update(self._failed)
        self._disk.spoilt.update(self._failed)
        self._log.not_synced(self._failed)
        self._failed.clear()

    def _times(self) -> Checkpoint:
        return Checkpoint(
            physical_time_ms=self._dispatcher.newest_ms,
            queue_time_ms=self._dispatcher.newest_ms,
            index_time_ms=self._index.full_ms,
            confirm_physical_offset=self._log.position,
        )

    def _sync_paths(self, paths: list[str], times: Checkpoint | None) -> None:
        """Runs in a thread of its own, for syncing may take long. It opens the files itself: `Disk` is the loop's."""
        for path in paths:
            try:
                sync_path(path)
            except OSError as error:
                self._failed.append(path)
                log.error("could not flush %s: %s", path, error.strerror)
        if times is not None and not self._failed and not self._disk.spoilt:
            try:
                self._write_checkpoint(times)
            except StorageError as error:
                log.error("%s", error)

    def _trouble(self, error: StorageError) -> None:
        if not self._troubled:
            self._troubled = True
            log.error("%s", error)

    # On demand

    def when_durable(self, then: Durable) -> None:
        """Calls `told` when what was appended so far may be acknowledged.

        With ASYNC_FLUSH that is now. With SYNC_FLUSH, all who wait when the deferred flush runs share one: the more
        come in meanwhile, the fewer flushes a message.
        """
        if self._settings.flush_disk_type != SYNC_FLUSH:
            then(None)
            return
        self._waiting.append(then)
        if len(self._waiting) == 1:
            self._defer(self._commit)

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        outcome: StorageError | None = None
        try:
            self._log.sync()
        except StorageError as error:
            outcome = error
            log.error("could not flush the commit log: %s", error)
        try:
            while waiting:
                waiting.pop(0)(outcome)
        finally:
            if waiting:  # one who was told failed: the others still wait for their answer
                self._waiting[:0] = waiting
                self._defer(self._commit)

    def sync_log(self) -> None:
        """Makes every record durable now, those included that a flush in the background has taken on.

        Raises:
            DiskFullError, StorageError: the operating system could not.
        """
        if self._settings.flush_disk_type != SYNC_FLUSH:
            self._join()
        self._log.sync()

    def _join(self) -> None:
        """Waits for the flush in the background: what it failed to bring to the disk is to be written again."""
        if self._thread is not None:
            self._thread.join()
        self._settle()

    def flush(self) -> None:
        """Writes out and syncs everything, and the checkpoint with it.

        Raises:
            DiskFullError, StorageError: some of it is not on the disk. That is so for good when queues or the index
                could not be synced once: the system may have dropped what it failed to write, so only a recovery, which
                writes it again, makes a checkpoint true.
        """
        self._join()
        self._dispatcher.write_out()
        self._log.sync()
        self._disk.sync()
        if self._disk.spoilt:
            raise StorageError(
                f"could not write {self._path}",
                reason="an earlier flush failed, and what it dropped is not known",
                remedy="start the broker again: it recovers from the last checkpoint",
            )
        self._write_checkpoint(self._times())

    def _write_checkpoint(self, times: Checkpoint) -> None:
        path = Path(self._path)
        try:
            is_new = not path.exists()
            descriptor = open_own(path, 0o644)
            try:
                os.pwrite(descriptor, format_checkpoint(times), 0)
                datasync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                sync_path(str(path.parent))
        except OSError as error:
            raise StorageError(f"could not write {self._path}", reason=error.strerror or str(error)) from error
