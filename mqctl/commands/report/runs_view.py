"""What `report run` and `report diff` print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.report_rows_state import ReportChange, RunFinding
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.render.reports.words import NOTHING_STANDS_OUT, findings
from mqctl.text import sentence


@dataclass(frozen=True, kw_only=True)
class RunReported:
    """Machine form of `report run`.

    Attributes:
        html, saved: files that were written; None where none was asked for.
    """

    stores: list[str]
    html: str | None
    saved: str | None
    findings: list[RunFinding]


@dataclass(frozen=True, kw_only=True)
class RunDiff:
    """Machine form of `report diff`."""

    before: str
    after: str
    changes: list[ReportChange]


def run_document(
    stores: Sequence[str],
    reports: Mapping[str, object],
    html: str | None,
    saved: str | None,
) -> Document:
    """Builds the document of `mqctl report run`."""
    lines = ((name, line) for name, value in reports.items() for line in findings(name, value))
    rows = [RunFinding(report=name, finding=line) for name, line in lines]
    columns = (Column("report", "report"), Column("finding", "what stands out"))
    return Document(
        schema="report.run/1",
        value=RunReported(stores=list(stores), html=html, saved=saved, findings=rows),
        records=rows,
        blocks=[Table(columns, rows, empty=NOTHING_STANDS_OUT)],
    )


def diff_document(before: str, after: str, changes: Sequence[ReportChange]) -> Document:
    """Builds the document of `mqctl report diff`."""
    columns = (
        Column("report", "report"),
        Column("section", "section"),
        Column("subject", "of"),
        Column("figure", "figure"),
        Column("before", "before", CellKind.RATIO),
        Column("after", "after", CellKind.RATIO),
        Column("change", "change", CellKind.RATIO),
    )
    return Document(
        schema="report.diff/1",
        value=RunDiff(before=before, after=after, changes=list(changes)),
        records=changes,
        blocks=[
            Table(
                columns,
                changes,
                empty=sentence("empty-the-two-runs-have-the-same-figures", "the two runs have the same figures"),
            )
        ],
    )
