"""One look at lag: of a cluster with what stands beside it, or of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from mqctl.cli.sources.brokers import asking_of, broker_gaps, queue_gaps
from mqctl.errors import DeadlineError, UnreachableError
from mqctl.lag.current import CurrentLag, LagRequest, current_lag, without_broadcasting
from mqctl.model.gap import Gap, Part
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.origin import OriginKind

if TYPE_CHECKING:  # the lag of a file asks nobody
    from mqctl.cli.connection.target import ClusterTarget
    from mqctl.snapshot.live.asking import Asking

# What is read to tell when the first retry of a group runs out: of each retry queue, and of each delay level.
_RETRIES_READ = 100
_DELAYED_READ = 640
# Where nobody is named, so much of each; and of so many groups the first to run out are sought.
_GLANCED = 32
_MOST_FAILING = 50
_MANY = 50
# Members of groups that fail tell their limits: one that is silent is not waited for longer.
_MEMBERS_MS = 2_000


def one_look(
    target: ClusterTarget, request: LagRequest, *, members_first: bool = False, limited: bool = True
) -> CurrentLag:
    """Asks a cluster once, for the retries of the groups as well. Raises as `live_lag`.

    Args:
        members_first: where there are more groups than a table shows, those with members online come first.
        limited: somebody set a limit; otherwise thousands of groups may take longer than that of the target.
    """
    from mqctl.snapshot.live.lag import live_lag

    patient, patience_ms = (target, None) if limited else target.patient()
    with target.open() as cluster:
        asking = asking_of(cluster, patient)
        now_ms = round(time() * 1000)
        lag = live_lag(cluster, asking.deadline, request, now_ms=now_ms, with_pop=True, patience_ms=patience_ms)
        lag = _with_optional(lag, Part.MEMBERS, partial(_without_broadcasting, asking))
        if members_first and not request.online:
            lag = _with_optional(lag, Part.MEMBERS, partial(_members_first, asking))
        return _with_optional(lag, Part.DELAY, partial(_with_windows, asking, closely=request.with_consumers))


def _with_optional(lag: CurrentLag, part: Part, step: Callable[[CurrentLag], CurrentLag]) -> CurrentLag:
    """Adds an optional part; where the time is over, or no server answers any more, keeps the lag and notes a minor
    gap."""
    try:
        return step(lag)
    except (DeadlineError, UnreachableError) as error:
        return replace(lag, minor_gaps=[*lag.minor_gaps, Gap.of(part, error)])


def _without_broadcasting(asking: Asking, lag: CurrentLag) -> CurrentLag:
    """Leaves out groups that broadcast, of those that are most behind: their offsets at brokers are no progress."""
    from mqctl.snapshot.live.lag import broadcasting_online

    behind = sorted((row for row in lag.report.groups if row.lag_count), key=lambda row: -(row.lag_count or 0))
    lost = {gap.broker for gap in lag.gaps}
    groups = [*dict.fromkeys(row.group for row in behind)][:_MANY]
    return without_broadcasting(lag, broadcasting_online(asking, groups, lost) if groups else ())


def _with_windows(asking: Asking, lag: CurrentLag, *, closely: bool) -> CurrentLag:
    """Adds by when the groups' consumers have to be repaired so that no failing message becomes a dead letter.

    Levels are queues: what a level lets go first is what runs out first, so that few messages of each tell.

    Args:
        closely: otherwise only groups are looked at that a glance shows failing messages of.
    """
    from mqctl.model.dead_letter import repair_windows
    from mqctl.snapshot.live.asking import Scope
    from mqctl.snapshot.live.brokers import ask_groups, ask_offsets, ask_settings, ask_topics, list_brokers, masters_of
    from mqctl.snapshot.live.dead_letters import failing_groups, waiting_retries

    names = frozenset(item.group for item in lag.report.groups)
    if not names:
        return lag
    lost = {gap.broker for gap in lag.gaps}
    everyone = masters_of(list_brokers(asking, asking.cluster.brokers(asking.deadline), Scope()))
    brokers = [broker for broker in everyone if broker.name not in lost]
    ask_settings(asking, brokers)
    gaps = list(lag.minor_gaps)
    if not closely:
        failing, read = failing_groups(asking, brokers)
        gaps += queue_gaps(read.errors)
        failing |= {row.group for row in lag.report.groups if row.topic.startswith(RETRY_PREFIX) and row.lag_count}
        names = frozenset(sorted(names & failing)[:_MOST_FAILING])
    if not names:
        return replace(lag, minor_gaps=[*gaps, *broker_gaps(brokers)])
    scope = Scope(groups=names)
    ask_topics(asking, brokers)
    ask_groups(asking, brokers, scope)
    ask_offsets(asking, brokers, scope)
    most = (_RETRIES_READ, _DELAYED_READ) if closely else (_GLANCED, _GLANCED)
    retries, read = waiting_retries(asking, brokers, names, most[0], most_delayed=most[1], members_ms=_MEMBERS_MS)
    gaps += [*broker_gaps(brokers), *queue_gaps(read.errors), *read.limit_gaps]
    windows = list(repair_windows(retries, lag.report.observed_at_ms))
    return replace(lag, report=replace(lag.report, windows=windows), minor_gaps=list(dict.fromkeys(gaps)))


def _members_first(asking: Asking, lag: CurrentLag) -> CurrentLag:
    """Puts groups that are behind with members online before those whose consumers are gone, where a table would not
    show all of them, and what waits for nothing last; how many there are is known only where every broker tells."""
    if sum(1 for item in lag.report.groups if item.lag_count) <= _MANY:
        return lag
    from mqctl.snapshot.live.lag import members_online

    online, gaps = members_online(asking, {item.group for item in lag.report.groups})
    return _ordered(replace(lag, online=None if gaps else online, minor_gaps=[*lag.minor_gaps, *gaps]), online)


def _ordered(lag: CurrentLag, online: Collection[str]) -> CurrentLag:
    groups = sorted(lag.report.groups, key=lambda item: (not item.lag_count, item.group not in online))
    return replace(lag.with_rows(groups=groups), members_first=True)


def snapshot_lag(file: Path, request: LagRequest, *, members_first: bool = False) -> CurrentLag:
    """Computes the lag of a file, with the members that groups had, where these were asked for.

    Raises:
        BadInputError: it is no snapshot.
        NotFoundError: see `current_lag`.
    """
    from mqctl.model.member import broadcasting_groups
    from mqctl.snapshot.archive import load_snapshot
    from mqctl.snapshot.saved_lag import clients_of, saved_lag

    snapshot = load_snapshot(file)
    lag = current_lag(saved_lag(snapshot), request, now_ms=snapshot.origin.observed_at_ms)
    lag = without_broadcasting(
        lag, broadcasting_groups(entry for broker in snapshot.brokers for entry in broker.memberships)
    )
    gaps = (gap for broker in snapshot.brokers for gap in broker.unavailable)
    if snapshot.origin.kind is not OriginKind.LIVE or any(gap.part is Part.MEMBERS for gap in gaps):
        return lag
    online = {group: len(ids) for group, ids in clients_of(snapshot).items() if ids}
    lag = replace(lag, online=online)
    many = sum(1 for item in lag.report.groups if item.lag_count) > _MANY
    return _ordered(lag, online) if many and members_first else lag
