"""What the commands that change settings share: the plan is shown, or carried out if it still holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import time
from typing import Protocol

from mqctl.cli.connection.target import Connection
from mqctl.cli.emit import note, tell
from mqctl.cli.places import state_dir
from mqctl.cli.sources.brokers import open_brokers, tell_remedies
from mqctl.cli.terminal.confirmation import confirm
from mqctl.cli.terminal.interrupts import terminable
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.answers import MORE_TIME, tells_denial, tells_time_over
from mqctl.errors import BadInputError, ExitCode, StorageError, UsageError
from mqctl.execute.journal import CONFIRMED, NOT_MOVED, UNKNOWN, Journal
from mqctl.execute.setting_journal import SettingJournal, SettingRecord
from mqctl.execute.settings import carry_out
from mqctl.model.plan import ClusterIdentity
from mqctl.model.setting_plan import SettingPlan
from mqctl.operations.plans.shown_plan import must_be_shown
from mqctl.render.document import Document
from mqctl.render.settings import change_document, plan_document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker, masters_of

Make = Callable[[Asking], SettingPlan]


def journal() -> SettingJournal:
    """Returns the journal of this user."""
    return SettingJournal(state_dir() / "journal" / "settings")


def run(
    cluster: Cluster,
    chosen: Connection,
    make: Make,
    *,
    execute: bool,
    confirmed: str | None,
    after: Callable[[Asking], list[str]] = lambda _: [],
) -> tuple[Document, int]:
    """Plans, and carries the plan out when asked to; returns what to show and the exit code.

    Args:
        make: computes the plan; asks only.
        after: tells what came between plan and change, one sentence each.

    Raises:
        BadInputError: the plan no longer holds; nothing was changed.
        MqctlError: as `make`, `confirm` and the journal.
    """
    plan = make(Asking(cluster, chosen.deadline()))
    must_be_shown((plan.kind, plan.subject, plan.identity, plan.moving), execute=execute)
    if not execute or not plan.moving:
        return plan_document(plan), ExitCode.OK
    if plan.severe:
        confirm(plan.subject, confirmed, plan_document(plan), where=cluster.name_servers.addresses())
    with Journal(state_dir() / "journal").alone(_what(plan), note), terminable():
        asking = Asking(cluster, chosen.deadline())
        if make(asking).steps != plan.steps:
            raise BadInputError(
                "nothing was changed",
                reason="somebody else changed it since the plan was made",
                remedy="look at the new plan and run it again",
            )
        record = journal().begin(plan)
        tell(f"mqctl: change {record.id}; mqctl undo {record.id} takes it back")
        try:
            carry_out(cluster, asking.deadline, record, journal().write)
        except KeyboardInterrupt:
            tell("mqctl: interrupted")
            return change_document(record), ExitCode.CRITICAL
        except StorageError as error:
            tell(f"mqctl: stopped: {error}; {error.remedy}")
            return change_document(record), ExitCode.CRITICAL
        if any(step.state != NOT_MOVED for step in record.steps):
            for warning in plan.warnings:
                tell(f"mqctl: note: {warning}")
            for step in plan.moving:
                if step.note is not None:
                    tell(f"mqctl: {step.place}: {step.note}")
        late = after(Asking(cluster, chosen.deadline()))
    for line in late:
        tell(f"mqctl: {line}; mqctl undo {record.id} takes the change back")
    tell_what_next(record.steps, record.id, "run the same command again: what is done already is left alone")
    return change_document(record), _exit_code(record) or (ExitCode.WARNING if late else ExitCode.OK)


class Part(Protocol):
    """One queue or place of a change."""

    @property
    def state(self) -> str: ...
    @property
    def reason(self) -> str | None: ...


def tell_what_next(parts: Sequence[Part], change_id: str, finish: str) -> None:
    """Says on stderr what a change that was not confirmed leaves to do.

    Args:
        finish: what finishes it.
    """
    states = {part.state for part in parts}
    if states <= {CONFIRMED}:
        return
    if states <= {NOT_MOVED}:
        tell(f"mqctl: nothing of change {change_id} was done: there is nothing to take back")
    late = [part.reason for part in parts if part.reason and tells_time_over(part.reason)]
    denied = [part.reason for part in parts if part.reason and tells_denial(part.reason)]
    if denied:
        tell_remedies(denied)
    elif late:
        tell(f"mqctl: {len(late):,} of {len(parts):,}: {late[-1]}\n  next: {MORE_TIME}; {finish}")
    elif UNKNOWN in states:
        tell(f"  next: {finish}")


def _what(plan: SettingPlan) -> str:
    return f"{plan.noun} {plan.subject} of {plan.identity.cluster}"


def touched_masters(asking: Asking, names: Iterable[str]) -> list[LiveBroker]:
    """Returns the masters, or those named.

    Raises:
        NotFoundError: there is no such broker.
        UsageError: nothing is named, and the name servers know several clusters.
    """
    chosen = tuple(names)
    brokers = masters_of(open_brokers(asking, chosen))
    clusters = sorted({broker.address.cluster for broker in brokers})
    if len(clusters) > 1 and not chosen:
        raise UsageError(
            "the name servers know several clusters", reason=", ".join(clusters), remedy="name brokers with --broker"
        )
    if not brokers:
        raise UsageError("no master is among the brokers named", remedy="mqctl broker list tells which is one")
    return brokers


def identity_of(brokers: Iterable[LiveBroker]) -> ClusterIdentity:
    """Returns which cluster a plan is made on."""
    listed = list(brokers)
    return ClusterIdentity(
        cluster=listed[0].address.cluster,
        brokers=tuple(sorted((broker.name, broker.address.address) for broker in listed)),
    )


def now_ms() -> int:
    """Returns the time on this machine, epoch milliseconds."""
    return round(time() * 1000)


def _exit_code(record: SettingRecord) -> ExitCode:
    states = {step.state for step in record.steps} - {CONFIRMED}
    if not states:
        return ExitCode.OK
    return ExitCode.UNKNOWN if UNKNOWN in states else ExitCode.WARNING
