"""What waits for a moment in the timers of 5.x: from the timer log, its checkpoint, and the timer topic's queue.

A message waits while its slot has not been read (`config/timercheck`), or while the timer has not taken it from its
topic yet; one that a delete marker of the same slot names is not delivered (`TimerMessageStore` of 5.3.3).
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import MqctlError, StorageError
from mqctl.model.counts import counted
from mqctl.model.delay_state import TimerTopicState
from mqctl.model.gap import Cause, GapSubject, Part, cause_of
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import REAL_TOPIC, UNIQ_KEY
from mqctl.model.names import TIMER_TOPIC
from mqctl.model.numbers import decimal
from mqctl.snapshot.store.reading import Reading
from mqctl.store.commitlog import records_at
from mqctl.store.consumequeue import is_message
from mqctl.store.directory import StoreDirectory, Unreadable
from mqctl.store.kernel import Int64s
from mqctl.store.mapped_files import Buffer, OddFileError
from mqctl.store.texts import Spans, factorize, property_spans
from mqctl.store.timer import DELETE, read_timer_check, timer_log
from mqctl.store.unread_files import unread_log_files, why_unread
from mqctl.text import sentence

_OUT_MS, _DELETED_KEY = "TIMER_OUT_MS", "TIMER_DEL_UNIQKEY"


@dataclass(frozen=True, slots=True)
class WaitingTimer:
    """A timer message that waits: the topic it is for (None: it does not say), when it is due and was stored."""

    topic: str | None
    due_ms: int
    store_time_ms: int


@dataclass(frozen=True, slots=True)
class _Records:
    """Records of the timer topic that wait: where they stand, when their slot is due (epoch ms), and delete markers."""

    physical: Int64s
    slot_ms: Int64s
    marks: NDArray[np.bool_]


def timer_topics(reading: Reading) -> tuple[TimerTopicState, ...]:
    """Counts what waits in timers by topic; what cannot be read becomes a gap. A store without timers has none."""
    try:
        waiting, missing = waiting_timers(reading.store)
    except MqctlError as error:
        reason = why_unread(reading.store, error) if isinstance(error, OddFileError) else str(error)
        reading.miss(Part.DELAY_TIMERS, reason, cause=cause_of(error))
        return ()
    due: dict[str | None, list[int]] = defaultdict(list)
    for item in waiting:
        due[item.topic].append(item.due_ms)
    rows = [
        TimerTopicState(topic=topic, waiting_count=len(times), next_due_time_ms=min(times))
        for topic, times in sorted(due.items(), key=lambda item: item[0] or "")
    ]
    if missing:
        reading.miss(
            Part.DELAY_TIMERS,
            sentence(
                "snapshot-commit-log-lacks-timer",
                "the commit log lacks {missing} of the timer log",
                missing=counted(missing, "message"),
            ),
        )
        for each in unread_log_files(reading.store):
            reading.miss(Part.DELAY_TIMERS, each.reason, subject=GapSubject(place=each.part), cause=Cause.UNREADABLE)
    return tuple(rows)


def unread_timers(store: StoreDirectory) -> Unreadable | None:
    """Returns the database in which timers are kept, or may be, where the files of the wheel tell nothing of them."""
    parts = ("rocksdbstore", "rocksdbstore/timer")
    return next((each for each in store.unreadable if each.part in parts), None)


def waiting_timers(store: StoreDirectory) -> tuple[list[WaitingTimer], int]:
    """Returns the timer messages that wait, and the number of those whose record is gone.

    Raises:
        StorageError: they are in a RocksDB database, or may be: then the files of the timer wheel tell nothing of them.
        MqctlError: the timer's files cannot be read.
    """
    unread = unread_timers(store)
    if unread is not None:
        raise StorageError(unread.reason)
    check = read_timer_check(store.path / "config" / "timercheck")
    read_ms, taken = (-1, 0) if check is None else (check.last_read_time_ms, check.last_timer_queue_offset)
    records = _records(store, read_ms, taken)
    missing = len(records.physical)
    deleted: set[tuple[int, str | None, str]] = set()
    timers: list[tuple[int, str, WaitingTimer]] = []
    for file, rows, headers in records_at(store.commit_log, records.physical):
        missing -= len(rows)
        buffer = file.known
        spans = property_spans(buffer, headers, [REAL_TOPIC, UNIQ_KEY, _OUT_MS, _DELETED_KEY])
        names = factorize(buffer, spans[REAL_TOPIC].start, spans[REAL_TOPIC].size)
        for at, row in enumerate(rows.tolist()):
            topic = names.names[names.codes[at]] if names.codes[at] >= 0 else None
            slot = int(records.slot_ms[row])
            if records.marks[row]:
                deleted.add((slot, topic, _text(buffer, spans[_DELETED_KEY], at)))
                continue
            out_ms = decimal(_text(buffer, spans[_OUT_MS], at))
            timer = WaitingTimer(topic, slot if out_ms is None else out_ms, int(headers.store_time_ms[at]))
            timers.append((slot, _text(buffer, spans[UNIQ_KEY], at), timer))
    return [timer for slot, key, timer in timers if (slot, timer.topic, key) not in deleted], missing


def _records(store: StoreDirectory, read_ms: int, taken: int) -> _Records:
    _, log = timer_log(store.path / "timerlog")
    slot = log["write_time_ms"] + log["delayed_ms"]
    kept = slot > read_ms
    if store.cut is not None:  # what was taken from behind the cut is not looked at, like the messages there
        kept &= log["physical_offset"] < store.cut
    queue = store.consume_queue(TIMER_TOPIC, 0)
    parts = [np.empty(0, dtype=np.int64)]
    begin = max(queue.min_offset(store.commit_log.min_offset), taken)
    for _, entries in queue.runs(begin, queue.max_offset):
        physical = entries["physical_offset"][is_message(entries)].astype(np.int64)
        parts.append(physical[~np.isin(physical, log["physical_offset"])])
    later = np.concatenate(parts)
    return _Records(
        np.concatenate((log["physical_offset"][kept].astype(np.int64), later)),
        np.concatenate((slot[kept].astype(np.int64), np.zeros(len(later), dtype=np.int64))),
        np.concatenate(((log["magic"][kept] & DELETE) != 0, np.zeros(len(later), dtype=bool))),
    )


def _text(buffer: Buffer, spans: Spans, row: int) -> str:
    start, size = int(spans.start[row]), int(spans.size[row])
    return bytes(buffer[start : start + size]).decode("utf-8", "replace") if start >= 0 else ""
