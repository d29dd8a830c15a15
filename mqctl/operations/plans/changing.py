"""What every command that changes something does: plan, show, confirm, have it carried out, report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import time
from typing import Generic, TypeVar

from mqctl.cli.emit import note, tell
from mqctl.cli.places import state_dir
from mqctl.cli.terminal.confirmation import confirm
from mqctl.cli.terminal.interrupts import terminable
from mqctl.cli.terminal.progress import step_progress
from mqctl.errors import ExitCode
from mqctl.execute.engine import Performer, carry_through
from mqctl.execute.journal import Journal
from mqctl.execute.records import DONE, NOT_MOVED, UNKNOWN, WENT_BACK, AnyRecord, ChangePart
from mqctl.model.gap import Cause
from mqctl.model.release import NEWEST, Release
from mqctl.operations.plans.cautions import Touched, cautions
from mqctl.render.change_words import way_back
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.text import composed, sentence

P = TypeVar("P")
R = TypeVar("R", bound=AnyRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """Whether a plan is carried out.

    Attributes:
        execute: whether `--execute` was given.
        confirmed: the name given with `--confirm`.
    """

    execute: bool
    confirmed: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Generic[R]):
    """What came of a command.

    Attributes:
        document: the plan, or the report of the change.
        record: None when nothing was carried out.
    """

    document: Document
    code: int
    record: R | None = None


class Change(Performer[P, R]):
    """A performer with its words.

    Attributes:
        proven_to: the newest release on which changes of this kind were made; a plan for a later one says so.
    """

    proven_to: Release = NEWEST

    def asking(self) -> Asking | None:
        """Returns the cluster that was asked for the plan, with the time that is left; None for a store."""
        return None

    def bound(self, plan: P, *, execute: bool) -> P:
        """Keeps a plan that is shown, for a second process to carry out; there, returns what was shown."""
        return plan

    def touched(self, plan: P) -> Touched:
        """Returns what the change rests on: topics, groups, brokers and a store, each of which may be of a kind that
        mqctl does not know."""
        return Touched()

    @abstractmethod
    def document(self, plan: P) -> Document:
        """Returns the plan to be shown."""

    @abstractmethod
    def has_work(self, plan: P) -> bool:
        """Tells whether there is anything to carry out."""

    def code_without_work(self, plan: P, *, execute: bool) -> int:
        """Returns the exit code where nothing is carried out."""
        return ExitCode.OK

    @abstractmethod
    def word(self, plan: P) -> str | None:
        """Returns the name to be typed; None for a change that needs none."""

    def where(self) -> Sequence[str]:
        """Returns the name servers of the cluster that is changed; none for a store."""
        return ()

    @abstractmethod
    def finish(self, record: R) -> str:
        """Returns in words what finishes a change that is not confirmed, or undoes it: commands."""

    @abstractmethod
    def report(self, record: R) -> Document:
        """Returns what came of it, to be shown."""


def journal() -> Journal:
    """Returns the journal of this user."""
    return Journal(state_dir())


def run_change(
    change: Change[P, R], consent: Consent, *, planned: Callable[[P, Document], None] | None = None
) -> Finished[R]:
    """Plans, and carries the plan out when asked to.

    Args:
        planned: is told of the plan that is shown.

    Raises:
        MqctlError: as `Performer.plan`, `confirm` and `carry_through`.
    """
    plan = change.bound(change.plan(), execute=consent.execute)
    careful = cautions(change.asking(), change.proven_to, change.touched(plan))
    shown = change.document(plan).with_cautions(careful)
    if planned is not None:
        planned(plan, shown)
    if not consent.execute or not change.has_work(plan):
        return Finished(document=shown, code=change.code_without_work(plan, execute=consent.execute))
    if (word := change.word(plan)) is not None:
        confirm(word, consent.confirmed, shown, where=change.where())
    if consent.confirmed is not None:  # nobody was shown the plan
        for line in careful:
            note(line)
    with terminable(), step_progress() as report:
        ended = carry_through(
            change,
            plan,
            journal(),
            say=tell,
            noted=note,
            report=lambda what, done, total: report(what, done, total) if report is not None else None,
        )
    record = ended.record
    if ended.stopped is not None:
        tell(
            sentence(
                "plan-stopped-middle-next",
                "mqctl: stopped in the middle: {stopped}\n  next: {finish}",
                stopped=ended.stopped,
                finish=change.finish(record),
            )
        )
    else:
        for line in ended.late:
            tell(composed("mqctl: {line}; {way_back}", line=line, way_back=way_back(record.id)))
        _tell_what_next(record.parts, record.id, change.finish(record))
    return Finished(document=change.report(record), code=ended.exit_code, record=record)


def _tell_what_next(parts: Iterable[ChangePart], change_id: str, finish: str) -> None:
    """Says on stderr what a change that was not confirmed leaves to do."""
    listed = list(parts)
    states = {part.state for part in listed}
    if states <= DONE:
        return
    if states <= {NOT_MOVED}:
        tell(
            sentence(
                "plan-nothing-change-done",
                "mqctl: nothing of change {change_id} was done: there is nothing to take back",
                change_id=change_id,
            )
        )
    unfinished = [part for part in listed if part.state not in DONE]
    late = [part for part in unfinished if part.cause is Cause.NOT_ASKED]
    denied = [part for part in unfinished if part.cause is Cause.DENIED]
    if denied:
        for remedy in dict.fromkeys(part.remedy for part in denied):
            tell(sentence("remedy-line", "  next: {remedy}", remedy=remedy))
    elif late:
        tell(
            sentence(
                "plan-parts-late",
                "mqctl: {late_count:,} of {count:,}: {reason}\n  next: {remedy}; {finish}",
                late_count=len(late),
                count=len(listed),
                reason=late[-1].reason,
                remedy=late[-1].remedy,
                finish=finish,
            )
        )
    elif states & {UNKNOWN, WENT_BACK}:
        tell(sentence("remedy-line", "  next: {remedy}", remedy=finish))


def now_ms() -> int:
    """Returns the time on this machine, epoch milliseconds."""
    return round(time() * 1000)
