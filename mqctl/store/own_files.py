"""The one way in which mqctl and the embedded broker make and write files; `disk` writes a store's mapped files.

No link that stands where a file of ours is to be is followed, by root neither: whoever owns a directory could else have
any file of the operator written. Nobody can guess the name of a file that is to take another one's place.

What is written whole is found old or new, whenever the writer is killed or the power fails. When the call returns, the
new content lasts: its bytes, its name, and the directories that were made for it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from mqctl.text import sentence

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNLESS_GIVEN = 0o666
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
        raise OSError(
            errno.EINVAL, sentence("file-link-left-alone", "it is a link or no regular file, and is left alone"), name
        )
    if data is None:
        if known is not None:
            os.unlink(name, dir_fd=directory)
            _sync_names(directory)
        return
    temporary = f".{name}.{os.urandom(8).hex()}.new"
    descriptor = os.open(temporary, _NEW, 0o600, dir_fd=directory)
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


def open_within(store: Path, directory: str) -> int:
    """Opens a directory of somebody else's store for `replace_within`; the caller closes the descriptor.

    Args:
        directory: its path from the store.

    Raises:
        OSError: the operating system refuses, or a link is on the way: it could lead out of the store.
    """
    opened = os.open(store, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in Path(directory).parts:
        try:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=opened)
        finally:
            os.close(opened)
        opened = below
    return opened


def write_whole(file: Path, data: bytes, *, mode: int | None = None, sweep: str = "", durable: bool = True) -> None:
    """Replaces a file, or a link of its name; directories above it are made.

    Args:
        mode: permissions of the new file, less the umask; None keeps those of the file that is replaced.
        sweep: pattern of names; what writers of such files in this directory left when they were killed is removed.
            A temporary file counts as left when it is an hour older than the one that is written now.
        durable: have it last when the call returns.

    Raises:
        OSError: the operating system refuses; the old content stays, and no temporary file does.
    """
    make_directory(file.parent)
    written_s = _replace(file, data, mode, durable=durable)
    if sweep:
        _sweep(file.parent, sweep, written_s - _ABANDONED_S)


def write_named(file: Path, data: bytes) -> None:
    """Writes a file that the user named: replaces it, or a link of its name, and keeps its permissions.

    A pipe, a terminal or a device, `/dev/stdout` say, is given the bytes instead.

    Raises:
        OSError: the operating system refuses; the old content stays.
    """
    try:
        is_file = stat.S_IFMT(file.stat().st_mode) in (stat.S_IFREG, stat.S_IFDIR)
    except FileNotFoundError:
        is_file = True
    in_use = str(file).startswith(_DESCRIPTORS)  # what the shell sent to a file has that file's own name elsewhere
    if is_file and not in_use:
        _replace(file, data, None, durable=True)
        return
    descriptor = os.open(file, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not in_use and stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(
                errno.EINVAL,
                sentence("file-replaced-by-link", "it was replaced by a link to a file meanwhile"),
                str(file),
            )
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)


_DESCRIPTORS = ("/dev/", "/proc/")


def _replace(file: Path, data: bytes, mode: int | None, *, durable: bool) -> float:
    """Replaces a file or a link, nothing else; returns by its clock when. Raises OSError."""
    with suppress(FileNotFoundError):
        if not (stat.S_ISREG(kind := file.lstat().st_mode) or stat.S_ISLNK(kind)):
            reason = errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL
            raise OSError(reason, os.strerror(reason), str(file))
    temporary = file.with_name(f".{file.name}.{os.urandom(4).hex()}.new")
    descriptor = os.open(temporary, _NEW, _UNLESS_GIVEN if mode is None else mode)
    try:
        try:
            if mode is None:
                _keep_permissions(file, descriptor)
            _write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
            written_s = os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)
        temporary.replace(file)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(file.parent)
    return written_s


def _keep_permissions(file: Path, descriptor: int) -> None:
    with suppress(FileNotFoundError):
        known = file.lstat()
        if stat.S_ISREG(known.st_mode):
            os.fchmod(descriptor, known.st_mode & 0o777)


def new_stream(file: Path, *, mode: int = _UNLESS_GIVEN, instead: bool = False) -> BinaryIO:
    """Makes a file that is written bit by bit.

    Args:
        mode: its permissions, less the umask.
        instead: a file or link of its name is removed before.

    Raises:
        OSError: the operating system refuses; something has the name already, which with `instead` is neither a file
            nor a link.
    """
    if instead:
        with suppress(FileNotFoundError):
            if not (stat.S_ISREG(kind := file.lstat().st_mode) or stat.S_ISLNK(kind)):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file))
            file.unlink()
    return os.fdopen(os.open(file, _NEW, mode), "wb")


def appending_stream(file: Path) -> BinaryIO:
    """Opens a regular file, which is made where there is none, to write behind what it holds. Raises OSError."""
    return os.fdopen(_open_regular(file, os.O_WRONLY | os.O_APPEND, 0o600), "ab")


def changing_stream(file: Path) -> BinaryIO:
    """Opens a regular file that is there to read it and to write in it. Raises OSError."""
    return os.fdopen(_open_regular(file, os.O_RDWR, None), "r+b")


def open_own(file: Path, mode: int = 0o600) -> int:
    """Opens a regular file of ours, a lock say, to read and to write; it is made where there is none.

    Args:
        mode: permissions of a new one, less the umask.

    Returns:
        A descriptor, which the caller closes.

    Raises:
        OSError: the operating system refuses, or something else has the name: a link, a pipe.
    """
    return _open_regular(file, os.O_RDWR, mode)


def _open_regular(file: Path, flags: int, mode: int | None) -> int:
    made = 0 if mode is None else os.O_CREAT
    # A pipe without a reader is not waited for.
    descriptor = os.open(file, flags | made | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode or 0)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, sentence("file-not-regular", "it is not a regular file"), str(file))


def make_directory(directory: Path) -> None:
    """Makes a directory and those above it that are not there, the user's own, and has their names last.

    Raises:
        OSError: the operating system refuses.
    """
    missing = []
    while not directory.is_dir():
        missing.append(directory)
        directory = directory.parent
    for made in reversed(missing):
        made.mkdir(mode=0o700, exist_ok=True)
        sync_directory(made.parent)


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


def _sweep(directory: Path, pattern: str, before_s: float) -> None:
    with suppress(OSError):  # what cannot be removed now is removed another time
        for entry in os.scandir(directory):
            match = _TEMPORARY.fullmatch(entry.name)
            if match and fnmatchcase(match[1], pattern) and entry.stat().st_mtime < before_s:
                Path(entry.path).unlink(missing_ok=True)
