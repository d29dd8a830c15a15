"""A live cluster as a snapshot: all that rules ask for, under one deadline; what nobody answers becomes a gap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from mqctl.client.admin.cluster import BrokerAddress, Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.member import GroupMembership, RunningInfo, filtered_topics
from mqctl.model.names import is_retry_topic, is_system_topic
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.pop_share import PopShare
from mqctl.model.progress import Progress
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState, TagSample
from mqctl.model.route import NameServerView, SeenBroker
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_again_about_unlisted, gather_brokers, masters_of, speakers_of
from mqctl.snapshot.live.members import ask_unplaced, gather_memberships
from mqctl.snapshot.live.missed import try_addresses
from mqctl.snapshot.live.newest import ask_newest
from mqctl.snapshot.live.pop import gather_pop
from mqctl.snapshot.live.queues import (
    Place,
    ask_ages,
    ask_expired_again,
    gather_offsets,
    gather_queues,
    lagging_places,
    offset_states,
    queue_bounds,
    with_hidden_queues,
)
from mqctl.snapshot.live.routes import ask_name_servers, ask_routes
from mqctl.snapshot.live.running import gather_running, without_stacks

if TYPE_CHECKING:
    from mqctl.model.delay_state import DelayState
    from mqctl.model.transaction_state import TransactionState

T = TypeVar("T")
# Two commit periods of consumers: offsets that are further back do not just wait to be committed.
_STANDS_MS = 10_000
_FILTERED_TOPICS = 32
_NOTHING = frozenset({""})  # an empty set would stand for every topic
_STEPS = ("name servers", "brokers", "groups", "routes", "queues", "consumers", "ages")


def gather_live(
    cluster: Cluster,
    deadline: Deadline,
    *,
    now_ms: int,
    scope: Scope | None = None,
    with_stacks: bool = False,
    sampled: Set[str] = frozenset(),
    members_only: bool = False,
    progress: Progress | None = None,
    patience_ms: int | None = None,
    missing: Callable[[tuple[BrokerAddress, ...]], Iterable[SeenBroker]] | None = None,
) -> ClusterSnapshot:
    """Gathers a snapshot of a live cluster.

    Args:
        now_ms: epoch milliseconds of this moment; all ages refer to it.
        scope: groups, topics and brokers to look at; everything by default.
        with_stacks: ask consumers for their threads as well.
        sampled: topics whose tags are sampled in any case, not only where members of a group differ.
        members_only: leave out what says nothing of members: replication, access lists, delay levels, transactions.
        progress, patience_ms: told which of how many steps is done; of `Asking`.
        missing: returns the brokers that ought to be registered beside those that are: they are tried where they were.

    Raises:
        UnreachableError, DeadlineError: no name server answered.
    """
    cluster.releases_told = True  # by the rules that judge the snapshot
    say = _teller(progress)
    wanted, asking = scope or Scope(), Asking(cluster, deadline, patience_ms)
    say("name servers")
    servers, addresses, gaps = ask_name_servers(asking)
    say("brokers")
    tried = try_addresses(asking, missing(addresses) if missing is not None else ())
    brokers = gather_brokers(asking, addresses, wanted)
    if not members_only:
        _ask_more_of_brokers(asking, brokers, now_ms)
    say("groups")
    memberships = gather_memberships(asking, brokers, wanted)
    narrow = _of_groups(wanted, brokers, memberships)
    say("routes")
    views, route_gaps = ask_routes(asking, servers, topics := _topics(brokers, narrow))
    ask_again_about_unlisted(asking, brokers, views)
    say("queues")
    queues = with_hidden_queues(asking, brokers, gather_queues(asking, brokers, narrow), narrow)
    ask_expired_again(asking, brokers, queues)
    live, others = _by_members(lagging_places(brokers, queues), memberships)
    ages = ask_ages(asking, brokers, live, now_ms)
    say("consumers")
    memberships = ask_unplaced(asking, brokers, memberships, queues)
    running, running_gaps = gather_running(asking, brokers, memberships, with_stacks=with_stacks)
    more = _subscribed(memberships, running, wanted) - {*topics}
    views, more_gaps = _with_routes(asking, views, more)
    queues |= _more_queues(asking, brokers, queues, (wanted, more))
    ask_newest(asking, brokers, queues, now_ms)
    records = _by_records(asking, masters_of(brokers), wanted, now_ms, members_only=members_only)
    running_gaps += tuple(without_stacks(running) if with_stacks else ())
    offsets = offset_states(brokers, ages, now_ms)
    chosen = (sampled | _filtered(memberships, offsets, now_ms), _filtered_by_all(memberships, running, wanted))
    samples, sample_gaps = _tag_samples(asking, running, views, chosen)
    say("ages")
    offsets = offset_states(brokers, ages | ask_ages(asking, brokers, others, now_ms), now_ms)
    return ClusterSnapshot(
        origin=_origin(cluster, now_ms),
        brokers=_snapshots(brokers, queues, offsets, memberships, records),
        name_servers=views,
        running=running,
        seen_brokers=tried(),
        tag_samples=samples,
        unavailable=(*gaps, *route_gaps, *more_gaps, *running_gaps, *sample_gaps),
    )


def _teller(progress: Progress | None) -> Callable[[str], None]:
    def say(step: str) -> None:
        if progress is not None:
            progress(step, _STEPS.index(step), len(_STEPS))

    return say


def _by_members(
    places: Sequence[Place], memberships: Mapping[int, tuple[GroupMembership, ...]]
) -> tuple[list[Place], list[Place]]:
    """Returns places of groups with members, and those of others, which are asked about last: thousands of groups that
    nobody runs any more must not keep the others from being judged."""
    online = {entry.group for entries in memberships.values() for entry in entries}
    return [one for one in places if one[1] in online], [one for one in places if one[1] not in online]


def _of_groups(
    scope: Scope, brokers: list[LiveBroker], memberships: Mapping[int, tuple[GroupMembership, ...]]
) -> Scope:
    """Narrows what is asked about groups to the topics that they subscribe to or have offsets on."""
    if not scope.groups or scope.topics:
        return scope
    of_members = (entry.subscriptions for entries in memberships.values() for entry in entries)
    subscribed = {item.topic for subscriptions in of_members for item in subscriptions}
    return replace(
        scope, topics=subscribed | {topic for broker in brokers for _, topic, _ in broker.offsets} | _NOTHING
    )


def _more_queues(
    asking: Asking,
    brokers: list[LiveBroker],
    queues: Mapping[int, tuple[QueueState, ...]],
    more: tuple[Scope, Set[str]],
) -> dict[int, tuple[QueueState, ...]]:
    """Asks for the queues of topics that single members say they subscribe to, and nobody was asked about yet."""
    scope, topics = more
    seen = {(number, state.topic) for number, states in queues.items() for state in states}
    places = [
        (number, topic)
        for number, broker in enumerate(brokers)
        for topic in (broker.user_topics(scope) if topics else ())
        if topic in topics and (number, topic) not in seen
    ]
    return {
        number: tuple(sorted((*queues.get(number, ()), *states), key=lambda item: (item.topic, item.queue_id)))
        for number, states in queue_bounds(asking, brokers, places).items()
    }


def _subscribed(
    memberships: Mapping[int, tuple[GroupMembership, ...]], running: tuple[RunningInfo, ...], scope: Scope
) -> set[str]:
    """Returns what members subscribe, by what they and brokers say; some of it nobody may have asked for: dead letters
    of another group, topics of brokers that are not looked at, topics that are nowhere."""
    of_members = (entry.subscriptions for entries in memberships.values() for entry in entries)
    return {
        item.topic
        for subscriptions in (*of_members, *(info.subscriptions for info in running))
        for item in subscriptions
        if not is_retry_topic(item.topic) and scope.has_topic(item.topic)
    }


def _with_routes(
    asking: Asking, views: tuple[NameServerView, ...], topics: Set[str]
) -> tuple[tuple[NameServerView, ...], list[Gap]]:
    if not topics:
        return views, []
    more, gaps = ask_routes(asking, {view.address: view.endpoints for view in views}, sorted(topics))
    pairs = zip(views, more, strict=True)
    joined = (
        replace(
            view,
            routes=(*view.routes, *extra.routes),
            unknown_topics=(*view.unknown_topics, *extra.unknown_topics),
        )
        for view, extra in pairs
    )
    return tuple(joined), gaps


def gather_numbers(
    cluster: Cluster,
    deadline: Deadline,
    *,
    now_ms: int,
    scope: Scope | None = None,
    with_consumers: bool = False,
    with_pop: bool = False,
) -> ClusterSnapshot:
    """Gathers what monitors count: brokers, queues, offsets, members online, delay levels.

    Args:
        with_consumers: ask consumers what they say of themselves as well, who owns which queue for instance.
        with_pop: ask as well who pops (5.x), and what of it is not acknowledged.

    Raises:
        UnreachableError, DeadlineError: no name server answered.
    """
    cluster.releases_told = True  # by the rules that judge the snapshot
    wanted, asking = scope or Scope(), Asking(cluster, deadline)
    servers, addresses, gaps = ask_name_servers(asking)
    views, _ = ask_routes(asking, servers, [])
    brokers = gather_brokers(asking, addresses, wanted)
    queues = gather_queues(asking, brokers, wanted)
    offsets = gather_offsets(asking, brokers, queues, now_ms)
    memberships = gather_memberships(asking, brokers, wanted)
    running, running_gaps = gather_running(asking, brokers, memberships) if with_consumers else ((), ())
    masters = masters_of(brokers)
    delayed = _delayed(asking, masters, now_ms)
    popped = _by_address(masters, gather_pop(asking, masters, wanted.groups, now_ms)) if with_pop else {}
    return ClusterSnapshot(
        origin=_origin(cluster, now_ms),
        brokers=_snapshots(brokers, queues, offsets, memberships, (delayed, {}, popped)),
        name_servers=views,
        running=running,
        unavailable=(*gaps, *running_gaps),
    )


def _ask_more_of_brokers(asking: Asking, brokers: list[LiveBroker], now_ms: int) -> None:
    from mqctl.snapshot.live.access import ask_checked_access
    from mqctl.snapshot.live.replication import ask_copies, ask_replication
    from mqctl.snapshot.live.retained import ask_second_files

    ask_checked_access(asking, masters_of(brokers))
    ask_replication(asking, brokers)
    ask_copies(asking, brokers)
    ask_second_files(asking, brokers, now_ms)


_Records: TypeAlias = "tuple[dict[BrokerAddress, DelayState], dict[BrokerAddress, TransactionState], _Pops]"
_Pops: TypeAlias = dict[BrokerAddress, tuple[PopShare, ...]]


def _by_records(
    asking: Asking, masters: list[LiveBroker], scope: Scope, now_ms: int, *, members_only: bool
) -> _Records:
    """Returns what only records of internal queues tell: delay levels, transactions, and what is popped."""
    if members_only:
        return {}, {}, _by_address(masters, gather_pop(asking, masters, scope.groups, now_ms))
    from mqctl.snapshot.live.transactions import FEW_HALVES, transaction_states

    return (
        _delayed(asking, masters, now_ms),
        _by_address(masters, transaction_states(asking, masters, limit=FEW_HALVES)),
        _by_address(masters, gather_pop(asking, masters, scope.groups, now_ms)),
    )


def _delayed(asking: Asking, masters: list[LiveBroker], now_ms: int) -> dict[BrokerAddress, DelayState]:
    from mqctl.snapshot.live.delay import FEW_RECORDS, delay_states

    return _by_address(masters, delay_states(asking, masters, now_ms=now_ms, records=FEW_RECORDS))


def _by_address(brokers: list[LiveBroker], states: Mapping[int, T]) -> dict[BrokerAddress, T]:
    return {brokers[number].address: state for number, state in states.items()}


def _origin(cluster: Cluster, now_ms: int) -> Origin:
    location = ";".join(cluster.name_servers.addresses())
    return Origin(
        kind=OriginKind.LIVE,
        location=location,
        observed_at_ms=now_ms,
        observed_from=ObservedFrom.CLOCK,
        signed=cluster.links.settings.credentials is not None,
    )


def _filtered(
    memberships: Mapping[int, tuple[GroupMembership, ...]],
    offsets: Mapping[int, tuple[ConsumerOffsetState, ...]],
    now_ms: int,
) -> set[str]:
    """Returns the topics on which a group stands back that filters by tag: what waits there may be nothing to it."""
    filtered: set[str] = set()
    for number, members in memberships.items():
        by_tag = {(entry.group, item.topic) for entry in members for item in entry.subscriptions if item.tags}
        for held in offsets.get(number, ()):
            since_ms = held.next_store_time_ms
            if (held.group, held.topic) in by_tag and since_ms is not None and now_ms - since_ms >= _STANDS_MS:
                filtered.add(held.topic)
    return {topic for topic in filtered if not is_retry_topic(topic)}


def _filtered_by_all(
    memberships: Mapping[int, tuple[GroupMembership, ...]], running: tuple[RunningInfo, ...], scope: Scope
) -> set[str]:
    """Returns topics that all their groups filter by tag, as many as are sampled; none where groups were left out."""
    if scope.groups or scope.brokers:
        return set()
    entries = (entry for by_broker in memberships.values() for entry in by_broker)
    topics = (topic for topic in filtered_topics(entries, running) if scope.has_topic(topic))
    return {*sorted(topic for topic in topics if not is_system_topic(topic))[:_FILTERED_TOPICS]}


def _tag_samples(
    asking: Asking,
    running: tuple[RunningInfo, ...],
    views: tuple[NameServerView, ...],
    chosen: tuple[Set[str], Set[str]],
) -> tuple[tuple[TagSample, ...], list[Gap]]:
    """Samples the topics on which members of one group want different things, to count what they lose, and those that
    were chosen: some, and those of which all groups are known."""
    sampled, alone = chosen
    wanted: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for info in running:
        for item in info.subscriptions:
            wanted.setdefault((info.group, item.topic), set()).add((item.expression_type, *item.tags))
    torn = {topic for (_, topic), sets in wanted.items() if len(sets) > 1 and not is_retry_topic(topic)}
    routes = {route.topic: route for view in reversed(views) for route in view.routes}
    queues: dict[MessageQueue, str] = {}
    for topic in sorted(torn | sampled | alone):
        if topic in routes:
            masters = {endpoint.name: endpoint.master for endpoint in routes[topic].endpoints}
            for queue in routes[topic].readable_queues():
                address = masters.get(queue.broker_name)
                if address is not None:
                    queues[queue] = address
    if not queues:
        return (), []
    from mqctl.snapshot.live.tags import sample_tags

    samples, failed = sample_tags(asking, queues)
    gaps = [
        Gap.of(Part.TAGS, why, GapSubject(topic=queue.topic, queue_id=queue.queue_id), broker=queue.broker_name)
        for queue, why in sorted(failed.items())
    ]
    return tuple(replace(item, all_groups_known=item.queue.topic in alone) for item in samples), gaps


def _topics(brokers: list[LiveBroker], scope: Scope) -> list[str]:
    return sorted({topic for broker in brokers for topic in broker.user_topics(scope) if not is_system_topic(topic)})


def _snapshots(
    brokers: list[LiveBroker],
    queues: Mapping[int, tuple[QueueState, ...]],
    offsets: Mapping[int, tuple[ConsumerOffsetState, ...]],
    memberships: Mapping[int, tuple[GroupMembership, ...]],
    records: _Records,
) -> tuple[BrokerSnapshot, ...]:
    speaking = {broker.name: broker.address.is_master for broker in speakers_of(brokers) if not broker.lost}
    return tuple(
        _snapshot(
            broker,
            queues.get(number, ()),
            offsets.get(number, ()),
            memberships.get(number, ()),
            records,
            spoken_for=speaking.get(broker.name) is False,
        )
        for number, broker in enumerate(brokers)
    )


def _snapshot(
    broker: LiveBroker,
    queues: tuple[QueueState, ...],
    offsets: tuple[ConsumerOffsetState, ...],
    memberships: tuple[GroupMembership, ...],
    records: _Records,
    *,
    spoken_for: bool,
) -> BrokerSnapshot:
    """Returns what one process told.

    Args:
        spoken_for: its slave told who is online.
    """
    delayed, pending, popped = records
    whole: tuple[Part, ...] = ()
    if broker.lost and broker.address.is_master:
        whole = (Part.QUEUES, Part.STORE_TIMES, Part.PRODUCERS, *(() if spoken_for else (Part.MEMBERS,)))
    return BrokerSnapshot(
        name=broker.name,
        topics=tuple(config for _, config in sorted(broker.topics.items())),
        topics_time_ms=version.timestamp_ms or None if (version := broker.table_versions.get(Part.TOPICS)) else None,
        groups=tuple(config for _, config in sorted(broker.groups.items())),
        queues=queues,
        consumer_offsets=offsets,
        file_reserved_ms=broker.file_reserved_ms,
        second_file_time_ms=broker.second_file_time_ms,
        cluster=broker.address.cluster,
        address=broker.address.address,
        broker_id=broker.address.broker_id,
        version=broker.runtime.get("brokerVersionDesc"),
        memberships=memberships,
        producers=broker.producers,
        runtime=broker.runtime,
        config=broker.config,
        access=broker.access,
        delay=delayed.get(broker.address),
        transactions=pending.get(broker.address),
        pop=popped.get(broker.address, ()),
        replication=broker.replication,
        copied=broker.copied,
        log_again=broker.log_again,
        newest=broker.newest,
        unavailable=(*broker.gaps, *(replace(broker.gaps[0], part=part) for part in whole)),
    )
