"""Plans made of steps and their outcome, as tables."""

from __future__ import annotations

from typing import Any

from mqctl.changes.engine.records import STEP_WORDS, StepRecord, face_state
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.step_plan import StepPlan
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import keep_texts, key_of, sentence, values_of

PLAN_COLUMNS = (
    Column("subject", "what", CellKind.SENTENCE),
    Column("old", "now", CellKind.SENTENCE, none="none"),
    Column("new", "then", CellKind.SENTENCE, none="none"),
    Column("effect", "effect", CellKind.WORDS, none=""),
    Column("reason", "why not", CellKind.WORDS, none=""),
)
OUTCOME_COLUMNS = (
    Column("subject", "what", CellKind.SENTENCE),
    Column("old", "before", CellKind.SENTENCE, none="none"),
    Column("new", "requested", CellKind.SENTENCE, none="none"),
    Column("found", "read back", CellKind.SENTENCE, none="?"),
    Column("state", "state", CellKind.WORDS),
    Column("reason", "why", CellKind.WORDS, none=""),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One step: `planned`, `confirmed`, `not-done`, `unknown`, or `impossible` with the reason."""

    subject: str
    old: str | None
    new: str | None
    effect: str | None
    state: str
    found: str | None
    reason: str | None
    subject_key: str | None = None
    subject_values: dict[str, Any] | None = None
    old_key: str | None = None
    old_values: dict[str, Any] | None = None
    new_key: str | None = None
    new_values: dict[str, Any] | None = None
    effect_key: str | None = None
    effect_values: dict[str, Any] | None = None
    found_key: str | None = None
    found_values: dict[str, Any] | None = None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "subject", "old", "new", "effect", "found", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """Machine form of a plan made of steps, and of its outcome.

    Attributes:
        id: of the change in the journal; None for a plan that was only shown.
        state: `planned`, `nothing-to-do`, `confirmed`, `not-done`, `unknown` or `interrupted`.
    """

    kind: str
    target: str
    made_at_ms: int
    id: str | None
    state: str
    undoes: str | None
    steps: list[StepRow]


def step_plan_document(plan: StepPlan, schema: str, next_step: str) -> Document:
    """Builds the document of a plan; `next_step` tells how to carry it out."""
    rows = [
        StepRow(
            subject=step.subject,
            old=step.old,
            new=step.new,
            effect=step.effect or None,
            state="impossible" if step.problem else "planned" if step.moves else "unchanged",
            found=None,
            reason=step.problem,
        )
        for step in plan.steps
    ]
    moving = len(plan.moving)
    report = StepReport(
        kind=plan.kind,
        target=plan.target,
        made_at_ms=plan.made_at_ms,
        id=None,
        state="planned" if moving else "nothing-to-do",
        undoes=None,
        steps=rows,
    )
    count = counted(moving, "change")
    line = sentence(
        "plan-kind",
        "{kind} of {target}: {count}",
        kind=plan.kind,
        target=plan.target,
        count=count if moving else sentence("common-nothing", "nothing to do"),
    )
    lines = [line, next_step] if moving else [line]
    blocks: list[Table | Paragraphs] = [
        Table(PLAN_COLUMNS, rows, empty=sentence("everything-should", "everything is as it should be"))
    ]
    return Document(schema=schema, value=report, records=rows, blocks=[*blocks, Paragraphs(lines)])


def step_change_document(record: StepRecord, schema: str) -> Document:
    """Builds the document of a change that was made."""
    rows = [
        StepRow(
            subject=part.subject,
            old=part.old,
            new=part.new,
            effect=None,
            state=STEP_WORDS.get(part.state, part.state),
            found=part.found,
            reason=part.reason,
            reason_key=key_of(part.reason),
            reason_values=values_of(part.reason),
        )
        for part in record.parts
    ]
    report = StepReport(
        kind=record.kind,
        target=record.subject,
        made_at_ms=record.made_at_ms,
        id=record.id,
        state=face_state(record),
        undoes=record.undoes,
        steps=rows,
    )
    lines = [sentence("change-report", "change {report}: {state}", report=report.id, state=report.state)]
    blocks: list[Table | Paragraphs] = [Table(OUTCOME_COLUMNS, report.steps), Paragraphs(lines)]
    return Document(schema=schema, value=report, records=report.steps, blocks=blocks)
