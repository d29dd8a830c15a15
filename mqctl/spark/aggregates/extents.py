"""One row a store, and one a group and queue: what a look at files, ends and configuration tells."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

from mqctl.spark.aggregates.combiner import Columns
from mqctl.spark.aggregates.table import PartTable, Work
from mqctl.spark.query import Query
from mqctl.spark.scan.log_splits import first_store_time
from mqctl.spark.scan.planning import cells, open_store
from mqctl.spark.scan.remote import is_remote, local_path, shown
from mqctl.spark.selection import Selection
from mqctl.store.commitlog import CommitLog
from mqctl.store.logged import sound_records
from mqctl.store.mapped_files import MappedFile


def plan_stores(wanted: Selection, query: Query, count: int) -> list[Work]:
    """Plans one task a store."""
    del count
    return [(path, wanted, query) for path in wanted.stores]


def store_work(work: Work) -> tuple[str, Selection, Query]:
    """Takes the work of `plan_stores` apart."""
    assert isinstance(work, tuple)
    path, wanted, query = work
    return path, wanted, query


def _read_extents(work: Work) -> Iterator[Columns]:
    """Tells how much there is, since when, and the room on the disk that the store is on now."""
    path, _, _ = store_work(work)
    store = open_store(path)
    log = store.commit_log
    used = [file for file in log.files if file.size_bytes]
    first = first_store_time(used[0], 0, used[0].size_bytes) if used else None
    hint = store.log_end_hint()
    end = log.find_end(hint)
    device, disk_bytes, free_bytes = _disk(path)
    yield {
        "store": [path],
        "device": [device],
        "files": [len(used)],
        "file_bytes": [sum(file.size_bytes for file in used)],
        "log_bytes": [end.offset - log.min_offset],
        "disk_bytes": [disk_bytes],
        "free_bytes": [free_bytes],
        "oldest_ms": [first],
        "newest_ms": [_newest_store_time(log, end.file, hint)],
    }


def _disk(path: str) -> tuple[str, int | None, int | None]:
    """Returns the name, size and free bytes of the disk a store is on; object stores have no size."""
    if is_remote(path):
        return shown(path), None, None
    room = os.statvfs(local_path(path))
    device = f"{socket.gethostname()}:{local_path(path).stat().st_dev}"
    return device, room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize


def _newest_store_time(log: CommitLog, file: MappedFile | None, hint: int | None) -> int | None:
    """Walks the last file from where the consume queues end, or from its start; None for an empty log."""
    if file is None:
        return None
    start = hint - file.start if hint is not None and file.start <= hint < file.end else 0
    newest: int | None = None
    for _, headers in sound_records(log, [file], start):
        newest = max(newest or 0, int(headers.store_time_ms.max()))
    return newest if newest is not None or not start else _newest_store_time(log, file, None)


EXTENTS = PartTable(
    keys={"store": "string", "device": "string"},
    sums=(),
    lows=("files", "file_bytes", "log_bytes", "disk_bytes", "free_bytes", "oldest_ms"),
    highs=("newest_ms",),
    plan=plan_stores,
    read=_read_extents,
)


def _read_lags(work: Work) -> Iterator[Columns]:
    """Tells how far each group is behind in each queue, by the rules of `mqctl group lag`."""
    path, wanted, _ = store_work(work)
    lagging = cells(open_store(path), wanted)
    yield {
        "store": [path] * len(lagging),
        "group": [each.group for each in lagging],
        "topic": [each.topic for each in lagging],
        "queue_id": [each.queue_id for each in lagging],
        "lag": [each.lag_count for each in lagging],
        "lost": [each.lost_count for each in lagging],
    }


LAGS = PartTable(
    keys={"store": "string", "group": "string", "topic": "string", "queue_id": "int"},
    sums=("lag", "lost"),
    lows=(),
    highs=(),
    plan=plan_stores,
    read=_read_lags,
)
