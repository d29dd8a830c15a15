"""The document of `transaction list --check`. Apart from that without a verdict, which needs no rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mqctl.commands.transaction.view import CheckLoopRow, TransactionList, TransactionRow
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Document
from mqctl.render.findings import DiagnosisReport, diagnosis_document

if TYPE_CHECKING:
    from mqctl.rules import Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionCheckReport:
    """Machine form of `transaction list --check`."""

    transactions: list[TransactionRow]
    check_loops: list[CheckLoopRow]
    diagnosis: DiagnosisReport


def with_verdict(
    listed: Document, snapshot: ClusterSnapshot, diagnosis: Diagnosis, *, source: str | None = None
) -> Document:
    """Adds to the document of `transaction list` what is wrong."""
    findings = diagnosis_document(snapshot, diagnosis, explain=False, source=source)
    if not isinstance(findings.value, DiagnosisReport) or not isinstance(listed.value, TransactionList):
        raise TypeError("a diagnosis document holds a diagnosis report, a list transactions")
    value = TransactionCheckReport(
        transactions=listed.value.transactions, check_loops=listed.value.check_loops, diagnosis=findings.value
    )
    blocks = [findings.blocks[0], *listed.blocks, *findings.blocks[1:]]
    return replace(listed, schema="transaction.check/1", value=value, blocks=blocks)
