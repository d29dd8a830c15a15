"""What waits on delay levels: from the schedule queues, their offsets, and the records they point to.

Timers of 5.x are in `timers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.message import REAL_TOPIC
from mqctl.model.names import RETRY_PREFIX, SCHEDULE_TOPIC
from mqctl.snapshot.delay_records import SLACK_MS
from mqctl.snapshot.store.delay_copies import passed_over
from mqctl.snapshot.store.reading import QueueBounds, Reading
from mqctl.spark.aggregates.combiner import Columns
from mqctl.spark.aggregates.extents import plan_stores, store_work
from mqctl.spark.aggregates.table import PartTable, Work
from mqctl.spark.aggregates.timers import timer_rows
from mqctl.spark.query import Cut, Query
from mqctl.spark.scan.planning import open_store
from mqctl.spark.selection import Selection
from mqctl.store.attached import look_at_each
from mqctl.store.commitlog import records_at
from mqctl.store.config_files import DELAY_OFFSETS, delay_offsets
from mqctl.store.consumequeue import ConsumeQueue, is_filler, is_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int64s
from mqctl.store.layouts import EXT_ADDRESS_LIMIT
from mqctl.store.mapped_files import Buffer
from mqctl.store.texts import Alphabet, factorize, property_spans

LEVELS, DUE, RETURNS = "levels", "due", "returns"
RETURNS_CUT = Cut(RETURNS, ())
"""Asked with this, the table tells what waits for each retry topic, too, by level and attempt."""


def _read_delay(work: Work) -> Iterator[Columns]:
    path, wanted, query = store_work(work)
    store = open_store(path)
    table = DelayLevelTable.parse(query.levels) if query.levels else DelayLevelTable.parse()
    recorded = delay_offsets(store.config(DELAY_OFFSETS)).offsets
    queues = {number + 1 for topic, number in store.queue_ids() if topic == SCHEDULE_TOPIC}
    lowest = store.commit_log.min_offset

    def level(number: int) -> _Level:
        queue = store.consume_queue(SCHEDULE_TOPIC, number - 1)
        low = queue.min_offset(lowest)
        return _Level(number, table.delay_ms(number), recorded.get(number), queue, low, queue.max_offset)

    reading = Reading(store)
    for own in look_at_each(store.path, level, sorted(queues | set(recorded))):
        yield from _level_rows(reading, own, path, (wanted, query))
    yield from timer_rows(store, path, wanted, query)


@dataclass(frozen=True, slots=True)
class _Level:
    """A delay level: its number, its delay where the table has it, the next offset of delayOffset.json, and its queue
    with the bounds of what can be read."""

    number: int
    delay_ms: int | None
    recorded: int | None
    queue: ConsumeQueue
    low: int
    high: int


def _level_rows(reading: Reading, own: _Level, path: str, work: tuple[Selection, Query]) -> Iterator[Columns]:
    _, query = work
    level, delay_ms, recorded, low, high = own.number, own.delay_ms, own.recorded, own.low, own.high
    begin = low if recorded is None else max(low, recorded)
    waiting = _waiting(reading.store, own, begin, work)
    due, missing = waiting.due_ms, waiting.missing
    overdue = due + SLACK_MS < query.at_ms
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
        "passed_over": [passed_over(reading, QueueBounds(own.queue, low, high), recorded).count],
        "overdue": [int(overdue.sum())],
        "not_due": [int((due > query.at_ms).sum())],
        "head_due_ms": [int(due[0]) if len(due) else None],
        "first_overdue_ms": [int(late.min()) if len(late) else None],
        "last_due_ms": [int(due.max()) if len(due) else None],
    }
    bucket, counts = np.unique(due // query.bucket_ms * query.bucket_ms, return_counts=True)
    yield {
        "cut": [DUE] * len(counts),
        "store": [path] * len(counts),
        "level": [level] * len(counts),
        "time_ms": bucket.tolist(),
        "waiting": counts.tolist(),
    }
    returns = sorted(waiting.returns.items())
    yield {
        "cut": [RETURNS] * len(returns),
        "store": [path] * len(returns),
        "level": [level] * len(returns),
        "topic": [topic for (topic, _), _ in returns],
        "reconsume_times": [times for (_, times), _ in returns],
        "waiting": [sum(map(len, parts)) for _, parts in returns],
        "head_due_ms": [min(int(part.min()) for part in parts) for _, parts in returns],
        "last_due_ms": [max(int(part.max()) for part in parts) for _, parts in returns],
    }


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What waits on a level: due times by queue offset, entries that lead to no message, and, where they are asked for,
    the due times of each retry topic and attempt."""

    due_ms: Int64s
    missing: int
    returns: dict[tuple[str, int], list[Int64s]] = field(default_factory=dict)


def _waiting(store: StoreDirectory, own: _Level, begin: int, asked_for: tuple[Selection, Query]) -> _Waiting:
    """Follows the entries of a level that are not delivered yet.

    The entry's tag code is the due time; where it is an address into the extension, the broker recomputes it from
    the store time, as is done here. Messages that are not wanted (by their real topic, by store time) are left out.
    """
    wanted, query = asked_for
    with_returns = RETURNS_CUT in query.cuts
    parts: list[Int64s] = []
    returns: dict[tuple[str, int], list[Int64s]] = {}
    missing = max(0, own.high - begin)
    for _, entries in own.queue.runs(begin, own.high):
        missing -= int(is_filler(entries).sum())
        kept = entries[is_message(entries)]
        due = kept["tags_code"].astype(np.int64)
        in_range = np.zeros(len(kept), dtype=bool)
        for file, rows, headers in records_at(store.commit_log, kept["physical_offset"].astype(np.int64)):
            if own.delay_ms is not None:
                due[rows] = np.where(due[rows] <= EXT_ADDRESS_LIMIT, headers.store_time_ms + own.delay_ms, due[rows])
            missing -= int((due[rows] >= 0).sum())
            in_range[rows] = wanted.store_time_ms.mask(headers.store_time_ms)
            if wanted.topics or with_returns:
                real = _real_topics(file.known, headers)
                in_range[rows] &= _named(real, wanted)
            if with_returns:
                _add_returns(returns, real, np.where(in_range[rows], due[rows], -1), headers.reconsume_times)
        parts.append(due[in_range & (due >= 0)])
    return _Waiting(np.concatenate(parts) if parts else np.empty(0, dtype=np.int64), missing, returns)


def _real_topics(buffer: Buffer, headers: Headers) -> Alphabet:
    real = property_spans(buffer, headers, [REAL_TOPIC])[REAL_TOPIC]
    return factorize(buffer, real.start, real.size)


def _named(real: Alphabet, wanted: Selection) -> NDArray[np.bool_]:
    if not wanted.topics:
        return np.ones(len(real.codes), dtype=bool)
    mask: NDArray[np.bool_] = np.array([name in wanted.topics for name in real.names] + [False], dtype=bool)[real.codes]
    return mask


def _add_returns(
    returns: dict[tuple[str, int], list[Int64s]], real: Alphabet, due_ms: Int64s, times: NDArray[np.int32]
) -> None:
    """Adds the due times (below 0: none) of messages for retry topics.

    Brokers send a failed message back through level 3 + attempts (`AbstractSendMessageProcessor.consumerSendMsgBack`),
    with the attempt it waits for in its header, whatever level the consumer asked for instead.
    """
    for code, topic in enumerate(real.names):
        if not topic.startswith(RETRY_PREFIX):
            continue
        own = (real.codes == code) & (due_ms >= 0)
        for attempt in np.unique(times[own]).tolist():
            returns.setdefault((topic, attempt), []).append(due_ms[own & (times == attempt)])


DELAY = PartTable(
    keys={
        "cut": "string",
        "store": "string",
        "level": "int",
        "topic": "string",
        "time_ms": "bigint",
        "reconsume_times": "int",
    },
    sums=("waiting", "missing", "passed_over", "overdue", "not_due"),
    lows=("delay_ms", "min_offset", "next_offset", "head_due_ms", "first_overdue_ms"),
    highs=("max_offset", "last_due_ms"),
    plan=plan_stores,
    read=_read_delay,
)
