"""What a broker deletes: commit log files past their time, and the queue and index files that led to them.

Whole files go, oldest first, never the newest. Source: `CleanCommitLogService`, `CleanConsumeQueueService` of 4.9.8.
"""

from __future__ import annotations

import logging
import os
from datetime import datetime
from pathlib import Path

from embedded_broker.clock import Clock, Periodic
from embedded_broker.log.settings import StoreSettings
from mqctl.errors import StorageError
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.model.numbers import decimal
from mqctl.model.spans import HOUR_MS
from mqctl.store.ext_queue import ExtQueues
from mqctl.store.index_writer import IndexFiles
from mqctl.store.layouts import EXT_ADDRESS_LIMIT
from mqctl.store.log_writer import CommitLogWriter
from mqctl.store.queue_writer import ConsumeQueues
from mqctl.store.record_writer import store_time_of

log = logging.getLogger("embedded_broker")

_FIRST_MS = 60_000
_FILES_PER_PASS = 10
_PASSES_ON_DEMAND = 20
_RECORD_HEAD_BYTES = 88


class Retention:
    """Deletes what is past its time.

    Attributes:
        disk_full: the disk is fuller than `disk_space_warning_level_ratio` allows; sends are refused meanwhile.
    """

    def __init__(
        self,
        parts: tuple[CommitLogWriter, ConsumeQueues, IndexFiles, ExtQueues],
        settings: StoreSettings,
        clock: Clock,
    ) -> None:
        self.disk_full = False
        self._log, self._queues, self._index, self._ext = parts
        self._settings = settings
        self._clock = clock
        self._timer: Periodic | None = None

    def start(self) -> None:
        """Begins to look every `clean_resource_interval`."""
        period_ms = self._settings.clean_resource_interval
        self._timer = Periodic(self._clock, period_ms, self._tick, first_ms=_FIRST_MS)

    def stop(self) -> None:
        """Ends looking."""
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        settings = self._settings
        try:
            used_percent = self.used_percent()
            self.disk_full = 0 < settings.disk_space_warning_level_ratio < used_percent
            if self._is_time() or used_percent > settings.disk_max_used_space_ratio:
                self._delete_expired(_FILES_PER_PASS)
            if 0 < settings.disk_space_clean_forcibly_ratio < used_percent:
                self._delete_oldest(_FILES_PER_PASS)
            self.follow_log()
        except StorageError as error:
            log.error("%s", error)

    def used_percent(self) -> int:
        """How full the commit log's disk is, rounded up, as a user without privileges sees it."""
        try:
            status = os.statvfs(self._log.directory)
        except OSError as error:
            raise StorageError(
                f"could not ask for room in {self._log.directory}", reason=str(error.strerror)
            ) from error
        used = status.f_blocks - status.f_bfree
        return -(-100 * used // max(1, used + status.f_bavail))

    def _is_time(self) -> bool:
        local = datetime.fromtimestamp(self._clock.now_ms() / 1_000)  # noqa: DTZ006 - deleteWhen is in local hours
        return local.hour in {decimal(hour.strip()) for hour in self._settings.delete_when.split(";")}

    # Commit log

    def delete_expired(self) -> int:
        """Deletes all files past their time now, whatever the hour, and returns their number. Raises StorageError."""
        deleted = self._delete_expired(_FILES_PER_PASS * _PASSES_ON_DEMAND)
        self.follow_log()
        return deleted

    def delete_all_but_the_newest(self, keep: int = 1) -> None:
        """Deletes all files but the newest ones now, whatever their age. Raises StorageError."""
        self._delete_oldest(len(self._log.starts) - keep)
        self.follow_log()

    def _delete_expired(self, most: int) -> int:
        deleted = 0
        reserved_ms = self._settings.file_reserved_time * HOUR_MS
        while deleted < most and len(self._log.starts) > 1:
            if self._clock.now_ms() - self._closed_ms(self._log.starts[0], self._log.starts[1]) < reserved_ms:
                break
            self._delete_oldest(1)
            deleted += 1
        return deleted

    def _closed_ms(self, start: int, following: int) -> int:
        """When the file that starts at `start` was written last, by the file system or by the next file's first record.

        The later counts: a broker's clock may run faster than the file system's.
        """
        next_ms = store_time_of(self._log.read(following, _RECORD_HEAD_BYTES)) or self._clock.now_ms()
        try:
            return max(next_ms, Path(self._log.path(start)).stat().st_mtime_ns // 1_000_000)
        except FileNotFoundError:
            return next_ms

    def _delete_oldest(self, most: int) -> None:
        while most > 0 and len(self._log.starts) > 1 and self._log.starts[1] <= self._log.position:
            log.info("deleting the commit log file that starts at %d", self._log.starts[0])
            self._log.drop_first()
            most -= 1

    # What followed it

    def follow_log(self) -> None:
        """Deletes queue and index files that lead nowhere any more, and corrects minimum offsets.

        Raises:
            StorageError: a file cannot be read or deleted.
        """
        self._log.settle_deletions()
        log_min = self._log.min_offset
        self._index.drop_before(log_min)
        for queue in self._queues.table.values():
            entry = self._queues.entry(queue, queue.min_offset)
            if entry is not None and entry[0] < log_min:
                self._queues.drop_before(queue, log_min)
                self._queues.correct_min_offset(queue, log_min)
                first = self._queues.entry(queue, queue.min_offset)
                if first is not None and first[2] <= EXT_ADDRESS_LIMIT:
                    self._ext.drop_before(queue.topic, queue.queue_id, first[2])

    def delete_expired_queues(self) -> int:
        """Removes queues of which no record is left (they begin at offset 0 again); returns how many.

        The schedule topic's stay: their offsets are kept elsewhere.

        Raises:
            StorageError: a file cannot be deleted.
        """
        expired = [
            queue
            for queue in self._queues.table.values()
            if queue.topic != SCHEDULE_TOPIC and 0 < queue.max_physical <= self._log.min_offset
        ]
        for queue in expired:
            self._queues.delete(queue)
            self._ext.delete(queue.topic, queue.queue_id)
        return len(expired)
