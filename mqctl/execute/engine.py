"""One way for every change: lock, plan again, journal, carry out, prove.

The plan was made, shown and confirmed before (`mqctl.operations.plans.changing`). What is particular to offsets,
settings, steps, dead letters and replays is a `Performer`; that nothing is changed without the lock, a second plan and
a record on the disk, and that a change which is cut off says so, holds for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from mqctl.errors import ExitCode, MqctlError, StorageError
from mqctl.execute.journal import Drawer, Journal
from mqctl.execute.records import AnyRecord, exit_code
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.exclusive_lock import Told
from mqctl.text import composed, sentence

P = TypeVar("P")
R = TypeVar("R", bound=AnyRecord)
Report = Callable[[str, int, int], None]
"""Told what is under way, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Generic[P, R]):
    """A change under way.

    Attributes:
        plan: as it was made under the lock.
        drawer: where its record is written, before and after each request.
        report: draws progress.
    """

    plan: P
    record: R
    drawer: Drawer[R]
    report: Report

    def save(self) -> None:
        """Writes the record as it is now. Raises StorageError, and then nothing more may be sent."""
        self.drawer.write(self.record)


class Performer(ABC, Generic[P, R]):
    """What is particular to one kind of change."""

    stopping: tuple[type[MqctlError], ...] = (StorageError,)
    """Errors that end a change in the middle, to be finished later; others are told as they are."""

    @abstractmethod
    def drawer(self, journal: Journal) -> Drawer[R]:
        """Returns where its records lie."""

    @abstractmethod
    def plan(self) -> P:
        """Computes the plan; asks only. Raises MqctlError."""

    @abstractmethod
    def locks(self, plan: P) -> str:
        """Returns what nobody else may change meanwhile, for instance `group G of DefaultCluster`."""

    @abstractmethod
    def again(self, shown: P) -> P:
        """Plans once more, under the lock. Raises BadInputError: what was shown does not hold any more."""

    @abstractmethod
    def record(self, plan: P, drawer: Drawer[R]) -> R:
        """Returns the record of what is about to happen: a new one, or that of a change that is taken up again."""

    @abstractmethod
    def opened(self, record: R) -> str:
        """Is called when the record is on the disk, before the first request; returns what to say of it."""

    @abstractmethod
    def carry_out(self, work: Work[P, R]) -> str | None:
        """Makes the change part by part, reads each back, and notes in the record what became of it.

        Returns:
            Why it stopped before its end; None when it did not.
        """

    def ended(self, work: Work[P, R]) -> list[str]:
        """Returns what came between plan and change, one sentence each, when the change is through."""
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Generic[R]):
    """What came of a change.

    Attributes:
        stopped: why it stopped in the middle; None when it came to its end.
        late: what came between plan and change.
    """

    record: R
    stopped: str | None = None
    late: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """0 all confirmed, 1 some part was not done, 2 stopped in the middle, 3 unconfirmed."""
        if self.stopped is not None:
            return ExitCode.ERROR
        return exit_code(self.record) or (ExitCode.WARNING if self.late else ExitCode.OK)


def carry_through(
    performer: Performer[P, R], shown: P, journal: Journal, *, say: Told, noted: Told, report: Report
) -> Ended[R]:
    """Makes the change that was shown and confirmed, if it still holds.

    Args:
        shown: the plan as the user saw it.
        say: receives the id of the change.
        noted: receives one line when the command that last changed the same thing was killed while it did.

    Raises:
        RefusedError: another mqctl changes the same thing.
        BadInputError: the plan does not hold any more; nothing was changed.
        StorageError: the journal cannot be written; nothing was changed.
        MqctlError: as `Performer.carry_out`, of what does not stop the change in the middle.
    """
    drawer = performer.drawer(journal)
    with journal.alone(performer.locks(shown), noted):
        plan = performer.again(shown)
        work = Work(plan=plan, record=performer.record(plan, drawer), drawer=drawer, report=report)
        work.save()
        say(performer.opened(work.record))
        try:
            stopped = performer.carry_out(work)
            work.record.ended = stopped is None
            work.save()
        except KeyboardInterrupt:
            return Ended(record=work.record, stopped=sentence("common-interrupted", "interrupted"))
        except performer.stopping as error:
            remedy = composed("; {remedy}", remedy=error.remedy) if error.remedy else ""
            return Ended(record=work.record, stopped=composed("{error}{remedy}", error=error, remedy=remedy))
        late = () if stopped is not None else tuple(performer.ended(work))
        return Ended(record=work.record, stopped=stopped, late=late)
