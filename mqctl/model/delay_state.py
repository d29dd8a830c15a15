"""The delay levels of a broker: schedule queues against delayOffset.json."""

from __future__ import annotations

from enum import StrEnum

from mqctl.model.config_file import ConfigFileState
from mqctl.model.lazy_dataclass import dataclass


class LevelTableSource(StrEnum):
    """Who said what the delay level table is."""

    GIVEN = "given"
    BROKER_CONFIG = "broker-config"
    DEFAULT = "assumed-default"


class HeadProblem(StrEnum):
    """Why the next message of a level cannot be delivered (4.9.3 and later retry it forever)."""

    NO_REAL_TOPIC = "no-real-topic"
    NO_REAL_QUEUE_ID = "no-real-queue-id"
    BAD_REAL_QUEUE_ID = "bad-real-queue-id"
    BAD_TOPIC_LENGTH = "bad-topic-length"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayRun:
    """Neighbouring entries of a schedule queue whose due time lies equally far from their store time."""

    first_offset: int
    message_count: int
    delay_ms: int


OFTEN_FAILED = 4
"""Failures of a message from which on its group does not just have a hiccup: with default levels, within 4 minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayQueueState:
    """The schedule queue of one level. Counts refer to the snapshot's moment of observation.

    "Waiting" entries are those from max(recorded offset, min) to max; the rest counts as delivered. Without a recorded
    offset all entries wait.

    Attributes:
        waiting_count: entries still to deliver; not_due_count of them are due later.
        overdue_count: waiting entries due more than the slack (2 s) ago.
        redelivered_count: overdue entries of which a delivered copy was found: the recorded offset is stale.
            None when nobody looked.
        head_due_time_ms: due time of the next entry; None when nothing waits.
        oldest_overdue_time_ms: due time of the oldest overdue entry without a delivered copy.
        first_undelivered_offset: first waiting entry without a delivered copy, the offset to repair to.
        head_problem: why the next entry cannot be delivered, if so.
        dead_letter_topics: dead-letter topics that waiting messages go to, of those that were looked at.
        failing_topics: retry topics of waiting messages that failed `OFTEN_FAILED` times or more, of those that were
            looked at.
        missing_record_count: waiting entries whose record is not in the commit log.
        descending_count: entries due before their predecessor.
        beyond_horizon_count: waiting entries due later than observation plus the level's delay, by more than
            the observation takes.
        changed_waiting_count: waiting entries whose delay differs from the configured one.
        runs: lengths of equal delay in queue order, the first 64.
        run_count: number of all runs.
        passed_over_count: entries before the recorded offset of which no delivered copy exists: nothing will deliver
            them. None when nobody looked; a minimum when they are many.
        passed_over_from: queue offset of the oldest entry that was looked at for it.
        sampled_count: of how many entries the record was looked at, when not of all; counts of records are then a
            minimum.
    """

    min_offset: int
    max_offset: int
    waiting_count: int = 0
    not_due_count: int = 0
    overdue_count: int = 0
    redelivered_count: int | None = None
    head_due_time_ms: int | None = None
    oldest_overdue_time_ms: int | None = None
    first_undelivered_offset: int | None = None
    head_problem: HeadProblem | None = None
    head_physical_offset: int | None = None
    dead_letter_topics: tuple[str, ...] = ()
    failing_topics: tuple[str, ...] = ()
    missing_record_count: int = 0
    first_missing_offset: int | None = None
    descending_count: int = 0
    first_descending_offset: int | None = None
    beyond_horizon_count: int = 0
    changed_waiting_count: int = 0
    runs: tuple[DelayRun, ...] = ()
    run_count: int = 0
    passed_over_count: int | None = None
    first_passed_over_offset: int | None = None
    passed_over_from: int | None = None
    sampled_count: int | None = None

    @property
    def message_count(self) -> int:
        return max(0, self.max_offset - self.min_offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayLevelState:
    """One delay level: what is configured, what is recorded, what is queued.

    Attributes:
        delay_ms: configured delay; None when the table has no such level.
        recorded_offset: next offset to deliver by delayOffset.json; None when the file has no such key.
        queue: the schedule queue `level - 1`; None when queues were not read. An absent queue directory is an
            empty queue: that is what the broker makes of it.
    """

    level: int
    delay_ms: int | None = None
    recorded_offset: int | None = None
    queue: DelayQueueState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerTopicState:
    """What waits in the timers of a 5.x broker for one topic.

    Attributes:
        topic: None for messages that the timer has not looked at yet, or that name no topic.
        next_due_time_ms: when the first is due; None where nobody tells (a live broker counts only).
    """

    topic: str | None
    waiting_count: int
    next_due_time_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayState:
    """All delay levels of one broker.

    Attributes:
        levels: every level that the table, the file or a queue directory knows, ascending.
        table_source: who said what the table is.
        file: which of delayOffset.json and its backup was used; None for a live broker, which tells its memory.
        last_delivery_time_ms: newest store time of a delivered copy found after the recorded offsets.
        rejected_keys: keys of the file that are no level (not a number, or below 1).
        timers: what waits in timers (5.x), by topic; empty as well where a gap says that they were not read.
    """

    levels: tuple[DelayLevelState, ...]
    table_source: LevelTableSource
    file: ConfigFileState | None = None
    last_delivery_time_ms: int | None = None
    rejected_keys: tuple[str, ...] = ()
    timers: tuple[TimerTopicState, ...] = ()

    @property
    def max_level(self) -> int:
        """Highest configured level."""
        return max((state.level for state in self.levels if state.delay_ms is not None), default=0)
