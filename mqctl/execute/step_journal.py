"""The journal of changes made in steps: one file each, written before the first step and after every one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mqctl.execute.record_files import RecordFiles, new_id, who
from mqctl.model.step_plan import StepPlan

PLANNED, CONFIRMED, NOT_DONE, UNKNOWN = "planned", "confirmed", "not-done", "unknown"


class StepRecord(msgspec.Struct, kw_only=True):
    """One step of a change: `planned` until it ended, then `confirmed`, `not-done` or `unknown`.

    Attributes:
        found: how it stood when it was read back.
        reason: why it is not confirmed.
    """

    subject: str
    old: str | None
    new: str | None
    state: str = PLANNED
    found: str | None = None
    reason: str | None = None


class StepChange(msgspec.Struct, kw_only=True):
    """One change.

    Attributes:
        before: contents of the files that the change replaces, by name; None for one that was not there.
        after: what the change wrote, by name.
        ended: False while it runs, and for ever when it was killed.
        undoes: id of the change that this one takes back.
    """

    id: str
    kind: str
    target: str
    confirm: str
    who: str
    made_at_ms: int
    steps: list[StepRecord]
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    ended: bool = False
    undoes: str | None = None

    @property
    def state(self) -> str:
        """`confirmed`, or what keeps it from being so."""
        if not self.ended:
            return "interrupted"
        states = {step.state for step in self.steps}
        return next((state for state in (UNKNOWN, NOT_DONE, PLANNED) if state in states), CONFIRMED)


class StepJournal(RecordFiles[StepChange]):
    """The changes of one kind made from this machine.

    Args:
        directory: created with the first change.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, StepChange)

    def open(
        self, plan: StepPlan, *, before: Mapping[str, str | None] | None = None, undoes: str | None = None
    ) -> StepChange:
        """Writes down what is about to happen. Raises StorageError, and then nothing may happen."""
        change = StepChange(
            id=new_id(),
            kind=plan.kind,
            target=plan.target,
            confirm=plan.confirm,
            who=who(),
            made_at_ms=plan.made_at_ms,
            steps=[StepRecord(subject=step.subject, old=step.old, new=step.new) for step in plan.moving],
            before=dict(before or {}),
            undoes=undoes,
        )
        self.write(change)
        return change
