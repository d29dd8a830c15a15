"""What a backlog report has to read: the state of every group in every queue, and queue entries in fair shares.

Only consume queue ends and configuration are looked at here (a few pages a queue); the entries are read by workers.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mqctl.errors import StorageError
from mqctl.model.lag import LagEvidence, QueueLag, queue_lags
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.spark.scan.remote import is_remote, local_path, remote_store
from mqctl.spark.selection import Selection
from mqctl.store.attached import look_at_each, source_of
from mqctl.store.batchqueue import BatchConsumeQueue
from mqctl.store.config_files import CONSUMER_OFFSETS, TOPICS, consumer_offsets, queue_counts
from mqctl.store.consumequeue import ConsumeQueue, raw_entries
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Int64s
from mqctl.store.layouts import QUEUE_ENTRY_BYTES

RANGE_ENTRIES = 1_000_000
"""Entries of one range at most (20 MB of consume queue), so that one long queue is no single task."""
_ENTRIES_ONLY = 8
_SAMPLES = 64
QUEUE_COST_ENTRIES = 2_000
"""What opening a queue costs, in entries: a share of many short queues is no lighter than one of a long queue."""
SHARE_ENTRIES = 200_000
"""Work below which a second task does not pay, in entries."""


@dataclass(frozen=True, slots=True)
class QueueRange:
    """Entries of one queue with queue offsets in [low, high).

    Attributes:
        readers: (group, queue offset at which its backlog starts), ascending by offset.
    """

    store: str
    topic: str
    queue_id: int
    low: int
    high: int
    readers: tuple[tuple[str, int], ...]


def open_store(path: str) -> StoreDirectory:
    """Opens a store: a directory, or a URL.

    Raises:
        NotFoundError: there is no such directory on this host.
        BadInputError: it is no store.
    """
    return remote_store(path) if is_remote(path) else StoreDirectory.open(local_path(path)).with_logged_entries()


def has_queue_files(store: StoreDirectory) -> bool:
    """Tells whether consume queues can be read; of those in RocksDB `mqctl.spark.reports.unread` tells."""
    return store.consume_queue_kind == "file"


def committed_offsets(store: StoreDirectory) -> list[ConsumerOffsetState]:
    """Returns every committed offset of a store, light queues included, as the broker would load them."""
    return [
        ConsumerOffsetState(group=group, topic=topic, queue_id=queue_id, offset=offset)
        for (topic, group), queues in consumer_offsets(store.config(CONSUMER_OFFSETS)).offsets.items()
        for queue_id, offset in queues.items()
    ]


def queue_bounds(store: StoreDirectory, topics: Iterable[str] | None = None) -> list[QueueState]:
    """Returns the readable range of every queue, batch consume queues included; `topics` None means all.

    Queues on this host whose files cannot be read are left out.

    Raises:
        StorageError: a queue of a store elsewhere cannot be read.
    """
    chosen = None if topics is None else set(topics)
    lowest = store.commit_log.min_offset
    plain = [place for place in store.queue_ids() if chosen is None or place[0] in chosen]
    known = set(plain)
    batches = [
        place for place in store.batch_queue_ids() if place not in known and (chosen is None or place[0] in chosen)
    ]

    def bounds(queue: ConsumeQueue | BatchConsumeQueue) -> QueueState | None:
        try:
            low = queue.min_offset(lowest)
        except StorageError:
            if source_of(store.path / "consumequeue") is not None:
                raise  # a store elsewhere may answer the next time: nobody would name what was left out
            return None  # `mqctl.spark.reports.unread` names it
        return QueueState(topic=queue.topic, queue_id=queue.queue_id, min_offset=low, max_offset=queue.max_offset)

    looked = [
        *look_at_each(store.path, lambda place: store.look_at_queue(*place, bounds), plain),
        *look_at_each(store.path, lambda place: bounds(store.batch_consume_queue(*place)), batches),
    ]
    return [each for each in looked if each is not None]


def cells(store: StoreDirectory, wanted: Selection) -> list[QueueLag]:
    """Returns where each wanted group stands in each queue of the topics it has offsets for.

    The rules are those of `mqctl group lag`, by the same function. A store whose queues cannot be read has none.
    """
    if not has_queue_files(store):
        return []
    offsets = [
        each
        for each in committed_offsets(store)
        if (not wanted.groups or each.group in wanted.groups) and (not wanted.topics or each.topic in wanted.topics)
    ]
    # Ages are the report's business: it knows store times of all messages behind a group.
    origin = Origin(
        kind=OriginKind.STORE, location=str(store.path), observed_at_ms=0, observed_from=ObservedFrom.STORE_TIME
    )
    evidence = LagEvidence(
        origin=origin,
        queues=tuple(queue_bounds(store, {each.topic for each in offsets})),
        consumer_offsets=tuple(offsets),
        queue_counts=queue_counts(store.config(TOPICS)),
    )
    return queue_lags(evidence, origin.observed_at_ms, system=wanted.system)


def ranges(store_path: str, states: Sequence[QueueLag], *, whole: bool = False) -> list[QueueRange]:
    """Returns what must be read to describe the messages behind the groups of `states`, each entry once.

    Ranges are longer with `whole`: for readers that look at entries only.
    """
    longest = RANGE_ENTRIES * _ENTRIES_ONLY if whole else RANGE_ENTRIES
    readers: dict[tuple[str, int], list[tuple[int, str]]] = {}
    ends: dict[tuple[str, int], int] = {}
    for state in states:
        if state.consumer_offset is None or state.broker_offset is None or state.min_offset is None:
            continue
        start = max(state.consumer_offset, state.min_offset)
        if start < state.broker_offset:
            readers.setdefault((state.topic, state.queue_id), []).append((start, state.group))
            ends[(state.topic, state.queue_id)] = state.broker_offset
    spans = []
    for (topic, queue_id), behind in readers.items():
        end = ends[(topic, queue_id)]
        behind.sort()
        for low in range(behind[0][0], end, longest):
            high = min(low + longest, end)
            present = tuple((group, start) for start, group in behind if start < high)
            spans.append(QueueRange(store_path, topic, queue_id, low, high, present))
    return spans


def placed_shares(work: Sequence[QueueRange], count: int) -> list[list[QueueRange]]:
    """Deals ranges into at most `count` shares, cut so that each share's entries lead into one part of a commit log.

    A worker that reads a part of the log from its beginning to its end meets most bytes once, whatever their queue.
    Where to cut is judged from a few entries of each range: any cut is right, a good one is fast.
    """
    weight = sum(each.high - each.low + QUEUE_COST_ENTRIES for each in work)
    wanted = max(1, min(count, -(-weight // SHARE_ENTRIES)))
    zones: list[list[QueueRange]] = []
    by_store: dict[str, list[QueueRange]] = {}
    for each in work:
        by_store.setdefault(each.store, []).append(each)
    for path, own in by_store.items():
        part = sum(each.high - each.low + QUEUE_COST_ENTRIES for each in own)
        zones += _zones(open_store(path), own, max(1, round(wanted * part / weight)))
    return _dealt(zones, wanted)


def _zones(store: StoreDirectory, work: Sequence[QueueRange], count: int) -> list[list[QueueRange]]:
    """Cuts the ranges of one store at physical offsets that halve, third, ... their entries, as samples tell."""
    if count == 1:
        return [list(work)]
    if is_remote(work[0].store):  # to look is to fetch
        return [[each] for each in work]
    samples = [_sample(store, each) for each in work]
    places = np.concatenate([physical for _, physical in samples])
    weights = np.concatenate(
        [
            np.full(len(rows), (each.high - each.low) / max(1, len(rows)))
            for each, (rows, _) in zip(work, samples, strict=True)
        ]
    )
    order = np.argsort(places, kind="stable")
    filled = np.cumsum(weights[order])
    goals = filled[-1] * np.arange(1, count) / count if len(filled) else np.empty(0)
    edges = places[order][np.minimum(np.searchsorted(filled, goals), len(order) - 1)] if len(order) else goals
    zones: list[list[QueueRange]] = [[] for _ in range(count)]
    for each, (rows, physical) in zip(work, samples, strict=True):
        bounds = np.append(rows, each.high)[np.searchsorted(physical, edges)]
        cuts = [each.low, *np.maximum.accumulate(bounds).tolist(), each.high]
        for zone, (low, high) in zip(zones, itertools.pairwise(cuts), strict=True):
            if low < high:
                present = tuple((group, start) for group, start in each.readers if start < high)
                if present:
                    zone.append(replace(each, low=low, high=high, readers=present))
    return [zone for zone in zones if zone]


def _sample(store: StoreDirectory, work: QueueRange) -> tuple[Int64s, Int64s]:
    """Returns queue offsets of a few entries of a range, ascending, and the physical offsets there."""
    queue = store.consume_queue(work.topic, work.queue_id)
    step = max(1, (work.high - work.low) // _SAMPLES)
    wanted = np.arange(work.low + step // 2, work.high, step, dtype=np.int64)
    rows, physical = [], []
    for file in queue.files:
        first = file.start // QUEUE_ENTRY_BYTES
        own = wanted[(wanted >= first) & (wanted < first + file.size_bytes // QUEUE_ENTRY_BYTES)]
        if len(own):
            rows.append(own)
            physical.append(raw_entries(file.buffer)["physical_offset"][own - first].astype(np.int64))
    nothing = np.empty(0, dtype=np.int64)
    return (np.concatenate(rows), np.concatenate(physical)) if rows else (nothing, nothing)


def shares(work: Sequence[QueueRange], count: int) -> list[list[QueueRange]]:
    """Deals ranges into at most `count` shares of like weight, heaviest first into the lightest share.

    Little work makes few shares: starting a Python worker costs more than reading `SHARE_ENTRIES`.
    """
    weight = sum(each.high - each.low + QUEUE_COST_ENTRIES for each in work)
    return _dealt([[each] for each in work], max(1, min(count, -(-weight // SHARE_ENTRIES))))


def _dealt(work: Sequence[list[QueueRange]], count: int) -> list[list[QueueRange]]:
    def weight(ranges: Sequence[QueueRange]) -> int:
        return sum(each.high - each.low + QUEUE_COST_ENTRIES for each in ranges)

    heap = [(0, number) for number in range(min(count, len(work)))]
    dealt: list[list[QueueRange]] = [[] for _ in heap]
    for each in sorted(work, key=weight, reverse=True):
        filled, number = heapq.heappop(heap)
        dealt[number] += each
        heapq.heappush(heap, (filled + weight(each), number))
    return dealt
