"""Reconciliations as tables: what is missing first."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.reconciliation import ReconciledKey, Reconciliation
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.units import counted, size

COLUMNS = (
    Column("key", "key"),
    Column("expected_count", "expected", CellKind.COUNT),
    Column("stored_count", "stored messages", CellKind.COUNT),
    Column("first_ms", "oldest stored", CellKind.TIME_MS),
    Column("last_ms", "newest stored", CellKind.TIME_MS),
)


def reconciliation_document(found: Reconciliation) -> Document:
    """Builds the document of `report reconcile`."""
    lines = [
        f"expected: {found.expected}: {counted(found.expected_count, 'row')}, "
        f"{counted(found.expected_key_count, 'key')}{_keyless(found.expected_keyless_count)}",
        f"stored:   {found.stored}: {counted(found.stored_count, 'row')}, "
        f"{counted(found.stored_key_count, 'key')} by {found.key}{_keyless(found.stored_keyless_count)}",
        f"{counted(found.matched_key_count, 'key')} as often on both sides",
    ]
    for store in found.read:
        if store.skipped_bytes:
            lines.append(f"{store.store}: {size(store.skipped_bytes)} hold no readable record: a key may be in them")
    blocks: list[Table | Paragraphs] = [Paragraphs(lines)]
    blocks += _table(f"{counted(found.missing_key_count, 'key')} expected, not stored", found.missing)
    blocks += _table(f"{counted(found.short_key_count, 'key')} stored less often than expected", found.short)
    blocks += _table(f"{counted(found.repeated_key_count, 'key')} stored more often than expected", found.repeated)
    blocks += _table(f"{counted(found.extra_key_count, 'key')} stored, not expected", found.extra)
    records = [*found.missing, *found.short, *found.repeated, *found.extra]
    return Document(schema="report.reconcile/1", value=found, records=records, csv_columns=COLUMNS, blocks=blocks)


def _keyless(count: int) -> str:
    return f", {count:,} without a key" if count else ""


def _table(title: str, rows: Sequence[ReconciledKey]) -> list[Table | Paragraphs]:
    return [Table(COLUMNS, rows, title=title)] if rows else []
