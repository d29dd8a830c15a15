"""What a power cut leaves of a commit log."""

from __future__ import annotations

from pathlib import Path

from mqctl.store.log_writer import CommitLogWriter
from mqctl.store.own_files import changing_stream


def zero_unsynced(log: CommitLogWriter, durable: int, end: int) -> None:
    """Overwrites what was never synced with zeros: the operating system had it in memory only.

    Args:
        durable: physical offset before which everything was synced.
        end: where the log ended.
    """
    while durable < end:
        path, at = Path(log.path(durable)), durable % log.file_bytes
        length = min(end - durable, log.file_bytes - at)
        if path.exists():
            with changing_stream(path) as file:
                file.seek(at)
                file.write(bytes(max(0, min(length, path.stat().st_size - at))))
        durable += length
