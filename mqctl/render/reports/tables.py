"""Reports over store directories for people: what stands out in words, then their sections as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mqctl.model.reports import (
    CapacityReport,
    DelayReport,
    DuplicatesReport,
    OrderReport,
    RetriesReport,
    SkewReport,
    TagsReport,
    TransactionsReport,
)
from mqctl.model.said import Said, said
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.render.reports.sections import SECTIONS
from mqctl.render.reports.words import NOTHING_STANDS_OUT, findings
from mqctl.text import sentence, word_key


@dataclass(frozen=True, kw_only=True)
class Reported:
    """Machine form of a report: the stores it was made of, what stands out, and the report itself."""

    stores: list[str]
    findings: list[str]
    keyed_findings: list[Said] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SkewReported(Reported):
    """Machine form of `report skew`."""

    report: SkewReport


@dataclass(frozen=True, kw_only=True)
class OrderReported(Reported):
    """Machine form of `report order`."""

    report: OrderReport


@dataclass(frozen=True, kw_only=True)
class DuplicatesReported(Reported):
    """Machine form of `report duplicates`."""

    report: DuplicatesReport


@dataclass(frozen=True, kw_only=True)
class TagsReported(Reported):
    """Machine form of `report tags`."""

    report: TagsReport


@dataclass(frozen=True, kw_only=True)
class CapacityReported(Reported):
    """Machine form of `report capacity`."""

    report: CapacityReport


@dataclass(frozen=True, kw_only=True)
class RetriesReported(Reported):
    """Machine form of `report retries`."""

    report: RetriesReport


@dataclass(frozen=True, kw_only=True)
class DelayReported(Reported):
    """Machine form of `report delay`."""

    report: DelayReport


@dataclass(frozen=True, kw_only=True)
class TransactionsReported(Reported):
    """Machine form of `report transactions`."""

    report: TransactionsReport


_FORMS: dict[str, Callable[..., Reported]] = {
    "skew": SkewReported,
    "order": OrderReported,
    "duplicates": DuplicatesReported,
    "tags": TagsReported,
    "capacity": CapacityReported,
    "retries": RetriesReported,
    "delay": DelayReported,
    "transactions": TransactionsReported,
}


def report_document(name: str, stores: Sequence[str], value: object) -> Document:
    """Builds the document of `mqctl report NAME`."""
    words = findings(name, value)
    blocks: list[Table | Paragraphs] = [Paragraphs(words or [NOTHING_STANDS_OUT])]
    tables = section_tables(name, value)
    blocks += tables
    return Document(
        schema=f"report.{name}/1",
        value=_FORMS[name](stores=list(stores), findings=words, keyed_findings=said(words), report=value),
        records=tables[0].rows,
        blocks=blocks,
    )


def section_tables(name: str, value: object, most: int | None = None) -> list[Table]:
    """Returns the sections that have rows, the first one always; `most` rows each."""
    tables = []
    for number, section in enumerate(SECTIONS[name]):
        rows = getattr(value, section.attribute)
        if rows or not number:
            shown = rows if most is None else rows[:most]
            title = sentence(word_key("title", section.title), section.title)
            if len(shown) < len(rows):
                title = sentence(
                    "report-table-cut",
                    "{title} (first {shown:,} of {all:,})",
                    title=title,
                    shown=len(shown),
                    all=len(rows),
                )
            tables.append(Table(section.columns, shown, title=title))
    return tables
