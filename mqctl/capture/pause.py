"""How long a process stood still while it was looked into: measured from outside, not believed.

py-spy stops every thread (state `t` in `/proc/PID/stat`) while it reads; a JVM adds up the time of its safepoints in a
file of counters (`hsperfdata`; HotSpot's perfMemory, version 2 of the layout, JDK 6 and later).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from time import monotonic

_TRACED = b"t"
_MAGIC = 0xCAFEC0C0
_HEADER = struct.Struct("=IIqII")
_ENTRY = struct.Struct("=IIIBBBBI")
_LONG = struct.Struct("=q")
_LITTLE_ENDIAN = 1
_SAFEPOINTS = b"sun.rt.safepointTime"
_FREQUENCY = b"sun.os.hrt.frequency"


class StopWatch:
    """Looks again and again whether a process is stopped by a tracer; close it when done.

    The first thread stands for all of them: tracers stop it first.
    """

    def __init__(self, pid: int, proc: Path) -> None:
        self._file: int | None = None
        self._free_before: float | None = None
        self._stopped = False
        self._free_after: float | None = None
        try:
            self._file = os.open(proc / str(pid) / "stat", os.O_RDONLY)
        except OSError:
            return  # not Linux, or gone: nothing is measured

    def look(self) -> None:
        """Looks once."""
        if self._file is None:
            return
        before = monotonic()
        try:
            line = os.pread(self._file, 512, 0)
        except OSError:
            return
        if line[line.rfind(b")") + 2 :][:1] == _TRACED:
            self._stopped, self._free_after = True, None
        elif not self._stopped:
            self._free_before = before
        elif self._free_after is None:
            self._free_after = monotonic()

    @property
    def paused_ms(self) -> float | None:
        """How long it was stopped at most: between the looks around it that found it free. None when none found it."""
        if not self._stopped or self._free_before is None:
            return None
        return ((self._free_after or monotonic()) - self._free_before) * 1000

    def close(self) -> None:
        """Looks no more."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def safepoint_ms(pid: int, user: str, proc: Path) -> float | None:
    """Returns how long a JVM has stood still at safepoints since its start, milliseconds; None where it does not tell.

    The file lies in `/tmp` as the process sees it (its container's), under the process id that it has itself.
    """
    root = proc / str(pid) / "root" / "tmp"
    for own_pid in (pid, 1):
        try:
            counters = _counters((root / f"hsperfdata_{user}" / str(own_pid)).read_bytes())
        except (OSError, struct.error, ValueError):
            continue
        ticks, frequency = counters.get(_SAFEPOINTS), counters.get(_FREQUENCY)
        if ticks is not None and frequency:
            return ticks * 1000 / frequency
    return None


def _counters(raw: bytes) -> dict[bytes, int]:
    """Reads the counters that are whole numbers."""
    magic, order = struct.unpack_from(">IB", raw)
    if magic != _MAGIC or order != _LITTLE_ENDIAN:
        raise ValueError("no performance counters of a little-endian JVM")
    _, _, _, position, count = _HEADER.unpack_from(raw, 8)
    counters = {}
    for _ in range(count):
        length, name_at, vector_length, kind, _, _, _, value_at = _ENTRY.unpack_from(raw, position)
        if kind == ord("J") and vector_length == 0:
            name = raw[position + name_at : raw.index(b"\0", position + name_at)]
            (counters[name],) = _LONG.unpack_from(raw, position + value_at)
        position += length
    return counters
