"""Reading small files whole, and what a refusal of the operating system means. Needs no numpy."""

from __future__ import annotations

from pathlib import Path

from mqctl.errors import NotFoundError, PermissionDeniedError, StorageError
from mqctl.store.attached import source_of
from mqctl.store.whole_file import UnfitFileError, read_whole


def read_file(path: Path) -> bytes:
    """Reads the whole of a small file; raises as `mapped_files.map_file` does."""
    try:
        read = source_of(path)
        if read is not None:
            return read(0, path.stat().st_size)
        return read_whole(path)
    except OSError as error:
        raise refusal(path, error) from error


def refusal(path: Path, error: OSError) -> NotFoundError | PermissionDeniedError | StorageError:
    """Translates what the operating system said about `path`."""
    problem = f"could not read {path}"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFoundError(problem, reason="no such file", remedy="copy the store again and name its root directory")
    if isinstance(error, PermissionError):
        return PermissionDeniedError(
            problem, reason="permission denied", remedy="run as the broker's user, or copy the store with read rights"
        )
    if isinstance(error, UnfitFileError):
        return StorageError(problem, reason=error.strerror or "", remedy="put the broker's own file in its place")
    return StorageError(problem, reason=error.strerror or str(error), remedy="check the disk and copy the store again")
