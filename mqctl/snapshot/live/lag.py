"""Lag of a live cluster, and nothing else: `group lag` must start fast."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import NotFoundError
from mqctl.lag.current import CurrentLag, LagRequest, current_lag
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.model.lag import LagEvidence, without_broker
from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.model.names_alike import meant
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.pop_share import PopShare
from mqctl.model.queue_state import QueueState
from mqctl.snapshot.live.asking import Asking, Scope, out_of_reach
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_topics, list_brokers, masters_of, split_offset_key
from mqctl.snapshot.live.queues import gather_offsets, queue_bounds, with_hidden_queues
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.model.consumption import Consumption

_NOBODY = frozenset({""})  # an empty set would stand for every group


def live_lag(
    cluster: Cluster,
    deadline: Deadline,
    request: LagRequest,
    *,
    now_ms: int,
    with_pop: bool = False,
    patience_ms: int | None = None,
) -> CurrentLag:
    """Asks a cluster for the lag of some groups.

    Args:
        now_ms, patience_ms: epoch milliseconds of this moment; of `Asking`.
        with_pop: what groups pop is asked without their consumers, too: their consumer offsets hide what is invisible.

    Raises:
        UnreachableError, DeadlineError: no name server answered.
        NotFoundError: see `current_lag`.
    """
    online, gaps = members_online(Asking(cluster, deadline), request.groups) if request.online else ({}, [])
    groups = frozenset(online or _NOBODY) if request.online else frozenset(request.groups)
    evidence = gather_live_lag(
        cluster,
        deadline,
        now_ms=now_ms,
        scope=Scope(groups=groups, topics=frozenset(request.topics)),
        system=request.with_system,
        with_consumers=request.with_consumers,
        with_pop=with_pop,
        patience_ms=patience_ms,
    )
    try:
        lag = current_lag(evidence, replace(request, groups=()) if request.online else request, now_ms=now_ms)
    except NotFoundError as error:
        raise _with_names(error, Asking(cluster, deadline), request.groups) from error
    return replace(lag, online=None if gaps else online, gaps=[*lag.gaps, *gaps]) if request.online else lag


def members_online(asking: Asking, groups: Collection[str]) -> tuple[dict[str, int], list[Gap]]:
    """Returns how many members groups have that have any; and what a broker did not tell.

    Args:
        groups: names; none for all.
    """
    from mqctl.snapshot.live.members import gather_memberships

    brokers = masters_of(list_brokers(asking, asking.cluster.brokers(asking.deadline), Scope()))
    scope = Scope(groups=frozenset(groups))
    if not groups:
        ask_groups(asking, brokers, scope)
    members: dict[str, set[str]] = {}
    for items in gather_memberships(asking, brokers, scope).values():
        for item in items:
            members.setdefault(item.group, set()).update(item.client_ids)
    gaps = [gap.at(broker.name) for broker in brokers for gap in broker.gaps]
    return {group: len(clients) for group, clients in members.items()}, gaps


def broadcasting_online(asking: Asking, groups: Collection[str], without: Collection[str | None]) -> set[str]:
    """Returns those groups all of whose members broadcast, as far as brokers tell (203).

    Args:
        without: names of brokers that are not asked.
    """
    from mqctl.model.member import broadcasting_groups
    from mqctl.snapshot.live.members import membership_of

    brokers = [item for item in asking.cluster.readable(asking.deadline) if item.broker_name not in without]
    answers = asking.put(
        ((broker.address, group), broker.address, ask.consumer_connections(group))
        for broker in brokers
        for group in groups
    )
    return broadcasting_groups(
        membership_of(group, (), connections) for (_, group), connections in answers.values.items()
    )


def _with_names(error: NotFoundError, asking: Asking, groups: Collection[str]) -> NotFoundError:
    """Adds the groups that may be meant (only those asked for have been looked at so far), or that it is no mistake."""
    brokers = masters_of(list_brokers(asking, asking.cluster.brokers(asking.deadline), Scope()))
    ask_groups(asking, brokers, Scope(groups=frozenset(groups)))
    known = {name for broker in brokers for name in broker.told_groups}
    missing = next((name for name in groups if name not in known), None)
    if missing is None:
        names = [word for name in groups for word in ("-g", name)]
        return NotFoundError(
            error.problem,
            reason=sentence(
                "lag-exists-never-committed-advise",
                "it exists, and has never committed one there; --advise counts from what its members hold",
            ),
            remedy=command_line("mqctl group lag {} --advise", names),
        )
    return NotFoundError(error.problem, reason=error.reason, remedy=meant(missing, known, "mqctl group list --all"))


def gather_live_lag(
    cluster: Cluster,
    deadline: Deadline,
    *,
    now_ms: int,
    scope: Scope | None = None,
    system: bool = False,
    with_consumers: bool = False,
    with_pop: bool = False,
    more_topics: Mapping[str, Collection[str]] | None = None,
    patience_ms: int | None = None,
) -> list[LagEvidence]:
    """Asks every master, or the slave of one that is gone, for committed offsets, queue bounds, and ages.

    Args:
        now_ms, scope: epoch milliseconds of this moment; groups, topics and brokers to look at.
        system: include RocketMQ's own groups and topics.
        with_consumers: ask as well what is in flight, who holds the queues, and the rates.
        with_pop: ask who pops as well, and what is not acknowledged.
        more_topics, patience_ms: topics by broker name whose queues are wanted without offsets too; of `Asking`.

    Raises:
        UnreachableError, DeadlineError: no name server answered.
    """
    wanted, asking = scope or Scope(), Asking(cluster, deadline, patience_ms)
    addresses = [item for item in cluster.readable(deadline) if wanted.has_broker(item.broker_name)]
    brokers = [LiveBroker(address=address) for address in addresses]
    _ask_offsets(asking, brokers, wanted, system=system)
    topics = [
        (number, topic)
        for number, broker in enumerate(brokers)
        if not broker.gaps
        for topic in sorted({key[1] for key in broker.offsets} | set((more_topics or {}).get(broker.name, ())))
    ]
    queues = queue_bounds(asking, brokers, topics)
    counts = [_listed(queues.get(number, ())) for number in range(len(brokers))]
    queues = _with_unlisted(asking, brokers, queues, counts, wanted)
    offsets = gather_offsets(asking, brokers, queues, now_ms)
    consumption: Mapping[int, Consumption] = {}
    if with_consumers:
        from mqctl.snapshot.live.consumption import gather_consumption

        consumption = gather_consumption(asking, brokers, queues)
    pop: Mapping[int, tuple[PopShare, ...]] = {}
    if with_consumers or with_pop:
        from mqctl.snapshot.live.pop import gather_pop

        pop = gather_pop(asking, brokers, wanted.groups, now_ms)
    origin, missing = _origin(cluster, now_ms), cluster.missing or ()
    return [
        LagEvidence(
            origin=origin,
            name=broker.name,
            broker_id=broker.address.broker_id,
            queues=queues.get(number, ()),
            consumer_offsets=offsets.get(number, ()),
            queue_counts=counts[number],
            unavailable=tuple(broker.gaps),
            consumption=consumption.get(number),
            pop=pop.get(number, ()),
        )
        for number, broker in enumerate(brokers)
    ] + [without_broker(origin, item.name) for item in missing if wanted.has_broker(item.name)]


def _listed(queues: Collection[QueueState]) -> dict[str, int]:
    """Returns how many queues a broker lists of each topic."""
    counts: dict[str, int] = {}
    for queue in queues:
        counts[queue.topic] = max(counts.get(queue.topic, 0), queue.queue_id + 1)
    return counts


def _with_unlisted(
    asking: Asking,
    brokers: list[LiveBroker],
    queues: dict[int, tuple[QueueState, ...]],
    counts: list[dict[str, int]],
    scope: Scope,
) -> dict[int, tuple[QueueState, ...]]:
    """Adds queues that a topic has and its broker does not list, and completes `counts`.

    Where groups have offsets beyond what is listed, the topic was made smaller, or is about to be; its settings tell.
    """
    unclear: dict[int, set[str]] = {}
    for number, broker in enumerate(brokers):
        settled = broker.absent_topics | {gap.topic for gap in broker.gaps}
        for _, topic, queue_id in broker.offsets:
            if topic not in settled and queue_id >= counts[number].get(topic, 0):
                unclear.setdefault(number, set()).add(topic)
    if not unclear:
        return queues
    ask_topics(asking, [brokers[number] for number in unclear])
    for number, topics in unclear.items():
        for topic in topics & brokers[number].topics.keys():
            config = brokers[number].topics[topic]
            counts[number][topic] = max(config.read_queue_count, config.write_queue_count)
    return with_hidden_queues(asking, brokers, queues, scope, removed=False)


def _origin(cluster: Cluster, now_ms: int) -> Origin:
    location = ";".join(cluster.name_servers.addresses())
    return Origin(kind=OriginKind.LIVE, location=location, observed_at_ms=now_ms, observed_from=ObservedFrom.CLOCK)


def _ask_offsets(asking: Asking, brokers: list[LiveBroker], wanted: Scope, *, system: bool) -> None:
    answers = asking.put(
        (number, broker.address.address, ask.all_consumer_offsets()) for number, broker in enumerate(brokers)
    )
    for number, broker in enumerate(brokers):
        error = answers.errors.get(number)
        if error is not None:
            parts = (Part.CONSUMER_OFFSETS, Part.QUEUES) if out_of_reach(error) else (Part.CONSUMER_OFFSETS,)
            broker.gaps += [Gap.of(part, error) for part in parts]
            broker.lose(error)
            continue
        broker.offsets = {
            (group, topic, queue_id): offset
            for key, queues in answers.values[number].offset_table.items()
            for topic, group in [split_offset_key(key)]
            if _wanted(group, topic, wanted, system=system)
            for queue_id, offset in queues.items()
        }


def _wanted(group: str, topic: str, scope: Scope, *, system: bool) -> bool:
    if not scope.has_group(group):
        return False
    if not system and (is_system_group(group) or is_system_topic(topic)):
        return False
    return scope.has_topic(topic) or (not scope.topics and group_of(topic) is not None)
