"""A disk that refuses some pages, below mqctl's code: reads of these bytes fail with EIO, and mapped pages of them end
in SIGBUS.

`failing_disk.py [[PATH, LOW, HIGH], ...] WORD...` runs mqctl on it; with MQCTL_TEST_TWICE set, twice in one process.
Forked commands run on it where their environment names such places in MQCTL_TEST_FAULTS. A place of `"cut"` or `"gone"`
instead of LOW, HIGH is a file that is cut or deleted as soon as it is mapped.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "MQCTL_TEST_FAULTS"
PAGE = 4_096
_MAP_SHARED_FIXED = 0x11

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_faults: list[tuple[str, int, int]] = []
_changes: list[tuple[str, str]] = []
_empty: list[int] = []
_mmap, _pread, _read = mmap.mmap, os.pread, os.read


def _of(descriptor: int) -> list[tuple[int, int]]:
    try:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:  # it was closed
        return []
    return [(low, high) for name, low, high in _faults if path == Path(name)]


def _mapped(descriptor: int, length: int, *rest: Any, **named: Any) -> mmap.mmap:
    mapping = _mmap(descriptor, length, *rest, **named)
    _change(descriptor)
    refused = _of(descriptor)
    if refused:
        base = np.frombuffer(mapping, dtype=np.uint8).ctypes.data
        for low, high in refused:
            page, end = low // PAGE * PAGE, min(high, len(mapping))
            if page < end:
                _libc.mmap(base + page, end - page, mmap.PROT_READ, _MAP_SHARED_FIXED, _empty[0], 0)
    return mapping


def _change(descriptor: int) -> None:
    """Does to a file what is to become of it while it is read, once."""
    if not _changes:
        return
    path = Path(f"/proc/self/fd/{descriptor}").readlink()
    for change in [each for each in _changes if Path(each[0]) == path]:
        _changes.remove(change)
        if change[1] == "gone":
            path.unlink()
        else:
            os.truncate(path, PAGE)


def _refuse(descriptor: int, low: int, length: int) -> None:
    if any(low < end and begin < low + length for begin, end in _of(descriptor)):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def _pread_or_fail(descriptor: int, length: int, offset: int) -> bytes:
    _refuse(descriptor, offset, length)
    return _pread(descriptor, length, offset)


def _read_or_fail(descriptor: int, length: int) -> bytes:
    try:
        _refuse(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR), length)
    except OSError as error:
        if error.errno == errno.EIO:
            raise
    return _read(descriptor, length)


def install(faults: Iterable[tuple[Any, ...]]) -> None:
    """Has this process's disk refuse bytes [low, high) of files from now on, or change them while they are read."""
    for each in faults:
        if len(each) == 2:
            _changes.append((each[0], each[1]))
        else:
            _faults.append((each[0], each[1], each[2]))
    if (_faults or _changes) and not _empty:
        _empty.append(os.memfd_create("empty"))  # a page behind the end of its file is a SIGBUS
        mmap.mmap, os.pread, os.read = _mapped, _pread_or_fail, _read_or_fail  # type: ignore[misc, assignment]


def failing(faults: Iterable[tuple[Any, ...]]) -> dict[str, str]:
    """Returns the environment in which forked commands, and processes that they start with Python, have such a disk."""
    return {VARIABLE: json.dumps(list(faults)), "PYTHONPATH": str(Path(__file__).parent / "failing_workers")}


def install_named() -> None:
    """Installs what the environment names, if it does."""
    if VARIABLE in os.environ:
        install(tuple(each) for each in json.loads(os.environ[VARIABLE]))


def main() -> int:
    """Runs mqctl."""
    from mqctl.cli.exit import run_guarded
    from mqctl.main import main as mqctl

    install(tuple(each) for each in json.loads(sys.argv[1]))
    codes = [run_guarded(sys.argv[2:], mqctl) for _ in range(2 if os.environ.get("MQCTL_TEST_TWICE") else 1)]
    return codes[-1]


if __name__ == "__main__":
    sys.exit(main())
