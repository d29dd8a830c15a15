"""From a request to a plan for offsets: what is asked of a cluster, and what keeps a plan from being made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from time import time

from mqctl.changes.engine.same_cluster import refuse_other_cluster
from mqctl.changes.offsets.holders import holders
from mqctl.changes.plan.callback import (
    EARLIEST_MS,
    LATEST_MS,
    Search,
    best_search,
    callback_changes,
    check_committed,
    instants,
)
from mqctl.changes.plan.offsets import (
    GroupSituation,
    ShiftBy,
    Target,
    ToEarliest,
    ToGiven,
    ToTime,
    choose_method,
    plan_changes,
)
from mqctl.cli.sources.brokers import open_brokers
from mqctl.errors import BadInputError, NotFoundError, RefusedError, UnreachableError
from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import GroupMembership, MessageModel
from mqctl.model.names import retry_topic
from mqctl.model.names_alike import meant
from mqctl.model.plan import Callback, ClusterIdentity, Method, OffsetChange, OffsetPlan, PlanKind, QueuePosition
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_offsets, ask_settings, masters_of
from mqctl.snapshot.live.members import members_by_broker
from mqctl.snapshot.live.messages import all_bounds, at_time, queue_addresses, searched, store_times
from mqctl.text import sentence

_POLLING = "CONSUME_ACTIVELY"
_JUST_NOW_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRequest:
    """What is to be changed.

    Attributes:
        topics: each must exist but the group's retry topic.
        brokers, queue_ids: only these; all when empty.
        clamp: bring offsets outside a queue to its nearest bound.
        undoes, resumes: id of the change to take back, or to finish.
        skipped: from where to where the change to take back moved each queue.
        expected: committed offsets that the request rests on; a group without members must still have them.
        identity: master address by broker name of the cluster that the request is about.
        origin: where that is from, for messages.
        callbacks: what is to be sent again, when a change that members carry out is finished.
        left_out: what the request leaves out, each with the reason.
        creates: the group may not exist, and is created then; it must have no members.
        online_way: of such a one, the command that moves a group with members.
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
    skipped: Mapping[MessageQueue, tuple[int, int]] = field(default_factory=dict)
    expected: Mapping[MessageQueue, frozenset[int | None]] = field(default_factory=dict)
    identity: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    callbacks: tuple[Callback, ...] = ()
    left_out: tuple[str, ...] = ()
    creates: bool = False
    online_way: str = ""


def make_plan(asking: Asking, request: OffsetRequest) -> OffsetPlan:
    """Computes the plan; asks only.

    Raises:
        NotFoundError: no such group, topic, broker or queue.
        UnreachableError: a broker in question does not answer.
        RefusedError: the group has members, and these brokers leave such a change to them.
        BadInputError: the request is about another cluster, or was overtaken.
    """
    if request.identity:
        otherwise = sentence(
            "offset-if-broker-new-address",
            "if its broker has a new address, reset queue by queue to the old offsets of mqctl history -o json",
        )
        refuse_other_cluster(asking, request.identity, request.origin, otherwise)
    brokers = _brokers(asking, request)
    queues = _queues(asking, request)
    names = {queue.broker_name for queue in queues}
    touched = [broker for broker in brokers if broker.name in names]
    members = members_by_broker(asking, touched, request.group)
    all_answered(touched)
    situation = _situation(request, touched, members)
    if request.creates and situation.online:
        raise RefusedError(
            sentence(
                "offset-group-cannot-used-replay", "group {group} cannot be used for the replay", group=request.group
            ),
            reason=sentence(
                "offset-members-backlog-mixed-replay", "it has members: their backlog would be mixed with the replay"
            ),
            remedy=sentence(
                "offset-consume-again-members-online",
                "to consume it again with the members online: {online_way}; or name a new group",
                online_way=request.online_way or "mqctl offset reset",
            ),
        )
    method = Method.COMMIT
    if situation.online and _may_hold(asking, request, touched, members):
        method = Method.CALLBACK if _again(request, situation) else choose_method(situation, request.target)
    positions = _positions(asking, request.group, queues, touched)
    _not_overtaken(request, positions, online=situation.online)
    callbacks: tuple[Callback, ...] = ()
    if method is Method.CALLBACK:
        changes, callbacks = _told_by_brokers(asking, request, queues, positions)
    else:
        targets = at_time(asking, queues, request.target.time_ms) if isinstance(request.target, ToTime) else None
        changes = plan_changes(positions, request.target, targets=targets, clamp=request.clamp)
    inside = {change.queue: change.new for change in changes if change.min_offset <= change.new < change.max_offset}
    times = store_times(asking, queues, inside)
    return OffsetPlan(
        kind=request.kind,
        identity=ClusterIdentity(
            cluster=touched[0].address.cluster,
            brokers=tuple(sorted((broker.name, broker.address.address) for broker in touched)),
        ),
        group=request.group,
        target=str(request.target),
        method=method,
        made_at_ms=round(time() * 1000),
        online=situation.online,
        changes=tuple(replace(change, new_store_time_ms=times.get(change.queue)) for change in changes),
        target_time_ms=request.target.time_ms if isinstance(request.target, ToTime) else None,
        callbacks=callbacks,
        left_out=request.left_out,
        goes_back=_goes_back(request.target),
        unskipped_count=sum(change.replayed_between(*request.skipped.get(change.queue, (0, 0))) for change in changes),
        creates_on=tuple(broker.name for broker in touched if request.creates and request.group not in broker.groups),
    )


def _goes_back(target: Target) -> bool:
    """Tells whether who names the target means to go back: a time that is a minute old, fewer messages."""
    if isinstance(target, ToTime):
        return target.time_ms < round(time() * 1000) - _JUST_NOW_MS
    return isinstance(target, ShiftBy) and target.count < 0


def all_answered(brokers: list[LiveBroker]) -> None:
    """Raises NotFoundError when there is none; UnreachableError or PermissionDeniedError when one did not tell."""
    if not brokers:
        raise NotFoundError(
            sentence("offset-no-queue-change", "there is no queue to change"),
            remedy=sentence("offset-check-topic-queue-broker", "check the topic, and --queue and --broker"),
        )
    for broker in brokers:
        if broker.gaps:
            remedy = sentence("leave-out-broker-others", "leave it out with --broker of the others, or wait for it")
            raise broker.gaps[0].as_error(
                sentence("broker-did-not-answer", "broker {broker} did not answer", broker=broker.name), remedy
            )


def _situation(
    request: OffsetRequest, touched: list[LiveBroker], members: Mapping[str, GroupMembership]
) -> GroupSituation:
    online = [member for member in members.values() if member.members]
    return GroupSituation(
        group=request.group,
        online=bool(online),
        server_side=all(broker.config.get("useServerSideResetOffset") == "true" for broker in touched),
        whole_topics=not request.queue_ids,
        approximate=request.kind is PlanKind.UNDO,
        polling=any(member.consume_type == _POLLING for member in online),
        broadcasting=any(member.message_model is MessageModel.BROADCASTING for member in online),
    )


def _may_hold(
    asking: Asking, request: OffsetRequest, touched: list[LiveBroker], members: Mapping[str, GroupMembership]
) -> bool:
    """Tells whether members may hold queues of the topics. Members that have left a topic do not hear what brokers tell
    them of it, and commit nothing there: what brokers say of subscriptions is the last heartbeat's, so all are asked.
    """
    topics = set(request.topics)
    if not topics.isdisjoint(item.topic for member in members.values() for item in member.subscriptions):
        return True
    if any(member.members and member.consume_type == _POLLING for member in members.values()):
        return True  # a pull consumer commits where it likes
    said = holders(asking.cluster, {broker.address.address for broker in touched}, request.group, asking.deadline)
    return not said.complete or not topics.isdisjoint(said.subscribed | {queue.topic for queue in said.queues})


def _again(request: OffsetRequest, situation: GroupSituation) -> bool:
    return bool(request.callbacks) and situation.online and not situation.server_side


def _brokers(asking: Asking, request: OffsetRequest) -> list[LiveBroker]:
    """Returns the masters with settings, the group and its offsets."""
    brokers = masters_of(open_brokers(asking, request.brokers))
    scope = Scope(groups=frozenset({request.group}))
    ask_settings(asking, brokers)
    ask_groups(asking, brokers, scope)
    ask_offsets(asking, brokers, scope)
    if not request.creates and not any(broker.groups or broker.offsets or broker.gaps for broker in brokers):
        known = {name for broker in brokers for name in broker.told_groups}
        remedy = meant(request.group, known, "mqctl group list --all")
        raise NotFoundError(
            sentence("no-consumer-group", "there is no consumer group {group}", group=request.group), remedy=remedy
        )
    return brokers


def _queues(asking: Asking, request: OffsetRequest) -> dict[MessageQueue, str]:
    places: dict[MessageQueue, str] = {}
    for topic in request.topics:
        try:
            places |= queue_addresses(asking, topic)
        except NotFoundError:
            if topic != retry_topic(request.group):
                raise
    known = {queue.queue_id for queue in places}
    if missing := sorted(request.queue_ids - known):
        raise NotFoundError(
            sentence(
                "offset-no-queue",
                "there is no queue {missing} of {topics}",
                missing=missing[0],
                topics=request.topics[0],
            ),
            remedy=command_line("mqctl topic route"),
        )
    return {
        queue: address
        for queue, address in places.items()
        if (not request.brokers or queue.broker_name in request.brokers or address in request.brokers)
        and (not request.queue_ids or queue.queue_id in request.queue_ids)
    }


def _positions(
    asking: Asking, group: str, queues: dict[MessageQueue, str], brokers: Iterable[LiveBroker]
) -> list[QueuePosition]:
    committed = {(broker.name, *key): offset for broker in brokers for key, offset in broker.offsets.items()}
    ends = all_bounds(asking, queues, sentence("nothing-changed", "nothing was changed"))
    return [
        QueuePosition(
            queue=queue,
            min_offset=low,
            max_offset=high,
            old=committed.get((queue.broker_name, group, queue.topic, queue.queue_id)),
        )
        for queue, (low, high) in ends.items()
    ]


def _not_overtaken(request: OffsetRequest, positions: Iterable[QueuePosition], *, online: bool) -> None:
    for position in positions:
        known = request.expected.get(position.queue)
        if known is None or online or position.old in known:
            continue
        raise BadInputError(
            sentence(
                "offset-out-date-nothing-changed", "{origin} is out of date: nothing was changed", origin=request.origin
            ),
            reason=sentence(
                "rests-offset-queue-now",
                "it rests on offset {was:or} of queue {queue_id} of {topic} on {broker_name}, which has {old} now",
                was=sorted(known, key=str),
                queue_id=position.queue.queue_id,
                topic=position.queue.topic,
                broker_name=position.queue.broker_name,
                old=position.old,
            ),
            remedy=sentence(
                "make-new-plan-offset",
                "make a new plan; mqctl history lists what was changed from here",
            ),
        )


def _told_by_brokers(
    asking: Asking, request: OffsetRequest, queues: Mapping[MessageQueue, str], positions: list[QueuePosition]
) -> tuple[tuple[OffsetChange, ...], tuple[Callback, ...]]:
    """Plans a change that members carry out: for each topic and broker, what its own search would do."""
    check_committed(positions, request.group)
    changes: list[OffsetChange] = []
    callbacks: list[Callback] = []
    sent = {(item.topic, item.broker_name): item.time_ms for item in request.callbacks}
    for place in sorted({(position.queue.topic, position.queue.broker_name) for position in positions}):
        mine = sorted(
            (item for item in positions if (item.queue.topic, item.queue.broker_name) == place),
            key=lambda item: item.queue,
        )
        addresses = {item.queue: queues[item.queue] for item in mine}
        if request.callbacks:
            if place not in sent:
                continue
            search = _search(asking, addresses, mine, sent[place])
            exact = search.found
        else:
            search, exact = _search_for(asking, request.target, addresses, mine)
        planned, callback = callback_changes(place, mine, exact, search)
        changes += planned
        callbacks.append(callback)
    return tuple(changes), tuple(callbacks)


def _search_for(
    asking: Asking, target: Target, addresses: dict[MessageQueue, str], positions: list[QueuePosition]
) -> tuple[Search, Mapping[MessageQueue, int]]:
    """Returns the search to send, and the offsets that are wanted."""
    if isinstance(target, ToGiven):
        return _search_before(asking, target, addresses, positions)
    if isinstance(target, ToTime):
        exact = at_time(asking, addresses, target.time_ms)
        inside = {item.queue: exact[item.queue] for item in positions if exact[item.queue] < item.max_offset}
        times = instants(target.time_ms, store_times(asking, addresses, inside).values())
    elif isinstance(target, ToEarliest):
        exact, times = {item.queue: item.min_offset for item in positions}, (EARLIEST_MS,)
    else:
        exact, times = {item.queue: item.max_offset for item in positions}, (LATEST_MS,)
    return best_search([_search(asking, addresses, positions, time_ms) for time_ms in times], exact), exact


def _search_before(
    asking: Asking, target: ToGiven, addresses: dict[MessageQueue, str], positions: list[QueuePosition]
) -> tuple[Search, Mapping[MessageQueue, int]]:
    """Returns the search that begins at given offsets or before them, and the offsets.

    Brokers take a time for all queues of a topic: a queue for which nothing is given stands where it stands, or before.
    """
    exact = {}
    for item in positions:
        given = target.offsets.get(item.queue, item.old or item.min_offset)
        exact[item.queue] = min(max(given, item.min_offset), item.max_offset)
    inside = {item.queue: exact[item.queue] for item in positions if exact[item.queue] < item.max_offset}
    times = {EARLIEST_MS, *([] if inside else [LATEST_MS])}
    for time_ms in store_times(asking, addresses, inside).values():
        times |= {time_ms, time_ms - 1}
    return best_search([_search(asking, addresses, positions, time_ms) for time_ms in sorted(times)], exact), exact


def _search(asking: Asking, addresses: dict[MessageQueue, str], positions: list[QueuePosition], time_ms: int) -> Search:
    if time_ms == LATEST_MS:
        return Search(time_ms=time_ms, found={item.queue: item.max_offset for item in positions})
    searched_times = searched(asking, addresses, time_ms)
    if unanswered := sorted(set(addresses) - set(searched_times)):
        raise UnreachableError(
            sentence(
                "offset-broker-did-not-report",
                "broker {broker_name} did not report where it would begin",
                broker_name=unanswered[0].broker_name,
            ),
            remedy=sentence(
                "offset-nothing-changed-check-broker",
                "nothing was changed; check it with mqctl broker list, or leave it out with --broker",
            ),
        )
    return Search(time_ms=time_ms, found=searched_times)
