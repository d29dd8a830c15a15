"""What waits for a moment in the timers of 5.x, by topic and due time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from mqctl.snapshot.delay_records import SLACK_MS
from mqctl.snapshot.store.timers import unread_timers, waiting_timers
from mqctl.spark.aggregates.combiner import Columns
from mqctl.spark.query import Query
from mqctl.spark.selection import Selection
from mqctl.store.directory import StoreDirectory

TIMERS, TIMER_DUE = "timers", "timer_due"
_NO_TOPIC = "?"


def timer_rows(store: StoreDirectory, path: str, wanted: Selection, query: Query) -> Iterator[Columns]:
    """Yields what waits by real topic, and when it is due; nothing for a store without timers, nor for one whose timers
    are in a database: `mqctl.spark.reports.unread` names that."""
    if unread_timers(store) is not None:
        return
    waiting, missing = waiting_timers(store)
    inside = wanted.store_time_ms.mask(np.array([item.store_time_ms for item in waiting], dtype=np.int64))
    topics: dict[str, list[int]] = defaultdict(list)
    for item, is_inside in zip(waiting, inside.tolist(), strict=True):
        topic = item.topic or _NO_TOPIC
        if is_inside and wanted.wants_topic(topic):
            topics[topic].append(item.due_ms)
    if topics or missing:
        yield from _rows(path, query, topics, missing)


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
