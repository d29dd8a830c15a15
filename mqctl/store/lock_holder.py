"""Who holds the lock of a store: the broker that writes it, where it runs on this machine.

Brokers lock the first byte of the file `lock` while they run (`DefaultMessageStore.start`). The lock is looked up in
the kernel's table and not tried: whoever tries it holds it for a moment, and keeps a broker from starting.
"""

from __future__ import annotations

import os
from pathlib import Path

from mqctl.model.storage_state import LockHolder

_TABLE = Path("/proc/locks")
_INODE = 5
_PID = 4


def lock_holder(store: Path) -> LockHolder | None:
    """Returns the process that holds the store's lock; None where nobody does, or the system does not tell."""
    try:
        status = (store / "lock").stat()
        lines = _TABLE.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for fields in map(str.split, lines):
        if len(fields) > _INODE and fields[1] != "->" and fields[_INODE] == wanted and int(fields[_PID]) > 0:
            return LockHolder(pid=int(fields[_PID]), since_ms=_started_ms(int(fields[_PID])))
    return None


def _started_ms(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_mtime_ns // 1_000_000
    except OSError:
        return None
