"""Records that no consume queue knows: a queue that lags behind the log told from one with holes.

What a window of the log shows is kept as a few numbers a queue; the judgement comes when the whole log was seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.message import SYSFLAG_INNER_BATCH, SYSFLAG_PREPARED, SYSFLAG_ROLLBACK, SYSFLAG_TRANSACTION_MASK
from mqctl.model.storage_state import QueueBehind
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Int64s, Mask
from mqctl.store.log_window import LogTable


@dataclass(slots=True)
class _Group:
    """Unknown records of one kind: how many, the first one's place, and the highest queue offset."""

    count: int
    file: str
    position: int
    physical_offset: int
    queue_offset: int
    highest: int


@dataclass(slots=True)
class _Unknown:
    """Unknown records of one queue: all of them, those of a deleted topic of its name, those at or behind the queue's
    end, those before it.
    """

    all: _Group | None = None
    former: _Group | None = None
    late: _Group | None = None
    early: _Group | None = None


class EntryCoverage:
    """Gathers records without an entry."""

    def __init__(self, store: StoreDirectory) -> None:
        self._store = store
        self._topics: list[str] = []
        self._unknown: dict[tuple[int, int], _Unknown] = {}

    def add(
        self,
        table: LogTable,
        covered: Mask,
        max_offsets: Mapping[tuple[str, int], int],
        begins: Mapping[tuple[str, int], int],
    ) -> None:
        """Takes one window.

        Args:
            covered: marks the records that an entry leads to.
            begins: physical offset of the first record of queues that begin at offset 0. What lies before it was in
                a queue that went with its topic, which was made anew.
        """
        self._topics = table.topics
        kind = table.sys_flag & SYSFLAG_TRANSACTION_MASK
        consumable = (kind != SYSFLAG_ROLLBACK) & (kind != SYSFLAG_PREPARED)
        consumable &= (table.sys_flag & SYSFLAG_INNER_BATCH) == 0
        rows = np.flatnonzero(consumable & ~covered)
        if not len(rows):
            return
        order = np.lexsort((rows, table.queue_id[rows], table.topic[rows]))
        rows = rows[order]
        changes = np.flatnonzero((np.diff(table.topic[rows]) != 0) | (np.diff(table.queue_id[rows]) != 0)) + 1
        for mine in np.split(rows, changes):
            topic, queue_id = int(table.topic[mine[0]]), int(table.queue_id[mine[0]])
            name = table.topics[topic], queue_id
            unknown = self._unknown.setdefault((topic, queue_id), _Unknown())
            unknown.all = self._joined(unknown.all, table, mine)
            former = table.physical_offset[mine] < begins.get(name, 0)
            unknown.former = self._joined(unknown.former, table, mine[former])
            late = ~former & (table.queue_offset[mine] >= max_offsets.get(name, 0))
            unknown.late = self._joined(unknown.late, table, mine[late])
            unknown.early = self._joined(unknown.early, table, mine[~late & ~former])

    def _joined(self, known: _Group | None, table: LogTable, rows: Int64s) -> _Group | None:
        if not len(rows):
            return known
        highest = int(table.queue_offset[rows].max())
        if known is not None:
            known.count += len(rows)
            known.highest = max(known.highest, highest)
            return known
        first = int(rows[0])
        file, position = table.place(self._store.path, first)
        offsets = int(table.physical_offset[first]), int(table.queue_offset[first])
        return _Group(len(rows), file, position, *offsets, highest)

    def judge(
        self, *, end: int, known: Collection[tuple[str, int]], max_offsets: Mapping[tuple[str, int], int]
    ) -> tuple[list[Damage], tuple[QueueBehind, ...]]:
        """Returns what is to be said, and the queues that lag.

        Args:
            end: physical offset behind the last record that any queue knows.
            known: queues that have a directory.
        """
        damages: list[Damage] = []
        behind: list[QueueBehind] = []
        for (number, queue_id), unknown in sorted(self._unknown.items()):
            topic = self._topics[number]
            name = (topic, queue_id)
            if unknown.all is not None and name not in known and unknown.all.physical_offset < end:
                # The queue's directory is gone: a topic that was deleted, most likely.
                damages.append(_damage(DamageCode.QUEUE_MISSING_RECORD, DamageGrade.ODD, name, unknown.all))
                continue
            if unknown.former is not None:
                damages.append(_damage(DamageCode.QUEUE_MISSING_RECORD, DamageGrade.ODD, name, unknown.former))
            if unknown.late is not None:
                tail = unknown.late.physical_offset >= end
                grade = DamageGrade.EXPECTED if self._store.abort() or tail else DamageGrade.DAMAGE
                damages.append(_damage(DamageCode.QUEUE_BEHIND_LOG, grade, name, unknown.late))
                behind.append(
                    QueueBehind(
                        topic=topic,
                        queue_id=queue_id,
                        max_offset=max_offsets.get(name, 0),
                        log_max_offset=unknown.late.highest + 1,
                    )
                )
            if unknown.early is not None:
                damages.append(_damage(DamageCode.QUEUE_MISSING_RECORD, DamageGrade.DAMAGE, name, unknown.early))
        return damages, tuple(behind)


def _damage(code: DamageCode, grade: DamageGrade, name: tuple[str, int], group: _Group) -> Damage:
    return Damage(
        code=code,
        grade=grade,
        file=group.file,
        offset=group.position,
        physical_offset=group.physical_offset,
        count=group.count,
        topic=name[0],
        queue_id=name[1],
        params={"queue_offset": group.queue_offset},
    )
