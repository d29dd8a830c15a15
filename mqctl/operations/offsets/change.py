"""What the offset commands share: a plan shown, confirmed, carried out, reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from glob import escape
from io import StringIO
from pathlib import Path
from time import sleep

from mqctl.cli.emit import note, tell
from mqctl.cli.places import state_dir
from mqctl.cli.terminal.confirmation import confirm
from mqctl.cli.terminal.interrupts import terminable
from mqctl.cli.terminal.progress import step_progress
from mqctl.cli.times import parse_span_ms
from mqctl.client.admin.broker_changes import put_group
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import ExitCode, StorageError, UsageError
from mqctl.execute.journal import CONFIRMED, PLANNED, UNKNOWN, ChangeRecord, Journal
from mqctl.execute.offsets import Work, carry_out
from mqctl.execute.settling import Patience
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.plan import OffsetChange, OffsetPlan
from mqctl.model.queue import MessageQueue
from mqctl.operations.offsets.planning import Wish, make_plan
from mqctl.operations.plans.shown_plan import overtaken, shown_before
from mqctl.render.document import Document
from mqctl.render.offsets import MovedQueue, OffsetChangeReport, change_document, plan_document
from mqctl.snapshot.live.asking import Asking
from mqctl.store.whole_file import write_whole

# A member rests for ten seconds after each callback of a broker, one after the other (`resetOffset` of 4.9.8).
_REST_MS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user asked for beside the wish.

    Attributes:
        confirmed: the name given with `--confirm`.
        settle_ms: how long to wait for members; None for what they may need.
        export: where to write the plan.
        opened: told of the record before the first request is sent.
    """

    execute: bool
    confirmed: str | None
    settle_ms: int | None = None
    export: Path | None = None
    opened: Callable[[ChangeRecord], None] = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of it.

    Attributes:
        record: None when nothing was carried out.
    """

    document: Document
    code: int
    record: ChangeRecord | None = None


def asked(confirmed: str | None, settle: str | None, *, execute: bool, export: Path | None = None) -> Asked:
    """Reads what was asked for. Raises UsageError."""
    settle_ms = None if settle is None else parse_span_ms(settle)
    return Asked(execute=execute, confirmed=confirmed, settle_ms=settle_ms, export=export)


def journal() -> Journal:
    """Returns the journal of this user."""
    return Journal(state_dir() / "journal")


def run(asking: Asking, wish: Wish, asked: Asked) -> Done:
    """Plans, and carries the plan out when asked to.

    Raises:
        MqctlError: as `make_plan`, `confirm` and `carry_plan_out`.
    """
    plan = make_plan(asking, wish)
    before = shown_before("plan", plan, OffsetPlan, execute=asked.execute)
    if before is not None:
        plan = _as_shown(before, plan)
    shown = plan_document(plan, f"nothing was changed; add --execute --confirm {wish.group} to do it")
    if asked.export is not None:
        export_plan(shown, asked.export)
    if not asked.execute or not (plan.moving or wish.resumes):
        return Done(document=shown, code=ExitCode.OK)
    confirm(wish.group, asked.confirmed, shown, where=asking.cluster.name_servers.addresses())
    later = Asking(asking.cluster, Deadline(asking.deadline.limit_ms))  # typing a name takes its time
    record, stopped = carry_plan_out(later, wish, plan, asked)
    code = exit_code(record)
    if stopped is not None:
        code = ExitCode.CRITICAL
        tell(
            f"mqctl: stopped in the middle: {stopped}\n  next: mqctl offset reset --resume {record.id} finishes it, "
            f"mqctl offset undo {record.id} takes it back"
        )
    else:
        from mqctl.operations.settings.change import tell_what_next

        finish = f"mqctl offset reset --resume {record.id} --execute --confirm {wish.group}"
        tell_what_next(record.queues, record.id, finish)
    return Done(document=change_document(report_of(record)), code=code, record=record)


def export_plan(document: Document, path: Path) -> None:
    """Writes a plan for `--from-file`, as CSV or JSON. Raises UsageError, StorageError."""
    from mqctl.render import machine

    write = {".json": machine.write_json, ".csv": machine.write_csv}.get(path.suffix)
    if write is None:
        raise UsageError(f"cannot write a plan to {path}", remedy="name a file that ends with .json or .csv")
    stream = StringIO()
    write(document, stream)
    write_file(path, stream.getvalue().encode())
    tell(f"mqctl: plan written to {path}; mqctl offset reset --from-file {path} reads it")


def write_file(path: Path, data: bytes) -> None:
    """Writes a file for the user, whole or not at all, its directory too. Raises StorageError."""
    try:
        write_whole(path.resolve(), data, sweep=escape(path.name))
    except OSError as error:
        problem, remedy = f"could not write the plan to {path}", "free its disk, or name another place"
        raise StorageError(problem, reason=error.strerror or str(error), remedy=remedy) from error


def carry_plan_out(asking: Asking, wish: Wish, shown: OffsetPlan, asked: Asked) -> tuple[ChangeRecord, str | None]:
    """Carries out a plan, if it still holds; returns the record, and why it stopped in the middle if it did.

    Raises:
        BadInputError: the group moved, or its members changed, since the plan was made.
        RefusedError: another mqctl changes the group.
        StorageError: the journal cannot be written; nothing was changed then.
    """
    book = journal()
    what = f"group {wish.group} of {shown.identity.cluster}"
    with book.alone(what, note), terminable(), step_progress() as report:
        plan = _as_shown(shown, make_plan(asking, wish))
        record = book.open(plan, wish.undoes) if wish.resumes is None else _taken_up(book, wish.resumes, plan)
        asked.opened(record)
        _create(asking, plan)
        tell(f"mqctl: change {record.id}; mqctl offset undo {record.id} takes it back")
        work = Work(
            cluster=asking.cluster,
            deadline=asking.deadline,
            record=record,
            addresses=dict(plan.identity.brokers),
            save=book.write,
            patience=Patience(
                wait_ms=_wait_ms(plan) if asked.settle_ms is None else asked.settle_ms,
                pause=lambda ms: sleep(ms / 1000),
                report=lambda done, total: report("members", done, total) if report is not None else None,
            ),
        )
        try:
            carry_out(work)
        except KeyboardInterrupt:
            return record, "interrupted"
        except StorageError as error:
            return record, str(error)
    return record, None


def _create(asking: Asking, plan: OffsetPlan) -> None:
    """Creates the group where it is missing: brokers of 5.x take no offset of a group that they do not know."""
    addresses = dict(plan.identity.brokers)
    for name in plan.creates_on:
        asking.cluster.ask(addresses[name], put_group(SubscriptionGroupConfig(name=plan.group)), asking.deadline)


def _wait_ms(plan: OffsetPlan) -> int:
    return _REST_MS * (1 + max(1, len(plan.callbacks)))


def _taken_up(book: Journal, change_id: str, plan: OffsetPlan) -> ChangeRecord:
    """Returns the record of a change that is to be finished; old offsets stay those of its beginning."""
    record = book.read(change_id)
    now = {change.queue: change for change in plan.changes}
    for queue in record.queues:
        change = now.get(MessageQueue(queue.topic, queue.broker_name, queue.queue_id))
        if change is not None and queue.state != CONFIRMED:
            queue.new, queue.reason = change.new, None
            queue.state, queue.found = (PLANNED, None) if change.moves else (CONFIRMED, change.old)
    record.method, record.callbacks, record.ended = plan.method.value, list(plan.callbacks), False
    book.write(record)
    return record


def exit_code(record: ChangeRecord) -> ExitCode | int:
    """Exit code of an execution: 0 all confirmed, 1 some did not move, 3 unconfirmed."""
    states = {queue.state for queue in record.queues} - {CONFIRMED}
    if not states:
        return ExitCode.OK
    return ExitCode.UNKNOWN if UNKNOWN in states else ExitCode.WARNING


def report_of(record: ChangeRecord) -> OffsetChangeReport:
    """Returns the machine form of a change."""
    return OffsetChangeReport(
        id=record.id,
        kind=record.kind,
        cluster=record.cluster,
        group=record.group,
        target=record.target,
        method=record.method,
        who=record.who,
        made_at_ms=record.made_at_ms,
        state=record.state,
        undoes=record.undoes,
        queues=[
            MovedQueue(
                topic=queue.topic,
                broker_name=queue.broker_name,
                queue_id=queue.queue_id,
                old=queue.old,
                new=queue.new,
                found=queue.found,
                state=queue.state,
                reason=queue.reason,
            )
            for queue in record.queues
        ],
    )


def _as_shown(shown: OffsetPlan, now: OffsetPlan) -> OffsetPlan:
    """Returns the plan as it was shown, with what the group has now as old offsets.

    What arrived since is no part of it: the end of a queue is where it was when the plan was shown.

    Raises:
        BadInputError: it does not hold any more.
    """
    old = {change.queue: change for change in now.changes}
    if (shown.kind, shown.group) != (now.kind, now.group):
        reason = "the plan that was shown is about something else"
    elif (shown.online, shown.method, shown.identity) != (now.online, now.method, now.identity):
        reason = "members of the group or brokers came or went since the plan was made"
    elif old.keys() != {change.queue for change in shown.changes}:
        reason = "queues came or went since the plan was made"
    elif not now.online and any(old[change.queue].old != change.old for change in shown.changes):
        reason = "somebody else moved the group since the plan was made"
    elif any(not _inside(change.new, old[change.queue].min_offset, change.min_offset) for change in shown.changes):
        reason = "messages that it would replay have been deleted since the plan was made"
    else:
        return replace(shown, changes=tuple(_as_of_now(change, old[change.queue].old) for change in shown.changes))
    raise overtaken(reason)


def _as_of_now(change: OffsetChange, old: int | None) -> OffsetChange:
    """A queue that was to go forward and whose members have consumed beyond that by now stays where it is."""
    if change.old is not None and old is not None and change.old <= change.new < old:
        return replace(change, old=old, new=old, note="consumed beyond it by now")
    return replace(change, old=old)


def _inside(new: int, min_offset: int, shown_min_offset: int) -> bool:
    return new >= min_offset or min_offset == shown_min_offset
