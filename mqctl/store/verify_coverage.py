"""Records that no consume queue knows: a queue that lags behind the log told from one with holes.

What a window of the log shows is kept as a few numbers a queue; the judgement comes when the whole log was seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

import numpy as np

from mqctl.errors import MqctlError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import SYSFLAG_INNER_BATCH, SYSFLAG_PREPARED, SYSFLAG_ROLLBACK, SYSFLAG_TRANSACTION_MASK
from mqctl.model.storage_state import QueueBehind
from mqctl.store.config_files import TOPICS, changed_ms, topic_configs
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
    """Unknown records of one queue.

    Attributes:
        former: of a deleted topic of its name, as far as one can tell.
        gone: of the topic as it is, before the queue's first entry: the queue's files are gone.
        late, early: at or behind the queue's end, and before it.
    """

    former: _Group | None = None
    gone: _Group | None = None
    late: _Group | None = None
    early: _Group | None = None


UnknownRecords = Mapping[tuple[str, int], _Unknown]
"""Records without an entry by topic and queue id."""


class EntryCoverage:
    """Gathers records without an entry."""

    def __init__(self, store: StoreDirectory) -> None:
        self._store = store
        self._unknown: dict[tuple[str, int], _Unknown] = {}
        self._configured: dict[str, int] | None = None
        self._changed_ms: int | None = None

    def add(
        self,
        table: LogTable,
        covered: Mask,
        max_offsets: Mapping[tuple[str, int], int],
        begins: Mapping[tuple[str, int], int],
        topics: Mapping[str, int],
    ) -> None:
        """Takes one window.

        Args:
            covered: marks the records that an entry leads to.
            begins: physical offset of the first record of queues that begin at offset 0. What lies before it was in
                a queue that went: with its topic, which was made anew, or alone.
            topics: physical offset of the first record that any queue of a topic leads to. A topic that is deleted
                loses all its queues, so what lies behind is the topic's own.
        """
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
            name = table.topics[int(table.topic[mine[0]])], int(table.queue_id[mine[0]])
            unknown = self._unknown.setdefault(name, _Unknown())
            places, low = table.physical_offset[mine], topics.get(name[0])
            before = places < begins.get(name, 0) if name in max_offsets else np.ones(len(mine), bool)
            gone = before & self._of_now(table, mine, low)
            unknown.former = self._joined(unknown.former, table, mine[before & ~gone])
            unknown.gone = self._joined(unknown.gone, table, mine[gone])
            late = ~before & (table.queue_offset[mine] >= max_offsets.get(name, 0))
            unknown.late = self._joined(unknown.late, table, mine[late])
            unknown.early = self._joined(unknown.early, table, mine[~late & ~before])

    def _of_now(self, table: LogTable, rows: Int64s, low: int | None) -> Mask:
        """Marks records of a topic as it is now: behind the first that its queues know, or stored since topics.json
        was last changed, which whoever deletes a topic or makes it anew does.
        """
        self._read_topics()
        mine = np.zeros(len(rows), bool)
        if low is not None:
            mine |= table.physical_offset[rows] >= low
        if self._changed_ms is not None:
            mine |= table.store_time_ms[rows] > self._changed_ms
        return mine

    def _read_topics(self) -> dict[str, int]:
        """Returns the queues of each topic that is configured; none where nobody can tell."""
        if self._configured is None:
            self._configured = {}
            try:
                file = self._store.config(TOPICS)
            except MqctlError:
                return self._configured
            self._changed_ms = changed_ms(file)
            for topic in topic_configs(file):
                self._configured[topic.name] = max(topic.read_queue_count, topic.write_queue_count)
        return self._configured

    def _joined(self, known: _Group | None, table: LogTable, rows: Int64s) -> _Group | None:
        if not len(rows):
            return known
        first = int(rows[0])
        file, position = table.place(self._store.path, first)
        offsets = int(table.physical_offset[first]), int(table.queue_offset[first])
        return _both(known, _Group(len(rows), file, position, *offsets, int(table.queue_offset[rows].max())))

    def join(self, later: UnknownRecords) -> None:
        """Takes what the files behind have."""
        for name, other in later.items():
            mine = self._unknown.setdefault(name, _Unknown())
            mine.former, mine.gone = _both(mine.former, other.former), _both(mine.gone, other.gone)
            mine.late, mine.early = _both(mine.late, other.late), _both(mine.early, other.early)

    @property
    def unknown(self) -> UnknownRecords:
        """What was gathered, by topic and queue id."""
        return self._unknown

    def judge(
        self,
        *,
        end: int,
        max_offsets: Mapping[tuple[str, int], int],
        topics: Mapping[str, int],
        unread: Set[tuple[str, int]],
    ) -> tuple[list[Damage], tuple[QueueBehind, ...]]:
        """Returns what is to be said, and the queues that lag.

        Args:
            end: physical offset behind the last record that any queue knows.
            max_offsets: of the queues that have a directory.
            topics: as `add` has it.
            unread: queues that could not be read: what they know is not known.
        """
        damages: list[Damage] = []
        behind: list[QueueBehind] = []
        configured = self._read_topics() if self._unknown else {}
        for name, unknown in sorted(self._unknown.items()):
            if name in unread:
                continue
            topic, queue_id = name
            former, gone, late = unknown.former, unknown.gone, unknown.late
            if name not in max_offsets and late is None:  # a new queue that nothing was dispatched to yet
                first = former or gone
                if first is not None and first.physical_offset >= end:
                    former, gone, late = None, None, first
            if former is not None:
                # The topic was deleted, most likely; unless it is there, with no queue that shows when it was made.
                anew = topic not in topics and queue_id < configured.get(topic, 0)
                code = DamageCode.QUEUE_GONE if anew else DamageCode.QUEUE_MISSING_RECORD
                damages.append(_damage(code, DamageGrade.ODD, name, former))
            if gone is not None and topic in configured:
                damages.append(_damage(DamageCode.QUEUE_GONE, DamageGrade.DAMAGE, name, gone))
            elif gone is not None:
                damages.append(_damage(DamageCode.QUEUE_MISSING_RECORD, DamageGrade.ODD, name, gone))
            if late is not None:
                tail = late.physical_offset >= end
                grade = DamageGrade.EXPECTED if self._store.abort() or tail else DamageGrade.DAMAGE
                damages.append(_damage(DamageCode.QUEUE_BEHIND_LOG, grade, name, late))
                behind.append(
                    QueueBehind(
                        topic=topic,
                        queue_id=queue_id,
                        max_offset=max_offsets.get(name, 0),
                        log_max_offset=late.highest + 1,
                    )
                )
            if unknown.early is not None:
                damages.append(_damage(DamageCode.QUEUE_MISSING_RECORD, DamageGrade.DAMAGE, name, unknown.early))
        return damages, tuple(behind)


def _both(known: _Group | None, behind: _Group | None) -> _Group | None:
    """Adds a group to one whose records stand before its own."""
    if known is None or behind is None:
        return known or behind
    return replace(known, count=known.count + behind.count, highest=max(known.highest, behind.highest))


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
