"""Plans for topics, groups and brokers, and their outcome, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from mqctl.changes.engine.records import SettingRecord, way_back
from mqctl.model.column import CellKind, column, columns_of
from mqctl.model.command_line import shell_words
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.said import Said, said
from mqctl.model.setting_plan import Fields, SettingPlan, shown_value
from mqctl.model.topic_use import KeyMoves
from mqctl.render.document import Document, Paragraphs, Table
from mqctl.text import Word, key_of, sentence, values_of

# What a new or deleted topic or group is told by; the rest is in the machine form.
_SEVERAL = 2
_TELLING = ("read_queue_count", "write_queue_count", "perm", "retry_max_times", "retry_queue_count", "consume_enable")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step of a plan; `was` and `becomes` are what changes, in words."""

    kind: str = field(metadata=column("what", CellKind.WORDS))
    place: str = field(metadata=column("place"))
    address: str = field(metadata=column("address", wide=True))
    subject: str = field(metadata=column("name"))
    old: Mapping[str, str] | None
    new: Mapping[str, str] | None
    was: str | None = field(metadata=column("is", none="none"))
    becomes: str | None = field(metadata=column("becomes", none="none"))
    stage: int = field(metadata=column("stage", CellKind.COUNT, wide=True))
    moves: bool
    note: str | None = field(metadata=column("note", CellKind.WORDS, none=""))
    note_key: str | None = None
    note_values: dict[str, Any] | None = None


PLAN_COLUMNS = columns_of(PlannedStep, "place", "kind", "subject", "was", "becomes", "note", "address", "stage")


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedKeys:
    """Which keys of a sample of stored messages would go to another queue; see `KeyMoves`."""

    kind: str
    message_count: int
    placed_count: int
    key_count: int
    moved_count: int
    moved_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingPlanReport:
    """Machine form of a plan for settings that was not executed.

    Attributes:
        keyed_warnings: the warnings with keys and values.
        key_moves: None where producers keep their queues.
    """

    kind: str
    noun: str
    subject: str
    cluster: str
    made_at_ms: int
    undoes: str | None
    warnings: list[str]
    key_moves: MovedKeys | None
    steps: list[PlannedStep]
    keyed_warnings: list[Said] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedStep:
    """One step of a change: `confirmed`, `not-moved`, `unknown`, or `planned` where it was interrupted before."""

    kind: str = field(metadata=column("what", CellKind.WORDS))
    place: str = field(metadata=column("place"))
    address: str
    subject: str = field(metadata=column("name"))
    old: Mapping[str, str] | None
    new: Mapping[str, str] | None
    found: Mapping[str, str] | None
    was: str | None = field(metadata=column("was", none="none"))
    becomes: str | None = field(metadata=column("requested", none="none"))
    state: str = field(metadata=column("state", CellKind.WORDS))
    reason: str | None = field(metadata=column("why", CellKind.WORDS, none=""))
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None


OUTCOME_COLUMNS = columns_of(ChangedStep, "place", "kind", "subject", "was", "becomes", "state", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChangeReport:
    """Machine form of a change of settings."""

    id: str
    kind: str
    noun: str
    subject: str
    cluster: str
    who: str
    made_at_ms: int
    state: str
    undoes: str | None
    steps: list[ChangedStep]


def plan_document(plan: SettingPlan) -> Document:
    """Builds the document of a plan."""
    rows = []
    for step in plan.steps:
        was, becomes = difference(step.old, step.new)
        rows.append(
            PlannedStep(
                kind=step.kind.value,
                place=step.place,
                address=step.address,
                subject=step.subject,
                old=step.old,
                new=step.new,
                was=was,
                becomes=becomes,
                stage=step.stage,
                moves=step.moves,
                note=step.note,
                note_key=key_of(step.note),
                note_values=values_of(step.note),
            )
        )
    report = SettingPlanReport(
        kind=plan.kind,
        noun=plan.noun,
        subject=plan.subject,
        cluster=plan.identity.cluster,
        made_at_ms=plan.made_at_ms,
        undoes=plan.undoes,
        warnings=list(plan.warnings),
        key_moves=None if plan.key_moves is None else _moved_keys(plan.key_moves),
        steps=rows,
        keyed_warnings=said(plan.warnings),
    )
    moving = len(plan.moving)
    doing = shell_words(["--execute", "--confirm", plan.subject]) if plan.severe else "--execute"
    lines = [
        sentence(
            "settings-kind",
            "{kind} {subject} on {cluster}: {moving} of {rows} {moving:/changes/change}",
            kind=plan.kind,
            subject=plan.subject,
            cluster=plan.identity.cluster,
            moving=moving,
            rows=counted(len(rows), "place"),
        ),
        *_queues_in_all(plan),
        *(sentence("settings-note", "note: {warning}", warning=warning) for warning in plan.warnings),
        sentence("settings-nothing-changed-add", "nothing was changed; add {doing} to do it", doing=doing)
        if moving
        else sentence("common-nothing", "nothing to do"),
    ]
    blocks: list[Table | Paragraphs] = [Table(PLAN_COLUMNS, rows), Paragraphs(lines)]
    return Document(schema="settings.plan/1", value=report, records=rows, blocks=blocks)


def _queues_in_all(plan: SettingPlan) -> list[str]:
    """Says how many queues a topic has on all brokers together: what is typed counts for each broker."""
    counts = [
        tuple((fields or {}).get("write_queue_count", "0") for fields in (step.old, step.new))
        for step in plan.steps
        if "write_queue_count" in (step.new or {})
    ]
    was, becomes = (sum(decimal(pair[place]) or 0 for pair in counts) for place in (0, 1))
    if len(counts) < _SEVERAL or was == becomes:
        return []
    return [
        sentence(
            "settings-write-queues-brokers-together",
            "write queues of {counts} brokers together: {was} now, {becomes} then",
            counts=len(counts),
            was=was,
            becomes=becomes,
        )
    ]


def _moved_keys(moves: KeyMoves) -> MovedKeys:
    return MovedKeys(
        kind=moves.kind,
        message_count=moves.message_count,
        placed_count=moves.placed_count,
        key_count=moves.key_count,
        moved_count=moves.moved_count,
        moved_share=moves.moved_share,
    )


def change_document(record: SettingRecord) -> Document:
    """Builds the document of an executed plan."""
    rows = []
    for step in record.parts:
        was, becomes = difference(step.old, step.new)
        rows.append(
            ChangedStep(
                kind=step.kind,
                place=step.place,
                address=step.address,
                subject=step.subject,
                old=step.old,
                new=step.new,
                found=step.found,
                was=was,
                becomes=becomes,
                state=step.state,
                reason=step.reason,
                reason_key=key_of(step.reason),
                reason_values=values_of(step.reason),
            )
        )
    report = SettingChangeReport(
        id=record.id,
        kind=record.kind,
        noun=record.noun,
        subject=record.subject,
        cluster=record.cluster,
        who=record.who,
        made_at_ms=record.made_at_ms,
        state=record.state,
        undoes=record.undoes,
        steps=rows,
    )
    done = sum(row.state == "confirmed" for row in rows)
    lines = [
        sentence(
            "settings-change-done",
            "change {record}: {state}, {done} of {rows} done",
            record=record.id,
            state=Word(record.state),
            done=done,
            rows=len(rows),
        )
    ]
    if not record.is_nothing_done:
        lines.append(way_back(record.id))
    blocks: list[Table | Paragraphs] = [Table(OUTCOME_COLUMNS, rows), Paragraphs(lines)]
    return Document(schema="settings.change/1", value=report, records=rows, blocks=blocks)


def difference(old: Fields | None, new: Fields | None) -> tuple[str | None, str | None]:
    """Returns in words what is and what will be: the settings that differ, or the telling ones of a whole."""
    if old is None or new is None:
        return _words(old, _telling(old)), _words(new, _telling(new))
    differing = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    names = differing or list(_telling(new))
    return _words(old, names), _words(new, names)


def _telling(settings: Fields | None) -> list[str]:
    known = settings or {}
    return [name for name in _TELLING if name in known] or sorted(known)


def _words(settings: Fields | None, names: Iterable[str]) -> str | None:
    if settings is None:
        return None
    return " ".join(f"{name}={shown_value(name, settings[name]) if name in settings else 'none'}" for name in names)
