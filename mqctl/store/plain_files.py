"""Reading small files whole, and what a refusal of the operating system means. Needs no numpy."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from mqctl.errors import NotFoundError, PermissionDeniedError, StorageError
from mqctl.store.attached import source_of
from mqctl.text import sentence

LARGEST_BYTES = 256 << 20
"""Of a file that is read whole: ten times the `topics.json` of 100,000 topics."""
_PIECE_BYTES = 1 << 20


class UnfitFileError(OSError):
    """A file that is not read whole: no regular one, or larger than any of its kind."""


def read_whole(file: Path) -> bytes:
    """Returns what a regular file holds; a link may lead to it. A pipe without a writer is not waited for.

    Raises:
        UnfitFileError: it is no regular file, or larger than LARGEST_BYTES.
        OSError: the operating system refuses.
    """
    descriptor = open_regular(file)
    try:
        return _contents(descriptor, file)
    finally:
        os.close(descriptor)


def open_regular(file: Path) -> int:
    """Opens a regular file, or a link to one, for reading, and waits for nobody.

    Raises:
        UnfitFileError: it is a pipe, a device or a socket.
        OSError: the operating system refuses.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    raise UnfitFileError(errno.EINVAL, sentence("file-not-regular", "it is not a regular file"), str(file))


_KINDS = (
    (stat.S_ISDIR, sentence("common-directory", "it is a directory")),
    (stat.S_ISFIFO, sentence("file-named-pipe", "it is a named pipe")),
    (stat.S_ISSOCK, sentence("file-socket", "it is a socket")),
    (stat.S_ISCHR, sentence("file-device", "it is a device")),
    (stat.S_ISBLK, sentence("file-device", "it is a device")),
)


def look_at(path: Path) -> tuple[int | None, str]:
    """Returns the size of a regular file, or of one that a link leads to; of anything else None and what it is.

    Nothing is said of what is not there any more.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None, sentence("file-link-nowhere", "it is a link that leads nowhere") if path.is_symlink() else ""
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None, sentence("file-link-itself", "it is a link that leads to itself")
        return None, error.strerror or str(error)
    if stat.S_ISREG(status.st_mode):
        return status.st_size, ""
    return None, next(
        (words for holds, words in _KINDS if holds(status.st_mode)),
        sentence("file-not-regular", "it is not a regular file"),
    )


def read_named(file: Path) -> bytes:
    """Returns what a file that somebody named holds: pipes (`<(...)`, `/dev/stdin`) are read to their end, too.

    Raises:
        UnfitFileError: it is larger than LARGEST_BYTES.
        OSError: the operating system refuses.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _contents(descriptor, file)
    finally:
        os.close(descriptor)


def _contents(descriptor: int, file: Path) -> bytes:
    pieces: list[bytes] = []
    read, size = 0, os.fstat(descriptor).st_size
    while max(read, size) <= LARGEST_BYTES:
        piece = os.read(descriptor, _PIECE_BYTES)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        read += len(piece)
    raise UnfitFileError(
        errno.EFBIG,
        sentence("file-larger-than", "it is larger than {limit_bytes}", limit_bytes=LARGEST_BYTES),
        str(file),
    )


def read_file(path: Path) -> bytes:
    """Reads the whole of a small file; raises as `mapped_files.map_file` does."""
    try:
        read = source_of(path)
        if read is not None:
            return read(0, path.stat().st_size)
        return read_whole(path)
    except OSError as error:
        raise reading_error(path, error) from error


def refused(problem: str, error: OSError, *, remedy: str = "") -> PermissionDeniedError | StorageError:
    """Returns the error for a file that somebody named, or that mqctl keeps, and that is there but not to be read."""
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        return PermissionDeniedError(
            problem, reason=reason, remedy=remedy or sentence("store-run-user-who-may", "run as a user who may read it")
        )
    return StorageError(problem, reason=reason, remedy=remedy)


def reading_error(path: Path, error: OSError) -> NotFoundError | PermissionDeniedError | StorageError:
    """Translates what the operating system said about `path`."""
    problem = sentence("could-not-read", "could not read {file}", file=path)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFoundError(
            problem,
            reason=sentence("store-no-such-file", "no such file"),
            remedy=sentence(
                "store-run-again-if-broker",
                "run it again if a broker runs on the store: it deletes what has expired; copy a copy again",
            ),
        )
    if isinstance(error, PermissionError):
        return PermissionDeniedError(
            problem,
            reason=sentence("permission-denied", "permission denied"),
            remedy=sentence(
                "store-run-broker-user-copy", "run as the broker's user, or copy the store with read rights"
            ),
        )
    if isinstance(error, UnfitFileError):
        return StorageError(
            problem,
            reason=error.strerror or "",
            remedy=sentence("store-put-broker-own-file", "put the broker's own file in its place"),
        )
    return StorageError(
        problem,
        reason=error.strerror or str(error),
        remedy=sentence("check-disk-copy-store", "check the disk and copy the store again"),
    )
