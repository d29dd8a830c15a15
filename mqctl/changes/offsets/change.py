"""Changes of offsets: a plan of queues, carried out at brokers or by members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from glob import escape
from io import StringIO
from pathlib import Path
from time import sleep

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.journal import Drawer, Journal, new_id
from mqctl.changes.engine.records import CONFIRMED, DONE, PLANNED, OffsetRecord, QueuePart, way_back
from mqctl.changes.engine.run import Change, Consent, Finished, Work, overtaken, run_change, shown_before
from mqctl.changes.offsets.perform import OffsetWork, carry_out
from mqctl.changes.offsets.planning import OffsetRequest, make_plan
from mqctl.changes.offsets.settling import Patience
from mqctl.changes.offsets.view import change_document, plan_document
from mqctl.cli.emit import tell
from mqctl.cli.times import parse_span_ms
from mqctl.client.admin.broker_changes import put_group
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import StorageError, UsageError
from mqctl.model.command_line import command_line, shell_word
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.plan import OffsetChange, OffsetPlan
from mqctl.render.document import Document
from mqctl.snapshot.live.asking import Asking
from mqctl.store.exclusive_lock import who
from mqctl.store.own_files import write_whole
from mqctl.text import sentence

# A member pauses for ten seconds after each callback of a broker, one after the other (`resetOffset` of 4.9.8), takes
# the queues up with its next rebalance, 20 s later at most, and commits every 5 s: both are waited for.
_PAUSE_MS, _REBALANCE_MS, _HOLD_MS = 10_000, 20_000, 10_000
Opened = Callable[[OffsetRecord], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetConsent(Consent):
    """Whether and how offsets are changed.

    Attributes:
        settle_ms: how long to wait for members; None for what they may need.
        export: where to write the plan.
        opened: told of the record before the first request is sent.
    """

    settle_ms: int | None = None
    export: Path | None = None
    opened: Opened = lambda _: None


def consent_of(
    confirmed: str | None, settle: str | None, *, execute: bool, export: Path | None = None
) -> OffsetConsent:
    """Reads what was given on the command line. Raises UsageError."""
    settle_ms = None if settle is None else parse_span_ms(settle)
    return OffsetConsent(execute=execute, confirmed=confirmed, settle_ms=settle_ms, export=export)


class GroupOffsets(Change[OffsetPlan, OffsetRecord]):
    """A change of the offsets of a group."""

    def __init__(self, asking: Asking, request: OffsetRequest, consent: OffsetConsent) -> None:
        self._asking = asking
        self._request = request
        self._consent = consent

    def drawer(self, journal: Journal) -> Drawer[OffsetRecord]:
        return journal.offsets

    def plan(self) -> OffsetPlan:
        return make_plan(self._asking, self._request)

    def bound(self, plan: OffsetPlan, *, execute: bool) -> OffsetPlan:
        before = shown_before("plan", plan, OffsetPlan, execute=execute)
        return plan if before is None else _as_shown(before, plan)

    def document(self, plan: OffsetPlan) -> Document:
        return plan_document(
            plan,
            sentence(
                "nothing-changed-add-execute",
                "nothing was changed; add --execute --confirm {confirm} to do it",
                confirm=shell_word(plan.group),
            ),
        )

    def has_work(self, plan: OffsetPlan) -> bool:
        return bool(plan.moving or self._request.resumes)

    def word(self, plan: OffsetPlan) -> str:
        return plan.group

    def asking(self) -> Asking:
        return self._asking

    def touched(self, plan: OffsetPlan) -> Touched:
        return Touched(
            topics={change.queue.topic for change in plan.changes},
            groups={plan.group},
            brokers=dict(plan.identity.brokers).keys(),
            members_of=plan.group if plan.online else None,
        )

    def where(self) -> Sequence[str]:
        return self._asking.cluster.name_servers.addresses()

    def locks(self, plan: OffsetPlan) -> str:
        return sentence("offset-group", "group {group} of {cluster}", group=plan.group, cluster=plan.identity.cluster)

    def places(self, plan: OffsetPlan) -> tuple[str, ...]:
        return plan.identity.addresses

    def again(self, shown: OffsetPlan) -> OffsetPlan:
        # Typing a name takes its time: the requests that follow have all of theirs.
        self._asking = Asking(self._asking.cluster, Deadline(self._asking.deadline.limit_ms))
        return _as_shown(shown, self.plan())

    def record(self, plan: OffsetPlan, drawer: Drawer[OffsetRecord]) -> OffsetRecord:
        if self._request.resumes is not None:
            return _taken_up(drawer.read(self._request.resumes), plan)
        return _new_record(plan, self._request.undoes)

    def opened(self, record: OffsetRecord) -> str:
        self._consent.opened(record)
        return sentence(
            "change-record", "mqctl: change {record}; {way_back}", record=record.id, way_back=way_back(record.id)
        )

    def carry_out(self, work: Work[OffsetPlan, OffsetRecord]) -> None:
        plan, wanted_ms = work.plan, self._consent.settle_ms
        self._create_group(plan)
        patience = Patience(
            wait_ms=_wait_ms(plan) if wanted_ms is None else wanted_ms,
            pause=lambda ms: sleep(ms / 1000),
            report=work.report,
        )
        carry_out(
            OffsetWork(
                cluster=self._asking.cluster,
                deadline=self._asking.deadline,
                record=work.record,
                addresses=dict(plan.identity.brokers),
                save=work.save,
                patience=patience,
            )
        )

    def finish(self, record: OffsetRecord) -> str:
        resume = "mqctl offset reset --resume {} --execute --confirm {}"
        return sentence(
            "offset-finishes",
            "{resume} finishes it; {way_back}",
            resume=command_line(resume, record.id, record.subject),
            way_back=way_back(record.id),
        )

    def report(self, record: OffsetRecord) -> Document:
        return change_document(record)

    def _create_group(self, plan: OffsetPlan) -> None:
        """Creates the group where it is missing: brokers of 5.x take no offset of a group that they do not know."""
        addresses = dict(plan.identity.brokers)
        for name in plan.creates_on:
            question = put_group(SubscriptionGroupConfig(name=plan.group))
            self._asking.cluster.ask(addresses[name], question, self._asking.deadline)


def run_offset_change(asking: Asking, request: OffsetRequest, consent: OffsetConsent) -> Finished[OffsetRecord]:
    """Plans, and carries the plan out when asked to.

    Raises:
        MqctlError: as `make_plan` and `run_change`.
    """

    def planned(_: OffsetPlan, shown: Document) -> None:
        if consent.export is not None:
            export_plan(shown, consent.export)

    return run_change(GroupOffsets(asking, request, consent), consent, planned=planned)


def export_plan(document: Document, path: Path) -> None:
    """Writes a plan for `--from-file`, as CSV or JSON. Raises UsageError, StorageError."""
    from mqctl.render import machine

    write = {".json": machine.write_json, ".csv": machine.write_csv}.get(path.suffix)
    if write is None:
        raise UsageError(
            sentence("offset-cannot-write-plan", "cannot write a plan to {path}", path=path),
            remedy=sentence("offset-name-file-ends-json", "name a file that ends with .json or .csv"),
        )
    stream = StringIO()
    write(document, stream)
    write_file(path, stream.getvalue().encode())
    tell(
        sentence(
            "offset-plan-written-reads",
            "mqctl: plan written to {path}; {value} reads it",
            path=path,
            value=command_line("mqctl offset reset --from-file {}", path),
        )
    )


def write_file(path: Path, data: bytes) -> None:
    """Writes a file for the user, whole or not at all, its directory too. Raises StorageError."""
    try:
        write_whole(path, data, sweep=escape(path.name))
    except OSError as error:
        problem, remedy = (
            sentence("offset-could-not-write-plan", "could not write the plan to {path}", path=path),
            sentence("offset-free-disk-name-another", "free its disk, or name another place"),
        )
        raise StorageError(problem, reason=error.strerror or str(error), remedy=remedy) from error


def _new_record(plan: OffsetPlan, undoes: str | None) -> OffsetRecord:
    # A broker that tells members tells them all queues, those that stand where they should among them.
    changes = plan.changes if plan.callbacks else plan.moving
    return OffsetRecord(
        id=new_id(),
        kind=plan.kind.value,
        subject=plan.group,
        target=plan.target,
        method=plan.method.value,
        who=who(),
        made_at_ms=plan.made_at_ms,
        cluster=plan.identity.cluster,
        brokers=dict(plan.identity.brokers),
        parts=[
            QueuePart(
                topic=change.queue.topic,
                broker_name=change.queue.broker_name,
                queue_id=change.queue.queue_id,
                old=change.old,
                new=change.new,
                found=None,
                state=PLANNED,
                reason=None,
            )
            for change in changes
        ],
        undoes=undoes,
        callbacks=list(plan.callbacks),
    )


def _taken_up(record: OffsetRecord, plan: OffsetPlan) -> OffsetRecord:
    """Returns the record of a change that is to be finished; old offsets stay those of its beginning."""
    now = {change.queue: change for change in plan.changes}
    for part in record.parts:
        change = now.get(part.queue)
        if change is not None and part.state not in DONE:
            part.new, part.reason = change.new, None
            part.state, part.found = (PLANNED, None) if change.moves else (CONFIRMED, change.old)
    record.method, record.callbacks, record.ended = plan.method.value, list(plan.callbacks), False
    return record


def _wait_ms(plan: OffsetPlan) -> int:
    return _PAUSE_MS * max(1, len(plan.callbacks)) + _REBALANCE_MS + _HOLD_MS


def _as_shown(shown: OffsetPlan, now: OffsetPlan) -> OffsetPlan:
    """Returns the plan as it was shown, with what the group has now as old offsets.

    What arrived since is no part of it: the end of a queue is where it was when the plan was shown.

    Raises:
        BadInputError: it does not hold any more.
    """
    old = {change.queue: change for change in now.changes}
    if (shown.kind, shown.group) != (now.kind, now.group):
        reason = sentence("offset-plan-shown-about-something", "the plan that was shown is about something else")
    elif (shown.online, shown.method, shown.identity) != (now.online, now.method, now.identity):
        reason = sentence(
            "offset-members-group-brokers-came",
            "members of the group or brokers came or went since the plan was made",
        )
    elif old.keys() != {change.queue for change in shown.changes}:
        reason = sentence("offset-queues-came-went-since", "queues came or went since the plan was made")
    elif not now.online and any(old[change.queue].old != change.old for change in shown.changes):
        reason = sentence(
            "offset-somebody-else-moved-group",
            "the group's offsets were moved since the plan was made",
        )
    elif any(not _inside(change.new, old[change.queue].min_offset, change.min_offset) for change in shown.changes):
        reason = sentence(
            "offset-messages-replay-deleted-since",
            "messages that it would replay have been deleted since the plan was made",
        )
    else:
        return replace(shown, changes=tuple(_as_of_now(change, old[change.queue].old) for change in shown.changes))
    raise overtaken(reason)


def _as_of_now(change: OffsetChange, old: int | None) -> OffsetChange:
    """A queue that was to go forward and whose members have consumed beyond that by now stays where it is."""
    if change.old is not None and old is not None and change.old <= change.new < old:
        return replace(
            change, old=old, new=old, note=sentence("offset-consumed-beyond-now", "consumed beyond it by now")
        )
    return replace(change, old=old)


def _inside(new: int, min_offset: int, shown_min_offset: int) -> bool:
    return new >= min_offset or min_offset == shown_min_offset
