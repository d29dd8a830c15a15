"""What verification of consume queues knows before it looks at the log, and what a part of the log adds to that.

Both are plain values: parts of a log can be verified by different processes, and joined afterwards.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field
from pathlib import Path

from mqctl.model.damage import Damage
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.storage_state import QueueBehind
from mqctl.store.consumequeue import Entries, raw_entries
from mqctl.store.layouts import QUEUE_ENTRY_BYTES
from mqctl.store.mapped_files import MappedFile
from mqctl.store.verify_coverage import UnknownRecords


@dataclass
class QueueFindings:
    """What the queues' verification found; `confirms_last`: an entry of the right size points to the last record."""

    damages: list[Damage] = field(default_factory=list)
    entry_count: int = 0
    confirms_last: bool = False
    behind: tuple[QueueBehind, ...] = ()
    dispatched_offset: int | None = None


@dataclass(frozen=True, slots=True)
class QueueRun:
    """The entries of one queue file, and where they are.

    Attributes:
        path: below the root of the consume queues.
        low, high: lowest and highest physical offset that live entries lead to; None without any.
        is_plain: all of them are live and lead ever further, as in any sound queue.
    """

    number: int
    queue: tuple[str, int]
    path: str
    start: int
    size_bytes: int
    first: int
    count: int
    low: int | None = None
    high: int | None = None
    is_plain: bool = False

    def raw(self, root: Path) -> Entries:
        """Maps the entries, for as long as they are used."""
        fresh = MappedFile(root / self.path, self.start, self.size_bytes)
        skip = self.first - self.start // QUEUE_ENTRY_BYTES
        return raw_entries(fresh.buffer)[skip : skip + self.count]


def leading_below(raw: Entries, end: int, begin: int = 0) -> int:
    """Returns how many of the entries of a plain run lead below `end`; `begin` of them are known to."""
    offsets = raw["physical_offset"]
    return bisect_left(offsets, end, lo=begin)


@dataclass
class QueuePlan:
    """What the queues' files show by themselves, before the log is looked at.

    Attributes:
        max_offsets: of the queues that have a directory.
        begins, topics: as `EntryCoverage.add` has them.
        damages: by the number of the queue.
        unread: queues with a file that could not be read: what they lack is not known.
    """

    queues: list[tuple[str, int]] = field(default_factory=list)
    max_offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    begins: dict[tuple[str, int], int] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    runs: list[QueueRun] = field(default_factory=list)
    damages: dict[int, list[Damage]] = field(default_factory=dict)
    unread: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class CheckedQueues:
    """What queues and a part of the log have to say of each other.

    Attributes:
        reported: deviations by number of the queue, start of the file, and kind.
        confirms_last, dispatched_offset: as in `QueueFindings`; None where no record was looked at, or covered.
        unknown: records without an entry.
        unread: queues with a file that could not be read any more.
    """

    reported: dict[tuple[int, int, int], Damage] = field(default_factory=dict)
    confirms_last: bool | None = None
    dispatched_offset: int | None = None
    unknown: UnknownRecords = field(default_factory=dict)
    unread: set[tuple[str, int]] = field(default_factory=set)
