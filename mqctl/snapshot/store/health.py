"""The health of a store's own files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.model.config_file import ConfigFileState
from mqctl.model.gap import Cause, GapSubject, Part
from mqctl.model.storage_state import CheckpointState, CommitLogState, LockHolder, StorageState
from mqctl.snapshot.store.reading import Reading
from mqctl.store.epochs import cut_of
from mqctl.store.host import MAPPED, file_system_of, map_limit, with_open_files
from mqctl.store.set_aside import set_aside_parts
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.store.verify import VerifyReport


def storage_state(
    reading: Reading, *, files: list[ConfigFileState], checkpoint: CheckpointState, report: VerifyReport | None
) -> StorageState:
    """Returns what the files say about themselves; damages and clocks only after the deep pass."""
    store = reading.store
    return StorageState(
        has_abort=store.abort(),
        commit_log=_commit_log(reading, report),
        checkpoint=checkpoint,
        clocks=report.clocks if report else None,
        config_files=tuple(files),
        verified=report is not None,
        damages=report.damages if report else (),
        behind=report.behind if report else (),
        tail=report.unconfirmed if report else None,
        dispatched_offset=_dispatched(reading),
        disk_used_share=_disk_used_share(reading),
        holder=_holder(reading),
        set_aside=tuple(set_aside_parts(store.path)),
        mapped_file_count=_mapped_files(store.path),
        map_limit=map_limit(),
        file_system=file_system_of(store.path),
        cut=cut_of(store.path, store.commit_log, checkpoint.confirm_offset),
    )


def _holder(reading: Reading) -> LockHolder | None:
    """Returns who holds the store, and what it has open."""
    holder = reading.store.holder
    if holder is None:
        return None
    holder = with_open_files(holder, reading.store.path)
    if holder.deleted is None:
        reason = sentence("capture-process-of-another-user", "another user's process shows root only what it has open")
        subject = GapSubject(place=sentence("gap-process", "process {pid}", pid=holder.pid))
        reading.miss(Part.PROCESSES, reason, subject=subject, cause=Cause.DENIED)
    return holder


def _mapped_files(root: Path) -> int:
    """Counts the files of a store that a broker maps: each queue has at least one."""
    return sum(
        len(files)
        for place in MAPPED
        for _, _, files in os.walk(root / place)  # a directory that is not there, or closed, has none
    )


def _commit_log(reading: Reading, report: VerifyReport | None) -> CommitLogState | None:
    log = reading.store.commit_log
    if not log.files:
        return None
    return CommitLogState(
        min_offset=log.min_offset,
        max_offset=report.max_offset if report else log.find_end(reading.store.log_end_hint()).offset,
        file_count=len(log.files),
        oldest_store_time_ms=report.first_store_time_ms if report else _oldest_store_time(reading),
        newest_store_time_ms=report.last_store_time_ms if report else None,
    )


def _oldest_store_time(reading: Reading) -> int | None:
    first = reading.store.commit_log.min_offset
    return reading.store_times([first]).get(first)


def _dispatched(reading: Reading) -> int | None:
    """End of the last record that any consume queue knows; None where the broker has the newest entries in memory."""
    if reading.store.in_memory:
        return None
    ends = []
    for bounds in reading.bounds.values():
        entries = bounds.queue.entries(bounds.max_offset - 1, bounds.max_offset)
        if len(entries) and bounds.max_offset > bounds.min_offset:
            ends.append(int(entries["physical_offset"][0]) + int(entries["size"][0]))
    return max(ends, default=None)


def _disk_used_share(reading: Reading) -> float | None:
    """Used share of the file system, by RocketMQ's rule: used / (used + usable by others than root)."""
    try:
        status = os.statvfs(reading.store.path)
    except OSError:
        return None
    used = status.f_blocks - status.f_bfree
    return used / (used + status.f_bavail) if used + status.f_bavail else None
