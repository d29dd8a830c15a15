"""Directories whose files hold no bytes here: their bytes are read elsewhere, range by range.

A store in an object store or on HDFS is opened as a directory of empty files of the right names and sizes
(`mqctl.spark.remote` makes it). Whoever reads such a file asks here where its bytes are. Local stores attach nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Read = Callable[[str, int, int], bytes]
"""(path below the directory, with slashes; first byte; byte behind the last) -> the bytes."""

_READS: dict[Path, Read] = {}


def attach(root: Path, read: Read) -> None:
    """Makes `read` the source of all files below `root`."""
    _READS[root] = read


def detach(root: Path) -> None:
    """Forgets `root`."""
    _READS.pop(root, None)


def source_of(path: Path) -> Callable[[int, int], bytes] | None:
    """Returns how to read a range of `path`; None for a file that has its bytes itself."""
    if not _READS:
        return None
    root = next((each for each in path.parents if each in _READS), None)
    if root is None:
        return None
    read, name = _READS[root], path.relative_to(root).as_posix()
    return lambda low, high: read(name, low, high)
