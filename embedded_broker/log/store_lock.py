"""The file `lock` in a store root: one broker at a time, whoever it is.

A real broker locks the file by POSIX rules (`FileLock`), which count by process; a second lock by descriptor tells two
embedded brokers of one process apart. The file stays behind, as a real broker leaves it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from mqctl.errors import RefusedError, StorageError
from mqctl.store.own_files import open_own


class StoreLock:
    """Holds a store root for one broker."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._descriptor = -1

    def acquire(self) -> None:
        """Takes the lock.

        Raises:
            RefusedError: another broker has it.
            StorageError: the file cannot be made.
        """
        path = self._directory / "lock"
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor = open_own(path, 0o644)
        except OSError as error:
            raise StorageError(f"could not make {path}", reason=error.strerror or str(error)) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
            os.pwrite(descriptor, b"lock", 0)
        except OSError as error:
            os.close(descriptor)
            raise RefusedError(
                f"could not open the store {self._directory}",
                reason="another broker is using it",
                remedy="stop that broker, or choose another data directory",
            ) from error
        self._descriptor = descriptor

    def release(self) -> None:
        """Gives the lock back; harmless without one."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
