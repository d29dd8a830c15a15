"""One way for every change: plan, show, confirm, lock, plan again, journal, carry out, prove, report.

What is particular to offsets, settings, steps, dead letters and replays is a `Performer`, with its words a `Change`.
That nothing is changed without the lock, a second plan and a record on the disk, and that a change which is cut off
says so, holds for all of them. A playbook shows a plan in one process and carries it out in another: there, what was
shown binds what is done.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import time
from typing import Generic, TypeVar

import msgspec

from mqctl.changes.engine.cautions import Touched, cautions
from mqctl.changes.engine.journal import Drawer, Journal
from mqctl.changes.engine.records import DONE, NOT_MOVED, UNKNOWN, WENT_BACK, AnyRecord, ChangePart, exit_code, way_back
from mqctl.cli.emit import note, tell
from mqctl.cli.places import state_dir
from mqctl.cli.terminal.confirmation import confirm
from mqctl.cli.terminal.interrupts import terminable
from mqctl.cli.terminal.progress import step_progress
from mqctl.errors import BadInputError, ExitCode, MqctlError, StorageError
from mqctl.model.gap import Cause
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.release import NEWEST, Release
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.store.exclusive_lock import Told
from mqctl.store.own_files import write_named
from mqctl.store.plain_files import read_named
from mqctl.text import composed, encoded, sentence

P = TypeVar("P")
T = TypeVar("T")
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

    def places(self, _plan: P) -> tuple[str, ...]:
        """Returns the addresses of the brokers that have it, where it is on brokers."""
        return ()

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
    with journal.alone(performer.locks(shown), noted, performer.places(shown)):
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


VARIABLE = "MQCTL_PLAN_FILE"
"""Names the file that gets the plan when it is shown, and that holds the plan when it is to be carried out."""


def shown_before(part: str, plan: T, kind: type[T], *, execute: bool) -> T | None:
    """Keeps a plan that is shown; of one that is to be carried out, returns what was shown of it.

    Args:
        part: which one, where a command has several.

    Returns:
        None when this process only shows, or is not the second one of two.

    Raises:
        BadInputError: nothing of the kind was shown.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return None
    path = Path(name)
    if not execute:
        parts = _parts(path) if path.is_file() else {}
        shown = {**parts, part: msgspec.Raw(msgspec.json.encode(plan, order="sorted", enc_hook=encoded))}
        write_named(path, msgspec.json.encode(shown, enc_hook=encoded))
        return None
    try:
        return msgspec.json.decode(_parts(path)[part], type=kind)
    except (OSError, KeyError, msgspec.DecodeError) as error:
        raise overtaken(sentence("no-plan-shown-before", "no plan of it was shown before")) from error


def must_be_shown(plan: object, *, execute: bool) -> None:
    """Keeps a plan that is shown, and refuses to carry out another one than was shown.

    Raises:
        BadInputError: it is another one.
    """
    now = msgspec.to_builtins(plan, order="sorted", enc_hook=encoded)
    shown = shown_before("plan", now, object, execute=execute)
    if shown is not None and msgspec.json.encode(shown, order="sorted", enc_hook=encoded) != msgspec.json.encode(
        now, order="sorted", enc_hook=encoded
    ):
        raise overtaken(
            sentence(
                "plan-somebody-else-changed-something",
                "something changed since the plan was shown: it would now do something else",
            )
        )


def overtaken(reason: str) -> BadInputError:
    """Returns the error for a plan that is not the one that was shown."""
    return BadInputError(
        sentence("nothing-changed", "nothing was changed"),
        reason=reason,
        remedy=sentence("look-new-plan-run", "look at the new plan and run it again"),
    )


def _parts(path: Path) -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(read_named(path), type=dict[str, msgspec.Raw])
