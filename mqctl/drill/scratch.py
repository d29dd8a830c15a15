"""Directories of drills and their judge for logs, stores and scratch files; its lock says who left one behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

from mqctl.errors import StorageError
from mqctl.store.own_files import open_own
from mqctl.text import sentence

_PREFIX = "mqctl-drill-"
_LOCK = "lock"


class Scratch:
    """A directory that is removed when it is closed; while its process lives, its lock is held.

    Attributes:
        path: the directory.

    Raises:
        StorageError: it cannot be made.
    """

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            made = self.path / f"{_LOCK}.new"
            self._lock = open_own(made)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            made.rename(self.path / _LOCK)  # nobody sees it before it is held
        except OSError as error:
            raise StorageError(
                sentence("drill-could-not-make-directory", "could not make a directory for temporary files"),
                reason=str(error),
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes the directory with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_abandoned() -> list[Path]:
    """Removes the directories of this user's drills that were killed, and returns them."""
    left = [each for each in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*") if _abandoned(each)]
    for each in left:
        shutil.rmtree(each, ignore_errors=True)
    return left


def _abandoned(directory: Path) -> bool:
    with suppress(OSError):
        if directory.is_symlink() or directory.stat().st_uid != os.getuid():
            return False
        lock = os.open(directory / _LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(lock)
        return True
    return False
