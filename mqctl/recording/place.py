"""Where a recording lies: a directory, or anything that fsspec opens. Files appear whole or not at all."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mqctl.errors import ConfigurationError, MqctlError, StorageError
from mqctl.model.command_line import command_line
from mqctl.recording.kinds import RecordedPiece, RowKind, piece_of
from mqctl.store.own_files import write_whole
from mqctl.store.plain_files import LARGEST_BYTES, read_whole
from mqctl.text import sentence


class RecordingPlace(Protocol):
    """A place for files; names are relative and have `/`. What goes wrong is an OSError.

    Attributes:
        remedy: what helps where it refuses.
    """

    text: str
    remedy: str

    def names(self) -> list[str]: ...
    def read(self, name: str) -> bytes: ...
    def write(self, name: str, data: bytes) -> None: ...
    def remove(self, name: str) -> None: ...


class _Directory:
    remedy = sentence("recording-free-space-name-writable", "free space or name a writable place")

    def __init__(self, text: str) -> None:
        self.text = text
        self._root = Path(text)

    def names(self) -> list[str]:
        files = (file for kind in RowKind for file in (self._root / kind).glob("day=*/*.parquet"))
        return [file.relative_to(self._root).as_posix() for file in files]

    def read(self, name: str) -> bytes:
        return read_whole(self._root / name)

    def write(self, name: str, data: bytes) -> None:
        write_whole(self._root / name, data, sweep="*.parquet")

    def remove(self, name: str) -> None:
        file = self._root / name
        file.unlink(missing_ok=True)
        if not any(file.parent.iterdir()):
            shutil.rmtree(file.parent)


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Each remote file system has errors of its own for keys, networks and quotas."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error


class _Remote:
    remedy = sentence("recording-check-url-keys-network", "check the URL, its keys and the network")

    def __init__(self, text: str) -> None:
        import fsspec

        self.text = text
        try:
            self._files, self._root = fsspec.core.url_to_fs(text)
        except (ImportError, ValueError) as error:
            raise ConfigurationError(
                sentence("could-not-open", "could not open {path}", path=text),
                reason=str(error),
                remedy=sentence(
                    "recording-install-library-fsspec-names", "install the library that fsspec names for it"
                ),
            ) from error

    def names(self) -> list[str]:
        root = self._root.rstrip("/") + "/"
        with _as_os_error():
            self._files.invalidate_cache()
            return [name.removeprefix(root) for name in self._files.find(self._root)]

    def read(self, name: str) -> bytes:
        path = f"{self._root}/{name}"
        with _as_os_error():
            size = self._files.size(path)
            if size is not None and size > LARGEST_BYTES:
                raise OSError(
                    errno.EFBIG,
                    sentence(
                        "recording-file-too-large",
                        "it has {size:byte}, and at most {most:byte is/are} read",
                        size=size,
                        most=LARGEST_BYTES,
                    ),
                )
            data: bytes = self._files.cat_file(path)
        return data

    def write(self, name: str, data: bytes) -> None:
        with _as_os_error():
            self._files.makedirs(f"{self._root}/{name.rpartition('/')[0]}", exist_ok=True)
            self._files.pipe_file(f"{self._root}/{name}", data)

    def remove(self, name: str) -> None:
        with _as_os_error():
            self._files.rm_file(f"{self._root}/{name}")


def open_place(text: str) -> RecordingPlace:
    """Opens a directory, or a URL through fsspec.

    Raises:
        ConfigurationError: a library for such URLs is not installed.
    """
    if "://" not in text:
        return _Directory(text)
    try:
        return _Remote(text)
    except ImportError as error:
        raise ConfigurationError(
            sentence("could-not-open", "could not open {path}", path=text),
            reason=sentence("recording-fsspec-not-installed", "fsspec is not installed"),
            remedy=command_line("pip install 'mqctl[record]'"),
        ) from error


def pieces_in(place: RecordingPlace) -> list[RecordedPiece]:
    """Returns the files of a recording, the oldest first; those that were merged into a wider one are left out.

    Raises:
        StorageError: the place cannot be listed.
    """
    try:
        names = place.names()
    except OSError as error:
        raise storage_error(
            sentence("recording-could-not-list", "could not list the recording {place}", place=place.text), error, place
        ) from error
    return without_merged(piece for name in names if (piece := piece_of(name)) is not None)


def without_merged(pieces: Iterable[RecordedPiece]) -> list[RecordedPiece]:
    """Leaves out the pieces that a wider one covers: whoever merged them was killed before they were removed."""
    kept: list[RecordedPiece] = []
    widest_first = sorted(pieces, key=lambda piece: (piece.kind, piece.first_ms, -piece.last_ms))
    for piece in widest_first:
        if not (kept and kept[-1].kind == piece.kind and kept[-1].covers(piece)):
            kept.append(piece)
    return kept


def storage_error(problem: str, error: OSError, place: RecordingPlace) -> MqctlError:
    """Makes the error for what the operating system, or a remote file system, refuses."""
    return StorageError(problem, reason=error.strerror or str(error), remedy=place.remedy)
