"""Lag as it is now: gathered from any source, narrowed to what was asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from mqctl.cli.emit import Output
from mqctl.cli.gaps import answer
from mqctl.cli.options.limit import ALL, limited
from mqctl.errors import DeadlineError, ExitCode, NotFoundError, UnreachableError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.model.lag import (
    GroupLag,
    LagEvidence,
    QueueLag,
    group_lags,
    lag_rows,
    without_broker,
)
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.names_alike import meant
from mqctl.model.origin import OriginKind
from mqctl.render.lag import By, lag_document
from mqctl.text import sentence

if TYPE_CHECKING:  # the lag of a store asks nobody
    from mqctl.cli.connection.target import ClusterTarget
    from mqctl.client.admin.cluster import Cluster
    from mqctl.client.remoting.deadline import Deadline
    from mqctl.model.dead_letter import RepairWindow
    from mqctl.model.snapshot import ClusterSnapshot
    from mqctl.snapshot.live.asking import Asking

# What is read to tell when the first retry of a group runs out: of each retry queue, and of each delay level.
_RETRIES_READ = 100
_DELAYED_READ = 640
# Where nobody is named, so much of each; and of so many groups the first to run out are sought.
_GLANCED = 32
_MOST_FAILING = 50
_MANY = 50
_NOBODY = frozenset({""})  # an empty set would stand for every group
_OF_LAG = frozenset({Part.CONSUMER_OFFSETS, Part.QUEUES})
_BESIDE_LAG = frozenset({Part.MEMBERS, Part.RUNNING_INFO, Part.CONSUMPTION, Part.POP})


@dataclass(frozen=True, slots=True)
class LagRequest:
    """Whose lag, and how much beside it.

    Attributes:
        groups, topics: names; none for all.
        system: RocketMQ's own groups and topics too; a group that is named is shown whatever it is.
        with_consumers: what is in flight, who holds the queues, and the rates.
        online: only groups of which somebody is online.
        limit: how many rows, as typed; with `all` nothing is folded either.
        members_first: where there are more groups than a table shows, those with members online come first.
        next_options: those that lead to the cluster again, typed as they were; None where nobody is told what to ask
            next.
    """

    groups: Collection[str] = ()
    topics: Collection[str] = ()
    system: bool = False
    with_consumers: bool = False
    online: bool = False
    limit: str | None = None
    members_first: bool = False
    next_options: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LagView:
    """Lag at one moment.

    Attributes:
        gaps: of lag itself.
        minor_gaps: of the columns beside lag only.
        windows: what groups have left to repair their consumers, where retries were looked for.
        slaves: names of brokers whose master is gone, and whose slave told.
        online: how many members groups have that have any; None where nobody was asked.
        members_first: whether groups with members come first.
    """

    moment_ms: int
    groups: Sequence[GroupLag]
    queues: Sequence[QueueLag]
    gaps: Sequence[Gap] = ()
    minor_gaps: Sequence[Gap] = ()
    windows: Sequence[RepairWindow] = ()
    slaves: Sequence[str] = ()
    online: Mapping[str, int] | None = None
    members_first: bool = False


def lag_view(evidence: Sequence[LagEvidence], request: LagRequest) -> LagView:
    """Computes the view.

    Raises:
        NotFoundError: a group that was named has no offsets, and everybody who could know it was asked.
    """
    moment_ms = max((item.origin.observed_at_ms for item in evidence), default=round(time() * 1000))
    rows = lag_rows(evidence, moment_ms, system=request.system or bool(request.groups))
    rows = [row for row in rows if not request.topics or row.topic in request.topics]
    missing = [gap.at(item.name) for item in evidence for gap in item.unavailable]
    gaps = [gap for gap in missing if gap.part not in _BESIDE_LAG]
    known = {row.group for row in rows}
    for name in request.groups:
        if name not in known and not gaps:
            raise NotFoundError(
                sentence(
                    "lag-no-consumer-group-offsets",
                    "no consumer group {name} with offsets{on}",
                    name=name,
                    on=_on(request.topics),
                ),
                remedy=sentence(
                    "lag-groups-offsets", "groups with offsets there: {known}", known=", ".join(sorted(known)[:10])
                )
                if known - set(request.groups)
                else command_line("mqctl group list --all"),
            )
    rows = [row for row in rows if not request.groups or row.group in request.groups]
    return LagView(
        moment_ms=moment_ms,
        groups=group_lags(rows, evidence),
        queues=rows,
        gaps=gaps,
        minor_gaps=[gap for gap in missing if gap.part in _BESIDE_LAG],
        slaves=sorted({item.name for item in evidence if item.name and item.broker_id}),
    )


def _on(topics: Collection[str]) -> str:
    return sentence("common-broker", " on {broker}", broker=" or ".join(sorted(topics))) if topics else ""


def live_lag(
    cluster: Cluster,
    deadline: Deadline,
    request: LagRequest,
    *,
    with_pop: bool = False,
    patience_ms: int | None = None,
) -> LagView:
    """Asks a cluster.

    Args:
        with_pop: what groups pop is asked without their consumers, too: their consumer offsets hide what is invisible.
        patience_ms: of `Asking`.

    Raises:
        UnreachableError, DeadlineError: no name server answered.
        NotFoundError: see `lag_view`.
    """
    from mqctl.snapshot.live.asking import Asking, Scope
    from mqctl.snapshot.live.lag import gather_live_lag

    online, gaps = _with_members(Asking(cluster, deadline), request.groups) if request.online else ({}, [])
    groups = frozenset(online or _NOBODY) if request.online else frozenset(request.groups)
    evidence = gather_live_lag(
        cluster,
        deadline,
        now_ms=round(time() * 1000),
        scope=Scope(groups=groups, topics=frozenset(request.topics)),
        system=request.system or bool(request.groups),
        with_consumers=request.with_consumers,
        with_pop=with_pop,
        patience_ms=patience_ms,
    )
    try:
        view = lag_view(evidence, replace(request, groups=()) if request.online else request)
    except NotFoundError as error:
        raise _with_names(error, Asking(cluster, deadline), request.groups) from error
    return replace(view, online=None if gaps else online, gaps=[*view.gaps, *gaps]) if request.online else view


def one_look(target: ClusterTarget, request: LagRequest, *, limited: bool = True) -> LagView:
    """Asks a cluster once, for the retries of the groups as well. Raises as `live_lag`.

    Args:
        limited: somebody set a limit; otherwise thousands of groups may take longer than that of the target.
    """
    from mqctl.cli.sources.brokers import asking_of

    patient, patience_ms = (target, None) if limited else target.patient()
    with target.open() as cluster:
        asking = asking_of(cluster, patient)
        view = live_lag(cluster, asking.deadline, request, with_pop=True, patience_ms=patience_ms)
        if request.members_first and not request.online:
            view = _more(view, Part.MEMBERS, partial(_members_first, asking))
        return _more(view, Part.DELAY, partial(_with_windows, asking, closely=request.with_consumers))


def _more(view: LagView, part: Part, step: Callable[[LagView], LagView]) -> LagView:
    """Adds what stands beside the lag: where the time is over, or nobody answers any more, the lag is told all the
    same."""
    try:
        return step(view)
    except (DeadlineError, UnreachableError) as error:
        return replace(view, minor_gaps=[*view.minor_gaps, Gap.of(part, error)])


def _with_windows(asking: Asking, view: LagView, *, closely: bool) -> LagView:
    """Adds by when the groups' consumers have to be repaired so that no failing message becomes a dead letter.

    Levels are queues: what a level lets go first is what runs out first, so that few messages of each tell.

    Args:
        closely: otherwise only groups are looked at that a glance shows failing messages of.
    """
    from mqctl.cli.sources.brokers import broker_gaps, queue_gaps
    from mqctl.model.dead_letter import repair_windows
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.brokers import ask_groups, ask_offsets, ask_settings, ask_topics, list_brokers, masters_of
    from mqctl.snapshot.live.dead_letters import failing_groups, waiting_retries

    names = frozenset(item.group for item in view.groups)
    if not names:
        return view
    lost = {gap.broker for gap in view.gaps}
    everyone = masters_of(list_brokers(asking, asking.cluster.brokers(asking.deadline), Scope()))
    brokers = [broker for broker in everyone if broker.name not in lost]
    ask_settings(asking, brokers)
    gaps = list(view.minor_gaps)
    if not closely:
        failing, read = failing_groups(asking, brokers)
        gaps += queue_gaps(read.errors)
        failing |= {row.group for row in view.groups if row.topic.startswith(RETRY_PREFIX) and row.lag_count}
        names = frozenset(sorted(names & failing)[:_MOST_FAILING])
    if not names:
        return replace(view, minor_gaps=[*gaps, *broker_gaps(brokers)])
    scope = Scope(groups=names)
    ask_topics(asking, brokers)
    ask_groups(asking, brokers, scope)
    ask_offsets(asking, brokers, scope)
    most = (_RETRIES_READ, _DELAYED_READ) if closely else (_GLANCED, _GLANCED)
    retries, read = waiting_retries(asking, brokers, names, most[0], most_delayed=most[1])
    gaps += [*broker_gaps(brokers), *queue_gaps(read.errors)]
    return replace(view, windows=repair_windows(retries, view.moment_ms), minor_gaps=list(dict.fromkeys(gaps)))


def _with_names(error: NotFoundError, asking: Asking, groups: Collection[str]) -> NotFoundError:
    """Adds the groups that may be meant (only those asked for have been looked at so far), or that it is no mistake."""
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.brokers import ask_groups, list_brokers, masters_of

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


def _with_members(asking: Asking, groups: Collection[str]) -> tuple[dict[str, int], list[Gap]]:
    """Returns how many members groups have that have any; and what a broker did not tell.

    Args:
        groups: names; none for all.
    """
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.brokers import ask_groups, list_brokers, masters_of
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


def _members_first(asking: Asking, view: LagView) -> LagView:
    """Puts groups that are behind with members online before those whose consumers are gone, where a table would not
    show all of them, and what waits for nothing last; how many there are is known only where every broker tells."""
    if sum(1 for item in view.groups if item.lag_count) <= _MANY:
        return view
    online, gaps = _with_members(asking, {item.group for item in view.groups})
    return _ordered(replace(view, online=None if gaps else online, minor_gaps=[*view.minor_gaps, *gaps]), online)


def _ordered(view: LagView, online: Collection[str]) -> LagView:
    groups = sorted(view.groups, key=lambda item: (not item.lag_count, item.group not in online))
    return replace(view, groups=groups, members_first=True)


def of_groups(view: LagView, groups: Collection[str], gaps: Sequence[Gap] = ()) -> LagView:
    """Returns the view of certain groups.

    Args:
        gaps: of what they were chosen by.
    """
    return replace(
        view,
        groups=[item for item in view.groups if item.group in groups],
        queues=[item for item in view.queues if item.group in groups],
        gaps=[*view.gaps, *gaps],
    )


def show(view: LagView, request: LagRequest, rows: By, output: Output) -> ExitCode:
    """Writes the view, and names on stderr what could not be asked; returns the exit code of a read command."""
    document = lag_document(
        view.moment_ms,
        view.groups,
        view.queues,
        by=rows,
        with_consumers=request.with_consumers,
        windows=view.windows,
        folded=not request.groups and request.limit != ALL,
        slaves=view.slaves,
        online=view.online,
        next_options=request.next_options,
        members_first=view.members_first,
        without_offline=view.members_first and request.limit is None,
        in_part=any(gap.part in _OF_LAG for gap in view.gaps),
    )
    return answer(limited(document, output, request.limit), view.gaps, output, minor=view.minor_gaps)


def snapshot_view(file: Path, request: LagRequest) -> LagView:
    """Computes the view of a file, with the members that groups had, where these were asked for.

    Raises:
        BadInputError: it is no snapshot.
        NotFoundError: see `lag_view`.
    """
    from mqctl.snapshot.archive import load_snapshot

    snapshot = load_snapshot(file)
    view = lag_view(saved_lag(snapshot), request)
    gaps = (gap for broker in snapshot.brokers for gap in broker.unavailable)
    if snapshot.origin.kind is not OriginKind.LIVE or any(gap.part is Part.MEMBERS for gap in gaps):
        return view
    clients: dict[str, set[str]] = {}
    for entry in (entry for broker in snapshot.brokers for entry in broker.memberships):
        clients.setdefault(entry.group, set()).update(entry.client_ids)
    online = {group: len(ids) for group, ids in clients.items() if ids}
    view = replace(view, online=online)
    many = sum(1 for item in view.groups if item.lag_count) > _MANY
    return _ordered(view, online) if many and request.members_first else view


def saved_lag(snapshot: ClusterSnapshot) -> list[LagEvidence]:
    """Takes the part of a snapshot that lag needs, and who held the queues then."""
    from mqctl.model.consumption import Consumption, QueueOwners, addresses_of
    from mqctl.model.queue import MessageQueue
    from mqctl.rules.engine.gone_brokers import out_of_reach

    wanted = (Part.QUEUES, Part.CONSUMER_OFFSETS)
    clients: dict[str, set[str]] = {}
    for broker in snapshot.brokers:
        for membership in broker.memberships:
            clients.setdefault(membership.group, set()).update(membership.client_ids)
    holders = QueueOwners(clients, snapshot.running)
    evidence = []
    for broker in snapshot.brokers:
        owners = {}
        cached: dict[tuple[str, str, int], int] = {}
        consumed: dict[tuple[str, str], float] = {}
        for state in broker.consumer_offsets:
            queue = MessageQueue(state.topic, broker.name or "", state.queue_id)
            held_by = holders.owners(state.group, queue)
            if (held := holders.cached(state.group, queue)) is not None:
                cached[state.group, state.topic, state.queue_id] = held
            if (rate := holders.consumed_tps(state.group, state.topic)) is not None:
                consumed[state.group, state.topic] = rate
            if held_by is not None:
                owners[state.group, state.topic, state.queue_id] = held_by
        evidence.append(
            LagEvidence(
                origin=snapshot.origin,
                name=broker.name,
                queues=broker.queues,
                consumer_offsets=broker.consumer_offsets,
                unavailable=tuple(gap for gap in broker.unavailable if gap.part in wanted),
                consumption=Consumption(
                    owners=owners, cached=cached, consumed_tps=consumed, addresses=addresses_of(broker.memberships)
                )
                if owners
                else None,
            )
        )
    return evidence + [without_broker(snapshot.origin, name) for name in out_of_reach(snapshot)]
