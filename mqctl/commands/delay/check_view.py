"""The document of `delay check`: levels and what is wrong with them. Apart from the levels, which need no rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mqctl.commands.delay.view import (
    COLUMNS,
    UNUSED,
    DelayRow,
    TimerRow,
    level_columns,
    level_rows,
    table_source,
    timer_blocks,
    timer_rows,
    used_levels,
)
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Document, Table
from mqctl.render.findings import DiagnosisReport, diagnosis_document

if TYPE_CHECKING:
    from mqctl.rules import Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayCheckReport:
    """Machine form of `delay check`."""

    table_source: str | None
    levels: list[DelayRow]
    timers: list[TimerRow]
    diagnosis: DiagnosisReport


def delay_document(snapshot: ClusterSnapshot, diagnosis: Diagnosis, *, source: str | None = None) -> Document:
    """Builds the document of `delay check`: levels that are in use or recorded, then the findings."""
    findings = diagnosis_document(snapshot, diagnosis, explain=False, source=source)
    report = findings.value
    rows, source = level_rows(snapshot), table_source(snapshot)
    used = used_levels(rows)
    if not isinstance(report, DiagnosisReport):
        raise TypeError("a diagnosis document holds a diagnosis report")
    table = Table(level_columns(rows, COLUMNS), used, empty=UNUSED)
    timers = timer_rows(snapshot)
    return replace(
        findings,
        schema="delay.check/1",
        value=DelayCheckReport(table_source=source, levels=rows, timers=timers, diagnosis=report),
        records=rows,
        csv_columns=COLUMNS,
        blocks=[findings.blocks[0], table, *timer_blocks(timers), *findings.blocks[1:]],
    )
