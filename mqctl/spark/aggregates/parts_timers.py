"""What waits for a moment in the timers of 5.x: from the timer log, its checkpoint, and the timer topic's queue.

A message waits while its slot has not been read (`config/timercheck`), or while the timer has not taken it from its
topic yet; one that a delete marker of the same slot names is not delivered (`TimerMessageStore` of 5.3.3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mqctl.model.message import REAL_TOPIC, UNIQ_KEY
from mqctl.model.names import TIMER_TOPIC
from mqctl.snapshot.delay_records import SLACK_MS
from mqctl.spark.aggregates.combiner import Columns
from mqctl.spark.query import Query
from mqctl.spark.scan.following import records_at
from mqctl.spark.scan.keys import key_text
from mqctl.spark.selection import Selection
from mqctl.store.consumequeue import is_filler
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Int64s
from mqctl.store.mapped_files import Buffer
from mqctl.store.texts import Spans, factorize, property_spans
from mqctl.store.timer import DELETE, read_timer_check, timer_log

TIMERS, TIMER_DUE = "timers", "timer_due"
_OUT_MS, _DELETED_KEY = "TIMER_OUT_MS", "TIMER_DEL_UNIQKEY"
_NO_TOPIC = "?"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Records of the timer topic that wait: where they stand, when their slot is due (epoch ms), and delete markers."""

    physical: Int64s
    slot_ms: Int64s
    marks: NDArray[np.bool_]


def timer_rows(store: StoreDirectory, path: str, wanted: Selection, query: Query) -> Iterator[Columns]:
    """Yields what waits by real topic, and when it is due; nothing for a store without timers."""
    check = read_timer_check(store.path / "config" / "timercheck")
    read_ms, taken = (-1, 0) if check is None else (check.last_read_time_ms, check.last_timer_queue_offset)
    waiting = _waiting(store, read_ms, taken)
    if not len(waiting.physical):
        return
    topics: dict[str, list[int]] = defaultdict(list)
    missing = len(waiting.physical)
    deleted: set[tuple[int, str, str]] = set()
    found: list[tuple[int, str, str, int]] = []
    for file, rows, headers in records_at(store.commit_log, waiting.physical):
        missing -= len(rows)
        buffer = file.known
        spans = property_spans(buffer, headers, [REAL_TOPIC, UNIQ_KEY, _OUT_MS, _DELETED_KEY])
        names = factorize(buffer, spans[REAL_TOPIC].start, spans[REAL_TOPIC].size)
        inside = wanted.store_time_ms.mask(headers.store_time_ms)
        for at, row in enumerate(rows.tolist()):
            topic = names.names[names.codes[at]] if names.codes[at] >= 0 else _NO_TOPIC
            slot = int(waiting.slot_ms[row])
            if waiting.marks[row]:
                deleted.add((slot, topic, _text(buffer, spans[_DELETED_KEY], at)))
            elif inside[at] and wanted.wants_topic(topic):
                out = _text(buffer, spans[_OUT_MS], at)
                due = int(out) if out.isdigit() else slot
                found.append((slot, topic, _text(buffer, spans[UNIQ_KEY], at), due))
    for slot, topic, key, due in found:
        if (slot, topic, key) not in deleted:
            topics[topic].append(due)
    yield from _rows(path, query, topics, missing)


def _waiting(store: StoreDirectory, read_ms: int, taken: int) -> _Waiting:
    _, log = timer_log(store.path / "timerlog")
    slot = log["write_time_ms"] + log["delayed_ms"]
    kept = slot > read_ms
    queue = store.consume_queue(TIMER_TOPIC, 0)
    parts = [np.empty(0, dtype=np.int64)]
    begin = max(queue.min_offset(store.commit_log.min_offset), taken)
    for _, entries in queue.runs(begin, queue.max_offset):
        physical = entries["physical_offset"][~is_filler(entries)].astype(np.int64)
        parts.append(physical[~np.isin(physical, log["physical_offset"])])
    later = np.concatenate(parts)
    return _Waiting(
        np.concatenate((log["physical_offset"][kept].astype(np.int64), later)),
        np.concatenate((slot[kept].astype(np.int64), np.zeros(len(later), dtype=np.int64))),
        np.concatenate(((log["magic"][kept] & DELETE) != 0, np.zeros(len(later), dtype=bool))),
    )


def _text(buffer: Buffer, spans: Spans, row: int) -> str:
    start = int(spans.start[row])
    return key_text(buffer, start, int(spans.size[row])) if start >= 0 else ""


def _rows(path: str, query: Query, topics: dict[str, list[int]], missing: int) -> Iterator[Columns]:
    if missing:
        topics.setdefault(_NO_TOPIC, [])  # nobody knows whose these were
    names = sorted(topics)
    due = [np.array(sorted(topics[name]), dtype=np.int64) for name in names]
    late = [times[times + SLACK_MS < query.at_ms] for times in due]
    lost = [missing if name == _NO_TOPIC else 0 for name in names]
    yield {
        "cut": [TIMERS] * len(names),
        "store": [path] * len(names),
        "topic": names,
        "waiting": [len(times) + more for times, more in zip(due, lost, strict=True)],
        "missing": lost,
        "overdue": [len(times) for times in late],
        "not_due": [int((times > query.at_ms).sum()) for times in due],
        "head_due_ms": [int(times[0]) if len(times) else None for times in due],
        "first_overdue_ms": [int(times[0]) if len(times) else None for times in late],
        "last_due_ms": [int(times[-1]) if len(times) else None for times in due],
    }
    for name, times in zip(names, due, strict=True):
        bucket, counts = np.unique(times // query.bucket_ms * query.bucket_ms, return_counts=True)
        yield {
            "cut": [TIMER_DUE] * len(counts),
            "store": [path] * len(counts),
            "topic": [name] * len(counts),
            "time_ms": bucket.tolist(),
            "waiting": counts.tolist(),
        }
