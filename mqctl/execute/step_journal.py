"""The journal of changes made in steps: one file each, written before the first step and after every one."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mqctl.errors import BadInputError, NotFoundError, StorageError
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


class StepJournal:
    """The changes of one kind made from this machine.

    Args:
        directory: created with the first change.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(
        self, plan: StepPlan, *, before: Mapping[str, str | None] | None = None, undoes: str | None = None
    ) -> StepChange:
        """Writes down what is about to happen. Raises StorageError, and then nothing may happen."""
        change = StepChange(
            id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
            kind=plan.kind,
            target=plan.target,
            confirm=plan.confirm,
            who=f"{_user()}@{socket.gethostname()}",
            made_at_ms=plan.made_at_ms,
            steps=[StepRecord(subject=step.subject, old=step.old, new=step.new) for step in plan.moving],
            before=dict(before or {}),
            undoes=undoes,
        )
        self.write(change)
        return change

    def write(self, change: StepChange) -> None:
        """Writes a change, whole or not at all, and to the disk. Raises StorageError."""
        file = self._directory / f"{change.id}.json"
        temporary = file.with_suffix(".tmp")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as stream:
                stream.write(msgspec.json.format(msgspec.json.encode(change)))
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(file)
        except OSError as error:
            problem, reason = f"could not write the journal in {self._directory}", error.strerror or str(error)
            raise StorageError(problem, reason=reason, remedy="free its disk, or set MQCTL_STATE_DIR") from error

    def read(self, change_id: str) -> StepChange:
        """Returns one change. Raises NotFoundError, BadInputError."""
        file = self._directory / f"{change_id}.json"
        if "/" in change_id or not file.is_file():
            raise NotFoundError(f"there is no change {change_id}", reason=f"no such file in {self._directory}")
        try:
            return msgspec.json.decode(file.read_bytes(), type=StepChange)
        except (OSError, msgspec.DecodeError) as error:
            raise BadInputError(f"could not read {file}", reason=str(error), remedy="restore it") from error

    def all(self) -> list[StepChange]:
        """Returns every change, the latest first."""
        changes = [self.read(file.stem) for file in self._directory.glob("*.json")]
        return sorted(changes, key=lambda change: change.made_at_ms, reverse=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
