"""Verification of index files: headers, chains, and entries against the keys of the records they point to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import BadInputError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.java_hash import java_string_hash
from mqctl.protocol.message_record import decode_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.index_file import IndexFile, key_hash
from mqctl.store.kernel import Int64s, Mask, headers
from mqctl.store.texts import java_hashes, property_spans
from mqctl.store.verify_log import LogTable


@dataclass
class IndexFindings:
    """What the index files' verification found."""

    damages: list[Damage] = field(default_factory=list)
    entry_count: int = 0


def verify_index(store: StoreDirectory, table: LogTable, progress: Callable[[str, int, int], None]) -> IndexFindings:
    """Verifies every index file. After a kill an index is only a hint, so its oddities are then expected."""
    found = IndexFindings()
    files = store.index_files()
    unique_hashes = _unique_key_hashes(table) if files else np.empty(0, dtype=np.int32)
    for number, index in enumerate(files, start=1):
        relative = index.path.relative_to(store.path).as_posix()
        if len(index.buffer) == 0:
            found.damages.append(
                Damage(code=DamageCode.ZERO_LENGTH_FILE, grade=DamageGrade.DAMAGE, file=relative, offset=0)
            )
            continue
        try:
            problem = _header_problem(index)
        except BadInputError as error:
            problem = error.reason
        if problem:
            found.damages.append(
                Damage(
                    code=DamageCode.INDEX_HEADER,
                    grade=DamageGrade.DAMAGE,
                    file=relative,
                    offset=0,
                    params={"reason": problem},
                )
            )
            continue
        found.entry_count += len(index.entries)
        found.damages += _entries(store, table, index, relative, unique_hashes)
        progress("index", number, len(files))
    return found


def _header_problem(index: IndexFile) -> str:
    header = index.header
    if header.entry_count < 0 or header.used_slots < 0:
        return "negative counters"
    if header.entry_count > 1 and not index.slot_table_size:
        return "its size fits no number of slots and entries"
    if header.entry_count > index.entry_capacity + 1:
        return f"{header.entry_count} entries are more than the file holds"
    if header.begin_time_ms > header.end_time_ms or header.begin_physical_offset > header.end_physical_offset:
        return "it ends before it begins"
    slots = index.slot_values
    # After a kill slots may be newer than the counters, but none may lead out of the file.
    if len(slots) and (int(slots.min()) < 0 or int(slots.max()) >= max(1, index.entry_capacity)):
        return "a slot leads out of the file"
    return ""


def _entries(
    store: StoreDirectory, table: LogTable, index: IndexFile, relative: str, unique_hashes: NDArray[np.int32]
) -> list[Damage]:
    entries = index.entries
    base = 40 + 4 * index.slot_table_size + 20
    grade = DamageGrade.EXPECTED if store.abort() else DamageGrade.DAMAGE
    damages: list[Damage] = []

    def report(code: DamageCode, rows: Int64s) -> None:
        if len(rows):
            damages.append(
                Damage(
                    code=code, grade=grade, file=relative, offset=base + 20 * int(rows[0]), count=len(rows),
                    physical_offset=int(entries["physical_offset"][rows[0]]), params={"entry": int(rows[0]) + 1},
                )
            )  # fmt: skip

    numbers = np.arange(1, len(entries) + 1)
    report(
        DamageCode.INDEX_CHAIN,
        np.flatnonzero((entries["previous"] >= numbers) | (entries["previous"] < 0) | (entries["time_diff_s"] < 0)),
    )
    offsets = entries["physical_offset"]
    live = offsets >= store.commit_log.min_offset
    if not len(table.physical_offset):
        return damages
    at = np.minimum(np.searchsorted(table.physical_offset, offsets), len(table.physical_offset) - 1)
    hit = table.physical_offset[at] == offsets
    report(DamageCode.INDEX_ENTRY_DANGLING, np.flatnonzero(live & ~hit))
    rows = np.flatnonzero(live & hit)
    rows = rows[entries["key_hash"][rows] != unique_hashes[at[rows]]]
    report(DamageCode.INDEX_HASH_MISMATCH, rows[_strangers(table, entries, rows, at[rows])])
    missing = np.flatnonzero(index.slot_values[entries["key_hash"] % index.slot_table_size] == 0)
    report(DamageCode.INDEX_CHAIN, missing)
    return damages


def _unique_key_hashes(table: LogTable) -> NDArray[np.int32]:
    """The index hash of each record's UNIQ_KEY; -1, which no entry bears, where there is none."""
    seeds = np.array([java_string_hash(f"{topic}#") for topic in table.topics], dtype=np.int32)
    result = np.full(len(table.physical_offset), -1, dtype=np.int32)
    for number, file in enumerate(table.files):
        rows = np.flatnonzero(table.file_number == number)
        if not len(rows):
            continue
        spans = property_spans(file.buffer, headers(file.buffer, table.position[rows]), ["UNIQ_KEY"])["UNIQ_KEY"]
        values, known = java_hashes(file.buffer, spans.start, spans.size, seeds[table.topic[rows]])
        values = np.abs(values)
        values[values == np.iinfo(np.int32).min] = 0
        result[rows[known]] = values[known]
    return result


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
            allowed[row] = {key_hash(record.topic, key) for key in keys}
        strange[number] = value not in allowed[row]
    return strange
