"""Reconciliations as tables: what is missing first."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.counts import counted
from mqctl.model.reconciliation import ReconciledKey, Reconciliation
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.units import size

COLUMNS = (
    Column("key", "key"),
    Column("expected_count", "expected", CellKind.COUNT),
    Column("stored_count", "stored messages", CellKind.COUNT),
    Column("first_ms", "oldest stored", CellKind.TIME_MS),
    Column("last_ms", "newest stored", CellKind.TIME_MS),
)


def reconciliation_document(result: Reconciliation) -> Document:
    """Builds the document of `report reconcile`."""
    lines = [
        f"expected: {result.expected}: {counted(result.expected_count, 'row')}, "
        f"{counted(result.expected_key_count, 'key')}{_keyless(result.expected_keyless_count)}",
        f"stored:   {result.stored}: {counted(result.stored_count, 'row')}, "
        f"{counted(result.stored_key_count, 'key')} by {result.key}{_keyless(result.stored_keyless_count)}",
        f"{counted(result.matched_key_count, 'key')} as often on both sides",
    ]
    for store in result.read:
        if store.skipped_bytes:
            lines.append(f"{store.store}: {size(store.skipped_bytes)} hold no readable record: a key may be in them")
    blocks: list[Table | Paragraphs] = [Paragraphs(lines)]
    blocks += _table(f"{counted(result.missing_key_count, 'key')} expected, not stored", result.missing)
    blocks += _table(f"{counted(result.short_key_count, 'key')} stored less often than expected", result.short)
    blocks += _table(f"{counted(result.repeated_key_count, 'key')} stored more often than expected", result.repeated)
    blocks += _table(f"{counted(result.extra_key_count, 'key')} stored, not expected", result.extra)
    records = [*result.missing, *result.short, *result.repeated, *result.extra]
    return Document(schema="report.reconcile/1", value=result, records=records, csv_columns=COLUMNS, blocks=blocks)


def _keyless(count: int) -> str:
    return f", {count:,} without a key" if count else ""


def _table(title: str, rows: Sequence[ReconciledKey]) -> list[Table | Paragraphs]:
    return [Table(COLUMNS, rows, title=title)] if rows else []
