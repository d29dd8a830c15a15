"""A store's verification as text and data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqctl.errors import ExitCode
from mqctl.model.counts import counted
from mqctl.model.damage import Damage, DamageCode, DamageGrade, VerificationSummary
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import composed, joined, keep_texts, sentence

COLUMNS = (
    Column("grade", "grade", CellKind.WORDS),
    Column("code", "what"),
    Column("file", "file"),
    Column("offset", "byte", CellKind.COUNT),
    Column("physical_offset", "physical offset", CellKind.COUNT),
    Column("count", "count", CellKind.COUNT),
    Column("details", "details", CellKind.SENTENCE),
)
_UNREAD_COLUMNS = (Column("part", "part"), Column("reason", "reason", CellKind.SENTENCE))
# What a kill leaves and the next start mends; other expected traces are normal in a healthy store.
_CRASH_TRACES = frozenset({DamageCode.QUEUE_BEHIND_LOG, DamageCode.CHECKPOINT_ZERO, DamageCode.UNCONFIRMED_TAIL})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationRow:
    """One deviation, or a run of alike ones; `details` is for people, `params` for machines.

    Attributes:
        reason_key, reason_values: of the reason among the params.
    """

    grade: str
    code: str
    file: str
    offset: int | None
    physical_offset: int | None
    length_bytes: int | None
    count: int
    topic: str | None
    queue_id: int | None
    params: dict[str, int | str]
    details: str
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None
    details_key: str | None = None
    details_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "details")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPart:
    """A part of the store in a format that is not read offline."""

    part: str
    reason: str
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Machine form of `store verify`."""

    store: str
    summary: VerificationSummary
    deviations: list[DeviationRow]
    not_read: list[UnreadPart]


def verification_exit(damages: Sequence[Damage], unread: Sequence[UnreadPart]) -> ExitCode:
    """Returns 2 for damage, 1 for the traces of a crash, 3 when a part could not be read, else 0."""
    if any(damage.grade is DamageGrade.DAMAGE for damage in damages):
        return ExitCode.ERROR
    traces = (damage.code in _CRASH_TRACES and damage.grade is DamageGrade.EXPECTED for damage in damages)
    if any(traces):
        return ExitCode.WARNING
    return ExitCode.UNKNOWN if unread else ExitCode.OK


def verification_document(
    store: str, summary: VerificationSummary, damages: Sequence[Damage], unread: Sequence[UnreadPart]
) -> Document:
    """Builds the document of `store verify`: figures first, then every deviation."""
    order = list(DamageGrade)
    rows = [_row(damage) for damage in sorted(damages, key=lambda damage: order.index(damage.grade))]
    lines = [
        sentence(
            "verification-records",
            "records        {record_count} ({record_bytes}) in {topic_count}",
            record_count=summary.record_count,
            record_bytes=summary.record_bytes,
            topic_count=counted(summary.topic_count, "topic"),
        ),
        sentence(
            "verification-commit-log-physical-offsets",
            "commit log     physical offsets {min_offset:,} to {max_offset:,}",
            min_offset=summary.min_offset,
            max_offset=summary.max_offset,
        ),
        sentence(
            "verification-queue-entries",
            "queue entries  {queue_entry_count}",
            queue_entry_count=summary.queue_entry_count,
        ),
        sentence(
            "verification-index-entries",
            "index entries  {index_entry_count}",
            index_entry_count=summary.index_entry_count,
        ),
    ]
    if summary.first_store_time_ms is not None and summary.last_store_time_ms is not None:
        lines.append(
            sentence(
                "verification-store-times",
                "store times    {first_time_ms} to {last_time_ms}",
                first_time_ms=summary.first_store_time_ms,
                last_time_ms=summary.last_store_time_ms,
            )
        )
    healthy = (
        sentence("verification-nothing-wrong-could-read", "nothing wrong in what could be read")
        if unread
        else sentence("everything-should", "everything is as it should be")
    )
    blocks: list[Table | Paragraphs] = [Paragraphs(lines), Table(COLUMNS, rows, empty=healthy)]
    if unread:
        blocks.append(Table(_UNREAD_COLUMNS, unread, title=sentence("title-not-read", "Not read")))
    return Document(
        schema="store.verify/1",
        value=Verification(store=store, summary=summary, deviations=rows, not_read=list(unread)),
        records=rows,
        csv_columns=COLUMNS,
        blocks=blocks,
    )


def _row(damage: Damage) -> DeviationRow:
    where = (
        sentence("common-queue", "{key} queue {queue_id}", key=damage.topic, queue_id=damage.queue_id)
        if damage.queue_id is not None
        else damage.topic
    )
    facts = [composed("{name} {value}", name=name, value=value) for name, value in damage.params.items()]
    if damage.length_bytes is not None:
        facts.append(sentence("verification-bytes", "{length_bytes:byte}", length_bytes=damage.length_bytes))
    return DeviationRow(
        grade=damage.grade.value,
        code=damage.code.value,
        file=damage.file,
        offset=damage.offset,
        physical_offset=damage.physical_offset,
        length_bytes=damage.length_bytes,
        count=damage.count,
        topic=damage.topic,
        queue_id=damage.queue_id,
        params=dict(damage.params),
        details=joined(", ", [*([where] if where else []), *facts]),
        reason_key=damage.reason_key,
        reason_values=damage.reason_values,
    )
