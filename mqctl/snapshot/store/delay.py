"""Delay levels of a store: schedule queues, delayOffset.json, and what was already delivered."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from mqctl.errors import BadInputError, MqctlError, NotFoundError, UsageError
from mqctl.model.config_file import FileSource
from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.delay_state import (
    DelayLevelState,
    DelayQueueState,
    DelayRun,
    DelayState,
    HeadProblem,
    LevelTableSource,
)
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.snapshot.delay_records import SLACK_MS, dead_letter_topics, failing_topics, head_problem
from mqctl.snapshot.store.delay_copies import passed_over, search_copies
from mqctl.snapshot.store.reading import QueueBounds, Reading
from mqctl.snapshot.store.timers import timer_topics
from mqctl.store import config_files as configs
from mqctl.store.config_files import LoadedConfig
from mqctl.store.kernel import Int64s
from mqctl.store.layouts import EXT_ADDRESS_LIMIT
from mqctl.text import sentence

_MAX_RUNS = 64
_MAX_COPIES_SOUGHT = 2_000
_LOOKED_AT = 16


def delay_state(reading: Reading, *, levels: str | None, observed_at_ms: int) -> DelayState:
    """Reads the delay levels of a store.

    Args:
        levels: the broker's `messageDelayLevel`; None assumes the default.
        observed_at_ms: entries due before it (less a slack of 2 s) are overdue.
    """
    table = _level_table(levels)
    file = reading.config(configs.DELAY_OFFSETS)
    recorded = configs.delay_offsets(file)
    queues = {key[1] + 1: bounds for key, bounds in reading.bounds.items() if key[0] == SCHEDULE_TOPIC}
    unreadable = reading.store.consume_queue_kind == "rocksdb" or reading.lacks_queues
    states, deliveries = [], []
    for level in sorted({*range(1, table.max_level + 1), *recorded.offsets, *queues}):
        offset = recorded.offsets.get(level)
        unread = unreadable or (SCHEDULE_TOPIC, level - 1) in reading.unread_queues
        queue = None if unread else DelayQueueState(min_offset=0, max_offset=0)
        if level in queues:
            scan = _LevelScan(reading, queues[level], level, table.delay_ms(level), offset, observed_at_ms)
            queue, delivered_ms = scan.state()
            deliveries.append(delivered_ms)
        states.append(DelayLevelState(level=level, delay_ms=table.delay_ms(level), recorded_offset=offset, queue=queue))
    return DelayState(
        levels=tuple(states),
        table_source=LevelTableSource.GIVEN if levels else LevelTableSource.DEFAULT,
        file=file.state,
        last_delivery_time_ms=max((time for time in deliveries if time is not None), default=None),
        rejected_keys=recorded.rejected,
        timers=() if unreadable else timer_topics(reading),
    )


def delay_file_state(path: Path, *, levels: str | None) -> DelayState:
    """Reads a `delayOffset.json` by itself.

    Raises:
        NotFoundError: there is no such file.
        BadInputError: it is no JSON object of fastjson's dialect.
    """
    file = configs.read_json_file(path)
    if not path.exists():
        raise NotFoundError(
            sentence("no-file", "there is no file {file}", file=path),
            remedy=sentence("snapshot-name-broker-config-delayoffset", "name the broker's config/delayOffset.json"),
        )
    if file.state.source is FileSource.NONE:
        raise _unreadable(path, file)
    recorded = configs.delay_offsets(file)
    table = _level_table(levels)
    return DelayState(
        levels=tuple(
            DelayLevelState(level=level, delay_ms=table.delay_ms(level), recorded_offset=recorded.offsets.get(level))
            for level in sorted({*range(1, table.max_level + 1), *recorded.offsets})
        ),
        table_source=LevelTableSource.GIVEN if levels else LevelTableSource.DEFAULT,
        file=file.state,
        rejected_keys=recorded.rejected,
    )


def _level_table(levels: str | None) -> DelayLevelTable:
    """Parses a given level table; a broker would not start on a bad one, so it can only be a slip of the user."""
    if levels is None:
        return DelayLevelTable.parse()
    table = DelayLevelTable.parse(levels)
    if table.bad_item is not None:
        raise UsageError(
            sentence("cannot-read-delay-levels", "cannot read the delay levels {levels!r}", levels=levels),
            reason=sentence(
                "not-number-followed", "{bad!r} is not a number followed by s, m, h or d", bad=table.bad_item
            ),
            remedy=sentence(
                "give-messagedelaylevel-broker-instance",
                "give messageDelayLevel as the broker has it, for instance --levels '1s 5s 10s 30s 1m'",
            ),
        )
    return table


def _unreadable(path: Path, file: LoadedConfig) -> BadInputError:
    remedy = sentence(
        "snapshot-check-bak-beside", "check {name}.bak beside it: the broker falls back to it", name=path.name
    )
    return BadInputError(
        sentence("could-not-read", "could not read {file}", file=path),
        reason=file.state.main_problem or "",
        remedy=remedy,
    )


@dataclass(frozen=True)
class _LevelScan:
    """One schedule queue, looked at once; arrays are parallel, one element an entry, by queue offset."""

    reading: Reading
    bounds: QueueBounds
    level: int
    delay_ms: int | None
    recorded: int | None
    observed_at_ms: int

    def state(self) -> tuple[DelayQueueState, int | None]:
        """Returns the state, and the store time of the newest delivered copy found behind the recorded offset."""
        offsets, entries = self.reading.entries(self.bounds)
        physical = entries["physical_offset"]
        times = self.reading.store_times(physical.tolist())
        stored = np.array([times.get(place, -1) for place in physical.tolist()], dtype=np.int64)
        due = self._due(entries["tags_code"].astype(np.int64), stored)
        waiting = offsets >= (self.bounds.min_offset if self.recorded is None else self.recorded)
        known = (stored >= 0) & (due >= 0)
        overdue = waiting & known & (due + SLACK_MS < self.observed_at_ms)
        copies = self._delivered(physical[overdue], due[overdue])
        undelivered = overdue.copy()
        if copies is not None:
            undelivered[np.flatnonzero(overdue)] = [place not in copies for place in physical[overdue].tolist()]
        missing = waiting & (stored < 0)
        falls = np.zeros(len(due), dtype=bool)
        falls[1:] = (due[1:] < due[:-1]) & known[1:] & known[:-1]
        delays = due - stored
        runs = _runs(offsets[known], delays[known])
        passed = passed_over(self.reading, self.bounds, self.recorded)
        some = self._some(physical[waiting & known])
        state = DelayQueueState(
            min_offset=self.bounds.min_offset,
            max_offset=self.bounds.max_offset,
            waiting_count=int(waiting.sum()),
            not_due_count=int((waiting & known & (due > self.observed_at_ms)).sum()),
            overdue_count=int(overdue.sum()),
            redelivered_count=None if copies is None else len(copies),
            head_due_time_ms=_first(due, waiting & known),
            oldest_overdue_time_ms=_first(due, undelivered),
            first_undelivered_offset=_first(offsets, waiting & ~overdue | undelivered),
            head_problem=self._head_problem(physical, waiting),
            head_physical_offset=_first(physical.astype(np.int64), waiting),
            dead_letter_topics=dead_letter_topics(some),
            failing_topics=failing_topics(some),
            missing_record_count=int(missing.sum()),
            first_missing_offset=_first(offsets, missing),
            descending_count=int(falls.sum()),
            first_descending_offset=_first(offsets, falls),
            beyond_horizon_count=self._beyond_horizon(due, waiting & known),
            changed_waiting_count=0
            if self.delay_ms is None
            else int((waiting & known & (delays != self.delay_ms)).sum()),
            runs=tuple(runs[:_MAX_RUNS]),
            run_count=len(runs),
            passed_over_count=passed.count,
            first_passed_over_offset=passed.first_offset,
            passed_over_from=passed.looked_from,
        )
        return state, max(copies.values(), default=None) if copies else None

    def _due(self, tags: Int64s, stored: Int64s) -> Int64s:
        """Due times; an address into the extension is resolved, an unresolvable one recomputed as brokers do."""
        addresses = tags <= EXT_ADDRESS_LIMIT
        if not addresses.any():
            return tags
        due = tags.copy()
        resolved = self.reading.ext_tags(SCHEDULE_TOPIC, self.level - 1, tags[addresses])
        fallback = stored[addresses] + self.delay_ms if self.delay_ms is not None else np.full(len(resolved), -1)
        due[addresses] = np.where(resolved >= 0, resolved, fallback)
        return due

    def _beyond_horizon(self, due: Int64s, waiting: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
        if self.delay_ms is None:
            return 0
        return int((waiting & (due > self.observed_at_ms + SLACK_MS + self.delay_ms)).sum())

    def _head_problem(
        self, physical: Int64s, waiting: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> HeadProblem | None:
        if not waiting.any():
            return None
        try:
            return head_problem(self.reading.store.commit_log.record_at(int(physical[np.argmax(waiting)])))
        except MqctlError:
            return None  # a missing record is counted as such

    def _some(self, physical: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> list[Message]:
        """Reads a few records, spread evenly."""
        step = max(1, -(-len(physical) // _LOOKED_AT))
        records = []
        for place in physical[::step].tolist():
            with suppress(MqctlError):  # verification reports what is wrong with it
                records.append(self.reading.store.commit_log.record_at(place))
        return records

    def _delivered(self, physical: Int64s, due: Int64s) -> Mapping[int, int] | None:
        """Finds delivered copies of overdue entries: schedule record's physical offset -> store time of its copy."""
        if len(physical) > _MAX_COPIES_SOUGHT:
            return None
        return search_copies(self.reading, dict(zip(physical.tolist(), due.tolist(), strict=True))).found


def _first(values: Int64s, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int | None:
    return int(values[np.argmax(mask)]) if mask.any() else None


def _runs(offsets: Int64s, delays: Int64s) -> list[DelayRun]:
    if not len(delays):
        return []
    starts = np.flatnonzero(np.concatenate(([True], delays[1:] != delays[:-1])))
    counts = np.diff(np.append(starts, len(delays)))
    return [
        DelayRun(first_offset=int(offsets[start]), message_count=int(count), delay_ms=int(delays[start]))
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True)
    ]
