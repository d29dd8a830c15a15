"""What verification knows of a commit log at a time: the records of one window, and what all windows had so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

import numpy as np

from mqctl.model.damage import Damage
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.storage_state import ClockState
from mqctl.store.kernel import Int64s, Mask
from mqctl.store.mapped_files import MappedFile

BORN_AHEAD_TOLERANCE_MS = 10_000


def _ints() -> Int64s:
    return np.empty(0, dtype=np.int64)


@dataclass
class LogTable:
    """Accepted records of one window as columns, ascending by physical offset; queues and index are joined with them.

    `topic` indexes `topics`, whose `numbers` these are; `tag_hash` is Java's hash of TAGS, 0 without; `unique_hash` is
    the index hash of UNIQ_KEY, `NO_KEY` where there is no plain one, or no index; `file_number` indexes `files`.

    Attributes:
        low, high: physical offsets that the window answers for; windows follow one another without a gap.
        unread: physical offsets between which the disk gave nothing; what records lie there is not known.
    """

    low: int = 0
    high: int = 0
    physical_offset: Int64s = field(default_factory=_ints)
    position: Int64s = field(default_factory=_ints)
    size: Int64s = field(default_factory=_ints)
    queue_id: Int64s = field(default_factory=_ints)
    queue_offset: Int64s = field(default_factory=_ints)
    store_time_ms: Int64s = field(default_factory=_ints)
    sys_flag: Int64s = field(default_factory=_ints)
    topic: Int64s = field(default_factory=_ints)
    tag_hash: Int64s = field(default_factory=_ints)
    file_number: Int64s = field(default_factory=_ints)
    host: Int64s = field(default_factory=_ints)
    born_lead_ms: Int64s = field(default_factory=_ints)
    unique_hash: Int64s = field(default_factory=_ints)
    numbers: dict[str, int] = field(default_factory=dict)
    topics: list[str] = field(default_factory=list)
    files: list[MappedFile] = field(default_factory=list)
    unread: Sequence[tuple[int, int]] = ()

    def __len__(self) -> int:
        return len(self.physical_offset)

    def rows_of(self, offsets: Int64s) -> tuple[Int64s, Mask]:
        """Returns for each physical offset a row of the table, and whether a record starts exactly there."""
        if not len(self):
            return np.zeros(len(offsets), np.int64), np.zeros(len(offsets), bool)
        at = np.minimum(np.searchsorted(self.physical_offset, offsets), len(self) - 1).astype(np.int64)
        return at, self.physical_offset[at] == offsets

    def missing(self, offsets: Int64s, hit: Mask) -> Int64s:
        """Returns the rows of physical offsets at which no record starts, but for those that may have been unread.

        What is unread hides all between the last record before it and the first one behind.
        """
        lacking = ~hit
        for begin, end in self.unread if lacking.any() else ():
            if begin < self.high and end > self.low:
                behind = int(np.searchsorted(self.physical_offset, begin))
                low = self.low if behind == 0 else int(self.physical_offset[behind - 1] + self.size[behind - 1])
                high = self.high if behind == len(self) else int(self.physical_offset[behind])
                lacking &= (offsets < low) | (offsets >= max(high, end))
        return np.flatnonzero(lacking)

    def place(self, root: Path, row: int) -> tuple[str, int]:
        """Names the file of a record and its position there."""
        return self.relative(root, self.files[int(self.file_number[row])]), int(self.position[row])

    @staticmethod
    def relative(root: Path, file: MappedFile) -> str:
        """Names a file by its path below the store's root, or in full when the log lives elsewhere."""
        return file.path.relative_to(root).as_posix() if file.path.is_relative_to(root) else file.path.as_posix()


COLUMNS = (
    "physical_offset", "position", "size", "queue_id", "queue_offset", "store_time_ms", "sys_flag", "topic", "tag_hash",
    "host", "born_lead_ms", "unique_hash", "file_number",
)  # fmt: skip
POSITION, SIZE, FILE_NUMBER = (COLUMNS.index(name) for name in ("position", "size", "file_number"))
NO_KEY = -1
"""The index hash of a record without a unique key: no entry bears it."""


@dataclass(frozen=True, slots=True)
class LastRecord:
    """The last accepted record of a log."""

    physical_offset: int
    size_bytes: int
    store_time_ms: int
    file: str
    position: int


@dataclass
class Clocks:
    """Store times against each other and against born times.

    Attributes:
        begin_ms, begin: store time and place (file, position, physical offset) of the first record.
        previous_ms: store time of the last record.
        first: place of the first record that was stored before its predecessor.
    """

    begin_ms: int | None = None
    begin: tuple[str, int, int] | None = None
    previous_ms: int | None = None
    born_ahead_count: int = 0
    max_born_ahead_ms: int | None = None
    step_back_count: int = 0
    max_step_back_ms: int = 0
    first: tuple[str, int, int] | None = None

    def add(self, root: Path, table: LogTable) -> None:
        """Takes the records of the next window."""
        times = table.store_time_ms
        if self.begin is None:
            self.begin_ms, self.begin = int(times[0]), (*table.place(root, 0), int(table.physical_offset[0]))
        before = times[:1] if self.previous_ms is None else np.array([self.previous_ms], dtype=np.int64)
        steps = np.diff(times, prepend=before)
        back = np.flatnonzero(steps < 0)
        if len(back):
            if self.first is None:
                self.first = (*table.place(root, int(back[0])), int(table.physical_offset[back[0]]))
            self.step_back_count += len(back)
            self.max_step_back_ms = max(self.max_step_back_ms, int(-steps.min()))
        self.born_ahead_count += int((table.born_lead_ms > BORN_AHEAD_TOLERANCE_MS).sum())
        lead = int(table.born_lead_ms.max())
        self.max_born_ahead_ms = lead if self.max_born_ahead_ms is None else max(self.max_born_ahead_ms, lead)
        self.previous_ms = int(times[-1])

    def join(self, later: Clocks) -> None:
        """Takes the records of the files behind."""
        if later.begin_ms is None:
            return
        step = 0 if self.previous_ms is None else later.begin_ms - self.previous_ms
        self.first = self.first or (later.begin if step < 0 else later.first)
        self.step_back_count += later.step_back_count + (step < 0)
        self.max_step_back_ms = max(self.max_step_back_ms, later.max_step_back_ms, -step)
        self.born_ahead_count += later.born_ahead_count
        leads = [lead for lead in (self.max_born_ahead_ms, later.max_born_ahead_ms) if lead is not None]
        self.max_born_ahead_ms = max(leads, default=None)
        if self.begin is None:
            self.begin_ms, self.begin = later.begin_ms, later.begin
        self.previous_ms = later.previous_ms

    def state(self, sampled_count: int) -> ClockState:
        if not sampled_count:
            return ClockState(sampled_count=0)
        return ClockState(
            sampled_count=sampled_count,
            born_ahead_count=self.born_ahead_count,
            max_born_ahead_ms=self.max_born_ahead_ms,
            step_back_count=self.step_back_count,
            max_step_back_ms=self.max_step_back_ms if self.first is not None else None,
            first_step_back_offset=self.first[2] if self.first is not None else None,
        )


@dataclass(slots=True)
class StoreHost:
    """A broker's address that records were stored under: by how many, and the place of the first."""

    name: str
    count: int
    file: str
    position: int
    physical_offset: int


@dataclass
class LogFindings:
    """What the verification of some neighbouring files of a log found.

    Attributes:
        followed: a valid filler stands behind the last record.
        first_offset: physical offset of the first record; None without records.
        hosts: by the bytes of their addresses.
        unread: as `LogTable` has it.
    """

    damages: list[Damage] = field(default_factory=list)
    max_offset: int = 0
    followed: bool = False
    record_count: int = 0
    record_bytes: int = 0
    first_offset: int | None = None
    first_store_time_ms: int | None = None
    last: LastRecord | None = None
    clocks: Clocks = field(default_factory=Clocks)
    per_topic: dict[str, int] = field(default_factory=dict)
    hosts: dict[int, StoreHost] = field(default_factory=dict)
    unread: list[tuple[int, int]] = field(default_factory=list)

    @property
    def end(self) -> int | None:
        """Physical offset behind the last record, or behind the last place that may have held one; None without any."""
        ends = [end for _, end in self.unread]
        if self.last is not None:
            ends.append(self.last.physical_offset + self.last.size_bytes)
        return max(ends, default=None)

    def join(self, later: LogFindings) -> None:
        """Takes what was found in the files behind."""
        self.damages += later.damages
        self.unread += later.unread
        self.followed = later.followed or (self.followed and later.last is None)
        self.max_offset = later.max_offset or self.max_offset
        self.record_count += later.record_count
        self.record_bytes += later.record_bytes
        if self.last is None:
            self.first_offset, self.first_store_time_ms = later.first_offset, later.first_store_time_ms
        self.last = later.last or self.last
        self.clocks.join(later.clocks)
        for name, count in later.per_topic.items():
            self.per_topic[name] = self.per_topic.get(name, 0) + count
        for host, each in later.hosts.items():
            self.add_host(host, each)

    def add_host(self, host: int, records: StoreHost) -> None:
        """Counts more records of a host, which stand behind those that are counted."""
        known = self.hosts.setdefault(host, records)
        if known is not records:
            known.count += records.count
