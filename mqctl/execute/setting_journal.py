"""The journal of changed settings: one file each, written before the first request and after every answer."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from mqctl.errors import BadInputError, NotFoundError, StorageError
from mqctl.execute.journal import CONFIRMED, NOT_MOVED, PLANNED, UNKNOWN, change_id, who
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


class SettingJournal:
    """The changes of settings made from this machine.

    Args:
        directory: created with the first change.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def begin(self, plan: SettingPlan) -> SettingRecord:
        """Writes down what is about to happen. Raises StorageError, and then nothing may happen."""
        record = SettingRecord(
            id=change_id(),
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

    def write(self, record: SettingRecord) -> None:
        """Writes a record, whole or not at all, and to the disk. Raises StorageError."""
        file = self._file(record.id)
        temporary = file.with_suffix(".tmp")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as stream:
                stream.write(msgspec.json.format(msgspec.json.encode(record)))
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(file)
        except OSError as error:
            problem, reason = f"could not write the journal in {self._directory}", error.strerror or str(error)
            remedy = "free its disk, or set MQCTL_STATE_DIR to another one"
            raise StorageError(problem, reason=reason, remedy=remedy) from error

    def has(self, identity: str) -> bool:
        """Tells whether a change is one of settings."""
        return "/" not in identity and self._file(identity).is_file()

    def read(self, identity: str) -> SettingRecord:
        """Returns one change. Raises NotFoundError, BadInputError."""
        if not self.has(identity):
            raise NotFoundError(f"there is no change {identity}", remedy="mqctl history")
        file = self._file(identity)
        try:
            return msgspec.json.decode(file.read_bytes(), type=SettingRecord)
        except (OSError, msgspec.DecodeError) as error:
            raise BadInputError(f"could not read {file}", reason=str(error), remedy="restore it") from error

    def all(self) -> list[SettingRecord]:
        """Returns every change, the latest first."""
        records = [self.read(file.stem) for file in self._directory.glob("*.json")]
        return sorted(records, key=lambda record: record.made_at_ms, reverse=True)

    def _file(self, identity: str) -> Path:
        return self._directory / f"{identity}.json"
