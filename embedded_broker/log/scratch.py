"""Directories for stores that nobody keeps: in memory where the machine has tmpfs, gone with the process.

A process that is killed cannot clean up; the next one on the machine does it, by the process id in the name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from mqctl.model.numbers import MOST_INT32, decimal

_PREFIX = "embedded-broker-"
_MEMORY = Path("/dev/shm")
_ROOMY_BYTES = 512 * 1024 * 1024


def make_throw_away_directory() -> Path:
    """Makes a private directory, and removes those of this user's processes that are dead."""
    parent = _MEMORY if _is_roomy(_MEMORY) else Path(tempfile.gettempdir())
    for path in parent.glob(f"{_PREFIX}*"):
        owner = decimal(path.name.removeprefix(_PREFIX).partition("-")[0], high=MOST_INT32)
        if owner is not None and os.access(path, os.W_OK) and not _is_alive(owner):
            shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))


def _is_roomy(path: Path) -> bool:
    """Tells whether a store may live there; containers often have 64 MiB of shared memory, which fill in seconds."""
    if not os.access(path, os.W_OK):
        return False
    room = os.statvfs(path)
    return room.f_bavail * room.f_frsize >= _ROOMY_BYTES


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
