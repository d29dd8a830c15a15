"""Looking at store files without ever being able to change them.

Files are opened `O_RDONLY` and mapped with `ACCESS_READ`; nothing is created and no lock is taken. Files of an attached
directory (`attached`) are fetched, as far as they are looked at.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import StorageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.store.attached import source_of
from mqctl.store.layouts import FILE_NAME_DIGITS, HEADER_BYTES
from mqctl.store.mapping_guard import guard_mapping
from mqctl.store.plain_files import look_at, open_regular, reading_error
from mqctl.store.ranged import Ranged
from mqctl.text import sentence

Buffer: TypeAlias = NDArray[np.uint8]

_LARGEST_RECORD_BYTES = 64 << 20
_EMPTY: Buffer = np.empty(0, dtype=np.uint8)

_HIGHEST_START = MOST_INT64 >> 1
"""A name above it is no offset that a broker reaches, and what is added to it must stay a number of 64 bits."""


def map_file(path: Path) -> Buffer:
    """Maps `path` read-only and returns its bytes; a file of length zero gives an empty array.

    Raises:
        NotFoundError: the file is gone (retention may delete it under a reader).
        PermissionDeniedError: the operating system refuses to open it.
        StorageError: any other refusal; also later, from wherever the bytes are read, when the file is cut meanwhile.
    """
    read = source_of(path)
    if read is not None:
        return np.frombuffer(read(0, path.stat().st_size), dtype=np.uint8)
    try:
        descriptor = open_regular(path)
        try:
            status = os.fstat(descriptor)
            if status.st_size == 0:
                return _EMPTY
            mapping = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        except ValueError:  # it was emptied in between
            return _EMPTY
        finally:
            os.close(descriptor)
    except OSError as error:
        raise reading_error(path, error) from error
    buffer = np.frombuffer(mapping, dtype=np.uint8)
    guard_mapping(mapping, buffer.ctypes.data, path, status.st_ino)
    return buffer


@dataclass(frozen=True)
class MappedFile:
    """One file of a queue of mapped files, named by the byte offset at which it starts.

    Attributes:
        start: byte offset in the queue of the file's first byte, from its name.
        size_bytes: length on disk.
        until: so many of its bytes are looked at; what is behind is still being written. None means all.
    """

    path: Path
    start: int
    size_bytes: int
    until: int | None = None

    @cached_property
    def buffer(self) -> Buffer:
        """The file's bytes, mapped on first use; raises as `map_file` does."""
        if self._ranged is None:
            return map_file(self.path)[: self.until]
        return self.view(0, self._ranged.data_end())

    @cached_property
    def _ranged(self) -> Ranged | None:
        read = source_of(self.path)
        return None if read is None or not self.size_bytes else Ranged(self.size_bytes, read)

    @property
    def is_fetched(self) -> bool:
        """Whether the bytes come from elsewhere, so that what is not looked at should not be asked for."""
        return self._ranged is not None

    @property
    def known(self) -> Buffer:
        """The file's bytes as far as they were asked for before; of a local file all of them."""
        return self.buffer if self._ranged is None else self._ranged.data

    def view(self, low: int, high: int) -> Buffer:
        """Returns the file's bytes, of which those in [low, high) can be relied on; of a local file all of them."""
        if self._ranged is None:
            return self.buffer
        self._ranged.cover(low, high)
        return self._ranged.data

    def records_view(self, positions: NDArray[np.int64]) -> Buffer:
        """Returns the file's bytes, of which the records that begin at `positions` can be relied on."""
        if self._ranged is None or not len(positions):
            return self.known
        self._ranged.cover_all(positions, np.full(len(positions), HEADER_BYTES))
        data = self._ranged.data
        spots = np.minimum(positions[:, None] + np.arange(4), len(data) - 1)
        sizes = data[spots].view(">i4")[:, 0].astype(np.int64)
        self._ranged.cover_all(positions, np.clip(sizes, HEADER_BYTES, _LARGEST_RECORD_BYTES))
        return data

    def fetched_end(self) -> int:
        """Returns a position behind which a file that is fetched holds only zeros."""
        return self.size_bytes if self._ranged is None else self._ranged.data_end()

    def data_spans(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Yields the parts of [low, high) that were written, where the file system tells: a sparse file's holes are not
        among them, for they hold zeros and would only be made into pages.

        Raises:
            NotFoundError, PermissionDeniedError, StorageError: the file is gone, or is not to be opened any more.
        """
        if self._ranged is not None:
            yield low, high
            return
        try:
            descriptor = open_regular(self.path)
        except OSError as error:
            raise reading_error(self.path, error) from error
        spans = []
        try:
            while low < high:
                begin = os.lseek(descriptor, low, os.SEEK_DATA)
                low = os.lseek(descriptor, begin, os.SEEK_HOLE)
                if begin < high:
                    spans.append((begin, min(low, high)))
        except OSError as error:
            if error.errno != errno.ENXIO:  # nothing but a hole up to the file's end
                raise reading_error(self.path, error) from error
        finally:
            os.close(descriptor)
        # All of them before the first is read: on tmpfs a look a few bytes beyond one makes a page of the hole, which
        # would be the next span, and so on to the end of the file.
        yield from spans

    def release(self) -> None:
        """Lets go of the mapping; the next use maps the file again."""
        self.__dict__.pop("buffer", None)
        self.__dict__.pop("_ranged", None)

    @property
    def end(self) -> int:
        return self.start + self.size_bytes


@dataclass(frozen=True, slots=True)
class OddFile:
    """What has the name of a queue's file and is none, or none that can be looked at; and why."""

    path: Path
    start: int
    reason: str

    def error(self) -> OddFileError:
        return OddFileError(self)


class OddFileError(StorageError):
    """A queue of mapped files has something else in the place of a file: nobody knows what it holds.

    Attributes:
        path: its place.
    """

    def __init__(self, odd: OddFile) -> None:
        super().__init__(
            sentence("could-not-read", "could not read {file}", file=odd.path),
            reason=odd.reason,
            remedy=sentence("store-put-broker-own-file", "put the broker's own file in its place"),
        )
        self.path = odd.path


def mapped_files(directory: Path) -> tuple[MappedFile, ...]:
    """Lists the files of a queue of mapped files by start offset; other names are passed over.

    A directory that does not exist holds no files.

    Raises:
        OddFileError: a file of the queue is no file.
        PermissionDeniedError, StorageError: it cannot be listed.
    """
    files, odd = listed_files(directory)
    for each in odd:
        raise each.error()
    return files


def listed_files(directory: Path) -> tuple[tuple[MappedFile, ...], tuple[OddFile, ...]]:
    """Lists the files of a queue, and what has the name of one and is none, each by start offset.

    Whoever goes on without the latter has to say so. A link that leads to no directory, and a file where the
    directory should be, are odd themselves.

    Raises:
        PermissionDeniedError, StorageError: the directory cannot be listed.
    """
    files, odd = [], []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                start = decimal(entry.name, 0, _HIGHEST_START) if len(entry.name) == FILE_NAME_DIGITS else None
                if start is None:
                    continue
                size, reason = look_at(Path(entry.path))
                if size is not None:
                    files.append(MappedFile(Path(entry.path), start, size))
                elif reason:
                    odd.append(OddFile(Path(entry.path), start, reason))
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise reading_error(directory, error) from error
        if os.path.lexists(directory):
            reason = look_at(directory)[1] or sentence(
                "store-file-not-directory", "it is a file, and should be a directory"
            )
            odd.append(OddFile(directory, 0, reason))
    return tuple(sorted(files, key=lambda file: file.start)), tuple(sorted(odd, key=lambda each: each.start))


def nominal_size(files: tuple[MappedFile, ...]) -> int | None:
    """Returns the size that files of this queue are created with, judged from the files themselves, or None.

    Distances between neighbours tell it best; a single file can only tell its own size.
    """
    sizes = [file.size_bytes for file in files if file.size_bytes]
    if not sizes:
        return None
    steps = [right.start - left.start for left, right in itertools.pairwise(files)]
    votes = sizes + [step for step in steps if step in sizes]
    return max(set(votes), key=lambda size: (votes.count(size), size))
