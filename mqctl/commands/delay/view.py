"""Delay levels as a table, with the findings about them."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl import units
from mqctl.model.delay_state import DelayLevelState
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import Word, sentence

_BROKER = Column("broker_name", "broker")
COLUMNS = (
    Column("level", "level", CellKind.COUNT),
    Column("delay_ms", "delay", CellKind.DURATION_MS, none="none"),
    Column("recorded_offset", "recorded", CellKind.COUNT, none="none"),
    Column("min_offset", "min", CellKind.COUNT, none="?", wide=True),
    Column("max_offset", "max", CellKind.COUNT, none="?", wide=True),
    Column("waiting_count", "waiting", CellKind.COUNT, none="?"),
    Column("overdue_count", "overdue", CellKind.COUNT, none="?"),
    Column("late_ms", "late by", CellKind.DURATION_MS),
    Column("head_due_time_ms", "next due", CellKind.TIME_MS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayRow:
    """One delay level; None in the queue's columns means that the queue was not read.

    Attributes:
        overdue_count: messages past their due time without a delivered copy.
        late_ms: how late the oldest of them is.
    """

    broker_name: str | None
    level: int
    delay_ms: int | None
    recorded_offset: int | None
    min_offset: int | None
    max_offset: int | None
    waiting_count: int | None
    overdue_count: int | None
    late_ms: int | None
    head_due_time_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerRow:
    """What waits in the timers of a 5.x broker for one topic.

    Attributes:
        topic: None for messages that the timer has not taken from its topic yet.
        next_due_time_ms: None where only the count is told.
    """

    broker_name: str | None
    topic: str | None
    waiting_count: int
    next_due_time_ms: int | None


_TIMER_COLUMNS = (
    Column("topic", "topic", none="not in the wheel yet"),
    Column("waiting_count", "in timer", CellKind.COUNT),
    Column("next_due_time_ms", "next due", CellKind.TIME_MS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayLevels:
    """Machine form of `delay levels`.

    Attributes:
        table_source: who said what the level table is.
        levels: all of them; people see rows of those that are in use.
        timers: what waits in timers (5.x).
    """

    table_source: str | None
    levels: list[DelayRow]
    timers: list[TimerRow]


def levels_document(snapshot: ClusterSnapshot) -> Document:
    """Builds the document of `delay levels`: every level of the table and every other one that is in use; timers.

    People see the delays of all levels in a line, and rows of those that are in use.
    """
    rows, source, timers = level_rows(snapshot), table_source(snapshot), timer_rows(snapshot)
    line = sentence("delay-level-table", "level table: {source}", source=source or Word("unknown"))
    used = used_levels(rows)
    return Document(
        schema="delay.levels/1",
        value=DelayLevels(table_source=source, levels=rows, timers=timers),
        records=rows,
        csv_columns=(_BROKER, *COLUMNS),
        blocks=[
            Paragraphs([line, *_table_lines(rows)]),
            Table(level_columns(used, COLUMNS), used, empty=UNUSED),
            *timer_blocks(timers),
        ],
    )


def _table_lines(rows: list[DelayRow]) -> Iterator[str]:
    """Yields the delays from level 1 on, once for brokers with the same table: most levels hold nothing."""
    delays: dict[str, list[int]] = {}
    for row in rows:
        if row.delay_ms is not None:
            delays.setdefault(row.broker_name or "", []).append(row.delay_ms)
    tables: dict[tuple[int, ...], list[str]] = {}
    for name, own in delays.items():
        tables.setdefault(tuple(own), []).append(name)
    for table, names in tables.items():
        spans = [units.Duration(delay_ms) for delay_ms in table]
        if len(tables) == 1:
            yield sentence("delay-levels-are", "delays from level 1 on: {delays}", delays=spans)
        else:
            yield sentence(
                "delay-levels-of", "delays from level 1 on, {brokers}: {delays}", brokers=names, delays=spans
            )


UNUSED = sentence("no-delay-level-ever", "no delay level was ever used")


def timer_rows(snapshot: ClusterSnapshot) -> list[TimerRow]:
    return [
        TimerRow(
            broker_name=broker.name,
            topic=item.topic,
            waiting_count=item.waiting_count,
            next_due_time_ms=item.next_due_time_ms,
        )
        for broker in snapshot.brokers
        for item in (broker.delay.timers if broker.delay is not None else ())
    ]


def timer_blocks(timers: list[TimerRow]) -> list[Table]:
    named = (_BROKER,) if any(row.broker_name for row in timers) else ()
    return [Table((*named, *_TIMER_COLUMNS), timers)] if timers else []


def level_rows(snapshot: ClusterSnapshot) -> list[DelayRow]:
    return [
        _row(broker.name, state, snapshot.origin.observed_at_ms)
        for broker in snapshot.brokers
        if broker.delay is not None
        for state in broker.delay.levels
    ]


def table_source(snapshot: ClusterSnapshot) -> str | None:
    return next((broker.delay.table_source.value for broker in snapshot.brokers if broker.delay is not None), None)


def used_levels(rows: list[DelayRow]) -> list[DelayRow]:
    return [row for row in rows if row.recorded_offset is not None or row.max_offset or row.delay_ms is None]


def level_columns(rows: list[DelayRow], columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Adds the broker's name where one is known."""
    return (_BROKER, *columns) if any(row.broker_name for row in rows) else columns


def _row(broker_name: str | None, state: DelayLevelState, now_ms: int) -> DelayRow:
    queue = state.queue
    oldest = queue.oldest_overdue_time_ms if queue else None
    return DelayRow(
        broker_name=broker_name,
        level=state.level,
        delay_ms=state.delay_ms,
        recorded_offset=state.recorded_offset,
        min_offset=queue.min_offset if queue else None,
        max_offset=queue.max_offset if queue else None,
        waiting_count=queue.waiting_count if queue else None,
        overdue_count=queue.overdue_count - (queue.redelivered_count or 0) if queue else None,
        late_ms=None if oldest is None else now_ms - oldest,
        head_due_time_ms=queue.head_due_time_ms if queue else None,
    )
