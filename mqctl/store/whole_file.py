"""Small files of mqctl's own, written whole or not at all, and to the disk.

Whenever the writer is killed or the power fails, a reader finds the old content or the new. When the call returns, the
new one lasts: its bytes, its name, and the directories that were made for it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{8}\.new")
_ABANDONED_S = 3_600
_NO_SYNC_OF_DIRECTORIES = (errno.EINVAL, errno.ENOTSUP)


def write_whole(file: Path, data: bytes, *, mode: int = 0o666, sweep: str = "") -> None:
    """Replaces a file; directories above it are made.

    Args:
        mode: permissions of the new file, less the umask.
        sweep: pattern of names; what writers of such files in this directory left when they were killed is removed.
            A temporary file counts as left when it is an hour older than the one that is written now.

    Raises:
        OSError: the operating system refuses; the old content stays, and no temporary file does.
    """
    _make(file.parent)
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
            os.fsync(descriptor)
            now_s = os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)
        temporary.replace(file)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_directory(file.parent)
    if sweep:
        _sweep(file.parent, sweep, now_s - _ABANDONED_S)


def sync_directory(directory: Path) -> None:
    """Makes the names in a directory last, where its file system can. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC_OF_DIRECTORIES:
            raise
    finally:
        os.close(descriptor)


def _make(directory: Path) -> None:
    missing = []
    while not directory.is_dir():
        missing.append(directory)
        directory = directory.parent
    for made in reversed(missing):
        made.mkdir(exist_ok=True)
        sync_directory(made.parent)


def _sweep(directory: Path, pattern: str, before_s: float) -> None:
    with suppress(OSError):  # what cannot be removed now is removed another time
        for entry in os.scandir(directory):
            match = _TEMPORARY.fullmatch(entry.name)
            if match and fnmatchcase(match[1], pattern) and entry.stat().st_mtime < before_s:
                Path(entry.path).unlink(missing_ok=True)
