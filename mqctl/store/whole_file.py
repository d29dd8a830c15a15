"""Small files of mqctl's own, written whole or not at all, and to the disk.

Whenever the writer is killed or the power fails, a reader finds the old content or the new. When the call returns, the
new one lasts: its bytes, its name, and the directories that were made for it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{8}\.new")
_ABANDONED_S = 3_600
_NO_SYNC_OF_DIRECTORIES = (errno.EINVAL, errno.ENOTSUP)


def replace_within(directory: int, name: str, data: bytes | None) -> None:
    """Replaces or removes a file of somebody else's store, as root too: no link that stands there is followed.

    The new file has the owner and the permissions of the one that it replaces; where there is none, those of its
    directory's owner and 0644.

    Args:
        directory: descriptor of the directory (`open_within`).
        name: the file's name in it, without a slash.
        data: what it is to hold; None removes it.

    Raises:
        OSError: the operating system refuses, or something that is no regular file has the name; what was there stays.
    """
    try:
        known = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        known = None
    if known is not None and not stat.S_ISREG(known.st_mode):
        raise OSError(errno.EINVAL, "it is a link or no regular file, and is left alone", name)
    if data is None:
        if known is not None:
            os.unlink(name, dir_fd=directory)
            _sync_names(directory)
        return
    temporary = f".{name}.{os.urandom(8).hex()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
    try:
        try:
            _write_all(descriptor, data)
            if os.geteuid() == 0:
                owner = known or os.fstat(directory)
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            os.fchmod(descriptor, known.st_mode & 0o777 if known else 0o644)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
    _sync_names(directory)


def open_within(directory: Path) -> int:
    """Opens a directory of somebody else's store for `replace_within`; the caller closes the descriptor.

    Raises:
        OSError: the operating system refuses, or the name is a link: it could lead out of the store.
    """
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


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
    temporary = file.with_name(f".{file.name}.{os.urandom(4).hex()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        try:
            _write_all(descriptor, data)
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
        _sync_names(descriptor)
    finally:
        os.close(descriptor)


def _sync_names(directory: int) -> None:
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in _NO_SYNC_OF_DIRECTORIES:
            raise


def _write_all(descriptor: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:])


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
