"""Verification of index files: headers, chains, and entries against the keys of the records they point to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import BadInputError, MqctlError, NotFoundError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.java_hash import key_hash
from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.message_record import decode_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.dtypes import INDEX_ENTRY
from mqctl.store.index_file import IndexFile
from mqctl.store.kernel import Int64s, Mask
from mqctl.store.layouts import INDEX_ENTRY_BYTES, INDEX_HEADER_BYTES
from mqctl.store.log_window import LogTable
from mqctl.text import sentence

SLICE_ENTRIES = 1 << 20
_TAG_TYPE = "T"
"""5.5.0 has entries for tags as well: `topic#T#tag`."""
_MOST_BYTES = (1 << 31) - 1
_TOO_LARGE = sentence("store-larger-two-gib", "it is larger than 2 GiB, and no broker can map it")


@dataclass
class IndexFindings:
    """What the index files' verification found."""

    damages: list[Damage] = field(default_factory=list)
    entry_count: int = 0


@dataclass(frozen=True, slots=True)
class IndexSlice:
    """Some neighbouring entries of an index file, and between which physical offsets they lead.

    Attributes:
        name: of the file; its place among the others changes when a broker deletes old ones meanwhile.
    """

    name: str
    start: int
    count: int
    low: int
    high: int


@dataclass
class IndexShare:
    """What index files and a part of the log have to say of each other: deviations by name of the file and kind.

    Attributes:
        joined: whether there was a record.
    """

    damages: dict[tuple[str, int], Damage] = field(default_factory=dict)
    joined: bool = False


class IndexVerifier:
    """Verifies all index files of a store. After a kill an index is only a hint, so its oddities are then expected.

    First `prepare`, then `check` with every window of the log, or `join` with what others checked, then `finish`.
    """

    def __init__(
        self, store: StoreDirectory, progress: Callable[[str, int, int], None], plan: Sequence[IndexSlice] = ()
    ) -> None:
        self.found = IndexFindings()
        self.plan = list(plan)
        self.share = IndexShare()
        self._store = store
        self._files: dict[str, IndexFile] = {}
        self._progress = progress
        self._grade = DamageGrade.EXPECTED if store.abort() else DamageGrade.DAMAGE

    def prepare(self) -> None:
        """Looks at every file by itself."""
        files = self._store.index_files()
        self._files.update((index.path.name, index) for index in files)
        for number, index in enumerate(files, start=1):
            try:
                self._prepare_file(index)
            except MqctlError as error:
                self._pass_over(index.path.name, error)
            self._progress("index", number, len(files))

    def _prepare_file(self, index: IndexFile) -> None:
        damage = _unusable(index, _relative(index.path.name))
        if damage is not None:
            self.share.damages[index.path.name, 0] = damage
            return
        entries = index.raw_entries
        for start in range(0, len(entries), SLICE_ENTRIES):
            self._prepare_slice(index.path.name, start, entries[start : start + SLICE_ENTRIES])
        self.found.entry_count += len(entries)

    def _pass_over(self, name: str, error: MqctlError) -> None:
        """Goes on without a file that cannot be read, or not any more."""
        self.plan = [part for part in self.plan if part.name != name]
        if isinstance(error, NotFoundError) and self._store.cut is not None:
            return  # the broker has deleted it with the part of the log that it was for
        self.share.damages[name, 0] = Damage(
            code=DamageCode.UNREADABLE_FILE,
            grade=DamageGrade.DAMAGE,
            file=_relative(name),
            params={"reason": error.reason or error.problem},
        )

    def _file(self, name: str) -> IndexFile:
        return self._files.setdefault(name, IndexFile(self._store.path / "index" / name))

    def _raw(self, part: IndexSlice) -> NDArray[Any]:
        return self._file(part.name).raw_entries[part.start : part.start + part.count]

    def _prepare_slice(self, name: str, start: int, raw: NDArray[Any]) -> None:
        offsets = raw["physical_offset"].astype(np.int64)
        part = IndexSlice(name, start, len(raw), int(offsets.min()), int(offsets.max()))
        self.plan.append(part)
        numbers = np.arange(start + 1, start + len(raw) + 1)
        previous = raw["previous"].astype(np.int64)
        self._report(
            part,
            1,
            DamageCode.INDEX_CHAIN,
            np.flatnonzero((previous >= numbers) | (previous < 0) | (raw["time_diff_s"] < 0)),
        )

    def check(self, table: LogTable) -> None:
        """Compares one window of the log with the entries that lead into it."""
        self.share.joined |= len(table) > 0
        touching = [part for part in self.plan if part.low < table.high and part.high >= table.low]
        for part in touching:
            try:
                self._check_slice(part, table)
            except MqctlError as error:
                self._pass_over(part.name, error)

    def _check_slice(self, part: IndexSlice, table: LogTable) -> None:
        entries = self._raw(part).astype(INDEX_ENTRY.newbyteorder("="))
        offsets = entries["physical_offset"]
        rows = np.flatnonzero((offsets >= table.low) & (offsets < table.high))
        at, hit = table.rows_of(offsets[rows])
        self._report(part, 2, DamageCode.INDEX_ENTRY_DANGLING, rows[table.missing(offsets[rows], hit)])
        rows, at = rows[hit], at[hit]
        other = entries["key_hash"][rows] != table.unique_hash[at]
        rows, at = rows[other], at[other]
        self._report(part, 3, DamageCode.INDEX_HASH_MISMATCH, rows[_strangers(table, entries, rows, at)])

    def finish(self, log_end: int) -> None:
        """Finds entries that lead behind the log, and those to which no slot leads.

        Args:
            log_end: physical offset behind the last accepted record.
        """
        for part in self.plan if self.share.joined else ():
            index, raw = self._file(part.name), self._raw(part)
            offsets = raw["physical_offset"].astype(np.int64)
            if self._store.cut is None:  # the broker goes on with the index of a store that is being written
                self._report(part, 2, DamageCode.INDEX_ENTRY_DANGLING, np.flatnonzero(offsets >= log_end))
            unled = index.slot_values[raw["key_hash"].astype(np.int64) % index.slot_table_size] == 0
            self._report(part, 4, DamageCode.INDEX_CHAIN, np.flatnonzero(unled))
        self.found.damages += [damage for _, damage in sorted(self.share.damages.items(), key=lambda item: item[0])]

    def join(self, later: IndexShare) -> None:
        """Takes what was checked with the part of the log behind."""
        self.share.joined |= later.joined
        for key, damage in later.damages.items():
            self._add(key, damage)

    def _report(self, part: IndexSlice, rank: int, code: DamageCode, rows: Int64s) -> None:
        """Reports entries of one file; windows and slices add to one another."""
        if not len(rows):
            return
        number = part.start + int(rows[0])
        index = self._file(part.name)
        base = INDEX_HEADER_BYTES + 4 * index.slot_table_size + INDEX_ENTRY_BYTES
        damage = Damage(
            code=code,
            grade=self._grade,
            file=_relative(part.name),
            offset=base + INDEX_ENTRY_BYTES * number,
            count=len(rows),
            physical_offset=int(self._raw(part)["physical_offset"][rows[0]]),
            params={"entry": number + 1},
        )
        self._add((part.name, rank), damage)

    def _add(self, key: tuple[str, int], damage: Damage) -> None:
        known = self.share.damages.get(key)
        if known is not None:
            first = known if (known.offset or 0) <= (damage.offset or 0) else damage
            damage = replace(first, count=known.count + damage.count)
        self.share.damages[key] = damage


def _relative(name: str) -> str:
    return f"index/{name}"


def _unusable(index: IndexFile, relative: str) -> Damage | None:
    """Tells what keeps an index file from being looked into."""
    if len(index.buffer) == 0:
        return Damage(code=DamageCode.ZERO_LENGTH_FILE, grade=DamageGrade.DAMAGE, file=relative, offset=0)
    try:
        problem = _TOO_LARGE if len(index.buffer) > _MOST_BYTES else _header_problem(index)
    except BadInputError as error:
        problem = error.reason
    if not problem:
        return None
    return Damage(
        code=DamageCode.INDEX_HEADER, grade=DamageGrade.DAMAGE, file=relative, offset=0, params={"reason": problem}
    )


def _header_problem(index: IndexFile) -> str:
    header = index.header
    if header.entry_count < 0 or header.used_slots < 0:
        return sentence("store-index-negative-counters", "negative counters")
    if header.entry_count > 1 and not index.slot_table_size:
        return sentence("store-index-size-unfit", "its size fits no number of slots and entries")
    if header.entry_count > index.entry_capacity + 1:
        return sentence(
            "store-index-entries-too-many", "{count:entry is/are} more than the file holds", count=header.entry_count
        )
    if header.begin_physical_offset > header.end_physical_offset:  # times may do so: clocks are set back
        return sentence("store-index-ends-before-begins", "it ends before it begins")
    slots = index.slot_values
    # After a kill slots may be newer than the counters, but none may lead out of the file.
    if len(slots) and (int(slots.min()) < 0 or int(slots.max()) >= max(1, index.entry_capacity)):
        return sentence("store-index-slot-outside", "a slot leads out of the file")
    return ""


def _strangers(table: LogTable, entries: NDArray[Any], rows: Int64s, at: Int64s) -> Mask:
    """Marks entries whose hash is none of the record's keys' (a loop, over entries that are no plain unique key)."""
    allowed: dict[int, set[int]] = {}
    strange = np.zeros(len(rows), dtype=bool)
    hashes = entries["key_hash"][rows].tolist()
    for number, (row, value) in enumerate(zip(at.tolist(), hashes, strict=True)):
        if row not in allowed:
            file = table.files[int(table.file_number[row])]
            record = decode_message(file.buffer.data, int(table.position[row]))
            keys = [*record.keys, *([record.unique_key] if record.unique_key else [])]
            if record.tags:
                keys.append(f"{_TAG_TYPE}#{record.tags}")
            allowed[row] = {key_hash(record.topic, key) for key in keys}
        strange[number] = value not in allowed[row]
    return strange
