"""What the offset commands share: where a group stands, the plan, and carrying it out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import time

from mqctl.cli.emit import tell
from mqctl.cli.live_brokers import open_brokers
from mqctl.cli.live_groups import memberships_by_broker
from mqctl.cli.places import state_dir
from mqctl.errors import BadInputError, ExitCode, NotFoundError, RefusedError, UnreachableError, UsageError
from mqctl.execute.journal import CONFIRMED, NOT_MOVED, UNKNOWN, ChangeRecord, Journal
from mqctl.execute.offsets import carry_out
from mqctl.model.names import retry_topic
from mqctl.model.plan import ClusterIdentity, Method, OffsetPlan, PlanKind
from mqctl.model.queue import MessageQueue
from mqctl.plan.offsets import QueuePosition, Situation, choose_method, plan_changes
from mqctl.plan.targets import Target, ToGiven, ToTime
from mqctl.render.document import Document
from mqctl.render.offsets import MovedQueue, OffsetChangeReport, change_document, plan_document
from mqctl.snapshot.live_asking import Asking, Scope
from mqctl.snapshot.live_brokers import LiveBroker, ask_groups, ask_offsets, ask_settings, masters_of
from mqctl.snapshot.live_messages import at_time, bounds, queue_addresses, store_times


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be changed.

    Attributes:
        topics: each must exist but the group's retry topic.
        brokers, queue_ids: only these; all when empty.
        clamp: bring offsets outside a queue to its nearest bound.
        undoes: id of the change to take back.
    """

    group: str
    topics: tuple[str, ...]
    target: Target
    brokers: frozenset[str] = frozenset()
    queue_ids: frozenset[int] = frozenset()
    clamp: bool = False
    kind: PlanKind = PlanKind.OFFSET_RESET
    undoes: str | None = None


def journal() -> Journal:
    """Returns the journal of this user."""
    return Journal(state_dir() / "journal")


def run(asking: Asking, wish: Wish, *, execute: bool, confirmed: str | None) -> tuple[Document, int]:
    """Plans, and carries the plan out when asked to; returns what to show and the exit code.

    Raises:
        MqctlError: as `make_plan`, `confirm` and `carry_plan_out`.
    """
    plan = make_plan(asking, wish)
    hint = f"nothing was changed; add --execute --confirm {wish.group} to do it"
    if not execute or not plan.moving:
        return plan_document(plan, hint), ExitCode.OK
    confirm(wish.group, confirmed)
    record = carry_plan_out(asking, wish, plan)
    return change_document(report_of(record)), exit_code(record)


def undo_wish(asking: Asking, record: ChangeRecord) -> Wish:
    """Returns the wish to stand where a group stood before a change.

    Raises:
        BadInputError: this is another cluster.
        RefusedError: nothing of the change can be taken back.
    """
    # Names alone prove nothing: most clusters are called DefaultCluster, with a broker-a.
    here = {item.broker_name: (item.cluster, item.address) for item in asking.cluster.masters(asking.deadline)}
    for name, address in sorted(record.brokers.items()):
        if here.get(name) != (record.cluster, address):
            raise BadInputError(
                f"change {record.id} was made on another cluster",
                reason=f"it was made on {name} of {record.cluster} at {address}",
                remedy="name that cluster with --namesrv or --profile; if its broker has a new address, reset queue by "
                "queue to the old offsets of mqctl offset history -o json",
            )
    old = {
        MessageQueue(queue.topic, queue.broker_name, queue.queue_id): queue.old
        for queue in record.queues
        if queue.old is not None and queue.state != NOT_MOVED
    }
    if not old:
        reason = "no queue of it moved, or none had an offset before"
        raise RefusedError(f"change {record.id} cannot be taken back", reason=reason)
    return Wish(
        group=record.group,
        topics=tuple(sorted({queue.topic for queue in old})),
        target=ToGiven(old, f"before change {record.id}"),
        brokers=frozenset(queue.broker_name for queue in old),
        clamp=True,
        kind=PlanKind.UNDO,
        undoes=record.id,
    )


def clone_wish(asking: Asking, source: str, group: str, topic: str) -> Wish:
    """Returns the wish to stand where another group stands.

    Raises:
        NotFoundError: the source has no offset on the topic.
        UnreachableError: a broker does not tell.
    """
    brokers = masters_of(open_brokers(asking))
    ask_offsets(asking, brokers, Scope(groups=frozenset({source}), topics=frozenset({topic})))
    _all_answered(brokers)
    offsets = {
        MessageQueue(name, broker.name, queue_id): offset
        for broker in brokers
        for (_, name, queue_id), offset in broker.offsets.items()
        if name == topic
    }
    if not offsets:
        raise NotFoundError(f"group {source} has no offset on {topic}", remedy=f"mqctl group lag -g {source}")
    return Wish(
        group=group,
        topics=(topic,),
        target=ToGiven(offsets, f"group {source}"),
        brokers=frozenset(queue.broker_name for queue in offsets),
        clamp=True,
        kind=PlanKind.OFFSET_CLONE,
    )


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


def make_plan(asking: Asking, wish: Wish) -> OffsetPlan:
    """Computes the plan; asks only.

    Raises:
        NotFoundError: no such group, topic, broker or queue.
        UnreachableError: a broker in question does not answer.
        RefusedError: the group has members and these brokers leave offsets to them.
    """
    brokers = _brokers(asking, wish)
    queues = _queues(asking, wish)
    holders = {queue.broker_name for queue in queues}
    touched = [broker for broker in brokers if broker.name in holders]
    online = any(found.members for found in memberships_by_broker(asking, touched, wish.group).values())
    _all_answered(touched)
    method = choose_method(
        Situation(
            group=wish.group,
            online=online,
            server_side=all(broker.config.get("useServerSideResetOffset") == "true" for broker in touched),
            whole_topics=not wish.queue_ids,
        ),
        wish.target,
    )
    if method is Method.CALLBACK:
        raise RefusedError(
            f"cannot change offsets of group {wish.group}",
            reason="it has members, and these brokers leave offsets to them",
            remedy="stop its consumers and run it again; mqctl group members tells who they are",
        )
    found = at_time(asking, queues, wish.target.time_ms) if isinstance(wish.target, ToTime) else None
    changes = plan_changes(_positions(asking, wish.group, queues, touched), wish.target, found=found, clamp=wish.clamp)
    inside = {change.queue: change.new for change in changes if change.min_offset <= change.new < change.max_offset}
    times = store_times(asking, queues, inside)
    return OffsetPlan(
        kind=wish.kind,
        identity=ClusterIdentity(
            cluster=touched[0].address.cluster,
            brokers=tuple(sorted((broker.name, broker.address.address) for broker in touched)),
        ),
        group=wish.group,
        target=str(wish.target),
        method=method,
        made_at_ms=round(time() * 1000),
        online=online,
        changes=tuple(replace(change, new_store_time_ms=times.get(change.queue)) for change in changes),
        target_time_ms=wish.target.time_ms if isinstance(wish.target, ToTime) else None,
    )


def carry_plan_out(asking: Asking, wish: Wish, shown: OffsetPlan) -> ChangeRecord:
    """Carries out a plan, if it still holds.

    Raises:
        BadInputError: the group moved, or its members changed, since the plan was made.
        RefusedError: another mqctl changes the group.
        StorageError: the journal cannot be written; nothing was changed then.
    """
    book = journal()
    with book.alone(wish.group):
        plan = make_plan(asking, wish)
        _still_holds(shown, plan)
        record = book.open(plan, wish.undoes)
        tell(f"mqctl: change {record.id}; mqctl offset undo {record.id} takes it back")
        carry_out(asking.cluster, asking.deadline, record, dict(plan.identity.brokers), book.write)
    return record


def confirm(group: str, confirmed: str | None) -> None:
    """Has the user type the group's name, or takes `--confirm`. Raises RefusedError, UsageError."""
    if confirmed is None and sys.stdin.isatty():
        sys.stderr.write(f"Type the group's name to go on, anything else to stop: {group}? ")
        confirmed = sys.stdin.readline().strip()
        if confirmed != group:
            raise RefusedError("nothing was changed", reason="the name was not typed")
    if confirmed is None:
        raise RefusedError(
            "--execute needs a confirmation", reason="there is no terminal to ask on", remedy=f"add --confirm {group}"
        )
    if confirmed != group:
        raise UsageError(f"--confirm {confirmed} is not the group", reason=f"the plan is about {group}")


def exit_code(record: ChangeRecord) -> ExitCode | int:
    """Exit code of an execution: 0 all confirmed, 1 some did not move, 3 unconfirmed."""
    states = {queue.state for queue in record.queues} - {CONFIRMED}
    if not states:
        return ExitCode.OK
    return ExitCode.UNKNOWN if UNKNOWN in states else ExitCode.WARNING


def _brokers(asking: Asking, wish: Wish) -> list[LiveBroker]:
    """Returns the masters with settings, the group and its offsets."""
    brokers = masters_of(open_brokers(asking, wish.brokers))
    scope = Scope(groups=frozenset({wish.group}))
    ask_settings(asking, brokers)
    ask_groups(asking, brokers, scope)
    ask_offsets(asking, brokers, scope)
    if not any(broker.groups or broker.offsets or broker.gaps for broker in brokers):
        raise NotFoundError(f"there is no consumer group {wish.group}", remedy="mqctl group list --all")
    return brokers


def _queues(asking: Asking, wish: Wish) -> dict[MessageQueue, str]:
    found: dict[MessageQueue, str] = {}
    for topic in wish.topics:
        try:
            found |= queue_addresses(asking, topic)
        except NotFoundError:
            if topic != retry_topic(wish.group):
                raise
    known = {queue.queue_id for queue in found}
    if missing := sorted(wish.queue_ids - known):
        raise NotFoundError(f"there is no queue {missing[0]} of {wish.topics[0]}", remedy="mqctl topic route")
    return {
        queue: address
        for queue, address in found.items()
        if (not wish.brokers or queue.broker_name in wish.brokers or address in wish.brokers)
        and (not wish.queue_ids or queue.queue_id in wish.queue_ids)
    }


def _positions(
    asking: Asking, group: str, queues: dict[MessageQueue, str], brokers: Iterable[LiveBroker]
) -> list[QueuePosition]:
    committed = {(broker.name, *key): offset for broker in brokers for key, offset in broker.offsets.items()}
    ends = bounds(asking, queues)
    if unanswered := sorted(set(queues) - set(ends)):
        raise UnreachableError(
            f"broker {unanswered[0].broker_name} did not tell where queue {unanswered[0].queue_id} begins and ends",
            remedy="nothing was changed; check it with mqctl broker list, or leave it out with --broker",
        )
    return [
        QueuePosition(
            queue=queue,
            min_offset=low,
            max_offset=high,
            committed=committed.get((queue.broker_name, group, queue.topic, queue.queue_id)),
        )
        for queue, (low, high) in ends.items()
    ]


def _all_answered(brokers: list[LiveBroker]) -> None:
    if not brokers:
        raise NotFoundError("there is no queue to change", remedy="check the topic, and --queue and --broker")
    for broker in brokers:
        if broker.gaps:
            remedy = "nothing was changed; leave it out with --broker of the others, or wait for it"
            raise UnreachableError(f"broker {broker.name} did not answer", reason=broker.gaps[0].reason, remedy=remedy)


def _still_holds(shown: OffsetPlan, now: OffsetPlan) -> None:
    if (shown.online, shown.method, shown.identity) != (now.online, now.method, now.identity):
        reason = "members of the group or brokers came or went since the plan was made"
    elif not now.online and {change.queue: change.old for change in shown.changes} != {
        change.queue: change.old for change in now.changes
    }:
        reason = "somebody else moved the group since the plan was made"
    else:
        return
    raise BadInputError("nothing was changed", reason=reason, remedy="look at the new plan and run it again")
