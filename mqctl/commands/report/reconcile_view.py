"""Reconciliations as tables: what is missing first."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.counts import counted
from mqctl.model.reconciliation import ReconciledKey, Reconciliation
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

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
        sentence(
            "reconciliation-expected",
            "expected: {expected}: {expected_count}, {expected_key_count}{keyless}",
            expected=result.expected,
            expected_count=counted(result.expected_count, "row"),
            expected_key_count=counted(result.expected_key_count, "key"),
            keyless=_keyless(result.expected_keyless_count),
        ),
        sentence(
            "reconciliation-stored",
            "stored:   {stored}: {stored_count}, {stored_key_count} by {key}{keyless}",
            stored=result.stored,
            stored_count=counted(result.stored_count, "row"),
            stored_key_count=counted(result.stored_key_count, "key"),
            key=result.key,
            keyless=_keyless(result.stored_keyless_count),
        ),
        sentence(
            "reconciliation-often-both-sides",
            "{matched_key_count} as often on both sides",
            matched_key_count=counted(result.matched_key_count, "key"),
        ),
    ]
    for store in result.read:
        if store.skipped_bytes:
            lines.append(
                sentence(
                    "reconciliation-hold-no-readable-record",
                    "{store}: {skipped_bytes} hold no readable record: a key may be in them",
                    store=store.store,
                    skipped_bytes=store.skipped_bytes,
                )
            )
    blocks: list[Table | Paragraphs] = [Paragraphs(lines)]
    blocks += _table(
        sentence(
            "reconciliation-expected-not-stored",
            "{missing_key_count} expected, not stored",
            missing_key_count=counted(result.missing_key_count, "key"),
        ),
        result.missing,
    )
    blocks += _table(
        sentence(
            "reconciliation-stored-less-often-expected",
            "{short_key_count} stored less often than expected",
            short_key_count=counted(result.short_key_count, "key"),
        ),
        result.short,
    )
    blocks += _table(
        sentence(
            "reconciliation-stored-more-often-expected",
            "{repeated_key_count} stored more often than expected",
            repeated_key_count=counted(result.repeated_key_count, "key"),
        ),
        result.repeated,
    )
    blocks += _table(
        sentence(
            "reconciliation-stored-not-expected",
            "{extra_key_count} stored, not expected",
            extra_key_count=counted(result.extra_key_count, "key"),
        ),
        result.extra,
    )
    records = [*result.missing, *result.short, *result.repeated, *result.extra]
    return Document(schema="report.reconcile/1", value=result, records=records, csv_columns=COLUMNS, blocks=blocks)


def _keyless(count: int) -> str:
    return sentence("reconciliation-without-key", ", {count:,} without a key", count=count) if count else ""


def _table(title: str, rows: Sequence[ReconciledKey]) -> list[Table | Paragraphs]:
    return [Table(COLUMNS, rows, title=title)] if rows else []
