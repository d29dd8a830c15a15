"""Directories whose files hold no bytes here: their bytes are read elsewhere, range by range.

A store in an object store or on HDFS is opened as a directory of empty files of the right names and sizes
(`spark.scan.remote` makes it). Whoever reads such a file asks here where its bytes are. Local stores attach nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from mqctl.model.lazy_dataclass import dataclass

T = TypeVar("T")
U = TypeVar("U")
Read = Callable[[str, int, int], bytes]
"""(path below the directory, with slashes; first byte; byte behind the last) -> the bytes."""


@dataclass(frozen=True, slots=True)
class _Source:
    read: Read
    at_once: int


_READS: dict[Path, _Source] = {}


def attach(root: Path, read: Read, *, at_once: int = 1) -> None:
    """Makes `read` the source of all files below `root`; so many threads may call it at the same time."""
    _READS[root] = _Source(read, at_once)


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
    read, name = _READS[root].read, path.relative_to(root).as_posix()
    return lambda low, high: read(name, low, high)


def look_at_each(root: Path, look: Callable[[U], T], items: Iterable[U]) -> list[T]:
    """Returns what `look` says of each item, in their order; below an attached `root` several are looked at at once.

    A look at the end of a queue that is elsewhere is a few short requests that wait for each other. `look` must not
    share files with another item's: what one file has fetched is not for two threads.
    """
    wanted = list(items)
    source = _READS.get(root)
    at_once = min(len(wanted), source.at_once if source is not None else 1)
    if at_once < 2:
        return [look(item) for item in wanted]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(at_once, thread_name_prefix="mqctl-look") as pool:
        return list(pool.map(look, wanted))
