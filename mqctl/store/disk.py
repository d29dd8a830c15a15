"""The file layer under the appenders: plain positioned reads and writes, few open files, a full disk as an error.

Nothing is mapped for writing, so that a disk that fills up is an error of one call and never a signal. The number of
open files is bounded: a store of 100,000 queues has more files than a process may open.
"""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mqctl.errors import ConfigurationError, StorageError
from mqctl.text import sentence

_FULL = (errno.ENOSPC, errno.EDQUOT)
datasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
"""Makes a file's data durable; macOS has only the call that takes its times along."""
OPEN_FILES = 256
_FEWEST_FILES = 4
_NEW_DIRECTORIES = 4  # a queue's, its topic's, and what they are entered in
_CLEAR_BYTES = 1 << 20


class DiskFullError(StorageError):
    """There is no room for what was to be written; nothing was acknowledged, and a later try may succeed."""

    def __init__(self, path: str) -> None:
        super().__init__(
            sentence("could-not-write", "could not write {path}", path=path),
            reason=sentence("store-no-space-left", "no space left on the disk"),
            remedy=sentence("store-free-space-broker-then", "free space; the broker then continues"),
        )


class Disk:
    """Opens, reads, writes and syncs the files of one store.

    Attributes:
        free_bytes: room that is left, for tests and fault injection; None is whatever the real disk has. A write
            beyond it ends short and raises DiskFullError, as the operating system does it.
        unsynced: files that were written since they were synced, and directories with new files.
        spoilt: files whose sync failed. The system counts what it could not write as written and does not try again,
            so a later sync that works says nothing of them until they are written again.
    """

    __slots__ = ("_capacity", "_files", "free_bytes", "spoilt", "unsynced")

    def __init__(self, *, open_files: int = OPEN_FILES) -> None:
        self.free_bytes: int | None = None
        self._capacity = open_files
        self._files: OrderedDict[str, int] = OrderedDict()
        self.unsynced: set[str] = set()
        self.spoilt: set[str] = set()

    def create(self, path: str, size_bytes: int) -> None:
        """Makes sure that `path` exists with `size_bytes`, sparse; directories above it are made.

        Raises:
            DiskFullError, StorageError: the operating system refuses.
        """
        if self.free_bytes is not None and self.free_bytes <= 0:
            raise DiskFullError(path)
        try:
            try:
                descriptor = self._open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            except FileNotFoundError:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                self.unsynced.update(str(parent) for parent in Path(path).parents[1:_NEW_DIRECTORIES])
                descriptor = self._open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            if os.fstat(descriptor).st_size != size_bytes:
                os.ftruncate(descriptor, size_bytes)
                self.unsynced.add(str(Path(path).parent))
        except OSError as error:
            raise _failure(path, error) from error

    def check_size(self, path: str, size_bytes: int, setting: str) -> None:
        """Makes sure that an existing file has the configured size.

        An empty one was about to be made when the broker died; it gets its size.

        Args:
            setting: what configures the size, for the error.

        Raises:
            ConfigurationError: the file was written under another setting; a real broker does not start then, either.
            DiskFullError, StorageError: the operating system refuses.
        """
        try:
            size = os.fstat(self.descriptor(path)).st_size
        except OSError as error:
            raise _failure(path, error) from error
        if size == 0:
            self.create(path, size_bytes)
        elif size != size_bytes:
            raise ConfigurationError(
                sentence("could-not-open", "could not open {path}", path=path),
                reason=sentence(
                    "store-bytes-says",
                    "it has {size:byte}, {setting} says {size_bytes:,}",
                    size=size,
                    setting=setting,
                    size_bytes=size_bytes,
                ),
                remedy=sentence(
                    "start-store-written", "start with the {setting} that the store was written with", setting=setting
                ),
            )

    def descriptor(self, path: str) -> int:
        """Returns an open descriptor for an existing file, closing the one that was not used for longest.

        Raises:
            StorageError: the operating system refuses.
        """
        files = self._files
        known = files.get(path)
        if known is not None:
            files.move_to_end(path)
            return known
        try:
            return self._open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise _failure(path, error) from error

    def _open(self, path: str, flags: int) -> int:
        """Opens a file and keeps it open. Raises OSError."""
        self._forget(path)
        try:
            opened = os.open(path, flags | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            if error.errno != errno.EMFILE or len(self._files) <= _FEWEST_FILES:
                raise
            # Connections took the descriptors: the store makes do with half of its own from now on.
            self._capacity = len(self._files) // 2
            self._shrink()
            return self._open(path, flags)
        self._files[path] = opened
        self._shrink()
        return opened

    def _forget(self, path: str) -> None:
        """Closes `path` if it is open."""
        descriptor = self._files.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)

    def _shrink(self) -> None:
        while len(self._files) > self._capacity:
            _, oldest = self._files.popitem(last=False)
            os.close(oldest)

    def write(self, path: str, data: bytes | bytearray, position: int) -> None:
        """Writes all of `data` at `position` of an existing file.

        Raises:
            DiskFullError: there is no room; part of `data` may have been written.
            StorageError: the operating system refuses otherwise.
        """
        descriptor = self.descriptor(path)
        self.unsynced.add(path)
        if self.free_bytes is not None:
            self._write_within(path, descriptor, data, position)
            return
        try:
            written = os.pwrite(descriptor, data, position)
            while written < len(data):
                written += os.pwrite(descriptor, data[written:], position + written)
        except OSError as error:
            raise _failure(path, error) from error

    def _write_within(self, path: str, descriptor: int, data: bytes | bytearray, position: int) -> None:
        room = self.free_bytes or 0
        piece = data[:room]
        os.pwrite(descriptor, piece, position)
        self.free_bytes = room - len(piece)
        if len(piece) < len(data):
            raise DiskFullError(path)

    def write_each(self, path: str, pieces: Iterable[tuple[int, bytes]]) -> None:
        """Writes (position, data) pairs to one file.

        Raises:
            DiskFullError: there is no room; some pieces may have been written.
            StorageError: the operating system refuses otherwise.
        """
        if self.free_bytes is not None:
            for position, data in pieces:
                self.write(path, data, position)
            return
        descriptor = self.descriptor(path)
        self.unsynced.add(path)
        pwrite = os.pwrite
        try:
            for position, data in pieces:
                if pwrite(descriptor, data, position) < len(data):
                    self.write(path, data, position)
        except OSError as error:
            raise _failure(path, error) from error

    def read_each(self, path: str, size: int, positions: Iterable[int]) -> list[bytes]:
        """Reads `size` bytes at each of some positions of one file. Raises StorageError."""
        descriptor = self.descriptor(path)
        pread = os.pread
        try:
            return [pread(descriptor, size, position) for position in positions]
        except OSError as error:
            raise _failure(path, error) from error

    def overwrite(self, path: str, data: bytes, position: int) -> None:
        """Writes where blocks are there already, which a full disk does not prevent.

        Raises:
            StorageError: the operating system refuses.
        """
        room, self.free_bytes = self.free_bytes, None
        try:
            self.write(path, data, position)
        finally:
            self.free_bytes = room

    def clear_from(self, path: str, position: int) -> int:
        """Overwrites with zeros whatever is written behind `position`; holes stay holes. Returns how much it was.

        Raises:
            StorageError: the operating system refuses.
        """
        cleared = 0
        for at, data in self._written_from(path, position):
            self.overwrite(path, bytes(len(data)), at)
            cleared += len(data)
        return cleared

    def copy_from(self, path: str, position: int, target: str) -> int:
        """Copies what is written behind `position` into a new file, which begins there; returns how much it was.

        Raises:
            DiskFullError: there is no room for the copy.
            StorageError: the operating system refuses otherwise.
        """
        copied = 0
        for at, data in self._written_from(path, position):
            if not copied:
                self.create(target, os.fstat(self.descriptor(path)).st_size - position)
            self.write(target, data, at - position)
            copied += len(data)
        if copied:
            self.sync_file(target)
        return copied

    def written_from(self, path: str, position: int) -> int:
        """Returns how much is written behind `position`. Raises StorageError."""
        return sum(len(data) for _, data in self._written_from(path, position))

    def _written_from(self, path: str, position: int) -> Iterator[tuple[int, bytes]]:
        """Reads what is written behind `position` piece by piece, without the zeros at each one's end."""
        descriptor = self.descriptor(path)
        end = os.fstat(descriptor).st_size
        while position < end and (data_at := self.next_data(path, position)) is not None:
            position = data_at
            try:
                hole = os.lseek(descriptor, position, os.SEEK_HOLE)
            except OSError as error:
                raise _failure(path, error) from error
            while position < hole:
                size = min(_CLEAR_BYTES, hole - position)
                data = self.read(path, size, position).rstrip(b"\0")
                if data:
                    yield position, data
                position += size

    def next_data(self, path: str, position: int) -> int | None:
        """Returns where something was written next, at or behind `position`; None when only a hole is left.

        Raises:
            StorageError: the operating system refuses.
        """
        try:
            return os.lseek(self.descriptor(path), position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return None
            raise _failure(path, error) from error

    def read(self, path: str, size: int, position: int) -> bytes:
        """Reads up to `size` bytes from `position`.

        Raises:
            StorageError: the operating system refuses.
        """
        descriptor = self.descriptor(path)
        try:
            data = os.pread(descriptor, size, position)
            while len(data) < size:
                more = os.pread(descriptor, size - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise _failure(path, error) from error
        return data

    def take_unsynced(self) -> list[str]:
        """Returns what is to be synced, for the caller to do it; it counts as synced from now on."""
        taken = list(self.unsynced)
        self.unsynced.difference_update(taken)
        return taken

    def sync(self) -> None:
        """Makes everything durable that was written; raises as `sync_file`."""
        for path in list(self.unsynced):
            self.sync_file(path)

    def sync_file(self, path: str) -> None:
        """Makes durable what was written to one file, or which files are in a directory.

        Raises:
            DiskFullError, StorageError: the operating system could not; the file counts as not synced, and spoilt.
        """
        descriptor = self._files.get(path)
        try:
            if descriptor is None:
                sync_path(path)
            else:
                datasync(descriptor)
        except OSError as error:
            self.spoilt.add(path)
            raise _failure(path, error) from error
        self.unsynced.discard(path)

    def delete(self, path: str) -> None:
        """Deletes a file; one that is gone already is no error. Its directory is to be synced, or it may come back.

        Raises:
            StorageError: the operating system refuses.
        """
        self._forget(path)
        try:
            Path(path).unlink(missing_ok=True)
        except OSError as error:
            raise _failure(path, error) from error  # it is still there, and still to be synced
        self.unsynced.discard(path)
        self.spoilt.discard(path)
        self.unsynced.add(str(Path(path).parent))

    def move(self, path: str, target: str) -> None:
        """Gives a file another name, durably; its new directory is made when it is not there.

        Raises:
            StorageError: the operating system refuses.
        """
        self._forget(path)
        directory = Path(target).parent
        try:
            directory.mkdir(parents=True, exist_ok=True)
            Path(path).replace(target)
            for changed in (*(directory, *directory.parents)[:_NEW_DIRECTORIES], Path(path).parent):
                sync_path(str(changed))
        except OSError as error:
            raise _failure(path, error) from error

    def close(self) -> None:
        """Closes every file without syncing."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()
        self.unsynced.clear()
        self.spoilt.clear()


def sync_path(path: str) -> None:
    """Makes one file or directory durable; one that was deleted meanwhile is no error. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failure(path: str, error: OSError) -> StorageError:
    if error.errno in _FULL:
        return DiskFullError(path)
    return StorageError(
        sentence("could-not-use", "could not use {path}", path=path),
        reason=error.strerror or str(error),
        remedy=sentence(
            "check-disk-healthy-store",
            "check that the disk is healthy and the store belongs to the broker's user",
        ),
    )
