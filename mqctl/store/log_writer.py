"""Appending to a commit log: files of one size, closed by a filler, created sparse as they are needed.

Source: `CommitLog`, `MappedFileQueue` and `MappedFile` of 4.9.8. The broker writes through a mapping; here it is
`pwrite`, so that a full disk is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise

from mqctl.errors import StorageError
from mqctl.model.storage_state import SetAside
from mqctl.store.disk import Disk
from mqctl.store.layouts import BLANK_BYTES, COMMIT_LOG_FILE_BYTES, FILE_NAME_DIGITS
from mqctl.store.record_writer import MessageRefused, blank
from mqctl.store.set_aside import new_place, write_note
from mqctl.text import sentence

_RENEWED_BYTES = 1 << 20


def file_starts(directory: str) -> list[int]:
    """Lists the start offsets of the files in `directory`, ascending; a missing directory has none."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(name) for name in names if len(name) == FILE_NAME_DIGITS and name.isascii() and name.isdigit())


def file_runs(directory: str, file_bytes: int) -> list[list[int]]:
    """Lists the start offsets of the files in `directory`, ascending, split where one is missing; one list at least."""
    runs: list[list[int]] = [[]]
    for start in file_starts(directory):
        if runs[-1] and start - runs[-1][-1] != file_bytes:
            runs.append([])
        runs[-1].append(start)
    return runs


class CommitLogWriter:
    """The commit log of a running broker.

    Attributes:
        position: physical offset behind the last record.
        starts: start offsets of its files, ascending.
    """

    __slots__ = (
        "_disk", "_durable", "_has_deleted", "_limit", "_path", "_soiled", "_start", "_written", "directory",
        "file_bytes", "position", "starts",
    )  # fmt: skip

    def __init__(self, directory: str, disk: Disk, *, file_bytes: int = COMMIT_LOG_FILE_BYTES) -> None:
        self.directory = directory
        self.file_bytes = file_bytes
        self.starts = file_starts(directory)
        self.position = self.starts[-1] + file_bytes if self.starts else 0
        self._disk = disk
        self._start = self._limit = -1
        self._path = ""
        self._written: set[str] = set()
        self._durable = self.min_offset
        self._has_deleted = False
        self._soiled = 0  # bytes behind the end in which a write that failed may have left something

    def check(self, was_flushed: Callable[[int], bool], *, now_ms: int) -> list[str]:
        """Makes sure that the files have the configured size and follow one another.

        What stands before a gap was deleted once, and is there again since the power failed before its directory was on
        the disk; what stands behind one came so late that a file before it was lost in that way. A file may be missing
        for other reasons, so the one or the other part is set aside, not deleted.

        Args:
            was_flushed: tells whether a checkpoint says that the file that starts at an offset was on the disk.

        Returns:
            the directories that the files went to.

        Raises:
            ConfigurationError: they have another size.
            StorageError: the operating system refuses.
        """
        for start in self.starts:
            self._disk.check_size(self.path(start), self.file_bytes, "mappedFileSizeCommitLog")
        moved: list[str] = []
        while gaps := [after for before, after in pairwise(self.starts) if after - before != self.file_bytes]:
            first, is_older = gaps[-1], was_flushed(gaps[-1])
            beyond = [start for start in self.starts if (start < first) is is_older]
            place = new_place(self.directory, beyond[0])
            for start in beyond:
                self._disk.move(self.path(start), f"{place}/commitlog/{start:020d}")
                self.starts.remove(start)
            size = len(beyond) * self.file_bytes
            note = SetAside(place=place, reason="gap", at_ms=now_ms, physical_offset=beyond[0], size_bytes=size)
            write_note(self._disk, note)
            moved.append(place)
        if moved:
            self.position, self._durable = self.starts[-1] + self.file_bytes, self.min_offset
        return moved

    @property
    def min_offset(self) -> int:
        """Physical offset of the first byte kept."""
        return self.starts[0] if self.starts else 0

    @property
    def durable(self) -> int:
        """Physical offset before which everything is known to be synced."""
        return self._durable

    def path(self, physical_offset: int) -> str:
        """Names the file that covers `physical_offset`, whether it exists or not."""
        return f"{self.directory}/{physical_offset - physical_offset % self.file_bytes:020d}"

    def place(self, size_bytes: int) -> int:
        """Makes room for `size_bytes` in one file, closing the current file if need be, and returns where.

        Raises:
            MessageRefused: no file of this log can hold as much.
            DiskFullError, StorageError: the next file cannot be made, or the filler cannot be written.
        """
        position = self.position
        if position + size_bytes <= self._limit and position >= self._start:
            return position
        if size_bytes + BLANK_BYTES > self.file_bytes:
            raise MessageRefused(
                sentence(
                    "store-could-not-store-bytes",
                    "could not store {size_bytes:byte} in one piece",
                    size_bytes=size_bytes,
                ),
                reason=sentence("store-log-file-bytes", "a log file has {file_bytes:byte}", file_bytes=self.file_bytes),
            )
        start = position - position % self.file_bytes
        left = start + self.file_bytes - position
        if position == start or size_bytes + BLANK_BYTES <= left:
            self._enter(start)
            return position
        self._enter(start + self.file_bytes)
        self._put(self.path(position), blank(left), position - start)
        self.position = start + self.file_bytes
        return self.position

    def _enter(self, start: int) -> None:
        path = f"{self.directory}/{start:020d}"
        if not self.starts or self.starts[-1] < start:
            self._disk.create(path, self.file_bytes)
            self._written.add(self.directory)
            self.starts.append(start)
        self._start, self._limit, self._path = start, start + self.file_bytes - BLANK_BYTES, path

    def write(self, record: bytes, physical_offset: int) -> None:
        """Writes `record` where `place` said.

        What a write that fails leaves is wiped out before anything else is written there: a part of one record over the
        rest of another may look like a whole one, for only bodies have a checksum.

        Raises:
            DiskFullError, StorageError: nothing was appended.
        """
        self._put(self._path, record, physical_offset - self._start)
        self.position = physical_offset + len(record)

    def append_copy(self, data: bytes, physical_offset: int) -> bool:
        """Appends bytes of another log that lie at the same place there; an empty log begins with them.

        Returns:
            False when a file of this log ends within them, or they are not for its end; nothing was appended.

        Raises:
            DiskFullError, StorageError: nothing was appended.
        """
        start = physical_offset - physical_offset % self.file_bytes
        if physical_offset + len(data) > start + self.file_bytes or (self.starts and physical_offset != self.position):
            return False
        self._enter(start)
        if data:
            self.write(data, physical_offset)
        self.position = physical_offset + len(data)
        return True

    def _put(self, path: str, data: bytes, at: int) -> None:
        if self._soiled:
            self._wipe(path, at)
        self._written.add(path)  # whatever comes of it: no other flush is to take the file
        try:
            self._disk.write(path, data, at)
        except StorageError:
            self._soiled = len(data)
            with suppress(StorageError):  # the next write tries again
                self._wipe(path, at)
            raise

    def sync(self) -> None:
        """Makes every record durable, however many other files of the store wait for that.

        Raises:
            DiskFullError, StorageError: the operating system could not; the next call tries the same files again.
        """
        for path in sorted(self._written):
            self._renew(path)
            self._disk.sync_file(path)
            self._written.discard(path)
        self._durable = self.position

    def take_unsynced(self) -> list[str]:
        """Returns the files to sync, for the caller to do it; they count as synced until `not_synced`.

        Raises:
            DiskFullError, StorageError: what an earlier sync failed to bring to the disk cannot be written again.
        """
        for path in sorted(self._written):
            self._renew(path)
        taken = sorted(self._written)
        self._written.clear()
        self._disk.unsynced.difference_update(taken)
        return taken

    def not_synced(self, paths: Iterable[str]) -> None:
        """Takes back those of some files that are its own."""
        self._written.update(path for path in paths if path.startswith(self.directory))

    def synced_to(self, physical_offset: int) -> None:
        """Notes that everything before `physical_offset` is durable."""
        self._durable = max(self._durable, physical_offset)

    def doubt(self, physical_offset: int) -> None:
        """Has the next sync include the files from `physical_offset` on, which a process that died may not have synced.

        They are written again for it: if a sync of that process failed, the system takes what it dropped for written. A
        later file is of no use when the end of the one before it is lost.
        """
        self._durable = min(self._durable, physical_offset)
        doubtful = [self.path(start) for start in self.starts if start + self.file_bytes > physical_offset]
        self._written.update(doubtful)
        self._disk.spoilt.update(doubtful)
        if self._written:
            self._written.add(self.directory)

    def _renew(self, path: str) -> None:
        """Writes again what a failed sync may have dropped: the system counts it as written, and would not try again.

        It is read back from the system's cache, soon enough after the failure for it to be there.
        """
        if path not in self._disk.spoilt:
            return
        if path != self.directory:
            start = int(path.rpartition("/")[2])
            begin, end = max(start, self._durable), min(start + self.file_bytes, self.position)
            for at in range(begin, end, _RENEWED_BYTES):
                data = self._disk.read(path, min(_RENEWED_BYTES, end - at), at - start)
                self._disk.overwrite(path, data, at - start)
        self._disk.spoilt.discard(path)

    def _wipe(self, path: str, at: int) -> None:
        """Overwrites with zeros what failed writes left at the end of the log; the blocks they reached are there."""
        left = self._disk.read(path, self._soiled, at).rstrip(b"\0")
        if left:
            self._disk.overwrite(path, bytes(len(left)), at)
        self._soiled = 0

    def read(self, physical_offset: int, size_bytes: int) -> bytes:
        """Reads up to `size_bytes` that lie in one file; nothing when no file covers the offset.

        Raises:
            StorageError: the operating system refuses.
        """
        if not self.starts or not self.starts[0] <= physical_offset < self.starts[-1] + self.file_bytes:
            return b""
        at = physical_offset % self.file_bytes
        return self._disk.read(self.path(physical_offset), min(size_bytes, self.file_bytes - at), at)

    def written_behind(self, physical_offset: int) -> int:
        """Returns the number of bytes written behind `physical_offset`, counted up to the last that is not zero.

        Raises:
            StorageError: a file cannot be read.
        """
        behind = [start for start in self.starts if start + self.file_bytes > physical_offset]
        return sum(self._disk.written_from(self.path(start), max(0, physical_offset - start)) for start in behind)

    def next_written(self, physical_offset: int) -> int | None:
        """Returns where something is written next, at or behind `physical_offset`; None when nothing is.

        Raises:
            StorageError: a file cannot be read.
        """
        for start in [one for one in self.starts if one + self.file_bytes > physical_offset]:
            at = self._disk.next_data(self.path(start), max(0, physical_offset - start))
            if at is not None:
                return start + at
        return None

    def cut(self, physical_offset: int, place: str) -> None:
        """Ends the log at `physical_offset`; what is written behind it goes to `place`, before it goes from here.

        A crash in the middle leaves all of it in the one place or the other, and the next recovery goes on.

        Raises:
            DiskFullError, StorageError: a file cannot be moved, copied or written.
        """
        if self.starts and self.starts[0] <= physical_offset < self.starts[-1] + self.file_bytes:
            self._copy_tail(physical_offset, place)
        for start in reversed([one for one in self.starts if one >= physical_offset and one > self.min_offset]):
            path = f"{self.directory}/{start:020d}"
            if self._disk.written_from(path, 0):
                self._disk.move(path, f"{place}/commitlog/{start:020d}")
            else:
                self._disk.delete(path)
                self._has_deleted = True
            self._written.discard(path)
            self.starts.remove(start)
            self.settle_deletions()
        if self.starts and self.starts[0] <= physical_offset < self.starts[-1] + self.file_bytes:
            path = self.path(physical_offset)
            self._disk.clear_from(path, physical_offset % self.file_bytes)
            if path in self._disk.unsynced:
                self._written.add(path)
        self.position = physical_offset
        self._durable = min(self._durable, physical_offset)
        self._start = self._limit = -1

    def _copy_tail(self, physical_offset: int, place: str) -> None:
        path, at = self.path(physical_offset), physical_offset % self.file_bytes
        if at or physical_offset == self.min_offset:
            self._disk.copy_from(path, at, f"{place}/commitlog/{physical_offset:020d}")

    def drop_first(self) -> int:
        """Deletes the oldest file and returns the new minimum offset. Raises DiskFullError, StorageError."""
        self.settle_deletions()
        path = self.path(self.starts[0])
        self._disk.delete(path)
        self.starts.pop(0)
        self._written.discard(path)
        self._has_deleted = True
        self.settle_deletions()
        return self.min_offset

    def settle_deletions(self) -> None:
        """Makes sure that what was deleted stays so, before anything else is.

        A file that a power failure brings back would stand before a gap, or without the queues that led to it, or would
        follow the log's new end with records that were cut off.

        Raises:
            DiskFullError, StorageError: the operating system could not; the next call tries again.
        """
        if self._has_deleted:
            self._written.add(self.directory)
            self._renew(self.directory)
            self._disk.sync_file(self.directory)
            self._written.discard(self.directory)
            self._has_deleted = False
