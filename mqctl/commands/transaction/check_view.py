"""The document of `transaction check`: check loops and what is wrong. Apart from lists, which need no rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mqctl.commands.transaction.view import LOOP_COLUMNS, CheckLoopRow, loop_columns, loop_rows
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Document, Table
from mqctl.render.findings import DiagnosisReport, diagnosis_document
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.rules import Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionCheckReport:
    """Machine form of `transaction check`."""

    check_loops: list[CheckLoopRow]
    diagnosis: DiagnosisReport


def check_document(snapshot: ClusterSnapshot, diagnosis: Diagnosis, *, source: str | None = None) -> Document:
    """Builds the document of `transaction check`."""
    findings = diagnosis_document(snapshot, diagnosis, explain=False, source=source)
    if not isinstance(findings.value, DiagnosisReport):
        raise TypeError("a diagnosis document holds a diagnosis report")
    loops = loop_rows(snapshot)
    table = Table(
        loop_columns(loops),
        loops,
        empty=sentence("empty-no-transaction-was-ever-sent-here", "no transaction was ever sent here"),
    )
    return replace(
        findings,
        schema="transaction.check/1",
        value=TransactionCheckReport(check_loops=loops, diagnosis=findings.value),
        records=loops,
        csv_columns=LOOP_COLUMNS,
        blocks=[findings.blocks[0], table, *findings.blocks[1:]],
    )
