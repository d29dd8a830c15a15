"""Changes in steps, each of one thing from one state to another: delay offsets, messages, transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.journal import Drawer, Journal, new_id
from mqctl.changes.engine.records import StepPart, StepRecord, way_back
from mqctl.changes.engine.run import Change, Consent, Work, must_be_shown, run_change
from mqctl.changes.steps.view import step_change_document, step_plan_document
from mqctl.cli.emit import tell
from mqctl.errors import BadInputError, ExitCode
from mqctl.model.command_line import shell_word
from mqctl.model.step_plan import StepPlan
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.store.exclusive_lock import who
from mqctl.text import Word, joined, sentence

Save = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChange(Change[StepPlan, StepRecord]):
    """A change in steps.

    Attributes:
        kind: such as `delay-repair`.
        schema: name and version of the machine form.
        make: computes the plan; asks only.
        perform: does the steps of a change and notes in each what became of it; it saves after each.
        undo_hint: command that undoes the change, without its id; empty when nothing does.
        before: contents of files that the change replaces.
        undoes: id of the change that this one takes back.
        ask: begins to ask the cluster that the plan is about; None for a store.
        rests_on: what the plan rests on, once it is made.
    """

    kind: str
    schema: str
    make: Callable[[], StepPlan]
    perform: Callable[[StepRecord, Save], None]
    undo_hint: str = ""
    before: Mapping[str, str | None] | None = None
    undoes: str | None = None
    ask: Callable[[], Asking] | None = None
    rests_on: Callable[[], Touched] = Touched

    def asking(self) -> Asking | None:
        return None if self.ask is None else self.ask()

    def touched(self, plan: StepPlan) -> Touched:
        return self.rests_on()

    def drawer(self, journal: Journal) -> Drawer[StepRecord]:
        return journal.steps(self.kind)

    def plan(self) -> StepPlan:
        return self.make()

    def bound(self, plan: StepPlan, *, execute: bool) -> StepPlan:
        must_be_shown((plan.kind, plan.target, _moves(plan)), execute=execute)
        return plan

    def document(self, plan: StepPlan) -> Document:
        hint = sentence(
            "nothing-changed-add-execute",
            "nothing was changed; add --execute --confirm {confirm} to do it",
            confirm=shell_word(plan.confirm),
        )
        return step_plan_document(plan, self.schema, hint)

    def has_work(self, plan: StepPlan) -> bool:
        return bool(plan.moving)

    def code_without_work(self, plan: StepPlan, *, execute: bool) -> int:
        return ExitCode.WARNING if execute and plan.left_out else ExitCode.OK

    def word(self, plan: StepPlan) -> str:
        return plan.confirm

    def locks(self, plan: StepPlan) -> str:
        return sentence("lock-of-kind", "{kind} of {target}", kind=Word(plan.kind), target=plan.target)

    def again(self, shown: StepPlan) -> StepPlan:
        now = self.make()
        if _moves(now) != _moves(shown):
            raise BadInputError(
                sentence("nothing-changed", "nothing was changed"),
                reason=sentence(
                    "changed-since-plan-made", "{target} has changed since the plan was made", target=shown.target
                ),
                remedy=sentence("look-new-plan-run", "look at the new plan and run it again"),
            )
        return now

    def record(self, plan: StepPlan, drawer: Drawer[StepRecord]) -> StepRecord:
        return StepRecord(
            id=new_id(),
            kind=plan.kind,
            subject=plan.target,
            confirm=plan.confirm,
            who=who(),
            made_at_ms=plan.made_at_ms,
            cluster="",
            brokers={},
            parts=[StepPart(subject=step.subject, old=step.old, new=step.new) for step in plan.moving],
            before=dict(self.before or {}),
            undoes=self.undoes,
        )

    def opened(self, record: StepRecord) -> str:
        change = sentence("plan-change", "mqctl: change {record}", record=record.id)
        return joined("; ", (change, way_back(record.id, self.undo_hint))) if self.undo_hint else change

    def carry_out(self, work: Work[StepPlan, StepRecord]) -> None:
        for step in work.plan.left_out:
            tell(
                sentence(
                    "plan-left-out-subject",
                    "mqctl: {subject} is left out: {problem}",
                    subject=step.subject,
                    problem=step.problem,
                )
            )
        self.perform(work.record, work.save)

    def finish(self, record: StepRecord) -> str:
        if not self.undo_hint:
            return sentence("plan-run-same-command-again", "run the same command again")
        return sentence(
            "plan-run-same-command-again-way-back",
            "run the same command again; {way_back}",
            way_back=way_back(record.id, self.undo_hint),
        )

    def report(self, record: StepRecord) -> Document:
        return step_change_document(record, self.schema)


def run_steps(change: StepChange, consent: Consent) -> tuple[Document, int]:
    """Shows a plan, or carries it out; returns what to show and the exit code, 1 at least where a step was left out.

    Raises:
        MqctlError: as `run_change`.
    """
    left_out: list[bool] = []
    done = run_change(change, consent, planned=lambda plan, _: left_out.append(bool(plan.left_out)))
    code = max(done.code, ExitCode.WARNING) if done.record is not None and left_out == [True] else done.code
    return done.document, code


def _moves(plan: StepPlan) -> list[tuple[str, str | None, str | None]]:
    return [(step.subject, step.old, step.new) for step in plan.moving]
