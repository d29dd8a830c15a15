"""Playbooks for people and machines: the list, one in full, and the command lines of a dry run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mqctl.commands.playbook.words import KINDS, PARAMETERS, ROLLBACK, STOPS
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.playbook import Parameter, Playbook, PlaybookStep
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import CommandLine, argv_of, composed, sentence

_LIST_COLUMNS = (
    Column("playbook", "playbook"),
    Column("title", "what it is for"),
    Column("parameter_words", "parameters", wide=True),
    Column("impact", "impact", CellKind.WORDS),
    Column("answer_words", "findings", wide=True),
)
_DRY_COLUMNS = (
    Column("step", "step"),
    Column("impact", "impact", CellKind.WORDS),
    Column("when", "only when"),
    Column("command", "command"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRow:
    """A parameter."""

    name: str
    type: str
    required: bool
    default: str | int | None
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookRow:
    """A playbook in the list. `impact` is `reads`, or `changes` where a step may change a cluster."""

    playbook: str
    title: str
    impact: str
    answers: list[str]
    parameters: list[ParameterRow]

    @property
    def answer_words(self) -> str:
        return " ".join(self.answers)

    @property
    def parameter_words(self) -> str:
        return " ".join(item.name if item.required else f"[{item.name}]" for item in self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookList:
    """Machine form of `playbook list`."""

    playbooks: list[PlaybookRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeaningRow:
    """What an exit code, a result or a choice means; `stop` is how the playbook ends there, if it does."""

    id: str
    kind: str
    when: str | None
    means: str
    stop: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookStepRow:
    """A step. `{name}` in its command stands for a parameter or an earlier capture; words in `[...]` are left out
    without their values. `command_argv` are the words of this template."""

    id: str
    kind: str
    about: str
    command: str | None
    when: str | None
    timeout_ms: int
    meanings: list[MeaningRow]
    command_argv: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookShown:
    """Machine form of `playbook show`."""

    playbook: str
    title: str
    symptom: str
    impact: str
    answers: list[str]
    parameters: list[ParameterRow]
    steps: list[PlaybookStepRow]
    rollback: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DryStep:
    """A step of a dry run. `<name>` in the command stands for what an earlier step will tell."""

    step: str
    impact: str
    when: str | None
    command: str | None
    command_argv: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Machine form of `playbook run --dry-run`."""

    playbook: str
    parameters: dict[str, str | int | None]
    steps: list[DryStep]


def list_document(playbooks: Sequence[Playbook], lang: Lang) -> Document:
    """Builds the document of `playbook list`."""
    rows = [
        PlaybookRow(
            playbook=item.slug,
            title=item.title[lang],
            impact=_impact(item),
            answers=list(item.answers),
            parameters=_parameters(item.parameters, lang),
        )
        for item in playbooks
    ]
    table = Table(_LIST_COLUMNS, rows)
    return Document(schema="playbook.list/1", value=PlaybookList(playbooks=rows), records=rows, blocks=[table])


def show_document(playbook: Playbook, lang: Lang) -> Document:
    """Builds the document of `playbook show`."""
    steps = [_step_row(step, lang) for step in playbook.steps]
    value = PlaybookShown(
        playbook=playbook.slug,
        title=playbook.title[lang],
        symptom=playbook.symptom[lang],
        impact=_impact(playbook),
        answers=list(playbook.answers),
        parameters=_parameters(playbook.parameters, lang),
        steps=steps,
        rollback=list(playbook.rollback[lang]),
    )
    head = [f"{value.playbook}: {value.title}", "", value.symptom, ""]
    if value.answers:
        head.append(sentence("playbook-answers", "answers: {codes}", codes=" ".join(value.answers)))
    head.append(PARAMETERS)
    head += [composed("  -p {usage}  {about}", usage=_usage(item), about=item.about) for item in value.parameters]
    blocks = [Paragraphs(head)]
    blocks += [Paragraphs(_step_lines(number, row)) for number, row in enumerate(steps, start=1)]
    blocks.append(Paragraphs([ROLLBACK, *(f"  {line}" for line in value.rollback)]))
    columns = (Column("id", "step"), Column("kind", "kind"), Column("command", "command"))
    return Document(schema="playbook.show/1", value=value, records=steps, csv_columns=columns, blocks=blocks)


def dry_document(playbook: Playbook, values: dict[str, str | int | None], commands: Sequence[str | None]) -> Document:
    """Builds the document of a dry run from the command line of each step."""
    rows = [
        DryStep(step=step.id, impact=_kind(step), when=step.when, command=command, command_argv=argv_of(command))
        for step, command in zip(playbook.steps, commands, strict=True)
    ]
    value = DryRun(playbook=playbook.slug, parameters=values, steps=rows)
    return Document(schema="playbook.dry-run/1", value=value, records=rows, blocks=[Table(_DRY_COLUMNS, rows)])


def _impact(playbook: Playbook) -> str:
    return "changes" if playbook.changes else "reads"


def _kind(step: PlaybookStep) -> str:
    if step.options:
        return "decision"
    return "changes" if step.changes or step.asks else "reads"


def _parameters(parameters: Sequence[Parameter], lang: Lang) -> list[ParameterRow]:
    return [
        ParameterRow(
            name=item.name,
            type=item.type.value,
            required=item.required,
            default=item.default,
            about=item.about[lang],
        )
        for item in parameters
    ]


def _usage(row: ParameterRow) -> str:
    if row.required:
        return sentence("playbook-parameter-required", "{name}=... (required)", name=row.name)
    return f"{row.name}=..." if row.default is None else f"{row.name}={row.default}"


def _step_row(step: PlaybookStep, lang: Lang) -> PlaybookStepRow:
    meanings = [
        MeaningRow(id=str(code), kind="exit", when=None, means=words[lang], stop=None)
        for code, words in step.exits.items()
    ]
    meanings += [
        MeaningRow(
            id=item.id,
            kind="result",
            when=item.when,
            means=item.means[lang],
            stop=item.stop.value if item.stop else None,
        )
        for item in step.results
    ]
    meanings += [
        MeaningRow(id=name, kind="choice", when=None, means=words[lang], stop=None)
        for name, words in step.options.items()
    ]
    command = CommandLine(f"mqctl {step.command}", ("mqctl", *shlex.split(step.command))) if step.command else None
    return PlaybookStepRow(
        id=step.id,
        kind=_kind(step),
        about=step.about[lang],
        command=command,
        command_argv=argv_of(command),
        when=step.when,
        timeout_ms=step.timeout_ms,
        meanings=meanings,
    )


def _step_lines(number: int, row: PlaybookStepRow) -> list[str]:
    lines = [
        composed(
            "{number}. {step} ({kind}): {about}", number=number, step=row.id, kind=KINDS[row.kind], about=row.about
        )
    ]
    if row.command:
        lines.append(
            sentence(
                "playbook-limit", "   $ {command}   (at most {limit_ms})", command=row.command, limit_ms=row.timeout_ms
            )
        )
    if row.when:
        lines.append(sentence("playbook-when", "   only when: {when}", when=row.when))
    for item in row.meanings:
        line = composed("   {kind} {id}: {means}", kind=KINDS[item.kind], id=item.id, means=item.means)
        lines.append(composed("{line} [{stop}]", line=line, stop=STOPS[item.stop]) if item.stop else line)
    return lines
