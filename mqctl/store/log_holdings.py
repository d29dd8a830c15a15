"""What parts of a commit log hold of each queue: the messages that only one of two logs has, for instance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.commitlog import CommitLog
from mqctl.store.kernel import Headers
from mqctl.store.logged import sound_records
from mqctl.store.mapped_files import MappedFile
from mqctl.store.texts import topic_codes


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHolding:
    """Messages of one queue in some range of a log.

    Attributes:
        first_offset, last_offset: their lowest and highest queue offset.
        stored_from_ms, stored_to_ms: their lowest and highest store time.
    """

    topic: str
    queue_id: int
    count: int
    first_offset: int
    last_offset: int
    stored_from_ms: int
    stored_to_ms: int

    def joined(self, other: LogHolding) -> LogHolding:
        """Returns both together."""
        return LogHolding(
            topic=self.topic,
            queue_id=self.queue_id,
            count=self.count + other.count,
            first_offset=min(self.first_offset, other.first_offset),
            last_offset=max(self.last_offset, other.last_offset),
            stored_from_ms=min(self.stored_from_ms, other.stored_from_ms),
            stored_to_ms=max(self.stored_to_ms, other.stored_to_ms),
        )


def log_holdings(log: CommitLog, ranges: Sequence[tuple[int, int]]) -> list[LogHolding]:
    """Returns what begins within some ranges of physical offsets, by topic and queue.

    Raises:
        StorageError: a file cannot be read.
    """
    shares: dict[tuple[str, int], LogHolding] = {}
    for file in log.files:
        wanted = [(low, high) for low, high in ranges if low < file.end and file.start < high]
        if not wanted:
            continue
        for _, part in sound_records(log, [file]):
            for share in _of_part(file, part, wanted):
                known = shares.get((share.topic, share.queue_id))
                shares[share.topic, share.queue_id] = share if known is None else known.joined(share)
    return [shares[place] for place in sorted(shares)]


def _of_part(file: MappedFile, part: Headers, ranges: Sequence[tuple[int, int]]) -> list[LogHolding]:
    starts = part.position + file.start
    inside = np.zeros(len(part), dtype=bool)
    for low, high in ranges:
        inside |= (starts >= low) & (starts < high)
    if not inside.any():
        return []
    rows = part.take(inside)
    topics = topic_codes(file.known, rows)
    places = topics.codes.astype(np.int64) << 32 | (rows.queue_id.astype(np.int64) & 0xFFFF_FFFF)
    order = np.argsort(places, kind="stable")
    _, firsts, counts = np.unique(places[order], return_index=True, return_counts=True)
    offsets, times = rows.queue_offset[order], rows.store_time_ms[order]
    figures = [
        (np.minimum.reduceat(values, firsts), np.maximum.reduceat(values, firsts)) for values in (offsets, times)
    ]
    return [
        LogHolding(
            topic=topics.names[topics.codes[order[first]]],
            queue_id=int(rows.queue_id[order[first]]),
            count=int(counts[number]),
            first_offset=int(figures[0][0][number]),
            last_offset=int(figures[0][1][number]),
            stored_from_ms=int(figures[1][0][number]),
            stored_to_ms=int(figures[1][1][number]),
        )
        for number, first in enumerate(firsts)
        if topics.codes[order[first]] >= 0
    ]
