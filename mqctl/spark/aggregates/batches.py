"""What lies behind groups in batch consume queues (5.x, `queue.type=BatchCQ`): records that hold many messages each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mqctl.spark.aggregates.backlog_figures import Segment, Sums
from mqctl.spark.scan.planning import QueueRange
from mqctl.spark.selection import Bounds
from mqctl.store.commitlog import records_at
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int64s
from mqctl.store.mapped_files import MappedFile
from mqctl.store.texts import factorize, property_spans


def is_batch(store: StoreDirectory, topic: str, queue_id: int) -> bool:
    """Tells whether a queue's messages are found by a batch consume queue."""
    return (store.path / "batchconsumequeue" / topic / str(queue_id)).is_dir()


def behind_in_batches(
    store: StoreDirectory, work: QueueRange, store_time_ms: Bounds, *, arrivals_ms: int = 0
) -> Iterator[tuple[str, Segment]]:
    """Yields what of a range lies behind each reader, as `aggregation.behind` does.

    A record counts as the messages of it that are behind; its bytes count where its last message is: a group gets the
    whole record for any of them.
    """
    units = store.batch_consume_queue(work.topic, work.queue_id).units
    first = units["base_offset"].astype(np.int64)
    last = first + units["batch_size"].astype(np.int64)
    physical = units["physical_offset"].astype(np.int64)
    inside = np.flatnonzero((last > work.low) & (first < work.high))
    records = [(rows, file, headers) for file, rows, headers in records_at(store.commit_log, physical[inside])]
    for group, start in work.readers:
        low = max(start, work.low)
        behind = np.maximum(0, np.minimum(last, work.high) - np.maximum(first, low))
        whole = (last > low) & (last <= work.high)
        segment = Segment()
        sound = 0
        for rows, file, headers in records:
            own = inside[rows]
            sound += int(behind[own].sum())
            kept = (behind[own] > 0) & store_time_ms.mask(headers.store_time_ms)
            weights = (behind[own][kept], np.where(whole[own], headers.total_size, 0)[kept])
            _add(segment, file, headers.take(kept), weights, arrivals_ms)
        segment.dangling = max(0, work.high - low) - sound
        yield group, segment


def _add(
    segment: Segment, file: MappedFile, headers: Headers, weights: tuple[Int64s, Int64s], arrivals_ms: int
) -> None:
    if not len(headers):
        return
    tags = property_spans(file.known, headers, ["TAGS"])["TAGS"]
    alphabet = factorize(file.known, tags.start, tags.size)
    for code, name in [(-1, None), *enumerate(alphabet.names)]:
        _sum(segment.by_tag, name, alphabet.codes == code, headers.store_time_ms, weights)
    if arrivals_ms:
        bucket = headers.store_time_ms // arrivals_ms * arrivals_ms
        for time_ms in np.unique(bucket).tolist():
            sums = Sums(*(int(weight[bucket == time_ms].sum()) for weight in weights))
            segment.arrivals.setdefault(time_ms, Sums()).add(sums)


def _sum(
    into: dict[str | None, Sums],
    tag: str | None,
    mask: NDArray[np.bool_],
    times: Int64s,
    weights: tuple[Int64s, Int64s],
) -> None:
    if mask.any():
        messages, size = (int(weight[mask].sum()) for weight in weights)
        sums = Sums(messages, size, int(times[mask].min()), int(times[mask].max()))
        into.setdefault(tag, Sums()).add(sums)
