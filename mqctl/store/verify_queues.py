"""Verification of consume queues against the commit log: joined by physical offset, never record by record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import MqctlError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.message import SYSFLAG_INNER_BATCH, SYSFLAG_ROLLBACK, SYSFLAG_TRANSACTION_MASK
from mqctl.model.names import LMQ_PREFIX, SCHEDULE_TOPIC
from mqctl.model.storage_state import QueueBehind
from mqctl.store.commitlog import gaps
from mqctl.store.consumequeue import ConsumeQueue, Entries, is_filler, written_entries_linear
from mqctl.store.consumequeue_ext import ConsumeQueueExt, is_address
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Int64s, Mask
from mqctl.store.layouts import QUEUE_ENTRY_BYTES
from mqctl.store.mapped_files import MappedFile
from mqctl.store.verify_log import LogTable


@dataclass
class QueueFindings:
    """What the queues' verification found; `confirms_last`: an entry of the right size points to the last record."""

    damages: list[Damage] = field(default_factory=list)
    entry_count: int = 0
    confirms_last: bool = False
    behind: tuple[QueueBehind, ...] = ()
    dispatched_offset: int | None = None


@dataclass(frozen=True)
class _Context:
    store: StoreDirectory
    table: LogTable
    found: QueueFindings
    covered: Mask
    last_offset: dict[tuple[str, int], int]

    def report(
        self, queue: ConsumeQueue, code: DamageCode, rows: Int64s, entries: Entries, first: int, *,
        grade: DamageGrade = DamageGrade.DAMAGE, **params: int | str,
    ) -> None:  # fmt: skip
        """Reports the entries `rows` of one run, if any, under the first one's place."""
        if not len(rows):
            return
        logical = first + int(rows[0])
        place = queue.file_at(logical)
        self.found.damages.append(
            Damage(
                code=code,
                grade=grade,
                file=_relative(self.store.path, place[0] if place else None, queue.directory),
                offset=place[1] if place else None,
                physical_offset=int(entries["physical_offset"][rows[0]]),
                count=len(rows),
                topic=queue.topic,
                queue_id=queue.queue_id,
                params={"queue_offset": logical, **params},
            )
        )


def _relative(root: Path, file: MappedFile | None, directory: Path) -> str:
    return (file.path if file is not None else directory).relative_to(root).as_posix()


def verify_queues(store: StoreDirectory, table: LogTable, progress: Callable[[str, int, int], None]) -> QueueFindings:
    """Verifies every consume queue and finds records that no queue knows."""
    found = QueueFindings()
    context = _Context(store, table, found, np.zeros(len(table.physical_offset), bool), {})
    if store.consume_queue_kind != "file":
        return found
    if not (store.path / "consumequeue").is_dir():
        found.damages.append(Damage(code=DamageCode.MISSING_PART, grade=DamageGrade.ODD, file="consumequeue"))
        return found
    queues = store.queue_ids()
    for number, (topic, queue_id) in enumerate(queues, start=1):
        queue = store.consume_queue(topic, queue_id)
        try:
            _verify_queue(context, queue)
        except MqctlError as error:
            found.damages.append(
                Damage(
                    code=DamageCode.UNREADABLE_FILE, grade=DamageGrade.DAMAGE, topic=topic, queue_id=queue_id,
                    file=_relative(store.path, None, queue.directory), params={"reason": str(error)},
                )
            )  # fmt: skip
        progress("consumequeue", number, len(queues))
    for topic, queue_id in store.batch_queue_ids():
        offsets = store.batch_consume_queue(topic, queue_id).units["physical_offset"]
        _, at, hit = _join(table, offsets)
        context.covered[at[hit]] = True
    if len(table.physical_offset):
        found.confirms_last = bool(context.covered[-1])
    if context.covered.any():
        last = int(np.flatnonzero(context.covered)[-1])
        found.dispatched_offset = int(table.physical_offset[last] + table.size[last])
    _uncovered(context, queues)
    return found


def _join(table: LogTable, offsets: Int64s) -> tuple[Int64s, Int64s, Mask]:
    """Finds the record of each offset: (offsets, row in the table, whether a record starts there)."""
    if not len(table.physical_offset):
        return offsets, np.zeros(len(offsets), np.int64), np.zeros(len(offsets), bool)
    at = np.minimum(np.searchsorted(table.physical_offset, offsets), len(table.physical_offset) - 1)
    return offsets, at.astype(np.int64), table.physical_offset[at] == offsets


def _verify_queue(context: _Context, queue: ConsumeQueue) -> None:
    context.last_offset[(queue.topic, queue.queue_id)] = queue.max_offset
    _files(context, queue)
    for first, entries in queue.runs():
        context.found.entry_count += len(entries)
        _entries(context, queue, first, entries)


def _files(context: _Context, queue: ConsumeQueue) -> None:
    """Checks names, sizes and written ends of a queue's files."""
    root, size = context.store.path, queue.file_size_bytes
    used = [file for file in queue.files if written_entries_linear(file.buffer)]
    killed = context.store.abort()

    def report(code: DamageCode, file: MappedFile, offset: int, grade: DamageGrade, **params: int) -> None:
        context.found.damages.append(
            Damage(
                code=code, grade=grade, file=_relative(root, file, queue.directory), offset=offset,
                topic=queue.topic, queue_id=queue.queue_id, params=params,
            )
        )  # fmt: skip

    for gap in gaps(queue.files, size):
        report(
            DamageCode.QUEUE_GAP, gap.before, gap.before.size_bytes, DamageGrade.DAMAGE, start=gap.start, end=gap.end
        )
    for file in queue.files:
        if file.size_bytes == 0:
            report(DamageCode.ZERO_LENGTH_FILE, file, 0, DamageGrade.DAMAGE)
            continue
        if file.size_bytes != size or file.size_bytes % QUEUE_ENTRY_BYTES:
            params = {"expected": size or 0, "found": file.size_bytes}
            report(DamageCode.WRONG_FILE_SIZE, file, file.size_bytes, DamageGrade.DAMAGE, **params)
        end = written_entries_linear(file.buffer) * QUEUE_ENTRY_BYTES
        rest = file.buffer[end:]
        last = bool(used) and file is used[-1]
        if rest.any():
            grade = (
                DamageGrade.EXPECTED if last and killed and not rest[QUEUE_ENTRY_BYTES:].any() else DamageGrade.DAMAGE
            )
            report(DamageCode.QUEUE_TORN_ENTRY, file, end, grade)
        elif used and not last and len(rest) >= QUEUE_ENTRY_BYTES and file.start < used[-1].start:
            report(DamageCode.QUEUE_GAP, file, end, DamageGrade.DAMAGE, start=file.start + end, end=file.end)


def _entries(context: _Context, queue: ConsumeQueue, first: int, entries: Entries) -> None:
    table = context.table
    offsets = entries["physical_offset"]
    log_min = context.store.commit_log.min_offset
    real = (entries["size"] > 0) & ~is_filler(entries)
    stale = real & (offsets < log_min)
    context.report(
        queue, DamageCode.QUEUE_STALE_ENTRIES, np.flatnonzero(stale), entries, first, grade=DamageGrade.EXPECTED
    )
    _, at, hit = _join(table, offsets)
    live = real & ~stale
    missing = np.flatnonzero(live & ~hit)
    end = int(table.physical_offset[-1] + table.size[-1]) if len(table.physical_offset) else log_min
    beyond = missing[offsets[missing] >= end]
    context.report(queue, DamageCode.QUEUE_ENTRY_DANGLING, beyond, entries, first, log_end=end)
    inside = missing[offsets[missing] < end]
    context.report(queue, DamageCode.QUEUE_ENTRY_DANGLING, inside, entries, first)
    rows = np.flatnonzero(live & hit)
    at = at[rows]
    wrong = table.size[at] != entries["size"][rows]
    light = queue.topic.startswith(LMQ_PREFIX)
    if not light:
        own = table.topics.index(queue.topic) if queue.topic in table.topics else -1
        wrong |= (table.topic[at] != own) | (table.queue_id[at] != queue.queue_id)
    context.report(queue, DamageCode.QUEUE_ENTRY_MISMATCH, rows[wrong], entries, first)
    rows, at = rows[~wrong], at[~wrong]
    context.covered[at] = True
    if not light:
        shifted = table.queue_offset[at] != first + rows
        context.report(queue, DamageCode.QUEUE_OFFSET_MISMATCH, rows[shifted], entries, first)
    _tags(context, queue, first, entries, rows=rows, at=at)


def _tags(context: _Context, queue: ConsumeQueue, first: int, entries: Entries, *, rows: Int64s, at: Int64s) -> None:
    """Compares tag codes; schedule queues hold due times instead, which must not lie before the store time."""
    codes = entries["tags_code"][rows].astype(np.int64)
    times = context.table.store_time_ms[at]
    addressed = is_address(codes)
    if addressed.any():
        units = ConsumeQueueExt(context.store.consume_queue_ext(queue.topic, queue.queue_id).directory).resolve(codes)
        lost = addressed & ~units.found
        context.report(queue, DamageCode.EXT_UNRESOLVED, rows[lost], entries, first)
        other = units.found & (units.store_time_ms != times)
        context.report(queue, DamageCode.EXT_TAG_MISMATCH, rows[other], entries, first)
        codes = np.where(units.found, units.tags_code, codes)
        rows, at, times, codes = _where(~(lost | other), rows, at, times, codes)
    wrong = (codes < times) if queue.topic == SCHEDULE_TOPIC else (codes != context.table.tag_hash[at])
    context.report(queue, DamageCode.QUEUE_TAG_MISMATCH, rows[wrong], entries, first)


def _where(mask: Mask, *columns: Int64s) -> tuple[Int64s, ...]:
    return tuple(column[mask] for column in columns)


def _uncovered(context: _Context, queues: Sequence[tuple[str, int]]) -> None:
    """Finds consumable records that no entry points to, and tells a queue that lags from one with holes."""
    table, found = context.table, context.found
    kind = table.sys_flag & SYSFLAG_TRANSACTION_MASK
    consumable = (kind == 0) | ((kind != SYSFLAG_ROLLBACK) & (kind != 0x4))
    consumable &= (table.sys_flag & SYSFLAG_INNER_BATCH) == 0
    rows = np.flatnonzero(consumable & ~context.covered)
    known = set(queues)
    end = found.dispatched_offset or 0
    behind: list[QueueBehind] = []
    groups: dict[tuple[int, int], list[int]] = {}
    for row in rows.tolist():
        groups.setdefault((int(table.topic[row]), int(table.queue_id[row])), []).append(row)
    for (topic_number, queue_id), members in sorted(groups.items()):
        topic = table.topics[topic_number]
        mine = np.array(members, dtype=np.int64)
        maximum = context.last_offset.get((topic, queue_id), 0)
        if (topic, queue_id) not in known and int(table.physical_offset[mine[0]]) < end:
            # The queue's directory is gone: a topic that was deleted, most likely.
            _uncovered_report(context, DamageCode.QUEUE_MISSING_RECORD, DamageGrade.ODD, mine)
            continue
        late = table.queue_offset[mine] >= maximum
        killed = context.store.abort()
        tail = bool((table.physical_offset[mine[late]] >= end).all()) if late.any() else True
        if late.any():
            grade = DamageGrade.EXPECTED if killed or tail else DamageGrade.DAMAGE
            _uncovered_report(context, DamageCode.QUEUE_BEHIND_LOG, grade, mine[late])
            log_max = int(table.queue_offset[mine[late]].max()) + 1
            behind.append(QueueBehind(topic=topic, queue_id=queue_id, max_offset=maximum, log_max_offset=log_max))
        _uncovered_report(context, DamageCode.QUEUE_MISSING_RECORD, DamageGrade.DAMAGE, mine[~late])
    found.behind = tuple(behind)


def _uncovered_report(context: _Context, code: DamageCode, grade: DamageGrade, rows: NDArray[np.int64]) -> None:
    if not len(rows):
        return
    table, first = context.table, int(rows[0])
    context.found.damages.append(
        Damage(
            code=code,
            grade=grade,
            file=table.relative(context.store.path, table.files[int(table.file_number[first])]),
            offset=int(table.position[first]),
            physical_offset=int(table.physical_offset[first]),
            count=len(rows),
            topic=table.topics[int(table.topic[first])],
            queue_id=int(table.queue_id[first]),
            params={"queue_offset": int(table.queue_offset[first])},
        )
    )
