"""What became of a run of a playbook, as a table, as a machine form, and as a report in Markdown."""

from __future__ import annotations

from mqctl.model.command_line import command_line
from mqctl.model.lang import Lang
from mqctl.model.playbook_run import Ending, PlaybookRun, StepRun, StepState
from mqctl.render import units
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.messages import phrase
from mqctl.render.text import printable

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

    def __init__(self, step: StepRun, lang: Lang) -> None:
        self.id = step.id
        self.state = phrase(f"playbook_state_{_key(step.state)}", lang)
        self.exit_code = step.exit_code
        self.took_ms = None if step.exit_code is None and not step.took_ms else step.took_ms
        self.meaning = " ".join(step.means) or None


def run_document(run: PlaybookRun, lang: Lang) -> Document:
    """Builds the document of `playbook run`."""
    table = Table(_COLUMNS, [_Row(step, lang) for step in run.steps], empty="no step ran")
    blocks: list[Table | Paragraphs] = [table, Paragraphs(list(ending_lines(run, lang)))]
    return Document(schema="playbook.run/1", value=run, records=run.steps, csv_columns=_COLUMNS[:4], blocks=blocks)


def ending_lines(run: PlaybookRun, lang: Lang) -> list[str]:
    """Returns how the run ended, and what to do about it, in words."""
    ended = phrase(f"playbook_ending_{run.ending.value.replace('-', '_')}", lang)
    said = f"{run.playbook}: {ended}"
    why = f" {run.why}" if run.why else ""
    lines = [said + why]
    if any(step.state is StepState.PLANNED for step in run.steps) and not run.executed:
        lines.append(phrase("playbook_planned_only", lang))
    cut_off = {Ending.INTERRUPTED, Ending.TIMED_OUT, Ending.UNEXPECTED}
    if run.executed and run.ending in cut_off:
        lines.append(phrase("playbook_cut_off", lang))
    changed = [(step.change, step.id) for step in run.steps if step.change]
    if changed:
        lines.append(f"{phrase('playbook_rollback', lang)}:")
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
        f"* {phrase('playbook_began', lang)}: {units.instant(run.began_at_ms)}",
        f"* {phrase('playbook_took', lang)}: {units.duration(run.took_ms)}",
        f"* {phrase('playbook_cluster', lang)}: {printable(where)}",
        f"* {phrase('playbook_parameters', lang)}: {printable(given)}",
        "",
        *(f"**{line}**" if number == 0 else line for number, line in enumerate(ending_lines(run, lang))),
    ]
    for number, step in enumerate(run.steps, start=1):
        lines += _section(number, step, lang)
    return "\n".join(lines) + "\n"


def _section(number: int, step: StepRun, lang: Lang) -> list[str]:
    lines = ["", f"## {number}. {step.id}: {phrase(f'playbook_state_{_key(step.state)}', lang)}", "", step.about]
    if step.choice is not None:
        lines += ["", f"{phrase('playbook_choice', lang)}: `{step.choice}`"]
    if step.means:
        lines += ["", *(f"> {printable(text)}" for text in step.means)]
    if step.command is not None:
        ended = f"exit {step.exit_code}" if step.exit_code is not None else phrase("playbook_no_end", lang)
        lines += ["", f"`{printable(step.command)}`: {ended}, {units.duration(step.took_ms)}"]
    if step.captured:
        captured = ", ".join(f"{name} = {value}" for name, value in step.captured.items())
        lines += ["", f"{phrase('playbook_captured', lang)}: {printable(captured)}"]
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


def _key(state: StepState | Ending) -> str:
    return state.value.replace("-", "_")
