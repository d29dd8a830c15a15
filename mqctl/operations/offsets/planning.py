"""From a wish to a plan for offsets: what is asked of a cluster, and what keeps a plan from being made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import time

from mqctl.cli.sources.brokers import open_brokers
from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.client.remoting.answers import not_told
from mqctl.errors import BadInputError, NotFoundError, RefusedError, UnreachableError
from mqctl.model.member import GroupMembership, MessageModel
from mqctl.model.names import retry_topic
from mqctl.model.near_names import meant
from mqctl.model.plan import Callback, ClusterIdentity, Method, OffsetChange, OffsetPlan, PlanKind
from mqctl.model.queue import MessageQueue
from mqctl.operations.topics.groups import memberships_by_broker
from mqctl.plan.callback import (
    EARLIEST_MS,
    LATEST_MS,
    Search,
    best_search,
    callback_changes,
    check_committed,
    instants,
)
from mqctl.plan.offsets import QueuePosition, Situation, choose_method, plan_changes
from mqctl.plan.targets import Target, ToEarliest, ToTime
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_offsets, ask_settings, masters_of
from mqctl.snapshot.live.messages import all_bounds, at_time, queue_addresses, searched, store_times

_POLLING = "CONSUME_ACTIVELY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be changed.

    Attributes:
        topics: each must exist but the group's retry topic.
        brokers, queue_ids: only these; all when empty.
        clamp: bring offsets outside a queue to its nearest bound.
        undoes, resumes: id of the change to take back, or to finish.
        expected: committed offsets that the wish rests on; a group without members must still have them.
        identity: master address by broker name of the cluster that the wish is about.
        origin: where that is from, for messages.
        callbacks: what is to be sent again, when a change that members carry out is finished.
        left_out: what the wish leaves out, each with the reason.
        creates: the group may not exist, and is created then; it must have no members.
    """

    group: str
    topics: tuple[str, ...]
    target: Target
    brokers: frozenset[str] = frozenset()
    queue_ids: frozenset[int] = frozenset()
    clamp: bool = False
    kind: PlanKind = PlanKind.OFFSET_RESET
    undoes: str | None = None
    resumes: str | None = None
    expected: Mapping[MessageQueue, frozenset[int | None]] = field(default_factory=dict)
    identity: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    callbacks: tuple[Callback, ...] = ()
    left_out: tuple[str, ...] = ()
    creates: bool = False


def make_plan(asking: Asking, wish: Wish) -> OffsetPlan:
    """Computes the plan; asks only.

    Raises:
        NotFoundError: no such group, topic, broker or queue.
        UnreachableError: a broker in question does not answer.
        RefusedError: the group has members, and these brokers leave such a change to them.
        BadInputError: the wish is about another cluster, or was overtaken.
    """
    check_identity(asking, wish)
    brokers = _brokers(asking, wish)
    queues = _queues(asking, wish)
    holders = {queue.broker_name for queue in queues}
    touched = [broker for broker in brokers if broker.name in holders]
    members = memberships_by_broker(LiveOrSaved(asking, None), touched, wish.group)
    all_answered(touched)
    situation = _situation(wish, touched, members)
    if wish.creates and situation.online:
        raise RefusedError(
            f"group {wish.group} cannot be pointed at a replay",
            reason="it has members: their backlog would be mixed up with it",
            remedy="name a new group, or stop them",
        )
    method = Method.CALLBACK if _again(wish, situation) else choose_method(situation, wish.target)
    positions = _positions(asking, wish.group, queues, touched)
    _not_overtaken(wish, positions, online=situation.online)
    callbacks: tuple[Callback, ...] = ()
    if method is Method.CALLBACK:
        changes, callbacks = _told_by_brokers(asking, wish, queues, positions)
    else:
        found = at_time(asking, queues, wish.target.time_ms) if isinstance(wish.target, ToTime) else None
        changes = plan_changes(positions, wish.target, found=found, clamp=wish.clamp)
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
        online=situation.online,
        changes=tuple(replace(change, new_store_time_ms=times.get(change.queue)) for change in changes),
        target_time_ms=wish.target.time_ms if isinstance(wish.target, ToTime) else None,
        callbacks=callbacks,
        left_out=wish.left_out,
        creates_on=tuple(broker.name for broker in touched if wish.creates and wish.group not in broker.groups),
    )


def check_identity(asking: Asking, wish: Wish) -> None:
    """Names alone prove nothing: most clusters are called DefaultCluster, with a broker-a. Raises BadInputError."""
    if not wish.identity:
        return
    here = {item.broker_name: item.address for item in asking.cluster.masters(asking.deadline)}
    for name, address in sorted(wish.identity.items()):
        if here.get(name) != address:
            raise BadInputError(
                f"{wish.origin} was made on another cluster",
                reason=f"it was made on {name} at {address}, which is {here.get(name, 'unknown')} here",
                remedy="name that cluster with --namesrv or --profile; if its broker has a new address, reset queue by "
                "queue to the old offsets of mqctl offset history -o json",
            )


def all_answered(brokers: list[LiveBroker]) -> None:
    """Raises NotFoundError when there is none; UnreachableError or PermissionDeniedError when one did not tell."""
    if not brokers:
        raise NotFoundError("there is no queue to change", remedy="check the topic, and --queue and --broker")
    for broker in brokers:
        if broker.gaps:
            remedy = "leave it out with --broker of the others, or wait for it"
            raise not_told(f"broker {broker.name} did not answer", broker.gaps[0].reason, remedy)


def _situation(wish: Wish, touched: list[LiveBroker], members: Mapping[str, GroupMembership]) -> Situation:
    online = [found for found in members.values() if found.members]
    return Situation(
        group=wish.group,
        online=bool(online),
        server_side=all(broker.config.get("useServerSideResetOffset") == "true" for broker in touched),
        whole_topics=not wish.queue_ids,
        polling=any(found.consume_type == _POLLING for found in online),
        broadcasting=any(found.message_model is MessageModel.BROADCASTING for found in online),
    )


def _again(wish: Wish, situation: Situation) -> bool:
    return bool(wish.callbacks) and situation.online and not situation.server_side


def _brokers(asking: Asking, wish: Wish) -> list[LiveBroker]:
    """Returns the masters with settings, the group and its offsets."""
    brokers = masters_of(open_brokers(asking, wish.brokers))
    scope = Scope(groups=frozenset({wish.group}))
    ask_settings(asking, brokers)
    ask_groups(asking, brokers, scope)
    ask_offsets(asking, brokers, scope)
    if not wish.creates and not any(broker.groups or broker.offsets or broker.gaps for broker in brokers):
        told = {name for broker in brokers for name in broker.told_groups}
        remedy = meant(wish.group, told, "mqctl group list --all")
        raise NotFoundError(f"there is no consumer group {wish.group}", remedy=remedy)
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
    ends = all_bounds(asking, queues, "nothing was changed")
    return [
        QueuePosition(
            queue=queue,
            min_offset=low,
            max_offset=high,
            committed=committed.get((queue.broker_name, group, queue.topic, queue.queue_id)),
        )
        for queue, (low, high) in ends.items()
    ]


def _not_overtaken(wish: Wish, positions: Iterable[QueuePosition], *, online: bool) -> None:
    for position in positions:
        known = wish.expected.get(position.queue)
        if known is None or online or position.committed in known:
            continue
        was = " or ".join(str(item) for item in sorted(known, key=str))
        raise BadInputError(
            f"{wish.origin} was overtaken: nothing was changed",
            reason=f"it rests on offset {was} of queue {position.queue.queue_id} of {position.queue.topic} on "
            f"{position.queue.broker_name}, which has {position.committed} now",
            remedy="make a new plan; mqctl offset history tells what was changed from here",
        )


def _told_by_brokers(
    asking: Asking, wish: Wish, queues: Mapping[MessageQueue, str], positions: list[QueuePosition]
) -> tuple[tuple[OffsetChange, ...], tuple[Callback, ...]]:
    """Plans a change that members carry out: for each topic and broker, what its own search would do."""
    check_committed(positions, wish.group)
    changes: list[OffsetChange] = []
    callbacks: list[Callback] = []
    sent = {(item.topic, item.broker_name): item.time_ms for item in wish.callbacks}
    for place in sorted({(position.queue.topic, position.queue.broker_name) for position in positions}):
        mine = sorted(
            (item for item in positions if (item.queue.topic, item.queue.broker_name) == place),
            key=lambda item: item.queue,
        )
        addresses = {item.queue: queues[item.queue] for item in mine}
        if wish.callbacks:
            if place not in sent:
                continue
            search = _search(asking, addresses, mine, sent[place])
            exact = search.found
        else:
            search, exact = _search_for(asking, wish.target, addresses, mine)
        found, callback = callback_changes(place, mine, exact, search)
        changes += found
        callbacks.append(callback)
    return tuple(changes), tuple(callbacks)


def _search_for(
    asking: Asking, target: Target, addresses: dict[MessageQueue, str], positions: list[QueuePosition]
) -> tuple[Search, Mapping[MessageQueue, int]]:
    """Returns the search to send, and the offsets that are wanted."""
    if isinstance(target, ToTime):
        exact = at_time(asking, addresses, target.time_ms)
        inside = {item.queue: exact[item.queue] for item in positions if exact[item.queue] < item.max_offset}
        times = instants(target.time_ms, store_times(asking, addresses, inside).values())
    elif isinstance(target, ToEarliest):
        exact, times = {item.queue: item.min_offset for item in positions}, (EARLIEST_MS,)
    else:
        exact, times = {item.queue: item.max_offset for item in positions}, (LATEST_MS,)
    return best_search([_search(asking, addresses, positions, time_ms) for time_ms in times], exact), exact


def _search(asking: Asking, addresses: dict[MessageQueue, str], positions: list[QueuePosition], time_ms: int) -> Search:
    if time_ms == LATEST_MS:
        return Search(time_ms=time_ms, found={item.queue: item.max_offset for item in positions})
    found = searched(asking, addresses, time_ms)
    if unanswered := sorted(set(addresses) - set(found)):
        raise UnreachableError(
            f"broker {unanswered[0].broker_name} did not tell where it would begin",
            remedy="nothing was changed; check it with mqctl broker list, or leave it out with --broker",
        )
    return Search(time_ms=time_ms, found=found)
