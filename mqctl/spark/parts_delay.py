"""What waits on delay levels: from the schedule queues, their offsets, and the records they point to.

Timers of 5.x are in `parts_timers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.message import REAL_TOPIC
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.snapshot.delay_records import SLACK_MS
from mqctl.spark.asking import Ask
from mqctl.spark.counting import Columns
from mqctl.spark.following import records_at
from mqctl.spark.parts import PartTable, Work
from mqctl.spark.parts_store import plan_stores, store_work
from mqctl.spark.parts_timers import timer_rows
from mqctl.spark.planning import open_store
from mqctl.spark.wanted import Wanted
from mqctl.store.config_files import DELAY_OFFSETS, delay_offsets
from mqctl.store.consumequeue import is_filler
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int64s
from mqctl.store.layouts import EXT_ADDRESS_LIMIT
from mqctl.store.mapped_files import Buffer
from mqctl.store.texts import factorize, property_spans

LEVELS, DUE = "levels", "due"


def _read_delay(work: Work) -> Iterator[Columns]:
    path, wanted, ask = store_work(work)
    store = open_store(path)
    table = DelayLevelTable.parse(ask.levels) if ask.levels else DelayLevelTable.parse()
    recorded = delay_offsets(store.config(DELAY_OFFSETS)).offsets
    queues = {number + 1 for topic, number in store.queue_ids() if topic == SCHEDULE_TOPIC}
    for level in sorted(queues | set(recorded)):
        yield from _level_rows(store, _Level(level, table.delay_ms(level), recorded.get(level)), path, (wanted, ask))
    yield from timer_rows(store, path, wanted, ask)


@dataclass(frozen=True, slots=True)
class _Level:
    """A delay level: its number, its delay where the table has it, and the next offset of delayOffset.json."""

    number: int
    delay_ms: int | None
    recorded: int | None


def _level_rows(store: StoreDirectory, own: _Level, path: str, asked: tuple[Wanted, Ask]) -> Iterator[Columns]:
    wanted, ask = asked
    level, delay_ms, recorded = own.number, own.delay_ms, own.recorded
    queue = store.consume_queue(SCHEDULE_TOPIC, level - 1)
    low, high = queue.min_offset(store.commit_log.min_offset), queue.max_offset
    begin = low if recorded is None else max(low, recorded)
    due, missing = _due_times(store, own, begin, high, wanted)
    overdue = due + SLACK_MS < ask.at_ms
    late = due[overdue]
    yield {
        "cut": [LEVELS],
        "store": [path],
        "level": [level],
        "delay_ms": [delay_ms],
        "min_offset": [low],
        "max_offset": [high],
        "next_offset": [recorded],
        "waiting": [len(due) + missing],
        "missing": [missing],
        "overdue": [int(overdue.sum())],
        "not_due": [int((due > ask.at_ms).sum())],
        "head_due_ms": [int(due[0]) if len(due) else None],
        "first_overdue_ms": [int(late.min()) if len(late) else None],
        "last_due_ms": [int(due.max()) if len(due) else None],
    }
    bucket, counts = np.unique(due // ask.bucket_ms * ask.bucket_ms, return_counts=True)
    yield {
        "cut": [DUE] * len(counts),
        "store": [path] * len(counts),
        "level": [level] * len(counts),
        "time_ms": bucket.tolist(),
        "waiting": counts.tolist(),
    }


def _due_times(store: StoreDirectory, own: _Level, begin: int, high: int, wanted: Wanted) -> tuple[Int64s, int]:
    """Returns when each waiting message is due, by queue offset, and how many entries lead to no message.

    The entry's tag code is the due time; where it is an address into the extension, the broker recomputes it from
    the store time, as is done here. Messages that are not wanted (by their real topic, by store time) are left out.
    """
    parts: list[Int64s] = []
    missing = max(0, high - begin)
    for _, entries in store.consume_queue(SCHEDULE_TOPIC, own.number - 1).runs(begin, high):
        missing -= int(is_filler(entries).sum())
        kept = entries[~is_filler(entries)]
        due = kept["tags_code"].astype(np.int64)
        asked = np.zeros(len(kept), dtype=bool)
        for file, rows, found in records_at(store.commit_log, kept["physical_offset"].astype(np.int64)):
            if own.delay_ms is not None:
                due[rows] = np.where(due[rows] <= EXT_ADDRESS_LIMIT, found.store_time_ms + own.delay_ms, due[rows])
            missing -= int((due[rows] >= 0).sum())
            asked[rows] = _wanted_rows(file.known, found, wanted)
        parts.append(due[asked & (due >= 0)])
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64), missing


def _wanted_rows(buffer: Buffer, found: Headers, wanted: Wanted) -> NDArray[np.bool_]:
    mask = wanted.store_time_ms.mask(found.store_time_ms)
    if wanted.topics:
        real = property_spans(buffer, found, [REAL_TOPIC])[REAL_TOPIC]
        alphabet = factorize(buffer, real.start, real.size)
        mask &= np.array([name in wanted.topics for name in alphabet.names] + [False], dtype=bool)[alphabet.codes]
    return mask


DELAY = PartTable(
    keys={"cut": "string", "store": "string", "level": "int", "topic": "string", "time_ms": "bigint"},
    sums=("waiting", "missing", "overdue", "not_due"),
    lows=("delay_ms", "min_offset", "next_offset", "head_due_ms", "first_overdue_ms"),
    highs=("max_offset", "last_due_ms"),
    plan=plan_stores,
    read=_read_delay,
)
