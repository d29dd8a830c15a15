"""Delay levels as a table, with the findings about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mqctl.diagnosis import Diagnosis
from mqctl.model.delay_state import DelayLevelState
from mqctl.model.lang import Lang
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Column, Document, Kind, Table
from mqctl.render.findings import DiagnosisReport, diagnosis_document

COLUMNS = (
    Column("level", "level", Kind.COUNT),
    Column("delay_ms", "delay", Kind.DURATION_MS, none="none"),
    Column("recorded_offset", "recorded", Kind.COUNT, none="none"),
    Column("min_offset", "min", Kind.COUNT, none="?"),
    Column("max_offset", "max", Kind.COUNT, none="?"),
    Column("waiting_count", "waiting", Kind.COUNT, none="?"),
    Column("overdue_count", "overdue", Kind.COUNT, none="?"),
    Column("late_ms", "late by", Kind.DURATION_MS),
    Column("head_due_time_ms", "next due", Kind.TIME_MS),
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
class DelayReport:
    """Machine form of `delay check`."""

    table_source: str | None
    levels: list[DelayRow]
    diagnosis: DiagnosisReport


def delay_document(snapshot: ClusterSnapshot, diagnosis: Diagnosis, *, lang: Lang | None) -> Document:
    """Builds the document of `delay check`: levels that are in use or recorded, then the findings."""
    findings = diagnosis_document(snapshot, diagnosis, lang=lang, explain=False)
    report = findings.value
    rows, source = [], None
    for broker in snapshot.brokers:
        if broker.delay is not None:
            source = broker.delay.table_source.value
            rows += [_row(broker.name, state, snapshot.origin.observed_at_ms) for state in broker.delay.levels]
    used = [row for row in rows if row.recorded_offset is not None or row.max_offset or row.delay_ms is None]
    if not isinstance(report, DiagnosisReport):
        raise TypeError("a diagnosis document holds a diagnosis report")
    table = Table(COLUMNS, used, empty="no delay level was ever used")
    return replace(
        findings,
        schema="delay.check/1",
        value=DelayReport(table_source=source, levels=rows, diagnosis=report),
        records=rows,
        csv_columns=COLUMNS,
        blocks=[findings.blocks[0], table, *findings.blocks[1:]],
    )


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
