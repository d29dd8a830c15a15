"""Files of text that a user asked for: pages, for instance."""

from __future__ import annotations

from pathlib import Path

from mqctl.errors import StorageError
from mqctl.store.own_files import write_named
from mqctl.text import sentence


def refuse_unwritable(path: Path | None) -> None:
    """Refuses a file whose directory is not there before long work is done for it. Raises StorageError."""
    if path is not None and not path.parent.is_dir():
        raise StorageError(
            sentence("cannot-write", "cannot write {page}", page=path),
            reason=sentence("directory-not-exist", "its directory does not exist"),
        )


def write_text(path: Path, text: str) -> None:
    """Writes a file of text.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        write_named(path, text.encode())
    except OSError as error:
        raise StorageError(
            sentence("could-not-write", "could not write {path}", path=path), reason=error.strerror or str(error)
        ) from error
