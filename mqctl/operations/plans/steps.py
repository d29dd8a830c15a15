"""What commands that plan in steps share: the confirmation, the journal, carrying out, the exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mqctl.cli.emit import tell
from mqctl.cli.places import state_dir
from mqctl.cli.terminal.confirmation import confirm
from mqctl.errors import BadInputError, ExitCode
from mqctl.execute.step_journal import CONFIRMED, UNKNOWN, StepChange, StepJournal
from mqctl.model.step_plan import StepPlan
from mqctl.operations.plans.shown_plan import must_be_shown
from mqctl.render.document import Document
from mqctl.render.step_plans import StepReport, StepRow, step_change_document, step_plan_document

Save = Callable[[StepChange], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Whether and how a plan is carried out.

    Attributes:
        schema: name and version of the machine form.
        perform: does the steps of a change and notes in each what became of it; it saves after each.
        undo_hint: command that takes the change back, without its id; empty when nothing does.
        before: contents of files that the change replaces.
        undoes: id of the change that this one takes back.
    """

    schema: str
    perform: Callable[[StepChange, Save], None]
    execute: bool
    confirmed: str | None
    undo_hint: str = ""
    before: Mapping[str, str | None] | None = None
    undoes: str | None = None


def step_journal(kind: str) -> StepJournal:
    """Returns this user's journal of one kind of change."""
    return StepJournal(state_dir() / "journal" / kind)


def run_steps(plan: StepPlan, wish: Execution, again: Callable[[], StepPlan] | None = None) -> tuple[Document, int]:
    """Shows a plan, or carries it out; returns what to show and the exit code.

    Args:
        again: makes the plan once more, right before it is carried out; it must still be the same.

    Raises:
        RefusedError, UsageError: it was not confirmed.
        BadInputError: what the plan was made on has changed.
        MqctlError: as `perform`.
    """
    moving = [(step.subject, step.old, step.new) for step in plan.moving]
    must_be_shown((plan.kind, plan.target, moving), execute=wish.execute)
    left_out = [step for step in plan.steps if step.problem is not None]
    if not wish.execute or not plan.moving:
        hint = f"nothing was changed; add --execute --confirm {plan.confirm} to do it"
        code = ExitCode.WARNING if wish.execute and left_out else ExitCode.OK
        return step_plan_document(plan, wish.schema, hint), code
    confirm(plan.confirm, wish.confirmed, step_plan_document(plan, wish.schema, ""))
    if again is not None and again().moving != plan.moving:
        raise BadInputError(
            "nothing was changed",
            reason=f"{plan.target} is not as it was when the plan was made",
            remedy="look at the new plan and run it again",
        )
    journal = step_journal(plan.kind)
    change = journal.open(plan, before=wish.before, undoes=wish.undoes)
    tell(f"mqctl: change {change.id}" + (f"; {wish.undo_hint} {change.id} takes it back" if wish.undo_hint else ""))
    for step in left_out:
        tell(f"mqctl: {step.subject} is left out: {step.problem}")
    wish.perform(change, journal.write)
    change.ended = True
    journal.write(change)
    ended = exit_code(change)
    return step_change_document(report_of(change), wish.schema), max(ended, ExitCode.WARNING) if left_out else ended


def report_of(change: StepChange) -> StepReport:
    """Returns the machine form of a change."""
    return StepReport(
        kind=change.kind,
        target=change.target,
        made_at_ms=change.made_at_ms,
        id=change.id,
        state=change.state,
        undoes=change.undoes,
        steps=[
            StepRow(
                subject=step.subject,
                old=step.old,
                new=step.new,
                effect=None,
                state=step.state,
                found=step.found,
                reason=step.reason,
            )
            for step in change.steps
        ],
    )


def exit_code(change: StepChange) -> int:
    """Exit code of an execution: 0 all confirmed, 1 some step was not done, 3 unconfirmed."""
    states = {step.state for step in change.steps} - {CONFIRMED}
    if not states:
        return ExitCode.OK
    return ExitCode.UNKNOWN if UNKNOWN in states else ExitCode.WARNING
