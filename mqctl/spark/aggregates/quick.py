"""Backlog figures from queue entries alone: 20 bytes a message, and one record read at each end of what is counted.

Sizes stand in the entries. Store times of the ends come from the records there; those between lie between them, as a
broker writes in order. Entries are believed when the commit log's files cover them and the records at the ends are
sound; where that is not so, the caller looks at every record instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mqctl.spark.aggregates.backlog_figures import Segment, Sums
from mqctl.spark.scan.planning import QueueRange
from mqctl.store.consumequeue import raw_entries
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Int64s
from mqctl.store.layouts import FILLER_SIZE, QUEUE_ENTRY_BYTES


def behind_by_entries(store: StoreDirectory, work: QueueRange) -> Iterator[tuple[str, Segment]] | None:
    """Returns what lies behind each reader of a range, as `aggregation.behind` does but with all tags as one.

    Returns None where the entries cannot be believed by themselves.
    """
    starts = np.unique(np.array([max(start, work.low) for _, start in work.readers], dtype=np.int64))
    sums = _sums(store, work, np.append(starts, work.high))
    if sums is None:
        return None
    segments: list[Segment] = []
    for each in reversed(sums):
        total = Segment({None: Sums()})
        total.by_tag[None].add(each)
        if segments:
            total.add(segments[-1])
        segments.append(total)
    by_start = dict(zip(starts.tolist(), reversed(segments), strict=True))
    return ((group, by_start[max(start, work.low)]) for group, start in work.readers)


def _sums(store: StoreDirectory, work: QueueRange, edges: Int64s) -> list[Sums] | None:
    """Sums the entries between the edges (queue offsets, ascending); None where they cannot be believed."""
    sums = [Sums() for _ in range(len(edges) - 1)]
    ends: list[tuple[int, int]] = []
    expected = work.low
    low_offset, high_offset = _covered(store)
    queue = store.consume_queue(work.topic, work.queue_id)
    for file in queue.files:
        first = file.start // QUEUE_ENTRY_BYTES
        begin, end = max(work.low, first), min(work.high, first + file.size_bytes // QUEUE_ENTRY_BYTES)
        if begin >= end:
            continue
        if begin != expected:
            return None
        expected = end
        entries = raw_entries(file.view((begin - first) * QUEUE_ENTRY_BYTES, (end - first) * QUEUE_ENTRY_BYTES))[
            begin - first : end - first
        ]
        sizes = entries["size"].astype(np.int32)
        physical = entries["physical_offset"].astype(np.int64)
        if int(sizes.max()) == FILLER_SIZE or int(sizes.min()) <= 0:
            return None
        if int(physical.min()) < low_offset or int(physical[-1]) + int(sizes[-1]) > high_offset:
            return None
        if len(physical) > 1 and not (physical[1:] > physical[:-1]).all():
            return None
        for number in range(len(sums)):
            left = max(begin, int(edges[number])) - begin
            right = min(end, int(edges[number + 1])) - begin
            if left < right:
                sums[number].messages += right - left
                sums[number].bytes += int(sizes[left:right].sum(dtype=np.int64))
                ends += [(number, int(physical[left])), (number, int(physical[right - 1]))]
    return sums if expected == work.high and _timed(store, sums, ends) else None


def _covered(store: StoreDirectory) -> tuple[int, int]:
    """Returns the physical offsets that files cover without a gap, as [low, high); nothing where there is one."""
    log = store.commit_log
    if log.gaps or not log.files:
        return 0, -1
    return log.min_offset, log.files[-1].end


def _timed(store: StoreDirectory, sums: list[Sums], ends: list[tuple[int, int]]) -> bool:
    """Reads the store times at both ends of every piece; False where no sound record stands at one."""
    times = store.commit_log.store_times(np.array([physical for _, physical in ends], dtype=np.int64))
    for (number, _), time in zip(ends, times.tolist(), strict=True):
        if time < 0:
            return False
        sums[number].add(Sums(0, 0, time, time))
    return True
