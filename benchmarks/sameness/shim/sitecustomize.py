"""Imported by every interpreter of a run, whatever the commit: what differs between two runs of the same code is fixed.

The wall clock stands at SAMENESS_NOW_MS. The process id, the random bytes and the room on disks come from
SAMENESS_SEED, which differs from step to step. The variables are read at each call, since the server of
`benchmarks.sameness.server` sets them after its fork. `time.monotonic` is the machine's: timeouts are real.
"""

from __future__ import annotations

import ctypes
import datetime
import itertools
import os
import random
import secrets
import time
from collections.abc import Callable
from typing import Any, NamedTuple

_FIRST_PID = 40_000
_real_pid = os.getpid
_generators: dict[tuple[int, str], random.Random] = {}


def _now_ns() -> int:
    return int(os.environ["SAMENESS_NOW_MS"]) * 1_000_000


class _Definition(ctypes.Structure):
    """PyMethodDef of CPython."""

    _fields_ = (("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


class _Descriptor(ctypes.Structure):
    """PyMethodDescrObject of CPython, as far as its definition."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        ("of_type", ctypes.c_void_p),
        ("name", ctypes.c_void_p),
        ("qualified_name", ctypes.c_void_p),
        ("definition", ctypes.POINTER(_Definition)),
    )


_Call = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
_TAKES_ALL, _OF_CLASS = 0x1 | 0x2, 0x10
_kept: list[object] = []


def _replace_method(name: str, function: Callable[..., object]) -> None:
    """Replaces a class method of `datetime.datetime`, whose place in C no assignment reaches. A class of our own in its
    place would do for Python, and not for libraries in C that know the type by its address."""

    def call(cls: type, arguments: tuple[object, ...], named: int | None) -> object:
        return function(cls, *arguments, **(ctypes.cast(named, ctypes.py_object).value if named else {}))

    descriptor = datetime.datetime.__dict__[name]
    definition = _Descriptor.from_address(id(descriptor)).definition.contents
    if definition.name != name.encode():
        raise RuntimeError(f"datetime.datetime.{name} is built otherwise in this Python")
    _kept.append(_Call(call))
    definition.call, definition.flags = ctypes.cast(_kept[-1], ctypes.c_void_p).value, _TAKES_ALL | _OF_CLASS  # type: ignore[arg-type]


def _now(cls: Any, tz: datetime.tzinfo | None = None) -> Any:
    return cls.fromtimestamp(_now_ns() / 1e9, tz)


def _utcnow(cls: Any) -> Any:
    return _now(cls, datetime.UTC).replace(tzinfo=None)


def _generator() -> random.Random:
    """Returns the generator of this process and step."""
    key = (_real_pid(), os.environ["SAMENESS_SEED"])
    if key not in _generators:
        _generators[key] = random.Random(key[1])
    return _generators[key]


def _random_bytes(size: int | None = None) -> bytes:
    return _generator().randbytes(32 if size is None else size)


class _Room(NamedTuple):
    """What `os.statvfs` returns: 100 GiB, of which 40 are free."""

    f_bsize: int = 4096
    f_frsize: int = 4096
    f_blocks: int = 26_214_400
    f_bfree: int = 10_485_760
    f_bavail: int = 10_485_760
    f_files: int = 6_553_600
    f_ffree: int = 6_000_000
    f_favail: int = 6_000_000
    f_flag: int = 0
    f_namemax: int = 255
    f_fsid: int = 1


_ticks = itertools.count(1)


def _tick_ns() -> int:
    """What clients name themselves by; a microsecond later at each call."""
    return next(_ticks) * 1_000


def _install() -> None:
    _replace_method("now", _now)
    _replace_method("utcnow", _utcnow)
    time.time = lambda: _now_ns() / 1e9
    time.time_ns = _now_ns
    time.perf_counter_ns = _tick_ns
    time.perf_counter = lambda: _tick_ns() / 1e9
    os.getpid = lambda: _FIRST_PID + int(os.environ["SAMENESS_SEED"]) % 10_000
    os.urandom = _random_bytes
    secrets.token_bytes = _random_bytes  # type: ignore[assignment]
    place = os.statvfs
    os.statvfs = lambda path: place(path) and _Room()  # type: ignore[assignment, return-value]


if "SAMENESS_NOW_MS" in os.environ:
    _install()
