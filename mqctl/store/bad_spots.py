"""Which parts of a file its disk refuses, found by reading it page by page where a larger read fails.

A disk may take seconds over each page that it gives up: behind the first few the rest of a file is not asked for.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from mqctl.store.layouts import PAGE_BYTES
from mqctl.store.mapped_files import MappedFile
from mqctl.store.mapping_guard import RefusedPart, pass_over, passed_over
from mqctl.store.plain_files import open_regular, reading_error
from mqctl.text import sentence

MOST_PAGES = 64
_PIECE_BYTES = 1 << 20
_GIVEN_UP = sentence("disk-failed-too-often", "the disk failed at too many places before: the rest was not looked at")


def read_past(file: MappedFile, reason: str) -> list[RefusedPart]:
    """Has what the disk refuses of a file read as zeros from now on, and returns what was not known of it; it must be
    told.

    Args:
        reason: what the disk said.

    Raises:
        NotFoundError, PermissionDeniedError, StorageError: the file cannot be opened, or its disk fails otherwise.
    """
    known = {(low, high) for low, high, _ in passed_over(file.path)}
    parts, given_up = _refused_parts(file.path, file.data_spans(0, file.size_bytes))
    noted = [(low, high, reason) for low, high in parts if (low, high) not in known]
    if given_up is not None:
        noted.append((given_up, file.size_bytes, _GIVEN_UP))
    pass_over(file.path, noted)
    return noted


def _refused_parts(path: Path, spans: Iterable[tuple[int, int]]) -> tuple[list[tuple[int, int]], int | None]:
    """Reads the `spans` of a file.

    Returns the refused parts, whole pages, neighbours as one, and from where on nothing was asked for any more.

    Raises:
        NotFoundError, PermissionDeniedError, StorageError: the file cannot be opened, or its disk fails otherwise.
    """
    parts: list[tuple[int, int]] = []
    count = 0
    try:
        descriptor = open_regular(path)
        try:
            for page in _refused_pages(descriptor, spans):
                count += 1
                if count > MOST_PAGES:
                    return parts, page
                if parts and parts[-1][1] == page:
                    parts[-1] = (parts[-1][0], page + PAGE_BYTES)
                else:
                    parts.append((page, page + PAGE_BYTES))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise reading_error(path, error) from error
    return parts, None


def _refused_pages(descriptor: int, spans: Iterable[tuple[int, int]]) -> Iterator[int]:
    for low, high in spans:
        for begin in range(low // PAGE_BYTES * PAGE_BYTES, high, _PIECE_BYTES):
            end = min(begin + _PIECE_BYTES, high)
            if _is_refused(descriptor, begin, end):
                pages = range(begin, end, PAGE_BYTES)
                yield from (page for page in pages if _is_refused(descriptor, page, page + PAGE_BYTES))


def _is_refused(descriptor: int, low: int, high: int) -> bool:
    try:
        os.pread(descriptor, high - low, low)
    except OSError as error:
        if error.errno == errno.EIO:
            return True
        raise
    return False
