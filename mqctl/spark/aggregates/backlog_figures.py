"""Backlog figures of a range of queue entries, computed in the worker with numpy: no Python per message.

Each entry is followed into the commit log and believed only if the record there passes the structural test and has the
entry's size. Tags come from the records' TAGS property: the hash in the entry is ambiguous, and stands for something
else in extended and schedule queues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from mqctl.spark.scan.planning import QueueRange
from mqctl.spark.selection import EVERYTHING, Bounds
from mqctl.store.commitlog import CommitLog
from mqctl.store.consumequeue import Entries, is_filler
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int64s, accepted, headers
from mqctl.store.layouts import HEADER_BYTES
from mqctl.store.mapped_files import MappedFile
from mqctl.store.texts import factorize, property_spans
from mqctl.store.walk import record_limit

CHUNK_ENTRIES = 1 << 16
_TOGETHER_ENTRIES = 1 << 13


@dataclass(slots=True)
class Sums:
    """Messages, their bytes in the commit log, and the store times (epoch ms) at both ends."""

    messages: int = 0
    bytes: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None

    def add(self, other: Sums) -> None:
        """Adds what `other` counted."""
        self.messages += other.messages
        self.bytes += other.bytes
        if other.oldest_ms is not None and (self.oldest_ms is None or other.oldest_ms < self.oldest_ms):
            self.oldest_ms = other.oldest_ms
        if other.newest_ms is not None and (self.newest_ms is None or other.newest_ms > self.newest_ms):
            self.newest_ms = other.newest_ms


@dataclass(slots=True)
class Segment:
    """The messages between two readers' offsets by tag and by the time bucket (epoch ms) they arrived in.

    Attributes:
        dangling: entries that lead to no message.
    """

    by_tag: dict[str | None, Sums] = field(default_factory=dict)
    dangling: int = 0
    arrivals: dict[int, Sums] = field(default_factory=dict)

    def add(self, other: Segment) -> None:
        """Adds what `other` counted."""
        self.dangling += other.dangling
        for time_ms, sums in other.arrivals.items():
            self.arrivals.setdefault(time_ms, Sums()).add(sums)
        for tag, sums in other.by_tag.items():
            self.by_tag.setdefault(tag, Sums()).add(sums)


def behind(
    store: StoreDirectory, work: QueueRange, store_time_ms: Bounds = EVERYTHING, *, arrivals_ms: int = 0
) -> Iterator[tuple[str, Segment]]:
    """Yields, for each reader of a range, what of the range lies behind it; see `behind_all`."""
    for _, group, segment in behind_all(store, (work,), store_time_ms, arrivals_ms=arrivals_ms):
        yield group, segment


def behind_all(
    store: StoreDirectory, work: Sequence[QueueRange], store_time_ms: Bounds = EVERYTHING, *, arrivals_ms: int = 0
) -> Iterator[tuple[QueueRange, str, Segment]]:
    """Yields, for each range and each of its readers, what of the range lies behind it.

    The entries are read once: offsets of the readers cut a range into segments, and a reader's backlog is the sum of
    the segments from its own on. The segment yielded is the same object each time, still growing: use it at once.
    Messages stored outside of `store_time_ms` are passed over. With `arrivals_ms` above 0, messages are counted by
    buckets of that width, too. Entries of short queues are looked at together.
    """
    segments: list[Segment] = []
    plans: list[tuple[QueueRange, int, Int64s]] = []
    counting = Counting(store.commit_log, store_time_ms, arrivals_ms)
    waiting: list[tuple[Int64s, Entries]] = []
    for each in work:
        starts = np.unique(np.array([max(start, each.low) for _, start in each.readers], dtype=np.int64))
        plans.append((each, len(segments), starts))
        own = [Segment() for _ in starts]
        expected = each.low
        for first, entries in store.consume_queue(each.topic, each.queue_id).runs(each.low, each.high):
            count_missing(own, starts, expected, first)
            expected = first + len(entries)
            for begin in range(0, len(entries), CHUNK_ENTRIES):
                chunk = entries[begin : begin + CHUNK_ENTRIES]
                offsets = np.arange(first + begin, first + begin + len(chunk), dtype=np.int64)
                waiting.append((np.searchsorted(starts, offsets, side="right") - 1 + len(segments), chunk))
        count_missing(own, starts, expected, each.high)
        segments += own
        if sum(len(chunk) for _, chunk in waiting) >= _TOGETHER_ENTRIES:
            counting.add_all(segments, waiting)
            waiting.clear()
    counting.add_all(segments, waiting)
    for each, begin, starts in plans:
        for group, segment in by_reader(each, starts, segments[begin : begin + len(starts)]):
            yield each, group, segment


def by_reader(work: QueueRange, starts: Int64s, segments: Sequence[Segment]) -> Iterator[tuple[str, Segment]]:
    """Yields for each reader the sum of the segments from its own on: one object that is still growing."""
    total = Segment()
    for number in range(len(starts) - 1, -1, -1):
        total.add(segments[number])
        for group, start in work.readers:
            if max(start, work.low) == starts[number]:
                yield group, total


def count_missing(segments: Sequence[Segment], starts: Int64s, low: int, high: int) -> None:
    """Counts entries that no file holds (a file of the queue is missing) as leading to nothing."""
    for number, segment in enumerate(segments):
        end = int(starts[number + 1]) if number + 1 < len(starts) else high
        segment.dangling += max(0, min(high, end) - max(low, int(starts[number])))


@dataclass(frozen=True, slots=True)
class Counting:
    """How entries are followed and counted."""

    log: CommitLog
    store_time_ms: Bounds
    arrivals_ms: int

    def add_all(self, segments: Sequence[Segment], chunks: Sequence[tuple[Int64s, Entries]]) -> None:
        """Counts chunks of entries, short ones together."""
        together: list[tuple[Int64s, Entries]] = []
        for number, chunk in enumerate(chunks):
            together.append(chunk)
            if number + 1 == len(chunks) or sum(len(each) for _, each in together) >= _TOGETHER_ENTRIES:
                segment_of = np.concatenate([each for each, _ in together])
                self.add(segments, segment_of, np.concatenate([each for _, each in together]))
                together.clear()

    def add(self, segments: Sequence[Segment], segment_of: Int64s, entries: Entries) -> None:
        """Counts entries, each in its segment."""
        dangling = ~is_filler(entries)
        order = np.argsort(entries["physical_offset"], kind="stable")
        physical = entries["physical_offset"][order]
        for file in self.log.files:
            low, high = np.searchsorted(physical, [file.start, file.end])
            rows = order[low:high]
            rows = rows[entries["physical_offset"][rows] - file.start <= len(file.known) - HEADER_BYTES]
            if not len(rows):
                continue
            positions = entries["physical_offset"][rows] - file.start
            headers_of = headers(file.records_view(positions), positions)
            good = accepted(headers_of, file.start, record_limit(file.known, self.log.file_size_bytes))
            good &= headers_of.total_size == entries["size"][rows]
            dangling[rows[good]] = False
            if not self.store_time_ms.is_everything:
                good &= self.store_time_ms.mask(headers_of.store_time_ms)
            _add_records(segments, segment_of[rows[good]], file, headers_of.take(good))
            if self.arrivals_ms:
                _add_arrivals(segments, segment_of[rows[good]], headers_of.take(good), self.arrivals_ms)
        missed = np.bincount(segment_of[dangling])
        for number in np.flatnonzero(missed).tolist():
            segments[number].dangling += int(missed[number])


def _add_arrivals(segments: Sequence[Segment], segment_of: Int64s, headers: Headers, width_ms: int) -> None:
    if not len(headers):
        return
    bucket = headers.store_time_ms // width_ms
    low = int(bucket.min())
    room = int(bucket.max()) - low + 1
    keys, inverse = np.unique(segment_of * room + (bucket - low), return_inverse=True)
    counts, sizes = np.bincount(inverse), np.bincount(inverse, weights=headers.total_size)
    for row, key in enumerate(keys.tolist()):
        arrivals = segments[key // room].arrivals
        sums = Sums(int(counts[row]), int(sizes[row]))
        arrivals.setdefault((key % room + low) * width_ms, Sums()).add(sums)


def _add_records(segments: Sequence[Segment], segment_of: Int64s, file: MappedFile, headers: Headers) -> None:
    if not len(headers):
        return
    tags = property_spans(file.known, headers, ["TAGS"])["TAGS"]
    alphabet = factorize(file.known, tags.start, tags.size)
    names = (*alphabet.names, None)
    codes = np.where(alphabet.codes < 0, len(names) - 1, alphabet.codes)
    keys, inverse = np.unique(segment_of * len(names) + codes, return_inverse=True)
    counts = np.bincount(inverse)
    # Sums of sizes stay far below 2**53, so float64 weights are exact.
    sizes = np.bincount(inverse, weights=headers.total_size)
    order = np.argsort(inverse, kind="stable")
    begins = np.concatenate(([0], np.cumsum(counts)[:-1]))
    times = headers.store_time_ms[order]
    oldest, newest = np.minimum.reduceat(times, begins), np.maximum.reduceat(times, begins)
    for row, key in enumerate(keys.tolist()):
        sums = Sums(int(counts[row]), int(sizes[row]), int(oldest[row]), int(newest[row]))
        by_tag = segments[key // len(names)].by_tag
        by_tag.setdefault(names[key % len(names)], Sums()).add(sums)
