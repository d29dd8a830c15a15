"""What became of a run of a playbook, as a table, as a machine form, and as a report in Markdown."""

from __future__ import annotations

from mqctl import units
from mqctl.commands.playbook.words import ENDINGS, ROLLBACK, STATES
from mqctl.model.command_line import command_line
from mqctl.model.lang import Lang
from mqctl.model.playbook_run import Ending, PlaybookRun, StepRun, StepState
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.translation import spoken
from mqctl.text import composed, printable, sentence

_COLUMNS = (
    Column("id", "step"),
    Column("state", "state"),
    Column("exit_code", "exit"),
    Column("took_ms", "took", CellKind.DURATION_MS),
    Column("meaning", "what it means"),
)


class _Row:
    """A step as the table shows it."""

    __slots__ = ("exit_code", "id", "meaning", "state", "took_ms")

    def __init__(self, step: StepRun) -> None:
        self.id = step.id
        self.state = STATES[step.state]
        self.exit_code = step.exit_code
        self.took_ms = None if step.exit_code is None and not step.took_ms else step.took_ms
        self.meaning = " ".join(step.means) or None


def run_document(run: PlaybookRun, lang: Lang) -> Document:
    """Builds the document of `playbook run`."""
    table = Table(_COLUMNS, [_Row(step) for step in run.steps], empty=sentence("empty-no-step-ran", "no step ran"))
    blocks: list[Table | Paragraphs] = [table, Paragraphs(list(ending_lines(run)))]
    return Document(schema="playbook.run/1", value=run, records=run.steps, csv_columns=_COLUMNS[:4], blocks=blocks)


def ending_lines(run: PlaybookRun) -> list[str]:
    """Returns how the run ended, and what to do about it, in words."""
    said = composed("{playbook}: {ended}", playbook=run.playbook, ended=ENDINGS[run.ending])
    lines = [composed("{said} {why}", said=said, why=run.why) if run.why else said]
    if any(step.state is StepState.PLANNED for step in run.steps) and not run.executed:
        lines.append(sentence("playbook-planned-only", "Changes were planned but not made; --execute makes them."))
    cut_off = {Ending.INTERRUPTED, Ending.TIMED_OUT, Ending.UNEXPECTED}
    if run.executed and run.ending in cut_off:
        lines.append(
            sentence(
                "playbook-cut-off", "An interrupted change is in the journal: `mqctl history` shows how far it got."
            )
        )
    changed = [(step.change, step.id) for step in run.steps if step.change]
    if changed:
        lines.append(ROLLBACK)
        lines += [f"  mqctl history; {command_line('mqctl undo {}', change)}  ({step})" for change, step in changed]
        lines += [f"  {line}" for line in run.rollback]
    return lines


def markdown(run: PlaybookRun, lang: Lang) -> str:
    """Returns the report of a run: what ran, what it said, how long it took."""
    where = f"{', '.join(run.cluster.clusters)} ({run.cluster.fingerprint})" if run.cluster else "-"
    given = ", ".join(f"{name}={value}" for name, value in run.parameters.items() if value is not None) or "-"
    lines = [
        f"# {run.playbook}: {run.title}",
        "",
        _fact(sentence("playbook-began", "began"), units.instant(run.began_at_ms)),
        _fact(sentence("playbook-took", "took"), units.duration(run.took_ms)),
        _fact(sentence("playbook-cluster", "cluster"), printable(where)),
        _fact(sentence("playbook-given", "parameters"), printable(given)),
        "",
    ]
    first, *others = ending_lines(run)
    lines += [composed("**{line}**", line=first), *others]
    for number, step in enumerate(run.steps, start=1):
        lines += _section(number, step)
    return "\n".join(spoken(line, lang) for line in lines) + "\n"


def _fact(label: str, value: str) -> str:
    return composed("* {label}: {value}", label=label, value=value)


def _section(number: int, step: StepRun) -> list[str]:
    lines = [
        "",
        composed("## {number}. {step}: {state}", number=number, step=step.id, state=STATES[step.state]),
        "",
        step.about,
    ]
    if step.choice is not None:
        lines += ["", composed("{label}: `{choice}`", label=sentence("playbook-choice", "choice"), choice=step.choice)]
    if step.means:
        lines += ["", *(f"> {printable(text)}" for text in step.means)]
    if step.command is not None:
        ended = (
            sentence("playbook-exited", "exit {exit_code}", exit_code=step.exit_code)
            if step.exit_code is not None
            else sentence("playbook-no-end", "no end")
        )
        lines += [
            "",
            composed(
                "`{command}`: {ended}, {took_ms}", command=printable(step.command), ended=ended, took_ms=step.took_ms
            ),
        ]
    if step.captured:
        captured = ", ".join(f"{name} = {value}" for name, value in step.captured.items())
        lines += [
            "",
            composed(
                "{label}: {captured}", label=sentence("playbook-captured", "captured"), captured=printable(captured)
            ),
        ]
    for text in (step.said, step.complained):
        if text.strip():
            fence = "`" * max(3, _longest_fence(text) + 1)
            lines += ["", f"{fence}text", *map(printable, text.rstrip("\n").splitlines()), fence]
    return lines


def _longest_fence(text: str) -> int:
    """Length of the longest run of backticks: what a command said must not end the block that quotes it."""
    longest = current = 0
    for char in text:
        current = current + 1 if char == "`" else 0
        longest = max(longest, current)
    return longest
