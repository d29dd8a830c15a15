"""The journal of changed settings: one file each, written before the first request and after every answer."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mqctl.execute.journal import CONFIRMED, NOT_MOVED, PLANNED, UNKNOWN
from mqctl.execute.record_files import RecordFiles, new_id, who
from mqctl.model.setting_plan import SettingPlan


class StepRecord(msgspec.Struct, kw_only=True):
    """One step of a change.

    Attributes:
        old, new: settings before and as wished; None where there is none.
        state: `planned` until its request ended, then `confirmed`, `not-moved` or `unknown`.
        found: what was read back.
        reason: why it is not confirmed.
    """

    kind: str
    place: str
    address: str
    subject: str
    old: dict[str, str] | None
    new: dict[str, str] | None
    stage: int = 0
    state: str = PLANNED
    found: dict[str, str] | None = None
    reason: str | None = None


class SettingRecord(msgspec.Struct, kw_only=True):
    """One change of settings.

    Attributes:
        who: user and machine.
        made_at_ms: epoch milliseconds.
        brokers: master address by broker name: which cluster it was.
        ended: False while it runs, and for ever when it was killed.
        undoes: id of the change that this one takes back.
    """

    id: str
    kind: str
    noun: str
    subject: str
    who: str
    made_at_ms: int
    cluster: str
    brokers: dict[str, str]
    steps: list[StepRecord]
    ended: bool = False
    undoes: str | None = None

    @property
    def state(self) -> str:
        """`confirmed`, or what keeps it from being so."""
        if not self.ended:
            return "interrupted"
        states = {step.state for step in self.steps}
        return next((state for state in (UNKNOWN, NOT_MOVED) if state in states), CONFIRMED)


class SettingJournal(RecordFiles[SettingRecord]):
    """The changes of settings made from this machine.

    Args:
        directory: created with the first change.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, SettingRecord)

    def begin(self, plan: SettingPlan) -> SettingRecord:
        """Writes down what is about to happen. Raises StorageError, and then nothing may happen."""
        record = SettingRecord(
            id=new_id(),
            kind=plan.kind,
            noun=plan.noun,
            subject=plan.subject,
            who=who(),
            made_at_ms=plan.made_at_ms,
            cluster=plan.identity.cluster,
            brokers=dict(plan.identity.brokers),
            steps=[
                StepRecord(
                    kind=step.kind.value,
                    place=step.place,
                    address=step.address,
                    subject=step.subject,
                    old=None if step.old is None else dict(step.old),
                    new=None if step.new is None else dict(step.new),
                    stage=step.stage,
                )
                for step in plan.moving
            ],
            undoes=plan.undoes,
        )
        self.write(record)
        return record
