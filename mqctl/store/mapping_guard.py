"""What happens when a mapped file is cut, or its disk fails, while it is read: an error that names the file.

Theory of operation. The system answers the read of a mapped page that it cannot provide with SIGBUS, which ends the
process without a word (exit code 135). Here the signal puts zeros in the page's place, so that the instruction goes
on, and raises a second signal, blocked until the first is dealt with, whose handler is an ordinary one: it raises the
error in the main thread as Ctrl-C raises KeyboardInterrupt, before anything can be made of the zeros. A page of a hole
that a full tmpfs cannot map reads as zeros anyway: a second look, by position, tells it from a disk that fails.

Faults outside of these mappings go where they went before. Linux only; elsewhere, and where the first file is mapped
by another thread than the main one, files are mapped as ever.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import sys
import threading
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import FrameType

from mqctl.errors import ExitCode, MqctlError, NotFoundError, PermissionDeniedError, StorageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.plain_files import reading_error
from mqctl.text import sentence

RefusedPart = tuple[int, int, str]
"""Bytes [low, high) of a file that its disk did not give, and why."""
_RAISING = signal.SIGURG  # ignored by default, and of no use to mqctl
_SIGINFO = 4
_PRIVATE_FIXED_ANONYMOUS = 0x32
_ADDRESS_AT = 16  # of the faulting address in `siginfo_t` of 64-bit Linux
_MASK_BYTES = 128


class BadSpotError(StorageError):
    """The disk refuses a part of a mapped file.

    Attributes:
        path: the file.
    """

    def __init__(self, error: MqctlError, path: Path) -> None:
        super().__init__(error.problem, reason=error.reason, remedy=error.remedy)
        self.path = path


class _Action(ctypes.Structure):
    """`struct sigaction` of Linux C libraries."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * _MASK_BYTES),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class _Mapping:
    """One mapped file; `inode` tells it from another that took its name."""

    path: Path
    inode: int
    base: int
    size_bytes: int
    map: weakref.ref[mmap.mmap]


_mappings: dict[int, _Mapping] = {}
_faults: list[tuple[_Mapping, int]] = []
_passed_over: dict[tuple[Path, int], list[RefusedPart]] = {}
"""Parts that disks refused, by path and inode, of files that are read on regardless."""
_kept: list[object] = []
"""The handler, which must outlive the process's use of it, the action before it, and the handler's code."""


def guard_mapping(mapping: mmap.mmap, base: int, path: Path, inode: int) -> None:
    """Has a fault in `mapping`, which begins at address `base`, end in an error that names `path`."""
    if not _installed():
        return

    def forget(_: object) -> None:
        _mappings.pop(base, None)

    guarded = _mappings[base] = _Mapping(path, inode, base, len(mapping), weakref.ref(mapping, forget))
    _blank(guarded, _passed_over.get((path, inode), ()))


def pass_over(path: Path, parts: Sequence[RefusedPart]) -> None:
    """Has parts of a file, whole pages, read as zeros from now on: whoever calls this has told of them.

    Raises:
        NotFoundError, PermissionDeniedError, StorageError: the file is gone, or cannot be looked at.
    """
    try:
        inode = path.stat().st_ino
    except OSError as error:
        raise reading_error(path, error) from error
    known = _passed_over.setdefault((path, inode), [])
    new = [part for part in parts if part not in known]
    known.extend(new)
    for mapping in _mappings.values():
        if (mapping.path, mapping.inode) == (path, inode):
            _blank(mapping, new)


def passed_over(path: Path) -> Sequence[RefusedPart]:
    """Returns what reads as zeros of a file, since it was passed over before in this process."""
    try:
        return _passed_over.get((path, path.stat().st_ino), ()) if _passed_over else ()
    except OSError:
        return ()  # whoever maps it hears why


def _blank(mapping: _Mapping, parts: Sequence[RefusedPart]) -> None:
    for low, high, _ in parts:
        end = min(high, mapping.size_bytes)  # the file may be shorter by now, and what lies behind is not ours
        if low < end:
            _put_zeros(mapping.base + low, end - low)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    return libc


def _put_zeros(address: int, size_bytes: int) -> bool:
    """Puts pages of zeros in the place of mapped ones; tells whether the system did it."""
    placed: int = _libc().mmap(address, size_bytes, mmap.PROT_READ, _PRIVATE_FIXED_ANONYMOUS, -1, 0)
    return placed == address


def _installed() -> bool:
    if _kept:
        return True
    if sys.platform != "linux" or sys.maxsize < 1 << 32 or threading.current_thread() is not threading.main_thread():
        return False
    libc = _libc()
    before = _Action()

    def handle(_number: int, info: int, _context: int) -> None:
        address = ctypes.c_uint64.from_address(info + _ADDRESS_AT).value
        mapping = next((one for one in _mappings.values() if one.base <= address < one.base + one.size_bytes), None)
        if mapping is None:
            libc.sigaction(
                signal.SIGBUS, ctypes.byref(before), None
            )  # the same instruction faults again, and ends there
            return
        page = address - address % mmap.PAGESIZE
        rest = mapping.base + mapping.size_bytes - page if _size(mapping) <= page - mapping.base else mmap.PAGESIZE
        if not _put_zeros(page, rest):  # the same instruction would fault for ever
            os.write(2, f"mqctl: could not read {mapping.path}: its disk failed, and memory is used up\n".encode())
            os._exit(ExitCode.IO)
        _faults.append((mapping, page - mapping.base))
        signal.raise_signal(_RAISING)

    handler = _Handler(handle)
    action = _Action(handler=ctypes.cast(handler, ctypes.c_void_p).value, flags=_SIGINFO)
    ctypes.memset(action.mask, 0xFF, _MASK_BYTES)
    signal.signal(_RAISING, _raise)
    if libc.sigaction(signal.SIGBUS, ctypes.byref(action), ctypes.byref(before)) != 0:
        return False
    _kept.extend((handler, before, handle.__code__))
    return True


def _size(mapped: _Mapping) -> int:
    """The size of the mapped file now, whatever has its name."""
    mapping = mapped.map()
    return 0 if mapping is None else mapping.size()


def _raise(_number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code is _kept[2]:
            return  # another fault is being dealt with, which ends with this signal as well
        frame = frame.f_back
    faults = _faults[:]
    _faults.clear()
    for fault, position in faults:
        error = _why(fault, position)
        if error is not None:
            raise error


def _why(mapping: _Mapping, position: int) -> StorageError | NotFoundError | PermissionDeniedError | None:
    size = _size(mapping)
    if size <= position:
        return StorageError(
            sentence("could-not-read", "could not read {file}", file=mapping.path),
            reason=sentence(
                "store-cut-bytes-while-read",
                "it was cut from {position:,} to {size:byte} while it was read",
                position=mapping.size_bytes,
                size=size,
            ),
            remedy=sentence(
                "store-run-again-when-nobody",
                "run it again when the store does not change, or copy the store first",
            ),
        )
    try:
        descriptor = os.open(mapping.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_ino == mapping.inode:
                os.pread(descriptor, mmap.PAGESIZE, position)
                return None
        finally:
            os.close(descriptor)
    except OSError as error:
        failure = reading_error(mapping.path, error)
        return BadSpotError(failure, mapping.path) if error.errno == errno.EIO else failure
    return StorageError(
        sentence("could-not-read", "could not read {file}", file=mapping.path),
        reason=sentence("store-disk-failed-another-file", "its disk failed, and another file took its name"),
        remedy=sentence("store-run-again", "run it again"),
    )
